# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The outcome of each requested partition, and the report file. It holds no secret. Standard library only.

A plan that is not carried out has outcomes too: those that it foresees. Schema: docs/schemas/report-file.schema.json.
The doc fragment ``report`` describes the option.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Annotated, Any, TypeAlias

from .._documents.dataclass_json import codec, document
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
from .._model.outage import OutageHistory
from .._model.partition import NO_LEADER, Broker, OfPartition, PartitionState, TopicPartition
from .._model.reason import Reason, because, causes_of
from .._model.run import RunMode, count_by_status
from .._model.silent_leaders import describe_silent_leader
from .._spark.options import EngineUse
from .candidate import Candidate, SilentReplicas
from .expected_loss import ExpectedLoss, ExpectedLosses
from .plan import (
    Dropped,
    Elr,
    Isr,
    LastKnownElr,
    LeftAlone,
    Plan,
    PlannedElection,
    RefusalRule,
    Status,
    describe_best,
)

RequiredIsr: TypeAlias = Annotated[int, Meta("a number of replicas", minimum=0, maximum=INT32_MAX)]


@dataclass(frozen=True, slots=True)
class Outcome(OfPartition):
    """How one partition ended. Unknown values are None. A leader of -1 means that the partition has no leader."""

    topic: TopicName
    partition: PartitionIndex
    status: Status
    reason: str
    """An explanation that a person can act on."""
    topic_id: TopicId | None = None
    designated_leader: BrokerId | None = None
    """None if no election was planned."""
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
    """The expected loss of each candidate, in the same order."""
    isr: Isr | None = None
    """The ISR before the run, like the ELR and the last known ELR."""
    elr: Elr | None = None
    last_known_elr: LastKnownElr | None = None
    isr_after: Isr | None = None
    """The ISR after the run. Like ``required_isr``, only of a partition that has a leader after the run."""
    required_isr: RequiredIsr | None = None
    """How many members of the ISR acks=all needs: min.insync.replicas, but at most the number of replicas."""
    dropped: Dropped = ()
    """Unregistered brokers that the new order dropped for good, or would drop."""
    history: OutageHistory | None = None
    """What happened to the partition before the run. None if nobody asked."""
    refused_by: RefusalRule | None = None
    cause: str | None = None
    """The reason without what ``candidates`` and ``losses`` explain. A group of partitions is printed with it."""

    def __post_init__(self) -> None:
        # Only a report that was read has the cause. Everything else has a reason that knows its clauses.
        if isinstance(self.reason, Reason) or self.cause is None:
            object.__setattr__(self, "cause", causes_of(self.reason))

    @property
    def best_broker(self) -> int | None:
        """Return the designated leader or, if none was planned, the best candidate. None if no replica answered."""
        if self.designated_leader is None and self.candidates:
            return self.candidates[0].broker_id
        return self.designated_leader

    @property
    def final_leader(self) -> int | None:
        """Return the leader after the run or, in check mode, the one that a run would elect."""
        return self.designated_leader if self.status is Status.WOULD_RECOVER else self.leader_after

    @property
    def is_writable(self) -> bool | None:
        """Return whether the partition takes records with acks=all after the run; None if it is not known."""
        if self.isr_after is None or self.required_isr is None:
            return None
        return len(self.isr_after) >= self.required_isr

    def loss_of(self, broker_id: int | None) -> ExpectedLoss | None:
        """Return the forecast of electing this broker; None if there is none."""
        return next((each for each in self.losses if each.broker_id == broker_id), None)


def doubt_leaders(
    outcomes: Mapping[TopicPartition, Outcome], silent: Mapping[int, Broker]
) -> dict[TopicPartition, Outcome]:
    """Return the outcomes; UNKNOWN where a partition seemed to be online, and its leader is a ``silent`` broker."""
    doubted = {
        partition: replace(each, status=Status.UNKNOWN, reason=because(describe_silent_leader(broker)), cause=None)
        for partition, each in outcomes.items()
        if each.status is Status.ALREADY_ONLINE and (broker := silent.get(_leader_of(each))) is not None
    }
    return {**outcomes, **doubted}


