# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What is to be done for each requested partition. Standard library only.

How a run ended, for each partition that was asked for. Standard library only.

How partitions end, or would end, without anything being done. Standard library only.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Annotated, TypeAlias

from .._model.fields import (
    INT32_MAX,
    SCHEMA_VERSION,
    BrokerId,
    ClusterId,
    LeaderEpoch,
    LeaderId,
    Meta,
    PartitionIndex,
    Replicas,
    SchemaVersion,
    Time,
    TopicId,
    TopicName,
)
from .._model.partition import NO_LEADER, Broker, PartitionState, TopicPartition
from .._model.run import RunMode, counted
from .candidate import Candidate, SilentReplicas
from .expected_loss import ExpectedLosses, Records
from .strategy import Strategy

_Isr: TypeAlias = Annotated[Replicas, Meta(description="the ISR is a list of broker ids")]
_Elr: TypeAlias = Annotated[Replicas, Meta(description="the ELR is a list of broker ids")]
_LastKnownElr: TypeAlias = Annotated[Replicas, Meta(description="the last known ELR is a list of broker ids")]
_OfflineReplicas: TypeAlias = Annotated[
    Replicas, Meta(description="the offline replicas are a list of broker ids of the replica list")
]
_Dropped: TypeAlias = Annotated[Replicas, Meta(description="the dropped replicas are a list of broker ids")]

INTERNAL_NOTE = "internal topic: what is lost is the cluster's own state, such as committed offsets or transactions"


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
    """Not found out: no such partition, not authorized, or an answer that never came."""


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

    topic: TopicName
    partition: PartitionIndex
    designated_leader: BrokerId
    topic_id: TopicId
    leader_epoch: LeaderEpoch
    """The partition's leader epoch when the plan was made."""
    replicas: Annotated[Replicas, Meta(description="the replicas are a list of at least one broker id", min_items=1)]
    """The replica list in its original order; it is put back exactly."""
    isr: _Isr
    elr: _Elr | None
    last_known_elr: _LastKnownElr | None
    reason: str
    candidates: tuple[Candidate, ...]
    silent: SilentReplicas
    losses: ExpectedLosses = ()
    """One for each candidate, in their order."""
    election_type: ElectionType = ElectionType.UNCLEAN
    offline_replicas: _OfflineReplicas = ()
    """Replicas that the controller would not elect when the plan was made."""
    strategy: Strategy | None = None
    """What the plan was made with, and is judged by again before the election. None where no replica was compared."""
    max_lost_records: Records | None = None
    """The most that the election may be known to lose. None for no limit."""
    dropped: _Dropped = ()
    """Unregistered brokers that the new order leaves out, because the controller refuses it otherwise."""

    @property
    def topic_partition(self) -> TopicPartition:
        return TopicPartition(self.topic, self.partition)

    @property
    def state(self) -> PartitionState:
        """The partition as it was when the plan was made."""
        return PartitionState(
            self.topic,
            self.partition,
            self.topic_id,
            NO_LEADER,
            self.leader_epoch,
            self.replicas,
            self.isr,
            self.elr,
            self.last_known_elr,
            self.offline_replicas,
        )


@dataclass(frozen=True, slots=True)
class LeftAlone:
    """A requested partition for which no election is planned, and why."""

    topic: TopicName
    partition: PartitionIndex
    status: Status
    reason: str
    topic_id: TopicId | None = None
    leader_id: LeaderId | None = None
    leader_epoch: LeaderEpoch | None = None
    replicas: Replicas = ()
    candidates: tuple[Candidate, ...] = ()
    silent: SilentReplicas = ()
    losses: ExpectedLosses = ()
    isr: _Isr | None = None
    elr: _Elr | None = None
    last_known_elr: _LastKnownElr | None = None

    @property
    def topic_partition(self) -> TopicPartition:
        return TopicPartition(self.topic, self.partition)


def leave(state: PartitionState, status: Status, reason: str) -> LeftAlone:
    """Return a partition that is left alone, as it is seen."""
    return LeftAlone(
        state.topic,
        state.partition,
        status,
        reason,
        topic_id=state.topic_id,
        leader_id=state.leader_id,
        leader_epoch=state.leader_epoch,
        replicas=state.replicas,
        isr=state.isr,
        elr=state.elr,
        last_known_elr=state.last_known_elr,
    )


@dataclass(frozen=True, slots=True)
class Plan:
    """All that one run intends. Partitions are in order of topic, then number."""

    schema_version: SchemaVersion = field(default=SCHEMA_VERSION, init=False)
    cluster_id: ClusterId
    created_at: Time
    """UTC, ISO 8601, seconds. Never compared: clock skew must have no effect."""
    created_by: Annotated[str, Meta("what made the plan")] = field(default="kafkaops.recovery", init=False)
    elections: Annotated[
        tuple[PlannedElection, ...], Meta(description="the planned elections are a list", name="partitions")
    ]
    left_alone: Annotated[
        tuple[Annotated[LeftAlone, Meta(description="a partition that is left alone is an object")], ...],
        Meta(description="what is left alone is a list"),
    ]


