# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Offsets that a replica tells of itself (ListOffsets, API key 2, as the debugging replica)."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from ansible_collections.kafkaops.recovery.plugins.module_utils.kafka.batches import by_topic
from ansible_collections.kafkaops.recovery.plugins.module_utils.kafka.wire import Connection
from ansible_collections.kafkaops.recovery.plugins.module_utils.model.partition import TopicPartition

with suppress(ImportError):  # a missing library is told by name before anything is done (glue/failures.py)
    from kafka.protocol.consumer import ListOffsetsRequest

_DEBUGGING_REPLICA = -2
"""Not a consumer and not a follower: a broker answers it for its own log without being the leader."""
_LATEST = -1
_EARLIEST = -2
_MAX_VERSION = 7


@dataclass(frozen=True, slots=True)
class OffsetAnswer:
    """One partition's answer: an offset with the partition's current epoch on that broker, or an error code."""

    error_code: int
    offset: int
    current_leader_epoch: int


def log_end_offsets(
    connection: Connection, partitions: Sequence[TopicPartition], *, timeout_ms: int | None = None
) -> dict[TopicPartition, list[OffsetAnswer]]:
    """Log end offset of each replica that this broker holds.

    The epoch that comes with it is the partition's current one, not the last written one. A well-behaved broker
    answers each partition once; the list shows when it does not.

    Raises BrokerCallError.
    """
    return _list_offsets(connection, partitions, _LATEST, timeout_ms)


def log_start_offsets(
    connection: Connection, partitions: Sequence[TopicPartition], *, timeout_ms: int | None = None
) -> dict[TopicPartition, list[OffsetAnswer]]:
    """Log start offset of each replica that this broker holds.

    Raises BrokerCallError.
    """
    return _list_offsets(connection, partitions, _EARLIEST, timeout_ms)


def _list_offsets(
    connection: Connection, partitions: Sequence[TopicPartition], timestamp: int, timeout_ms: int | None
) -> dict[TopicPartition, list[OffsetAnswer]]:
    message = ListOffsetsRequest
    topic_message = message.ListOffsetsTopic
    request = message(
        replica_id=_DEBUGGING_REPLICA,
        isolation_level=0,
        topics=[
            topic_message(
                name=topic,
                partitions=[
                    topic_message.ListOffsetsPartition(
                        partition_index=number, current_leader_epoch=-1, timestamp=timestamp
                    )
                    for number in numbers
                ],
            )
            for topic, numbers in by_topic(partitions).items()
        ],
        max_version=_MAX_VERSION,
    )
    return _answers(connection.call(request, timeout_ms=timeout_ms))


def _answers(response: Any) -> dict[TopicPartition, list[OffsetAnswer]]:
    answers: dict[TopicPartition, list[OffsetAnswer]] = {}
    for topic in response.topics:
        for partition in topic.partitions:
            answers.setdefault(TopicPartition(topic.name, partition.partition_index), []).append(
                OffsetAnswer(partition.error_code, partition.offset, partition.leader_epoch)
            )
    return answers