def _leader_of(outcome: Outcome) -> int:
    return NO_LEADER if outcome.leader_after is None else outcome.leader_after


def outcomes_of_plan(plan: Plan) -> tuple[Outcome, ...]:
    """Return the outcomes that a plan foresees, in order of topic, then partition."""
    outcomes = [*map(_foresee_outcome, plan.elections), *map(outcome_of_left_alone, plan.left_alone)]
    return tuple(sorted(outcomes, key=lambda outcome: outcome.topic_partition))


def outcome_of_election(
    election: PlannedElection,
    status: Status,
    reason: str,
    *,
    before: PartitionState | None = None,
    after: PartitionState | None = None,
) -> Outcome:
    """Return the outcome of a planned election. ``before`` and ``after`` are the partition's states, if known."""
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
        history=election.history,
    )


def _foresee_outcome(election: PlannedElection) -> Outcome:
    outcome = outcome_of_election(election, Status.WOULD_RECOVER, election.explained)
    return replace(
        outcome, leader_before=NO_LEADER, leader_epoch_before=election.leader_epoch, dropped=election.dropped
    )


def outcome_of_left_alone(partition: LeftAlone) -> Outcome:
    best = describe_best(partition.losses) if partition.status is Status.REFUSED else None
    return Outcome(
        partition.topic,
        partition.partition,
        partition.status,
        because(partition.reason, best),
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
        history=partition.history,
        refused_by=partition.refused_by,
    )


class AftermathKind(StrEnum):
    """What the owner of an application or an operator must check after an election."""

    NOT_WRITABLE = "not_writable"
    """A partition has a leader, but too few members of the ISR for a record with acks=all."""
    COMMITTED_BEYOND_END = "committed_beyond_end"
    """A group committed an offset beyond the new log end: it read records that are lost."""
    COMMITTED_BEFORE_START = "committed_before_start"
    """A group stands before the log start, in any topic, after a tail of __consumer_offsets may have been lost."""
    OPEN_TRANSACTION = "open_transaction"
    """A leader's log holds records of a transaction, but no marker that ends it."""
    STATE_LOST = "state_lost"
    """Groups whose newest commits or acknowledgements may be lost: they get records again, or none at all."""
    WILL_TRUNCATE = "will_truncate"
    """A replica deletes records when it follows the new leader."""
    DROPPED = "dropped"
    """A replica was dropped. Its broker keeps the copy, but Kafka no longer reads it."""
    NOT_KNOWN = "not_known"
    """Something could not be found out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AftermathFinding:
    """One finding on what an election left behind, or what could not be found out."""

    kind: Annotated[AftermathKind, Meta("a kind of finding")]
    topic: TopicName | None = None
    """None if the finding is not about one partition."""
    partition: PartitionIndex | None = None
    explanation: str


_Partitions: TypeAlias = Annotated[int, Meta("a number of partitions", minimum=0, maximum=INT32_MAX)]


@dataclass(frozen=True, slots=True)
class Report:
    """The report of one run. Outcomes are in order of topic, then partition."""

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
    engine: EngineUse | None = None
    """The engine that ranked the replicas. None if this run ranked none, as with a plan that was made before."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "summary", count_by_status((outcome.status for outcome in self.outcomes), Status))


_CODEC = codec(Report, "a report file is an object")
REPORT_FILE = document("report-file", "How every requested partition ended", _CODEC.schema)


def report_document(report: Report) -> dict[str, Any]:
    """Return the content of the report file."""
    return _CODEC.encode(report)


def prepare_report(
    *,
    mode: RunMode,
    cluster_id: str,
    brokers: Sequence[Broker],
    outcomes: Sequence[Outcome],
    aftermath: Sequence[AftermathFinding] = (),
    engine: EngineUse | None = None,
) -> Callable[[str, str], dict[str, Any]]:
    """Return a function that makes the report of a run from its start and end times."""
    return lambda started_at, finished_at: report_document(
        Report(cluster_id, started_at, finished_at, mode, tuple(brokers), tuple(outcomes), tuple(aftermath), engine)
    )
