# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Carries a plan out, batch by batch (KAFKA-20098). Ordinary elections come first: they lose nothing."""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace

from .._changes.home import JournalHome
from .._changes.journal import Journal
from .._changes.journal_reader import JournalOptions
from .._changes.order_rollback import preview_order_undo
from .._changes.orders import Writer
from .._changes.record import AnyLeftover, OrderChange, OrderLeftover, ReplicaChange, Undoing
from .._changes.rollback import Rollback, has_restored
from .._kafka.messages import in_batches
from .._kafka.partitions import Sight
from .._kafka.port import Kafka
from .._model.partition import NO_LEADER, Broker, TopicPartition
from .._model.run import KafkaOpsError, Progress, collector_paused
from .election_batch import ElectionBatch, Limits
from .left_orders import (
    KeptOrders,
    LostJournal,
    adopt_current_order,
    adopt_restored_orders,
    find_kept_orders,
    simulate_restore,
)
from .observation import observe_partitions
from .outcome import Outcome, end_election, outcome_of_left_alone
from .plan import ElectionType, Plan, PlannedElection, SaveTails, Status, losers_tails
from .preconditions import PartitionObservation, judge_election

_DISTURBED = "the run stopped before this election: on another partition a leader came up that was not designated"


class WrongClusterError(KafkaOpsError):
    """The plan is for another cluster."""


class ElectionOptionsError(KafkaOpsError):
    """A plan cannot be carried out in such a way."""


@dataclass(frozen=True, slots=True)
class ElectionReport:
    """How every partition of the plan ended, and what was restored of an earlier run."""

    outcomes: tuple[Outcome, ...]
    leftovers: tuple[OrderLeftover, ...]
    notes: tuple[str, ...] = ()
    """What the person on call should know of the journal."""
    others: tuple[AnyLeftover, ...] = ()
    """What a run of another module had left, such as a setting or a dropped replica."""

    written: frozenset[TopicPartition] = frozenset()
    """Partitions that this run requested an election of, or whose order it could not restore."""

    @property
    def is_changed(self) -> bool:
        """True when a leader or an order is another one than before by this run, or, in check mode, would be.

        Never because somebody else elected a leader, or set an order.
        """
        return has_restored((*self.leftovers, *self.others)) or any(
            each.status is Status.WOULD_RECOVER or (each.topic_partition in self.written and _differs(each))
            for each in self.outcomes
        )


def _differs(outcome: Outcome) -> bool:
    has_new_leader = outcome.leader_after not in (None, NO_LEADER, outcome.leader_before)
    return has_new_leader or outcome.replicas_after != outcome.replicas


