# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Ask a replica for the batch at an offset, and return the leader epoch in its header (Fetch, API key 1, version 12).

The request is that of a future replica, which a broker answers up to the log end offset (messages.py). Its size limit
is one byte: then the broker sends the first batch alone, whatever its size (KIP-74). The epoch checkpoint of the log is
not used for the answer.
"""

from __future__ import annotations

import struct
from contextlib import suppress
from typing import Any, NamedTuple

from .._model.partition import TopicPartition
from .bulk import BulkAnswer, BulkRequest, RequestVersion, UnusualAnswerError
from .messages import FUTURE_REPLICA, fetch_request

with suppress(ImportError):  # a missing library is reported before the module starts (_module/run.py)
    from kafka.protocol.consumer import FetchRequest, FetchResponse


_VERSION = 12
_HEADER = struct.Struct(">qiibIhi")
"""Base offset, length of the rest, leader epoch, magic, CRC, attributes, delta of the last offset."""
_PREFIX = 12
"""Bytes of base offset and length."""
_FIRST_MAGIC_WITH_EPOCHS = 2
NO_EPOCH = -1
"""The leader epoch of a batch that has none: it was written before Kafka 0.11, in the formats 0 and 1."""


class BatchEpoch(NamedTuple):
    """One batch: its leader epoch, its first offset, and the offset after its last one."""

    epoch: int
    base_offset: int
    next_offset: int


class HeaderAnswer(NamedTuple):
    """The answer about one offset. ``batch`` is None if the broker sent none, or an error."""

    error_code: int
    batch: BatchEpoch | None
    size_bytes: int


def header_request(partition: TopicPartition, offset: int) -> BulkRequest[HeaderAnswer]:
    """Ask for the batch that has this offset or, if compaction removed it, for the next one."""
    body = fetch_request(partition, offset, 1, FUTURE_REPLICA).encode(version=_VERSION)
    return BulkRequest(FetchRequest, FetchResponse, {_VERSION: RequestVersion(body, _read_answer)}, _convert_answer)


def _read_answer(_view: memoryview) -> BulkAnswer[HeaderAnswer]:
    # Few headers are read, so that kafka-python may decode all answers.
    raise UnusualAnswerError


def _convert_answer(response: Any) -> HeaderAnswer:
    answers = [each for topic in response.responses for each in topic.partitions]
    if response.error_code or len(answers) != 1:
        return HeaderAnswer(response.error_code, None, 0)
    records = bytes(answers[0].records or b"")
    return HeaderAnswer(answers[0].error_code, _read_header(records), len(records))


def _read_header(records: bytes) -> BatchEpoch | None:
    if len(records) < _HEADER.size:
        return None
    base, length, epoch, magic, _crc, _attributes, last = _HEADER.unpack_from(records)
    if magic < _FIRST_MAGIC_WITH_EPOCHS:
        return BatchEpoch(NO_EPOCH, base, base + 1)
    return None if last < 0 or length < _HEADER.size - _PREFIX else BatchEpoch(epoch, base, base + last + 1)
