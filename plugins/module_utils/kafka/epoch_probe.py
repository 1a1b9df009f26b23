# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Which leader epochs a replica's log holds (Fetch, API key 1, version 12, KIP-320 and KIP-595's diverging epoch).

An ordinary consumer's Fetch (replica id -1, so that it never poses as a follower) at an offset beyond any log, with
last_fetched_epoch E, makes a broker tell where its log departs from a log that ends in E:

- error 1 (OFFSET_OUT_OF_RANGE): E is larger than every epoch of the log;
- no error, diverging_epoch (e, end): e is the largest epoch <= E of the log, and end is where e ends. Where no epoch
  is <= E, e is E itself and end is where the log's first epoch starts.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, NamedTuple, TypeAlias

from ansible_collections.kafkaops.recovery.plugins.module_utils.kafka.batches import by_topic
from ansible_collections.kafkaops.recovery.plugins.module_utils.kafka.bulk import (
    BulkAnswer,
    BulkRequest,
    UnusualAnswerError,
    packed_topics,
    read_topics,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils.kafka.wire import Connection
from ansible_collections.kafkaops.recovery.plugins.module_utils.model.partition import TopicPartition
from ansible_collections.kafkaops.recovery.plugins.module_utils.model.replica_log import EpochEnd

with suppress(ImportError):  # a missing library is told by name before anything is done (glue/failures.py)
    from kafka.protocol.consumer import FetchRequest, FetchResponse

_VERSION = 12
"""The last version that names topics, and the first that has diverging epochs."""
_CONSUMER = -1
_BEYOND_ANY_LOG = 2**62
_NO_SESSION_EPOCH = -1
_HEAD = struct.Struct(">iiiibii")
"""Replica id, most ms to wait, fewest bytes, most bytes, isolation level, session id, session epoch."""
_ASKED = struct.Struct(">iiqiqiB")
"""Partition, current leader epoch (-1: not checked), offset, last fetched epoch, log start, most bytes, no tags."""
_NOTHING_FORGOTTEN_NO_RACK_NO_TAGS = b"\1\1\0"
_TOLD_OF_ALL = struct.Struct(">ihi")
"""Throttle time in ms, error code, session id."""
_TOLD = struct.Struct(">ihqqqBiBB")
"""Partition, error code, high watermark, last stable offset, log start offset, aborted transactions, preferred read
replica, records, number of tags."""
_DIVERGING = struct.Struct(">BBiqB")
"""Tag, its size, epoch, end offset, number of tags."""
_DIVERGING_AS_EXPECTED = (0, 13, 0)


class EpochAnswer(NamedTuple):
    """One partition's answer. ``epoch_end`` is None when the broker gave an error or no diverging epoch."""

    error_code: int
    epoch_end: EpochEnd | None
    high_watermark: int


Answers: TypeAlias = "dict[TopicPartition, list[EpochAnswer]]"


def epoch_ends(
    connection: Connection, epochs: Mapping[TopicPartition, int], *, timeout_ms: int | None = None
) -> dict[TopicPartition, list[EpochAnswer]]:
    """Asks, for each partition, about one epoch (>= 0), all in one request.

    Raises BrokerCallError.
    """
    head = _HEAD.pack(_CONSUMER, 0, 0, 1, 0, 0, _NO_SESSION_EPOCH)

    def pack(topic: str, number: int) -> bytes:
        epoch = epochs[TopicPartition(topic, number)]
        return _ASKED.pack(number, -1, _BEYOND_ANY_LOG, epoch, -1, 1, 0)

    request: BulkRequest[Answers] = BulkRequest(
        FetchRequest,
        FetchResponse,
        _VERSION,
        b"".join([head, packed_topics(by_topic(epochs), pack), _NOTHING_FORGOTTEN_NO_RACK_NO_TAGS]),
        _read,
        _answers,
    )
    answers: Answers = connection.call(request, timeout_ms=timeout_ms).value
    return answers


def _read(view: memoryview) -> BulkAnswer[Answers]:
    answers: Answers = {}

    def read_partitions(view: memoryview, place: int, count: int, topic: str) -> int:
        for _partition in range(count):
            number, code, watermark, _stable, _start, aborted, _replica, records, tags = _TOLD.unpack_from(view, place)
            place += _TOLD.size
            found = None
            # Lists and records are absent or empty; the one tag that may come is the diverging epoch.
            if aborted > 1 or records > 1 or tags > 1:
                raise UnusualAnswerError
            if tags:
                tag, size, epoch, end_offset, more = _DIVERGING.unpack_from(view, place)
                if (tag, size, more) != _DIVERGING_AS_EXPECTED:
                    raise UnusualAnswerError
                place += _DIVERGING.size
                found = EpochEnd(epoch, end_offset) if code == 0 and epoch >= 0 else None
            answers.setdefault(TopicPartition(topic, number), []).append(EpochAnswer(code, found, watermark))
        return place

    (throttle_time_ms, code, _session) = _TOLD_OF_ALL.unpack_from(view)
    if code:
        raise UnusualAnswerError
    read_topics(view, _TOLD_OF_ALL.size, read_partitions)
    return BulkAnswer(throttle_time_ms, answers)


def _answers(response: Any) -> Answers:
    answers: Answers = {}
    for topic in response.responses:
        for partition in topic.partitions:
            diverging = partition.diverging_epoch
            known = partition.error_code == 0 and diverging is not None and diverging.epoch >= 0
            answers.setdefault(TopicPartition(topic.topic, partition.partition_index), []).append(
                EpochAnswer(
                    partition.error_code,
                    EpochEnd(diverging.epoch, diverging.end_offset) if known else None,
                    partition.high_watermark,
                )
            )
    return answers
