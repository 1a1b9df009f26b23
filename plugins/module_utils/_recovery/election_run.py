# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Carry out a plan, batch by batch (KAFKA-20098). Ordinary elections come first: they lose no committed record."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from .._changes.cluster_journal import ClusterJournal
from .._changes.journal import Journal
from .._changes.journal_reader import JournalOptions
from .._changes.order_rollback import preview_order_undo
from .._changes.record import AnyLeftover, OrderChange, OrderLeftover, ReplicaChange, Undoing
from .._changes.rollback import Rollback, has_restored
from .._changes.sender import Writer
from .._kafka.partitions import PartitionStates
from .._kafka.port import Kafka
from .._model.log_contents import SaveTails, Stretches, subtract, union
from .._model.partition import NO_LEADER, PARTITIONS_PER_REQUEST, Broker, TopicPartition, in_batches
from .._model.reasons import name_brokers
from .._model.run import KafkaOpsError, PartOfProgress, Progress, garbage_collection_paused
from .._model.silent_leaders import silent_brokers
from .batch_outcomes import explain_passed_over
from .election_batch import ElectionBatch, Limits
from .left_alone import find_led_meanwhile, update_left_alone
from .left_orders import (
    KeptOrders,
    LostJournal,
    adopt_current_order,
    adopt_restored_orders,
    find_kept_orders,
    find_restored_late,
    simulate_restore,
)
from .observation import has_taken_over, observe_partitions
from .outcome import Outcome, doubt_leaders, outcome_of_election, outcome_of_left_alone
from .plan import ElectionType, Plan, PlannedElection, Status, find_tails
from .preconditions import PartitionObservation, judge_election
from .reused_epochs import observe_reused_epochs
from .silences import Silences


class WrongClusterError(KafkaOpsError):
    """The plan is for another cluster."""


class ElectionOptionsError(KafkaOpsError):
    """An option of the elections is not valid."""


@dataclass(frozen=True, slots=True)
class ElectionReport:
    """The outcome of every partition of the plan, and what was undone for earlier runs."""

    outcomes: tuple[Outcome, ...]
    leftovers: tuple[OrderLeftover, ...]
    notes: tuple[str, ...] = ()
    """Remarks on the journal for the operator."""
    others: tuple[AnyLeftover, ...] = ()
    """Changes that a run of another module had left, such as a setting or a dropped replica."""
    written: frozenset[TopicPartition] = frozenset()
    """Partitions for which this run requested an election, or whose order it could not restore."""

    @property
    def is_changed(self) -> bool:
        """True if this run changed a leader or an order, or would change it in check mode.

        Changes by another party do not count.
        """
        return has_restored((*self.leftovers, *self.others)) or any(
            each.status is Status.WOULD_RECOVER or (each.topic_partition in self.written and _has_changed(each))
            for each in self.outcomes
        )


def _has_changed(outcome: Outcome) -> bool:
    has_new_leader = outcome.leader_after not in (None, NO_LEADER, outcome.leader_before)
    return has_new_leader or outcome.replicas_after != outcome.replicas


@dataclass(frozen=True, slots=True, kw_only=True)
class ElectionOptions:
    """How to carry out a plan.

    Raises ElectionOptionsError for a value that is not valid.
    """

    journal: JournalOptions
    attempts: int
    """Attempts for each write that fails with a transient error (KIP: --recovery-election-attempts)."""
    verify_timeout_ms: int
    """How long to wait until the metadata shows a change, before it counts as failed."""
    check_mode: bool
    timeout_ms: int = 600_000
    """Time limit for all elections together. No election is requested after it."""
    save_tails: SaveTails | None = None
    """Called before the first election that makes a live replica delete records. Other elections come before it."""
    batch_size: int = PARTITIONS_PER_REQUEST
    """The most elections between two looks at the cluster."""

    def __post_init__(self) -> None:
        if self.attempts < 1:
            raise ElectionOptionsError(f"recovery_election_attempts must be 1 or greater, got {self.attempts}")
        if self.timeout_ms < 1:
            raise ElectionOptionsError(f"election_timeout_ms must be 1 or greater, got {self.timeout_ms}")


