# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The types of a plan: an election, or a reason to leave alone, for each requested partition. Standard library only."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Annotated, TypeAlias

from .._model.fields import (
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
from .._model.log_contents import Stretches, Tail, records_beyond
from .._model.outage import OutageHistory
from .._model.partition import NO_LEADER, OfPartition, PartitionState, Racks, Reassignment
from .._model.reason import ClauseKind, Reason, as_kind, because, say
from .candidate import Candidate, SilentReplicas
from .expected_loss import ExpectedLoss, ExpectedLosses, Records, explain_loss
from .strategy import Policy, ProofRule, Strategy

Isr: TypeAlias = Annotated[Replicas, Meta(description="the ISR is a list of broker ids")]
Elr: TypeAlias = Annotated[Replicas, Meta(description="the ELR is a list of broker ids")]
LastKnownElr: TypeAlias = Annotated[Replicas, Meta(description="the last known ELR is a list of broker ids")]
_OfflineReplicas: TypeAlias = Annotated[
    Replicas, Meta(description="the offline replicas are a list of broker ids of the replica list")
]
Dropped: TypeAlias = Annotated[Replicas, Meta(description="the dropped replicas are a list of broker ids")]


class Status(StrEnum):
    """How a requested partition ended. Each partition has exactly one status, and a reason that a person can act on."""

    RECOVERED = "recovered"
    WOULD_RECOVER = "would_recover"
    """In check mode, or in a plan: the election would be requested."""
    ALREADY_ONLINE = "already_online"
    REFUSED = "refused"
    """The strategy, a limit, or a change since the plan does not allow the election."""
    FAILED = "failed"
    UNRECOVERABLE = "unrecoverable"
    """No replica is left that could lead."""
    UNKNOWN = "unknown"
    """The state could not be found out: no such partition, not authorized, or no answer."""


class RefusedBy(StrEnum):
    """A rule that refuses an election until a person allows more. Other refusals do not depend on what is allowed."""

    STRATEGY = "strategy"
    """The strategy waits for other replicas, or never risks a loss."""
    INTERNAL_TOPIC = "internal_topic"
    """Internal topics were not asked for."""


RefusalRule: TypeAlias = Annotated[RefusedBy, Meta("the rule of a refusal")]


DONE = frozenset({Status.RECOVERED, Status.ALREADY_ONLINE})
"""A run succeeds if every partition ended in one of these statuses."""

DONE_OR_FORESEEN = DONE | {Status.WOULD_RECOVER}
"""The same in check mode, and in a plan."""


class ElectionType(StrEnum):
    """Kafka's types of elections (org.apache.kafka.common.ElectionType)."""

    PREFERRED = "preferred"
    """An ordinary election: the controller elects a member of the ISR or ELR, so that no committed record is lost."""
    UNCLEAN = "unclean"
    """An election of the designated leader, even if other replicas hold records that it lacks."""


@dataclass(frozen=True, slots=True)
class PlannedElection(OfPartition):
    """One election, with the state of its partition when it was planned."""

    topic: TopicName
    partition: PartitionIndex
    designated_leader: BrokerId
    topic_id: TopicId
    leader_epoch: LeaderEpoch
    """The partition's leader epoch when the plan was made."""
    replicas: Annotated[Replicas, Meta(description="the replicas are a list of at least one broker id", min_items=1)]
    """The replica list in its original order, which is restored after the election."""
    isr: Isr
    elr: Elr | None
    last_known_elr: LastKnownElr | None
    reason: str
    """Why this leader, in the words of the plan. ``explained`` is the same by the candidates and losses of today."""
    candidates: tuple[Candidate, ...]
    silent: SilentReplicas
    losses: ExpectedLosses = ()
    """The expected loss of each candidate, in the same order."""
    election_type: ElectionType = ElectionType.UNCLEAN
    offline_replicas: _OfflineReplicas = ()
    """Replicas that the controller would not elect when the plan was made."""
    strategy: Strategy | None = None
    """The strategy of the plan, which is applied again before the election. None if no replica was compared."""
    max_lost_records: Records | None = None
    """The greatest number of records that the election may be known to lose. None for no limit."""
    allow_empty_leader: bool = False
    """Whether an empty log may be elected although records may exist elsewhere."""
    dropped: Dropped = ()
    """Unregistered brokers that the new order drops, because the controller refuses every order that names them."""
    is_designated: bool = False
    """A person chose the leader, and its loss was compared with that of the best replica."""
    notes: Annotated[tuple[str, ...], Meta(description="the notes are a list of texts")] = ()
    """What else to know before this election, such as open transactions. The decision does not depend on them."""
    adding: Dropped = ()
    """The replicas that a running reassignment was adding when the plan was made."""
    removing: Dropped = ()
    """The replicas that it was removing. It goes on after the election."""
    proof_rule: Annotated[ProofRule, Meta("a rule for proofs")] = ProofRule.IGNORE
    """Whether ``balanced`` elects on a proof that no record acknowledged with acks=all is lost."""
    max_estimated_loss: Records | None = None
    """The greatest number of records that the election may be estimated to lose. None for no limit."""
    history: OutageHistory | None = None
    """What happened to the partition before. None if nobody asked."""
    has_unread_batches: bool = False
    """The batches of its logs, which differ, were not compared: that is done right before the election."""

    @property
    def explained(self) -> Reason:
        """The reason and its notes. Rank and loss of an unclean election are those of ``candidates`` and ``losses``."""
        if self.strategy is None or self.election_type is not ElectionType.UNCLEAN:
            return because(self.reason, *self.notes)
        return because(
            explain_choice(self.designated_leader, self.candidates, self.losses, is_designated=self.is_designated),
            *self.notes,
        )

    @property
    def reassignment(self) -> Reassignment | None:
        """The reassignment that was running when the plan was made."""
        return Reassignment(self.adding, self.removing) if self.adding or self.removing else None

    @property
    def is_bare(self) -> bool:
        """Whether this is a bare designation: a person chose the leader, and no replica was compared."""
        return self.strategy is None and not self.candidates

    @property
    def policy(self) -> Policy:
        """The policy of the plan. Without a strategy, the election accepts every loss."""
        return Policy(
            self.strategy or Strategy.AGGRESSIVE,
            self.max_lost_records,
            self.allow_empty_leader,
            self.proof_rule,
            self.max_estimated_loss,
        )

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
class LeftAlone(OfPartition):
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
    isr: Isr | None = None
    elr: Elr | None = None
    last_known_elr: LastKnownElr | None = None
    history: OutageHistory | None = None
    """What happened to the partition before. None if nobody asked."""
    offline_replicas: _OfflineReplicas = ()
    """Replicas that the controller would not elect when the plan was made."""
    refused_by: RefusalRule | None = None


def plan_election(
    state: PartitionState,
    designated_leader: int,
    reason: str,
    *,
    election_type: ElectionType = ElectionType.UNCLEAN,
    candidates: tuple[Candidate, ...] = (),
    silent: SilentReplicas = (),
    losses: ExpectedLosses = (),
    policy: Policy | None = None,
    allow_empty_leader: bool = False,
    is_designated: bool = False,
) -> PlannedElection:
    """Return an election for a partition, with its present state. A bare designation has no ``policy``."""
    return PlannedElection(
        topic=state.topic,
        partition=state.partition,
        designated_leader=designated_leader,
        topic_id=state.topic_id,
        leader_epoch=state.leader_epoch,
        replicas=state.replicas,
        isr=state.isr,
        elr=state.elr,
        last_known_elr=state.last_known_elr,
        reason=reason,
        candidates=candidates,
        silent=silent,
        losses=losses,
        election_type=election_type,
        offline_replicas=state.offline_replicas,
        strategy=policy.strategy if policy else None,
        max_lost_records=policy.max_lost_records if policy else None,
        allow_empty_leader=policy.allow_empty_leader if policy else allow_empty_leader,
        is_designated=is_designated,
        proof_rule=policy.proof_rule if policy else ProofRule.IGNORE,
        max_estimated_loss=policy.max_estimated_loss if policy else None,
    )


def explain_choice(
    leader: int, candidates: Sequence[Candidate], losses: Sequence[ExpectedLoss], *, is_designated: bool
) -> Reason:
    """Return why an unclean election takes this leader: its rank, who was passed over, and the loss."""
    chosen = next((each for each in candidates if each.broker_id == leader), None)
    if chosen is None:
        return because()
    by = "designated by the operator, " if is_designated else ""
    passed_over = [] if is_designated else [each.broker_id for each in candidates if each.rank < chosen.rank]
    form = "ranked better, but fenced or with its log dir offline: {brokers}"
    return because(
        as_kind(ClauseKind.RANK, f"broker {leader}, {by}{chosen.explanation}"),
        say(form, brokers=passed_over) if passed_over else None,
        *(as_kind(ClauseKind.LOSS, text) for each in losses if each.broker_id == leader for text in explain_loss(each)),
    )


def describe_best(losses: Sequence[ExpectedLoss]) -> Reason:
    """Describe the best replica and the loss of its election, for a person to decide. ``losses`` are best first."""
    return because(
        *(
            as_kind(ClauseKind.LOSS, text)
            for each in losses[:1]
            for text in (f"best surviving replica: broker {each.broker_id}", *explain_loss(each))
        )
    )


def leave_alone(state: PartitionState, status: Status, reason: str) -> LeftAlone:
    """Return a partition as left alone, with its present state."""
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
        offline_replicas=state.offline_replicas,
    )


