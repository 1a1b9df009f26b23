# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The frame of a Fetch (API key 1, version 12) about many partitions. ``epochs`` and ``batch_headers`` fill it."""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any, TypeVar

from .bulk import BulkAnswer, BulkRequest, RequestVersion, UnusualAnswerError, encode_topics, read_topics

with suppress(ImportError):  # a missing library is reported before the module starts (_module/run.py)
    from kafka.protocol.consumer import FetchRequest, FetchResponse

Answers = TypeVar("Answers")

_VERSION = 12
"""The last version that identifies topics by name, and the first with diverging epochs."""
_NO_SESSION_EPOCH = -1
_HEAD = struct.Struct(">iiiibii")
"""Replica id, maximum wait in ms, minimum bytes, maximum bytes, isolation level, session id, session epoch."""
QUESTION = struct.Struct(">iiqiqiB")
"""Partition, current leader epoch (-1: not checked), offset, last fetched epoch, log start, maximum bytes, no tags."""
_NOTHING_FORGOTTEN_NO_RACK_NO_TAGS = b"\1\1\0"
_ANSWER_HEAD = struct.Struct(">ihi")
"""Throttle time in ms, error code, session id."""


def fetch_request(
    replica_id: int,
    max_bytes: int,
    questions: Mapping[str, Sequence[bytes]],
    read_answer: Callable[[memoryview], BulkAnswer[Answers]],
    convert_answer: Callable[[Any], Answers],
) -> BulkRequest[Answers]:
    """Return a Fetch with these questions by topic, each packed by ``QUESTION``. The broker does not wait for records.

    ``max_bytes`` is the limit for the whole answer.
    """
    head = _HEAD.pack(replica_id, 0, 0, max_bytes, 0, 0, _NO_SESSION_EPOCH)
    body = b"".join([head, encode_topics(questions), _NOTHING_FORGOTTEN_NO_RACK_NO_TAGS])
    return BulkRequest(FetchRequest, FetchResponse, {_VERSION: RequestVersion(body, read_answer)}, convert_answer)


def read_fetch(view: memoryview, read_partitions: Callable[[memoryview, int, int, str], int]) -> int:
    """Read all partitions of an answer, and return its throttle time in ms. Raises UnusualAnswerError."""
    (throttle_time_ms, code, _session) = _ANSWER_HEAD.unpack_from(view)
    if code:
        raise UnusualAnswerError
    read_topics(view, _ANSWER_HEAD.size, read_partitions)
    return int(throttle_time_ms)
