# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What a partition is, and what the metadata says of it. Standard library only: every room may import this one."""

from __future__ import annotations

from dataclasses import dataclass

NO_LEADER = -1
"""Kafka's leader id for "this partition has no leader"."""


@dataclass(frozen=True, slots=True, order=True)
class TopicPartition:
    """One partition of a topic. Orders by topic name, then by partition number."""

    topic: str
    partition: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"


@dataclass(frozen=True, slots=True)
class PartitionState:
    """A partition as DescribeTopicPartitions (API key 75) tells it.

    ``elr`` and ``last_known_elr`` (KIP-966) are None where the broker does not say, which is not the same as empty.
    The ISR of an offline partition may still name the dead (Cruise Control 1828): liveness is ``leader_id``.
    """

    topic: str
    partition: int
    topic_id: str
    """Kafka's own text form: 22 characters of URL-safe base64."""
    leader_id: int
    leader_epoch: int
    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    elr: tuple[int, ...] | None
    last_known_elr: tuple[int, ...] | None
    offline_replicas: tuple[int, ...]
    is_internal: bool = False

    @property
    def topic_partition(self) -> TopicPartition:
        return TopicPartition(self.topic, self.partition)

    @property
    def is_offline(self) -> bool:
        """True when the partition has no leader."""
        return self.leader_id == NO_LEADER
