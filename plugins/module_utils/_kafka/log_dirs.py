# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Read the log directories of a broker, and the size of each replica in them (DescribeLogDirs, API key 35)."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, NamedTuple

from .._model.partition import TopicPartition, to_topic_partition, tuple_maker
from . import error_codes
from .bulk import (
    BulkAnswer,
    BulkRequest,
    RequestVersion,
    UnusualAnswerError,
    encode_topics,
    read_each_topic,
    read_size,
    read_text,
    skip_empty_tags,
)
from .connection import Connection
from .messages import by_topic

with suppress(ImportError):  # a missing library is reported before the module starts (_module/run.py)
    from kafka.protocol.admin import DescribeLogDirsRequest, DescribeLogDirsResponse

_VERSION = 3
"""The first version with an error code for the whole answer. Offered by Kafka 3.9 to 4.4."""
_ALL_TOPICS_NO_TAGS = b"\0\0"
_QUESTION = struct.Struct(">i")
_HEAD = struct.Struct(">ih")
"""Throttle time in ms, error code."""
_DIRECTORY = struct.Struct(">h")
"""Error code."""
_ANSWER = struct.Struct(">iqq?B")
"""Partition, size in bytes, offset lag, whether it is a future replica, number of tags."""


class ReplicaOnDisk(NamedTuple):
    """One replica in a log directory."""

    log_dir: str
    size_bytes: int
    is_future: bool


_replica_on_disk = tuple_maker(ReplicaOnDisk)


@dataclass(frozen=True, slots=True)
class LogDirs:
    """The log directories of a broker.

    ``replicas`` may have a current and a future replica of the same partition. ``offline`` maps a directory to its
    error. ``refusal`` is the reason if nothing could be read (it needs DESCRIBE on the cluster), and empty otherwise.
    """

    replicas: dict[TopicPartition, tuple[ReplicaOnDisk, ...]]
    offline: dict[str, str]
    refusal: str

    def current_replica(self, partition: TopicPartition) -> ReplicaOnDisk | None:
        """Return the replica that the broker uses, not one that moves to another directory; None if it has none."""
        return next((each for each in self.replicas.get(partition, ()) if not each.is_future), None)


def describe_log_dirs(connection: Connection, partitions: Sequence[TopicPartition] | None) -> LogDirs:
    """Send ``log_dirs_request`` and return the answer. Raises BrokerCallError."""
    found: LogDirs = connection.call(log_dirs_request(partitions)).value
    return found


def log_dirs_request(partitions: Sequence[TopicPartition] | None) -> BulkRequest[LogDirs]:
    """Ask for the given replicas of one broker, or, with None, for all of them, also of topics hidden from us."""
    body = _ALL_TOPICS_NO_TAGS
    if partitions is not None:
        topics = {topic: [*map(_QUESTION.pack, numbers)] for topic, numbers in by_topic(partitions).items()}
        body = encode_topics(topics) + b"\0"
    return BulkRequest(
        DescribeLogDirsRequest, DescribeLogDirsResponse, {_VERSION: RequestVersion(body, _read_answer)}, _convert_answer
    )


def _read_answer(view: memoryview) -> BulkAnswer[LogDirs]:
    throttle_time_ms, top_error = _HEAD.unpack_from(view)
    if top_error:
        raise UnusualAnswerError
    replicas: dict[TopicPartition, tuple[ReplicaOnDisk, ...]] = {}
    offline: dict[str, str] = {}
    directories, position = read_size(view, _HEAD.size)
    for _directory in range(directories):
        (code,) = _DIRECTORY.unpack_from(view, position)
        log_dir, position = read_text(view, position + _DIRECTORY.size)
        if code:
            offline[log_dir] = error_codes.describe_error(code)

        def read_partitions(view: memoryview, position: int, count: int, topic: str, log_dir: str = log_dir) -> int:
            end = position + count * _ANSWER.size
            for number, size, _lag, is_future, tags in _ANSWER.iter_unpack(view[position:end]):
                if tags:
                    raise UnusualAnswerError
                key = to_topic_partition((topic, number))
                found = (_replica_on_disk((log_dir, size, is_future)),)
                # While a replica moves to another directory, both directories have it.
                replicas[key] = replicas[key] + found if key in replicas else found
            return end

        position = skip_empty_tags(view, read_each_topic(view, position, read_partitions))
    if skip_empty_tags(view, position) != len(view):
        raise UnusualAnswerError
    return BulkAnswer(throttle_time_ms, LogDirs(replicas, offline, "" if directories else _refusal()))


def _convert_answer(response: Any) -> LogDirs:
    if response.error_code:
        return LogDirs({}, {}, error_codes.explain_error("DescribeLogDirs", response.error_code))
    replicas: dict[TopicPartition, tuple[ReplicaOnDisk, ...]] = {}
    offline: dict[str, str] = {}
    for directory in response.results:
        if directory.error_code:
            offline[directory.log_dir] = error_codes.describe_error(directory.error_code)
        for topic in directory.topics:
            for partition in topic.partitions:
                key = TopicPartition(topic.name, partition.partition_index)
                found = ReplicaOnDisk(directory.log_dir, partition.partition_size, bool(partition.is_future_key))
                replicas[key] = (*replicas.get(key, ()), found)
    return LogDirs(replicas, offline, "" if response.results else _refusal())


def _refusal() -> str:
    """Return the reason for an answer without directories: every broker has one, so the authorization is missing."""
    return error_codes.explain_error("DescribeLogDirs", error_codes.CLUSTER_AUTHORIZATION_FAILED)
