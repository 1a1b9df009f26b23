# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What is to be done for each requested partition. Standard library only."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from ansible_collections.kafkaops.recovery.plugins.module_utils.model.partition import TopicPartition
from ansible_collections.kafkaops.recovery.plugins.module_utils.recovery.candidate import Candidate, SilentReplica
from ansible_collections.kafkaops.recovery.plugins.module_utils.recovery.expected_loss import ExpectedLoss


class Status(StrEnum):
    """How a requested partition ended. Every one has exactly one, and a reason that a person can act on."""

    RECOVERED = "recovered"
    WOULD_RECOVER = "would_recover"
    """Check mode, or a plan only: the election that would be asked for."""
    ALREADY_ONLINE = "already_online"
    REFUSED = "refused"
    """Left alone on purpose: a rule, or the world changed since the plan."""
    FAILED = "failed"
    UNRECOVERABLE = "unrecoverable"
    """No replica is left that could lead."""
    UNKNOWN = "unknown"
    """Not found out: no such partition, not authorised, or an answer that never came."""


DONE = frozenset({Status.RECOVERED, Status.ALREADY_ONLINE})
"""A run that asked for recovery succeeds when every partition ended in one of these."""

DONE_OR_FORESEEN = DONE | {Status.WOULD_RECOVER}
"""In check mode, and in a plan, this is as good."""


class ElectionType(StrEnum):
    """Kafka's own (org.apache.kafka.common.ElectionType)."""

    PREFERRED = "preferred"
    """An ordinary election: the controller takes a member of the ISR or ELR, so that no committed record is lost."""
    UNCLEAN = "unclean"
    """The designated leader is elected, whatever others hold."""


@dataclass(frozen=True, slots=True)
class PlannedElection:
    """One election, with the world it was planned in."""

    topic: str
    partition: int
    topic_id: str
    leader_epoch: int
    """The partition's leader epoch when the plan was made."""
    replicas: tuple[int, ...]
    """The replica list in its original order; it is put back exactly."""
    isr: tuple[int, ...]
    elr: tuple[int, ...] | None
    last_known_elr: tuple[int, ...] | None
    designated_leader: int
    reason: str
    candidates: tuple[Candidate, ...]
    silent: tuple[SilentReplica, ...]
    losses: tuple[ExpectedLoss, ...] = ()
    """One for each candidate, in their order."""
    election_type: ElectionType = ElectionType.UNCLEAN

    @property
    def topic_partition(self) -> TopicPartition:
        return TopicPartition(self.topic, self.partition)


@dataclass(frozen=True, slots=True)
class LeftAlone:
    """A requested partition for which no election is planned, and why."""

    topic: str
    partition: int
    status: Status
    reason: str
    topic_id: str | None = None
    leader_id: int | None = None
    leader_epoch: int | None = None
    replicas: tuple[int, ...] = ()
    candidates: tuple[Candidate, ...] = ()
    silent: tuple[SilentReplica, ...] = ()
    losses: tuple[ExpectedLoss, ...] = ()

    @property
    def topic_partition(self) -> TopicPartition:
        return TopicPartition(self.topic, self.partition)


@dataclass(frozen=True, slots=True)
class Plan:
    """All that one run intends. Partitions are in order of topic, then number."""

    cluster_id: str
    created_at: str
    """UTC, ISO 8601, seconds. Never compared: clock skew must have no effect."""
    elections: tuple[PlannedElection, ...]
    left_alone: tuple[LeftAlone, ...]