@dataclass(frozen=True, slots=True)
class Outcome:
    """How one partition ended. What was not found out is None; a leader of -1 is known to be none."""

    topic: TopicName
    partition: PartitionIndex
    status: Status
    reason: str
    """What a person can act on."""
    topic_id: TopicId | None = None
    designated_leader: BrokerId | None = None
    """None where no election was planned."""
    leader_before: LeaderId | None = None
    leader_after: LeaderId | None = None
    leader_epoch_before: LeaderEpoch | None = None
    leader_epoch_after: LeaderEpoch | None = None
    replicas: Replicas = ()
    """The replica list before the run, in its order."""
    replicas_after: Replicas | None = None
    candidates: tuple[Candidate, ...] = ()
    silent: SilentReplicas = ()
    losses: ExpectedLosses = ()
    """What electing each candidate was expected to lose, in their order."""
    isr: _Isr | None = None
    """The ISR before the run, and so on."""
    elr: _Elr | None = None
    last_known_elr: _LastKnownElr | None = None
    dropped: _Dropped = ()
    """Unregistered brokers that the new order left out, or would: they are not put back."""

    @property
    def topic_partition(self) -> TopicPartition:
        return TopicPartition(self.topic, self.partition)


class AftermathKind(StrEnum):
    """What an application or operator has to look at after an election."""

    COMMITTED_BEYOND_END = "committed_beyond_end"
    """A group committed an offset that lies beyond the new log end: it read records that are lost."""
    OPEN_TRANSACTION = "open_transaction"
    """The new leader's log holds records of a transaction, and no marker that ends it."""
    WILL_TRUNCATE = "will_truncate"
    """A replica deletes records when it follows the new leader."""
    DROPPED = "dropped"
    """A replica was dropped. Its broker keeps the copy, and Kafka does not read it any more."""
    NOT_KNOWN = "not_known"
    """A question that nobody answered."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AftermathFinding:
    """One thing that an election left behind, or that could not be found out."""

    kind: Annotated[AftermathKind, Meta("a kind of finding")]
    topic: TopicName | None = None
    """None where it is not about one partition."""
    partition: PartitionIndex | None = None
    explanation: str


_Partitions: TypeAlias = Annotated[int, Meta("a number of partitions", minimum=0, maximum=INT32_MAX)]


@dataclass(frozen=True, slots=True)
class Report:
    """One run, in order of topic, then partition."""

    schema_version: SchemaVersion = field(default=SCHEMA_VERSION, init=False)
    cluster_id: ClusterId
    started_at: Time
    finished_at: Time
    mode: RunMode
    summary: Annotated[Mapping[str, _Partitions], Meta(description="the summary is an object", keys=Status)] = field(
        init=False
    )
    """How many partitions ended in each status."""
    brokers: tuple[Broker, ...]
    outcomes: Annotated[tuple[Outcome, ...], Meta(name="partitions")]
    aftermath: Annotated[
        tuple[Annotated[AftermathFinding, Meta(description="a finding is an object")], ...],
        Meta(description="what is left behind is a list"),
    ] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "summary", counted((outcome.status for outcome in self.outcomes), Status))

    @property
    def is_success(self) -> bool:
        """True when every requested partition ended recovered or already online."""
        return all(outcome.status in DONE for outcome in self.outcomes)


def outcomes_of_plan(plan: Plan) -> tuple[Outcome, ...]:
    """One outcome for each partition of a plan that is not carried out, in order of topic, then partition."""
    outcomes = [*map(_foreseen, plan.elections), *map(left_alone, plan.left_alone)]
    return tuple(sorted(outcomes, key=lambda outcome: outcome.topic_partition))


def outcome_of(
    election: PlannedElection,
    status: Status,
    reason: str,
    *,
    before: PartitionState | None = None,
    after: PartitionState | None = None,
) -> Outcome:
    """Return how a planned election ended. ``before`` and ``after`` are the partition as it was seen, if it was."""
    return Outcome(
        topic=election.topic,
        partition=election.partition,
        status=status,
        reason=reason,
        topic_id=election.topic_id,
        designated_leader=election.designated_leader,
        leader_before=before.leader_id if before else None,
        leader_after=after.leader_id if after else None,
        leader_epoch_before=before.leader_epoch if before else None,
        leader_epoch_after=after.leader_epoch if after else None,
        replicas=election.replicas,
        replicas_after=after.replicas if after else None,
        candidates=election.candidates,
        silent=election.silent,
        losses=election.losses,
        isr=before.isr if before else election.isr,
        elr=before.elr if before else election.elr,
        last_known_elr=before.last_known_elr if before else election.last_known_elr,
    )


def _foreseen(election: PlannedElection) -> Outcome:
    outcome = outcome_of(election, Status.WOULD_RECOVER, election.reason)
    return replace(
        outcome, leader_before=NO_LEADER, leader_epoch_before=election.leader_epoch, dropped=election.dropped
    )


def left_alone(partition: LeftAlone) -> Outcome:
    return Outcome(
        partition.topic,
        partition.partition,
        partition.status,
        partition.reason,
        topic_id=partition.topic_id,
        leader_before=partition.leader_id,
        leader_after=partition.leader_id,
        leader_epoch_before=partition.leader_epoch,
        leader_epoch_after=partition.leader_epoch,
        replicas=partition.replicas,
        candidates=partition.candidates,
        silent=partition.silent,
        losses=partition.losses,
        isr=partition.isr,
        elr=partition.elr,
        last_known_elr=partition.last_known_elr,
    )