def run_elections(  # noqa: PLR0917
    kafka: Kafka,
    plan: Plan,
    options: ElectionOptions,
    progress: Progress,
    stop: threading.Event,
    brokers: Collection[Broker] = (),
) -> ElectionReport:
    """Restore the orders that earlier runs left, then elect. Each partition of the plan gets one outcome.

    Setting ``stop`` ends the run after the current request: orders are restored, and the other partitions are reported
    as stopped. In check mode no write request is sent, and the journal is only read. ``brokers`` are the brokers as
    they were just seen: no write is sent to a hung one, because it could execute the write after the order is restored.

    Raises WrongClusterError, JournalError, NoBrokerAnswersError, RequestRefusedError or BrokerCallError, before the
    first write. A later error ends the run, and is the reason in the outcomes of all partitions that remain.
    """
    cluster = kafka.describe_cluster()
    refuse_other_cluster(kafka, plan, cluster.cluster_id)
    living = cluster.living(brokers)
    writer = Writer(kafka, [*living.values()], options.attempts, options.verify_timeout_ms / 1000)
    planned = [each.topic_partition for each in plan.elections]
    metadata = kafka.read_partition_states(planned + [each.topic_partition for each in plan.left_alone])
    silent = silent_brokers(brokers)
    ended_before = {
        each.topic_partition: update_left_alone(outcome_of_left_alone(each), metadata) for each in plan.left_alone
    }
    cluster_journal = ClusterJournal(kafka, cluster, options.journal, brokers)
    pending = cluster_journal.read()
    if not pending.changes:  # An order that an earlier run left may be on a partition that has a leader.
        ended_before |= _end_without_election(plan.elections, metadata)
    elections = [each for each in plan.elections if each.topic_partition not in ended_before]

    # A run that has nothing to do must not create the journal's topic.
    if options.check_mode or not (pending.changes or pending.notes or elections):
        orders = [each for each in pending.changes if isinstance(each, OrderChange)]
        leftovers = preview_order_undo(kafka, orders) if options.check_mode else ()
        run = _Run(writer, None, progress, Limits.from_now(stop, options.timeout_ms, kafka.clock), options)
        outcomes = ended_before | run.elect(elections, leftovers)
        return _make_report(doubt_leaders(outcomes, silent), leftovers, pending.notes, run.written)

    with cluster_journal.open(progress) as journal:
        writer = writer.with_journal(journal)
        rollback = Rollback.of(writer, living, journal, progress=progress, stop=stop)
        kept = find_kept_orders(kafka, journal, elections)
        undone = rollback.undo_now(kept.changes)
        limits = Limits.from_now(stop, options.timeout_ms, kafka.clock)
        run = _Run(writer, journal, progress, limits, options, kept)
        outcomes = ended_before | run.elect(elections, _select_orders(undone))
        # After the elections, so that they do not wait for late requests of an earlier run.
        undone += kept.settle(rollback, journal, run.begun)
        outcomes |= find_restored_late(kafka, outcomes, kept.changes.keys() - run.begun)
        outcomes |= find_led_meanwhile(kafka, outcomes)
        outcomes |= LostJournal(cluster_journal, journal, writer, living, progress, stop).restore(outcomes)
        for partition, change in kept.changes.items():
            outcomes[partition] = replace(outcomes[partition], replicas=change.original)
    return _make_report(doubt_leaders(outcomes, silent), undone, journal.notes, run.written)


def refuse_other_cluster(kafka: Kafka, plan: Plan, cluster_id: str) -> None:
    """Raise WrongClusterError if the plan is not for the cluster with this id."""
    if plan.cluster_id != cluster_id:
        raise WrongClusterError(
            f"the plan is for cluster {plan.cluster_id}, and this is cluster {cluster_id}, as the brokers at "
            f"{', '.join(map(str, kafka.settings.bootstrap_servers))} say: nothing was done"
        )