@dataclass(frozen=True, slots=True)
class Plan:
    """The planned elections of one run. Partitions are in order of topic, then number."""

    schema_version: SchemaVersion = field(default=SCHEMA_VERSION, init=False)
    cluster_id: ClusterId
    created_at: Time
    """UTC, ISO 8601, seconds. Never compared, so that clock skew has no effect."""
    created_by: Annotated[str, Meta("what made the plan")] = field(default="kafkaops.recovery", init=False)
    elections: Annotated[
        tuple[PlannedElection, ...], Meta(description="the planned elections are a list", name="partitions")
    ]
    left_alone: Annotated[
        tuple[Annotated[LeftAlone, Meta(description="a partition that is left alone is an object")], ...],
        Meta(description="what is left alone is a list"),
    ]
    racks: Racks = ()
    """The racks of the cluster's brokers, for people. Empty if the plan is made from evidence."""

    @property
    def partitions(self) -> tuple[PlannedElection | LeftAlone, ...]:
        """All partitions that were requested."""
        return (*self.elections, *self.left_alone)


def find_tails(election: PlannedElection) -> tuple[Tail, ...]:
    """Return the records that electing the designated leader deletes on other replicas, by the election's forecast.

    If a replica cannot be compared, all its records after the leader's end are returned.
    """
    lost = lost_of_live_replicas(election.designated_leader, election.candidates, election.losses)
    reused = tuple(sorted({epoch for each in election.candidates for epoch in each.reused_epochs}))
    return tuple(
        Tail(election.topic_partition, election.topic_id, broker_id, stretches, reused)
        for broker_id, stretches in lost.items()
    )


def lost_of_live_replicas(
    leader: int, candidates: Sequence[Candidate], losses: Sequence[ExpectedLoss]
) -> dict[int, Stretches]:
    """Return the records that each replica that answered holds and the leader lacks, by broker id, if there are any."""
    logs = {each.broker_id: each for each in candidates}
    found: dict[int, Stretches] = {}
    for against in (other for loss in losses if loss.broker_id == leader for other in loss.against):
        lost = against.lost
        if against.is_incomparable and leader in logs and against.broker_id in logs:
            lost = records_beyond(logs[leader], logs[against.broker_id])
        if against.answered and lost:
            found[against.broker_id] = lost
    return found


INTERNAL_NOTE = "internal topic: what is lost is the cluster's own state, such as committed offsets or transactions"

OPEN_TRANSACTION_NOTE = "COMMIT or ABORT marker"
"""Part of each note on transactions, which only the designated leader was asked for."""
