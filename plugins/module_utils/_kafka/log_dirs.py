# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Where a broker keeps its replicas, and how large they are (DescribeLogDirs, API key 35)."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

from .._model.partition import TopicPartition
from . import error_codes
from .messages import by_topic
from .wire import Connection

with suppress(ImportError):  # a missing library is named before anything is done (_module/run.py)
    from kafka.protocol.admin import DescribeLogDirsRequest


@dataclass(frozen=True, slots=True)
class ReplicaOnDisk:
    """One replica in a log directory."""

    log_dir: str
    size_bytes: int
    is_future: bool


@dataclass(frozen=True, slots=True)
class LogDirs:
    """What a broker says of its log directories.

    ``replicas`` may hold a current and a future replica of the same partition. ``offline`` maps a directory to its
    error. ``refusal`` is why nothing could be read (DESCRIBE on the cluster is needed), and is empty otherwise.
    """

    replicas: dict[TopicPartition, tuple[ReplicaOnDisk, ...]]
    offline: dict[str, str]
    refusal: str


def describe_log_dirs(
    connection: Connection, partitions: Sequence[TopicPartition] | None, *, timeout_ms: int | None = None
) -> LogDirs:
    """Describe the given replicas of one broker; None for all of them, those of topics that are hidden from us too.

    Raises BrokerCallError.
    """
    message = DescribeLogDirsRequest
    wanted = None
    if partitions is not None:
        wanted = [
            message.DescribableLogDirTopic(topic=topic, partitions=numbers)
            for topic, numbers in by_topic(partitions).items()
        ]
    request = message(topics=wanted)
    response = connection.call(request, timeout_ms=timeout_ms)
    top_error = getattr(response, "error_code", 0)
    if top_error:
        return LogDirs({}, {}, error_codes.explained("DescribeLogDirs", top_error))
    replicas: dict[TopicPartition, tuple[ReplicaOnDisk, ...]] = {}
    offline: dict[str, str] = {}
    for directory in response.results:
        if directory.error_code:
            offline[directory.log_dir] = error_codes.described(directory.error_code)
        for topic in directory.topics:
            for partition in topic.partitions:
                key = TopicPartition(topic.name, partition.partition_index)
                found = ReplicaOnDisk(directory.log_dir, partition.partition_size, bool(partition.is_future_key))
                replicas[key] = (*replicas.get(key, ()), found)
    # Before version 3 a broker answered without any directory where the authorization was missing.
    refusal = (
        "" if response.results else error_codes.explained("DescribeLogDirs", error_codes.CLUSTER_AUTHORIZATION_FAILED)
    )
    return LogDirs(replicas, offline, refusal)