def _make_report(
    outcomes: Mapping[TopicPartition, Outcome],
    leftovers: Sequence[AnyLeftover],
    notes: Iterable[str],
    written: Iterable[TopicPartition],
) -> ElectionReport:
    return ElectionReport(
        tuple(outcomes[each] for each in sorted(outcomes)),
        _select_orders(leftovers),
        tuple(notes),
        tuple(each for each in leftovers if not isinstance(each.change, OrderChange)),
        frozenset(written),
    )


def _select_orders(leftovers: Iterable[AnyLeftover]) -> tuple[OrderLeftover, ...]:
    return tuple(each for each in leftovers if isinstance(each.change, OrderChange))


def _end_without_election(
    elections: Iterable[PlannedElection], metadata: PartitionStates
) -> dict[TopicPartition, Outcome]:
    """Return the outcomes of partitions that have a leader, or do not exist. All others are judged under the lock."""
    outcomes = {}
    for each in elections:
        state = metadata.states.get(each.topic_partition)
        if each.topic in metadata.hidden or (state and (state.is_offline or state.topic_id != each.topic_id)):
            continue
        verdict = judge_election(each, PartitionObservation(state, {}))
        if verdict.status is not None:
            outcomes[each.topic_partition] = outcome_of_election(
                each, verdict.status, verdict.reason, before=state, after=state
            )
    return outcomes


def _end(
    elections: Iterable[PlannedElection], status: Status, explain: Callable[[PlannedElection], str]
) -> dict[TopicPartition, Outcome]:
    """Return the outcomes of elections that are not requested."""
    return {each.topic_partition: outcome_of_election(each, status, explain(each)) for each in elections}


