# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Ask a broker for offsets of its own replicas, as the debugging replica (ListOffsets, API key 2)."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from contextlib import suppress
from enum import IntEnum
from typing import Any, NamedTuple, TypeAlias

from .._model.partition import TopicPartition, to_topic_partition, tuple_maker
from .bulk import BulkAnswer, BulkRequest, RequestVersion, UnusualAnswerError, encode_topics, read_topics
from .connection import Connection
from .messages import by_topic

with suppress(ImportError):  # a missing library is reported before the module starts (_module/run.py)
    from kafka.protocol.consumer import ListOffsetsRequest, ListOffsetsResponse

_DEBUGGING_REPLICA = -2
"""Neither a consumer nor a follower: a broker answers it for its own log even if it is not the leader."""
_READ_UNCOMMITTED = 0
_HEAD = struct.Struct(">ib")
_QUESTION = struct.Struct(">iiqB")
"""Partition, current leader epoch (-1: not checked), timestamp, no tags."""
_ANSWER = struct.Struct(">ihqqiB")
"""Partition, error code, timestamp, offset, leader epoch, number of tags."""
_THROTTLE = struct.Struct(">i")


class HeldOffset(IntEnum):
    """An offset of a broker's own replica. The value is the timestamp that asks for it."""

    LOG_END = -1
    LOG_START = -2
    NEWEST = -3
    """The record with the greatest timestamp (KIP-734)."""
    LOCAL_START = -4
    """For a tiered topic: the first offset on the broker's own disk (KIP-405, version 8)."""
    LAST_TIERED = -5
    """For a tiered topic: the last offset in the tier, as far as the broker knows (KIP-1005, version 9)."""

    @property
    def version(self) -> int:
        """The version of the request. Kafka 3.9 to 4.4 offer both, and their encoding is the same."""
        return 9 if self in (HeldOffset.LOCAL_START, HeldOffset.LAST_TIERED) else 7


class OffsetAnswer(NamedTuple):
    """One partition's answer: an offset with the partition's current epoch on that broker, or an error code."""

    error_code: int
    offset: int
    current_leader_epoch: int
    time_ms: int = -1
    """The timestamp of the record at this offset, where one was asked for by its time. -1: there is no such record."""


_offset_answer = tuple_maker(OffsetAnswer)
Answers: TypeAlias = "dict[TopicPartition, list[OffsetAnswer]]"


def held_offsets(connection: Connection, partitions: Sequence[TopicPartition], which: HeldOffset) -> Answers:
    """Send ``offsets_request`` and return the answers. Raises BrokerCallError."""
    answers: Answers = connection.call(offsets_request(partitions, which)).value
    return answers


def only_answer(answers: Sequence[OffsetAnswer]) -> OffsetAnswer | None:
    """Return the answer about a partition, if it is the only one, and no error."""
    return answers[0] if len(answers) == 1 and not answers[0].error_code else None


def only_offset(answers: Sequence[OffsetAnswer]) -> OffsetAnswer | None:
    """Return the same answer, if it has an offset: that of a replica without one is negative."""
    one = only_answer(answers)
    return one if one is not None and one.offset >= 0 else None


def only_answers(answers: Mapping[TopicPartition, Sequence[OffsetAnswer]]) -> dict[TopicPartition, OffsetAnswer]:
    """Return the answers about the partitions that were answered once, and without an error."""
    return {partition: one for partition, each in answers.items() if (one := only_answer(each)) is not None}


def known_offsets(answers: Mapping[TopicPartition, Sequence[OffsetAnswer]]) -> dict[TopicPartition, int]:
    """Return the offsets of these partitions."""
    return {partition: each.offset for partition, each in only_answers(answers).items()}


def offsets_at(connection: Connection, times_ms: Mapping[TopicPartition, int]) -> Answers:
    """Return the first record of each replica at its time or after it. Raises BrokerCallError."""
    questions = {
        topic: [_QUESTION.pack(number, -1, times_ms[to_topic_partition((topic, number))], 0) for number in numbers]
        for topic, numbers in by_topic(times_ms).items()
    }
    answers: Answers = connection.call(_request(questions, HeldOffset.NEWEST.version)).value
    return answers


def offsets_request(
    partitions: Sequence[TopicPartition], which: HeldOffset, asked_by: int = _DEBUGGING_REPLICA
) -> BulkRequest[Answers]:
    """Ask for this offset of each replica that this broker holds. LAST_TIERED is negative if the broker does not know.

    As ``CONSUMER``, LOG_END is the high watermark, and brokers that do not lead a partition refuse. The epoch beside
    LOG_END is the partition's current leader epoch, not the last written one. The lists show if a broker answers a
    partition more than once, which is an error.
    """
    timestamp = which.value
    questions = {
        topic: [_QUESTION.pack(number, -1, timestamp, 0) for number in numbers]
        for topic, numbers in by_topic(partitions).items()
    }
    return _request(questions, which.version, asked_by)


def _request(
    questions: Mapping[str, Sequence[bytes]], version: int, asked_by: int = _DEBUGGING_REPLICA
) -> BulkRequest[Answers]:
    """Return the request with these encoded questions of each topic."""
    body = b"".join([_HEAD.pack(asked_by, _READ_UNCOMMITTED), encode_topics(questions), b"\0"])
    return BulkRequest(
        ListOffsetsRequest, ListOffsetsResponse, {version: RequestVersion(body, _read_answer)}, _convert_answer
    )


def _read_answer(view: memoryview) -> BulkAnswer[Answers]:
    answers: Answers = {}

    def read_partitions(view: memoryview, position: int, count: int, topic: str) -> int:
        end = position + count * _ANSWER.size
        for number, code, time_ms, offset, epoch, tags in _ANSWER.iter_unpack(view[position:end]):
            if tags:
                raise UnusualAnswerError
            key = to_topic_partition((topic, number))
            answers.setdefault(key, []).append(_offset_answer((code, offset, epoch, time_ms)))
        return end

    (throttle_time_ms,) = _THROTTLE.unpack_from(view)
    read_topics(view, _THROTTLE.size, read_partitions)
    return BulkAnswer(throttle_time_ms, answers)


def _convert_answer(response: Any) -> Answers:
    answers: Answers = {}
    for topic in response.topics:
        for partition in topic.partitions:
            answers.setdefault(TopicPartition(topic.name, partition.partition_index), []).append(
                OffsetAnswer(partition.error_code, partition.offset, partition.leader_epoch, partition.timestamp)
            )
    return answers
