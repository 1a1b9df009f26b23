# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Define what the controllers' metadata log says of partitions, brokers and configs over time. Standard library only.

Times are milliseconds of POSIX time by the active controller's clock. Only times of one log are compared.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import pairwise
from typing import NamedTuple

from .partition import NO_LEADER, TopicPartition


class PartitionMoment(NamedTuple):
    """The state of a partition from one change on, until the next one. None is not known: no record says it."""

    at_ms: int
    leader_id: int | None = None
    """-1 if the partition has no leader."""
    isr: tuple[int, ...] | None = None
    elr: tuple[int, ...] | None = None
    replicas: tuple[int, ...] | None = None
    is_unclean: bool = False
    """The change elected a leader that was not in sync."""
    begins_epoch: bool = False
    """The change began a leader epoch: the leader's clocks of how far its followers are began anew."""
    leader_epoch: int | None = None


class BrokerChange(StrEnum):
    """What the log says of a broker."""

    REGISTERED = "registered"
    """It started: a new process, with a new broker epoch."""
    UNFENCED = "unfenced"
    FENCED = "fenced"
    SHUTTING_DOWN = "shutting_down"
    """It asked for a controlled shutdown, and the controller moved its leaderships."""
    LOG_DIR_FAILED = "log_dir_failed"
    """One of its log directories went offline while it ran (KIP-858)."""
    UNREGISTERED = "unregistered"


class BrokerMoment(NamedTuple):
    """A change of a broker."""

    at_ms: int
    change: BrokerChange
    broker_epoch: int
    directories: tuple[str, ...] = ()
    """Of REGISTERED: the ids of its log directories. Empty if the record does not name them."""
    is_change: bool = True
    """False: a snapshot says it. The broker registered earlier."""


class ConfigMoment(NamedTuple):
    """The value of a config from one change on. None: it was deleted."""

    at_ms: int
    value: str | None
    is_change: bool = True
    """False: a snapshot says it. The value is then older than ``at_ms``, if the log has no change before."""
    begins_topic: bool = False
    """A topic of this name was created anew. What is before is of a deleted one."""


class ConfigKey(NamedTuple):
    """One config of a topic, of a broker, or of the cluster default (an empty broker name)."""

    resource_type: int
    resource: str
    name: str


_NEW_CONTROLLER_MS = 30_000
"""controller.socket.timeout.ms: how long a broker may wait for a controller that is gone before it asks the next."""


@dataclass(frozen=True, slots=True)
class PartitionHistory:
    """The states of one partition, oldest first. Every moment ends where the next one begins."""

    moments: tuple[PartitionMoment, ...] = ()
    begins_with_creation: bool = False
    """The first moment is the creation of the partition."""

    def spans(self, until_ms: int) -> Iterator[tuple[PartitionMoment, int]]:
        """Yield each moment and the time at which it ended; ``until_ms`` for the last one."""
        for moment, following in pairwise(self.moments):
            yield moment, following.at_ms
        if self.moments:
            yield self.moments[-1], until_ms

    @property
    def replicas(self) -> frozenset[int]:
        """Return the replicas of the last moment. Empty if the log does not say them."""
        return frozenset(self.moments[-1].replicas or ())

    @property
    def leader_lost_at_ms(self) -> int | None:
        """Return when the partition lost its leader. None if it has one, or if the log does not say."""
        lost = None
        for before, after in pairwise(self.moments):
            if after.leader_id == NO_LEADER and before.leader_id != NO_LEADER:
                lost = after.at_ms
            elif after.leader_id != NO_LEADER:
                lost = None
        return lost

    @property
    def last_leader_id(self) -> int | None:
        """Return the last broker that led. None if the log does not say."""
        led = [each.leader_id for each in self.moments if each.leader_id not in (None, NO_LEADER)]
        return led[-1] if led else None

    @property
    def alone_since_ms(self) -> int | None:
        """Return since when the last leader was the only member of the ISR, until it was lost.

        None if it was never alone, or if the log does not say. It is the last such time without interruption.
        """
        since = None
        for moment in self.moments:
            if moment.leader_id == NO_LEADER:
                continue
            is_alone = moment.isr is not None and len(moment.isr) == 1
            since = (since if since is not None else moment.at_ms) if is_alone else None
        return since

    def left_isr_at_ms(self, broker_id: int) -> int | None:
        """Return when this broker left the ISR for the last time. None if it is in it, or if the log does not say."""
        left, was_in = None, False
        for moment in self.moments:
            if moment.isr is None:
                continue
            is_in = broker_id in moment.isr
            if was_in and not is_in:
                left = moment.at_ms
            elif is_in:
                left = None
            was_in = is_in
        return left

    def left_elr_at(self, broker_id: int, at_ms: int) -> bool:
        """Return whether a change at this time took the broker out of the ELR, and did not bring it into the ISR."""
        return any(
            after.at_ms == at_ms
            and broker_id in (before.elr or ())
            and broker_id not in (*(after.elr or ()), *(after.isr or ()))
            for before, after in pairwise(self.moments)
        )


@dataclass(frozen=True, slots=True)
class MetadataHistory:
    """What was read of the metadata log."""

    begins_at_ms: int
    """The time of the oldest batch, or of the snapshot, that was read. Earlier changes are not known."""
    ends_at_ms: int
    partitions: Mapping[TopicPartition, PartitionHistory] = field(default_factory=dict)
    brokers: Mapping[int, tuple[BrokerMoment, ...]] = field(default_factory=dict)
    configs: Mapping[ConfigKey, tuple[ConfigMoment, ...]] = field(default_factory=dict)
    has_base: bool = False
    """The state at some moment is known as a whole: the log was read from its start, or with a snapshot."""
    begins_at_start: bool = False
    """The log was read from its first offset."""
    reads_all: bool = False
    """All was read that is left of the log. Its retention may have removed what was before."""
    ends_early: bool = False
    """It is from a copy that ends before now: what happened since is not known."""
    not_decoded: int = 0
    """Records of types or versions that this collection does not know."""
    disordered_until_ms: int = 0
    """Until then, times do not follow the order of the log, because the controllers' clocks differ. 0: they do."""
    gaps: tuple[tuple[int, int], ...] = ()
    """From when until when no controller was active, oldest first. An active one writes twice a second (NoOpRecord)."""
    host_boots: Mapping[int, int] = field(default_factory=dict)
    """When the hosts of brokers booted, in milliseconds by their own clocks. The operator says so, not the log."""
    silence_ms: int | None = None
    """More than a broker can be silent before an active controller fences it. None is not known."""

    def before_gaps(self, until_ms: int, duration_ms: int) -> int:
        """Return the time so long before another one, without the times in which no controller was active."""
        since = until_ms - duration_ms
        for begin, end in reversed(self.gaps):
            if begin < until_ms and end > since:
                since -= min(end, until_ms) - begin + _NEW_CONTROLLER_MS
        return since
