# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The offsets of each replica that a broker holds (ListOffsets, API key 2), asked as the debugging replica."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, NamedTuple, TypeAlias

from .._model.partition import TopicPartition
from .bulk import BulkAnswer, BulkRequest, RequestVersion, UnusualAnswerError, encode_topics, read_topics, tuple_maker
from .messages import by_topic
from .wire import Connection

with suppress(ImportError):  # a missing library is named before anything is done (_module/run.py)
    from kafka.protocol.consumer import ListOffsetsRequest, ListOffsetsResponse

_DEBUGGING_REPLICA = -2
"""Not a consumer and not a follower: a broker answers it for its own log without being the leader."""
_LATEST = -1
_EARLIEST = -2
_EARLIEST_LOCAL = -4
"""Of a tiered topic: where the log on the broker's own disk starts (KIP-405, version 8)."""
_LATEST_TIERED = -5
"""Of a tiered topic: the last offset that the broker knows to be in the tier (KIP-1005, version 9)."""
_READ_UNCOMMITTED = 0
_VERSION = 7
"""Offered by Kafka 3.9 to 4.4."""
_TIERED_VERSION = 9
"""Offered by them as well, and encoded as version 7 is."""
_HEAD = struct.Struct(">ib")
_ASKED = struct.Struct(">iiqB")
"""Partition, current leader epoch (-1: not checked), timestamp, no tags."""
_ANSWERED = struct.Struct(">ihqqiB")
"""Partition, error code, timestamp, offset, leader epoch, number of tags."""
_THROTTLE = struct.Struct(">i")


class OffsetAnswer(NamedTuple):
    """One partition's answer: an offset with the partition's current epoch on that broker, or an error code."""

    error_code: int
    offset: int
    current_leader_epoch: int


_topic_partition, _offset_answer = tuple_maker(TopicPartition), tuple_maker(OffsetAnswer)
Answers: TypeAlias = "dict[TopicPartition, list[OffsetAnswer]]"


def log_end_offsets(
    connection: Connection, partitions: Sequence[TopicPartition], *, timeout_ms: int | None = None
) -> Answers:
    """Return the log end offset of each replica that this broker holds.

    The epoch that comes with it is the partition's current one, not the last written one. A well-behaved broker
    answers each partition once; the list shows when it does not.

    Raises BrokerCallError.
    """
    return _list_offsets(connection, partitions, _LATEST, timeout_ms)


def log_start_offsets(
    connection: Connection, partitions: Sequence[TopicPartition], *, timeout_ms: int | None = None
) -> Answers:
    """Return the log start offset of each replica that this broker holds.

    Raises BrokerCallError.
    """
    return _list_offsets(connection, partitions, _EARLIEST, timeout_ms)


def local_start_offsets(
    connection: Connection, partitions: Sequence[TopicPartition], *, timeout_ms: int | None = None
) -> Answers:
    """Return the first offset on this broker's own disk of each replica of a tiered topic.

    Raises BrokerCallError.
    """
    return _list_offsets(connection, partitions, _EARLIEST_LOCAL, timeout_ms, _TIERED_VERSION)


def last_tiered_offsets(
    connection: Connection, partitions: Sequence[TopicPartition], *, timeout_ms: int | None = None
) -> Answers:
    """Return the last offset in the tier, as far as this broker knows; a negative one when it does not.

    Raises BrokerCallError.
    """
    return _list_offsets(connection, partitions, _LATEST_TIERED, timeout_ms, _TIERED_VERSION)


def _list_offsets(
    connection: Connection,
    partitions: Sequence[TopicPartition],
    timestamp: int,
    timeout_ms: int | None,
    version: int = _VERSION,
) -> Answers:
    head = _HEAD.pack(_DEBUGGING_REPLICA, _READ_UNCOMMITTED)
    topics = encode_topics(
        {
            topic: [_ASKED.pack(number, -1, timestamp, 0) for number in numbers]
            for topic, numbers in by_topic(partitions).items()
        }
    )
    request: BulkRequest[Answers] = BulkRequest(
        ListOffsetsRequest,
        ListOffsetsResponse,
        {version: RequestVersion(b"".join([head, topics, b"\0"]), _read)},
        _answers,
    )
    answers: Answers = connection.call(request, timeout_ms=timeout_ms).value
    return answers


def _read(view: memoryview) -> BulkAnswer[Answers]:
    answers: Answers = {}

    def read_partitions(view: memoryview, place: int, count: int, topic: str) -> int:
        end = place + count * _ANSWERED.size
        for number, code, _time, offset, epoch, tags in _ANSWERED.iter_unpack(view[place:end]):
            if tags:
                raise UnusualAnswerError
            key = _topic_partition((topic, number))
            answers.setdefault(key, []).append(_offset_answer((code, offset, epoch)))
        return end

    (throttle_time_ms,) = _THROTTLE.unpack_from(view)
    read_topics(view, _THROTTLE.size, read_partitions)
    return BulkAnswer(throttle_time_ms, answers)


def _answers(response: Any) -> Answers:
    answers: Answers = {}
    for topic in response.topics:
        for partition in topic.partitions:
            answers.setdefault(TopicPartition(topic.name, partition.partition_index), []).append(
                OffsetAnswer(partition.error_code, partition.offset, partition.leader_epoch)
            )
    return answers
