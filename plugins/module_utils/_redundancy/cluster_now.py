# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Define what a plan of new replicas is made from: what is wanted, and the cluster at one moment. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from .._model.partition import Broker, BrokerState, PartitionState, Reassignment, TopicPartition


@dataclass(slots=True)
class DirWithSpace:
    """A log directory of a broker that may get replicas. Planned replicas are added to it."""

    path: str
    total_bytes: int
    """Of its volume."""
    free_bytes: int
    """Of its volume, when it was read."""
    held_bytes: int
    """What its replicas take."""
    to_come_bytes: int
    """What running copies, and planned replicas, will still take."""
    replicas: int

    @property
    def usable_bytes(self) -> int:
        return max(0, self.free_bytes - self.to_come_bytes)


@dataclass(frozen=True, slots=True, kw_only=True)
class WantedReplicas:
    """Which replicas are to be replaced."""

    lost_brokers: frozenset[int] = frozenset()
    all_under_replicated: bool = False
    partitions: frozenset[TopicPartition] | None = None
    """The partitions to look at; None for all."""
    deprioritized: frozenset[int] = frozenset()
    """Brokers that should not lead: they do not get the first place of an order."""
    space_margin_percent: int = 10
    """How much of a volume stays free."""

    @property
    def only_of_lost_brokers(self) -> bool:
        """Return whether only replicas of brokers that were declared lost are to be replaced."""
        return not self.all_under_replicated and self.partitions is None


@dataclass(frozen=True, kw_only=True)
class ClusterNow:
    """The cluster at one moment."""

    states: tuple[PartitionState, ...]
    brokers: tuple[Broker, ...]
    reassignments: Mapping[TopicPartition, Reassignment]
    min_isr: Mapping[str, int]
    sizes: Mapping[TopicPartition, int]
    """The bytes of the largest copy on a broker that answered. A partition without one is missing."""
    log_dirs: Mapping[int, Sequence[DirWithSpace]]
    """The log directories that may get replicas, by broker: online, not cordoned, and of known space."""
    why_no_dirs: Mapping[int, str] = field(default_factory=dict)
    """Why a live broker has no such directory."""
    hidden: tuple[TopicPartition, ...] = ()
    """Partitions on the disks of live brokers whose topics our principal may not see."""
    registered: frozenset[int] | None = None
    """All registered brokers. None if the cluster does not list fenced ones (before Kafka 4.0)."""

    @cached_property
    def live(self) -> frozenset[int]:
        """The brokers that are unfenced and answered."""
        return frozenset(each.broker_id for each in self.brokers if each.state is BrokerState.ONLINE)
