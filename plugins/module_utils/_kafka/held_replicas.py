# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Ask a broker for offsets of its own replicas, as the debugging replica (ListOffsets, API key 2)."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, NamedTuple, TypeAlias

from .._model.partition import TopicPartition
from .bulk import BulkAnswer, BulkRequest, RequestVersion, UnusualAnswerError, encode_topics, read_topics, tuple_maker
from .messages import by_topic
from .wire import Connection

with suppress(ImportError):  # a missing library is reported before the module starts (_module/run.py)
    from kafka.protocol.consumer import ListOffsetsRequest, ListOffsetsResponse

_DEBUGGING_REPLICA = -2
"""Neither a consumer nor a follower: a broker answers it for its own log even if it is not the leader."""
_LATEST = -1
_EARLIEST = -2
_EARLIEST_LOCAL = -4
"""For a tiered topic: the first offset on the broker's own disk (KIP-405, version 8)."""
_LATEST_TIERED = -5
"""For a tiered topic: the last offset that the broker knows to be in the tier (KIP-1005, version 9)."""
_READ_UNCOMMITTED = 0
_VERSION = 7
"""Offered by Kafka 3.9 to 4.4."""
_TIERED_VERSION = 9
"""Offered by the same releases, with the encoding of version 7."""
_HEAD = struct.Struct(">ib")
_QUESTION = struct.Struct(">iiqB")
"""Partition, current leader epoch (-1: not checked), timestamp, no tags."""
_ANSWER = struct.Struct(">ihqqiB")
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

    The epoch beside it is the partition's current leader epoch, not the last written one. The lists show if a broker
    answers a partition more than once, which is an error.

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
            topic: [_QUESTION.pack(number, -1, timestamp, 0) for number in numbers]
            for topic, numbers in by_topic(partitions).items()
        }
    )
    request: BulkRequest[Answers] = BulkRequest(
        ListOffsetsRequest,
        ListOffsetsResponse,
        {version: RequestVersion(b"".join([head, topics, b"\0"]), _read_answer)},
        _convert_answer,
    )
    answers: Answers = connection.call(request, timeout_ms=timeout_ms).value
    return answers


def _read_answer(view: memoryview) -> BulkAnswer[Answers]:
    answers: Answers = {}

    def read_partitions(view: memoryview, position: int, count: int, topic: str) -> int:
        end = position + count * _ANSWER.size
        for number, code, _time, offset, epoch, tags in _ANSWER.iter_unpack(view[position:end]):
            if tags:
                raise UnusualAnswerError
            key = _topic_partition((topic, number))
            answers.setdefault(key, []).append(_offset_answer((code, offset, epoch)))
        return end

    (throttle_time_ms,) = _THROTTLE.unpack_from(view)
    read_topics(view, _THROTTLE.size, read_partitions)
    return BulkAnswer(throttle_time_ms, answers)


def _convert_answer(response: Any) -> Answers:
    answers: Answers = {}
    for topic in response.topics:
        for partition in topic.partitions:
            answers.setdefault(TopicPartition(topic.name, partition.partition_index), []).append(
                OffsetAnswer(partition.error_code, partition.offset, partition.leader_epoch)
            )
    return answers