@dataclass(frozen=True, slots=True, kw_only=True)
class ElectionOptions:
    """How to carry a plan out.

    Raises ElectionOptionsError.
    """

    journal: JournalOptions
    attempts: int
    """For each write that fails in a way that may pass (KIP: --recovery-election-attempts)."""
    verify_timeout_ms: int
    """How long a change may take to be seen before it counts as not done."""
    check_mode: bool
    timeout_ms: int = 600_000
    """How long all elections may take together. What was not begun by then is not requested."""
    save_tails: SaveTails | None = None
    """Called before the first election that makes a live replica delete records. Others do not wait for it."""

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
    """Restore what an earlier run left, then elect. Each partition ends with one outcome, whatever happens to others.

    Setting ``stop`` ends the run after the request in flight: orders are restored, and the rest is reported as stopped.
    In check mode no write request is sent and no journal is opened for writing. ``brokers``, as they were just seen,
    keep writes away from one that is hung: it might execute them when it thaws, after the order is restored.

    Raises WrongClusterError, JournalError, NoBrokerAnswersError, RequestRefusedError or BrokerCallError, all of them
    before the first write. The same trouble between two batches ends the run, and is the reason that the rest gets.
    """
    cluster = kafka.describe_cluster()
    if plan.cluster_id != cluster.cluster_id:
        raise WrongClusterError(
            f"the plan is for cluster {plan.cluster_id}, and this is cluster {cluster.cluster_id}, as the brokers at "
            f"{', '.join(map(str, kafka.settings.bootstrap_servers))} say: nothing was done"
        )
    living = cluster.living(brokers)
    writer = Writer(
        kafka,
        [*living.values()],
        options.attempts,
        options.verify_timeout_ms / 1000,
    )
    planned = [each.topic_partition for each in plan.elections]
    sight = kafka.see(planned + [each.topic_partition for each in plan.left_alone])
    alone = {each.topic_partition: _update_left_alone(outcome_of_left_alone(each), sight) for each in plan.left_alone}
    home = JournalHome(kafka, cluster, options.journal, brokers)
    pending = home.read()
    orders = [each for each in pending.changes if isinstance(each, OrderChange)]
    notes: Sequence[str] = pending.notes
    # What an earlier run left may stand on a partition that has a leader.
    settled = {} if pending.changes else _find_settled(plan.elections, sight)
    elections = [each for each in plan.elections if each.topic_partition not in settled]
    # A run that finds nothing to do creates no topic.
    writes = not options.check_mode and bool(pending.changes or pending.notes or elections)
    with ExitStack() as stack:
        others: tuple[AnyLeftover, ...] = ()
        rollback, kept = None, KeptOrders()
        journal, leftovers = None, preview_order_undo(kafka, orders) if options.check_mode else ()
        if writes:
            journal = stack.enter_context(home.open(progress))
            notes = journal.notes
            writer = writer.with_journal(journal)
            rollback = Rollback.of(writer, living, journal, progress=progress, stop=stop)
            kept = find_kept_orders(kafka, journal, elections)
            ended = rollback.undo_now(kept.changes)
            leftovers = tuple(each for each in ended if isinstance(each.change, OrderChange))
            others = tuple(each for each in ended if not isinstance(each.change, OrderChange))
        timeout_s = options.timeout_ms / 1000
        limits = Limits(stop, timeout_s, kafka.clock.monotonic() + timeout_s, kafka.clock)
        run = _Run(writer, journal, progress, limits, kept, options.save_tails)
        with collector_paused():
            outcomes = {**alone, **settled, **run.elect(adopt_restored_orders(elections, leftovers), leftovers)}
        if journal is not None and rollback is not None:
            # After the elections: they do not wait for what may come late of an earlier run.
            late = kept.settle(rollback, journal, run.begun)
            leftovers += tuple(each for each in late if isinstance(each.change, OrderChange))
            others += tuple(each for each in late if not isinstance(each.change, OrderChange))
            outcomes |= LostJournal(home, journal, writer, living, progress, stop).restore(outcomes)
        for partition, change in kept.changes.items():
            outcomes[partition] = replace(outcomes[partition], replicas=change.original)
    return ElectionReport(
        tuple(outcomes[each] for each in sorted(outcomes)), leftovers, tuple(notes), others, frozenset(run.written)
    )


def _find_settled(elections: Iterable[PlannedElection], sight: Sight) -> dict[TopicPartition, Outcome]:
    """How elections end that need no second look: the partition has a leader, or is known not to exist.

    Whatever else is found is compared with the plan under the lock.
    """
    outcomes = {}
    for each in elections:
        state = sight.states.get(each.topic_partition)
        if each.topic in sight.hidden or (state and (state.is_offline or state.topic_id != each.topic_id)):
            continue
        verdict = judge_election(each, PartitionObservation(state, {}, is_reassigning=False))
        if verdict.status is not None:
            outcomes[each.topic_partition] = end_election(
                each, verdict.status, verdict.reason, before=state, after=state
            )
    return outcomes