@dataclass(frozen=True, slots=True)
class _Run:
    writer: Writer
    journal: Journal | None
    """None in check mode."""
    progress: Progress
    limits: Limits
    options: ElectionOptions
    kept: KeptOrders = field(default_factory=KeptOrders)
    begun: set[TopicPartition] = field(default_factory=set)
    """Partitions whose elections this run has begun: it restores their orders."""
    written: set[TopicPartition] = field(default_factory=set)
    """Partitions for which an election was requested, or whose order stays changed."""
    silences: Silences = field(default_factory=Silences)

    @garbage_collection_paused()
    def elect(
        self, planned: Iterable[PlannedElection], leftovers: Sequence[OrderLeftover]
    ) -> dict[TopicPartition, Outcome]:
        """Elect in batches. ``leftovers`` are the orders that earlier runs had left."""
        elections = adopt_restored_orders(planned, leftovers)
        unrestored = {each.change.topic_partition for each in leftovers if each.undoing is Undoing.FAILED}
        if self.journal is not None:
            # Partitions of which an earlier run dropped a replica that is not in sync again.
            unrestored |= {each.topic_partition for each in self.journal.pending if isinstance(each, ReplicaChange)}
        stuck = [each for each in elections if each.topic_partition in unrestored]
        outcomes = _end(stuck, Status.REFUSED, lambda _each: "an earlier run's replica order is not put back yet")
        halt, passed_over = "", set[int]()
        has_begun = any(each.undoing is Undoing.RESTORED for each in leftovers)
        unsaved: list[PlannedElection] = []
        electable = [each for each in elections if each.topic_partition not in unrestored]
        for whole_batch, saved in self._iterate_batches(electable, unsaved, outcomes):
            late = [each for each in whole_batch if each.designated_leader in passed_over]
            outcomes |= _end(late, Status.FAILED, lambda each: explain_passed_over(each.designated_leader))
            batch = [each for each in whole_batch if each.designated_leader not in passed_over]
            halt = halt or self.limits.why_ended()
            if batch and not halt:
                self.progress.step("looking at the partitions again", len(outcomes), len(elections))
                try:
                    progress = PartOfProgress(self.progress, len(outcomes), len(elections))
                    current = self._carry_out_batch(batch, leftovers, saved, progress)
                except KafkaOpsError as error:
                    if not has_begun:
                        raise
                    halt = f"the run stopped before this election: {error}"
                else:
                    has_begun = True
                    outcomes |= current.outcomes
                    unsaved += current.unsaved
                    passed_over |= current.passed_over
                    continue
            outcomes |= {each.topic_partition: outcome_of_election(each, Status.FAILED, halt) for each in batch}
        return outcomes

    def _iterate_batches(
        self,
        elections: Sequence[PlannedElection],
        unsaved: list[PlannedElection],
        outcomes: dict[TopicPartition, Outcome],
    ) -> Iterator[tuple[Sequence[PlannedElection], Mapping[TopicPartition, Stretches] | None]]:
        """Yield the batches, each with the records of losers that are saved.

        A batch adds to ``unsaved`` the elections that would delete unsaved records of live replicas. Once all others
        are done, these records are saved, and the elections come again. Partitions whose records cannot be saved are
        refused in ``outcomes``. So are those that would delete further records, of replicas that returned meanwhile.
        """
        save_tails = self.options.save_tails if self.journal is not None else None
        if save_tails is None:
            yield from ((each, None) for each in self._divide(elections))
            return
        yield from ((each, {}) for each in self._divide(elections))
        waiting = [*unsaved]
        unsaved.clear()
        saved: dict[TopicPartition, Stretches] = {}
        refused: Mapping[TopicPartition, str] = {}
        if waiting and not self.limits.why_ended():
            tails = [one for each in waiting for one in find_tails(each)]
            refused = save_tails(tails)
            self.silences.forget_all()  # a loser may have come back meanwhile
            for each in tails:
                saved[each.partition] = union([saved.get(each.partition, ()), each.lost])
        left = [each for each in waiting if each.topic_partition in refused]
        outcomes |= _end(left, Status.REFUSED, lambda each: refused[each.topic_partition])
        yield from ((each, saved) for each in self._divide([e for e in waiting if e.topic_partition not in refused]))
        outcomes |= _end(unsaved, Status.REFUSED, lambda each: _explain_unsaved(each, saved))

    def _divide(self, elections: Sequence[PlannedElection]) -> Iterator[Sequence[PlannedElection]]:
        """Yield the elections in batches of one type, because a request has only one."""
        for kind in ElectionType:
            yield from in_batches([each for each in elections if each.election_type is kind], self.options.batch_size)

    def _carry_out_batch(
        self,
        elections: Sequence[PlannedElection],
        leftovers: Sequence[OrderLeftover],
        saved: Mapping[TopicPartition, Stretches] | None,
        progress: Progress,
    ) -> ElectionBatch:
        # The cluster is read again, to also ask brokers that were registered since the plan or the last batch.
        observations = observe_partitions(
            self.writer.kafka,
            self.writer.kafka.describe_cluster(),
            elections,
            asks_controller=self.journal is None,
            silences=self.silences,
        )
        observations = observe_reused_epochs(elections, observations, self.writer.kafka.read_batches)
        if self.journal is None:
            observations = simulate_restore(observations, leftovers)
        # Checked for each batch: a broker may have been replaced by one of an older version.
        asked = {each for attempt in range(self.writer.attempts) for each in self.writer.addresses_of_attempt(attempt)}
        by_designation = self.writer.kafka.offers_designated_election(asked)
        batch = ElectionBatch(
            {
                each.topic_partition: adopt_current_order(
                    each, observations[each.topic_partition].state, self.kept.changes.get(each.topic_partition)
                )
                for each in elections
            },
            observations,
            partial(has_taken_over, self.writer.kafka),
            by_designation,
            kept=self.kept,
            begun=self.begun,
            written=self.written,
            saved=saved,
        )
        if self.journal is None:
            batch.preview()
        else:
            batch.carry_out(self.writer, self.journal, progress, self.limits)
        return batch


def _explain_unsaved(election: PlannedElection, saved: Mapping[TopicPartition, Stretches]) -> str:
    """Return why an election is refused that would delete more than was saved."""
    known = saved.get(election.topic_partition, ())
    holders = sorted({each.broker_id for each in find_tails(election) if subtract(each.lost, known)})
    return (
        f"{name_brokers(holders)} came online while records of losers were saved, and holds records that would be "
        "deleted unsaved: run again"
    )