@dataclass(frozen=True, slots=True)
class _Run:
    writer: Writer
    journal: Journal | None
    """None in check mode."""
    progress: Progress
    limits: Limits
    kept: KeptOrders
    save_tails: SaveTails | None
    begun: set[TopicPartition] = field(default_factory=set)
    """Partitions that may be elected, and whose orders are this run's to restore."""
    written: set[TopicPartition] = field(default_factory=set)
    """Partitions that an election was requested of, or whose order stays changed."""

    def elect(
        self, elections: Sequence[PlannedElection], leftovers: Sequence[OrderLeftover]
    ) -> dict[TopicPartition, Outcome]:
        unsettled = {each.change.topic_partition for each in leftovers if each.undoing is Undoing.FAILED}
        if self.journal is not None:
            # A replica that an earlier run dropped, and that is not in sync again.
            unsettled |= {each.topic_partition for each in self.journal.pending if isinstance(each, ReplicaChange)}
        outcomes = {
            each.topic_partition: end_election(
                each, Status.REFUSED, "an earlier run's replica order is not put back yet"
            )
            for each in elections
            if each.topic_partition in unsettled
        }
        halt = ""
        has_begun = any(each.undoing is Undoing.RESTORED for each in leftovers)
        settled = [each for each in elections if each.topic_partition not in unsettled]
        for batch in self._batches(settled, outcomes):
            halt = halt or self.limits.why_over()
            if not halt:
                self.progress.step("looking at the partitions again", len(outcomes), len(elections))
                try:
                    current = self._batch(batch, leftovers)
                except KafkaOpsError as error:
                    if not has_begun:
                        raise
                    halt = f"the run stopped before this election: {error}"
                else:
                    has_begun = True
                    outcomes |= current.outcomes
                    halt = _DISTURBED if current.is_disturbed else ""
                    continue
            outcomes |= {each.topic_partition: end_election(each, Status.FAILED, halt) for each in batch}
        return outcomes

    def _batches(
        self, elections: Sequence[PlannedElection], outcomes: dict[TopicPartition, Outcome]
    ) -> Iterator[Sequence[PlannedElection]]:
        """Yield the batches. Before the first one that makes live replicas delete records, these are saved."""
        tails = {each.topic_partition: losers_tails(each) for each in elections} if self.save_tails else {}
        at_once = [each for each in elections if not tails.get(each.topic_partition)]
        yield from (one for kind in ElectionType for one in in_batches(_of_type(at_once, kind)))
        waiting = [each for each in elections if tails.get(each.topic_partition)]
        if self.save_tails and waiting and self.journal is not None and not self.limits.why_over():
            refused = self.save_tails([one for each in waiting for one in tails[each.topic_partition]])
            outcomes |= {
                each.topic_partition: end_election(each, Status.REFUSED, refused[each.topic_partition])
                for each in waiting
                if each.topic_partition in refused
            }
            waiting = [each for each in waiting if each.topic_partition not in refused]
        yield from (one for kind in ElectionType for one in in_batches(_of_type(waiting, kind)))

    def _batch(self, elections: Sequence[PlannedElection], leftovers: Sequence[OrderLeftover]) -> ElectionBatch:
        # Brokers may have been registered since the plan was made, or since the last batch: these are asked too.
        worlds = observe_partitions(
            self.writer.kafka,
            self.writer.kafka.describe_cluster(),
            elections,
            asks_controller=self.journal is None,
        )
        if self.journal is None:
            worlds = simulate_restore(worlds, leftovers)
        # Asked again for each batch: a broker may have been replaced by an older one in between.
        asked = {each for attempt in range(self.writer.attempts) for each in self.writer.addresses_of_attempt(attempt)}
        by_designation = self.writer.kafka.offers_designated_election(asked)
        batch = ElectionBatch(
            {
                each.topic_partition: adopt_current_order(
                    each, worlds[each.topic_partition].state, self.kept.changes.get(each.topic_partition)
                )
                for each in elections
            },
            worlds,
            by_designation,
            kept=self.kept,
            begun=self.begun,
            written=self.written,
        )
        if self.journal is None:
            batch.forecast()
        else:
            batch.carry_out(self.writer, self.journal, self.progress, self.limits)
        return batch


def _of_type(elections: Iterable[PlannedElection], election_type: ElectionType) -> list[PlannedElection]:
    """Return the elections of one type: a request can ask for one type only."""
    return [each for each in elections if each.election_type is election_type]


def _update_left_alone(outcome: Outcome, sight: Sight) -> Outcome:
    """How a partition ends that the plan leaves alone, by the leader that it has now: the plan may be hours old."""
    state = sight.states.get(outcome.topic_partition)
    was_online = outcome.status is Status.ALREADY_ONLINE
    if state is None:
        seen = replace(outcome, leader_after=None, leader_epoch_after=None)
        why = "it is not in the metadata any more, or our principal needs DESCRIBE on the topic: look at it"
        return replace(seen, status=Status.UNKNOWN, reason=why) if was_online else seen
    seen = replace(outcome, leader_after=state.leader_id, leader_epoch_after=state.leader_epoch)
    if was_online and state.is_offline:
        why = "it has lost its leader since the plan was made: make a new plan"
        return replace(seen, status=Status.REFUSED, reason=why)
    if was_online and state.leader_id != outcome.leader_before:
        return replace(seen, reason=f"broker {state.leader_id} leads it")
    return seen
