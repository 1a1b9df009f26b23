# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Handle replica orders that an earlier run left, and orders of this run after it has lost its journal.

An election that an earlier run requested may still be executed. So its orders stay on offline partitions until this run
has elected their leaders.

A run loses its journal if somebody deletes it, or if another run takes its lock. A run without the lock writes nothing.
If no run holds the lock, this run takes it again, writes its changes to the journal, and restores the orders. An order
that another party has set meanwhile is left as it is.
"""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from .._changes.cluster_journal import ClusterJournal
from .._changes.journal import Journal
from .._changes.order_rollback import find_changes_on_offline_partitions
from .._changes.record import RESTORING, AnyLeftover, Leftover, OrderChange, OrderLeftover, Undoing
from .._changes.rollback import Rollback
from .._changes.sender import Writer
from .._kafka.errors import CallError
from .._kafka.port import Kafka
from .._kafka.settings import Address
from .._model.partition import PartitionState, TopicPartition
from .._model.reason import because, say
from .._model.run import KafkaOpsError, Progress
from .outcome import Outcome
from .plan import PlannedElection
from .preconditions import PartitionObservation

_States = Mapping[TopicPartition, PartitionState]


@dataclass(frozen=True, slots=True)
class KeptOrders:
    """Orders of an earlier run that stay until this run has elected in them."""

    changes: Mapping[TopicPartition, OrderChange] = field(default_factory=dict)
    unseen: Mapping[TopicPartition, OrderChange] = field(default_factory=dict)
    """Those that the metadata does not show. The earlier run may have requested them, and they may still be set."""
    restored: set[TopicPartition] = field(default_factory=set)
    """Partitions of ``unseen`` whose original order was restored after the election. They stay in the journal."""

    def keep_unseen(self, journal: Journal, ended: Iterable[OrderLeftover]) -> list[OrderLeftover]:
        """Keep the ``unseen`` orders in the journal, as the earlier run requested them, and return the other leftovers.

        Raises JournalError.
        """
        unseen = {each.change.topic_partition for each in ended if each.undoing is not Undoing.FAILED}
        unseen &= self.unseen.keys()
        journal.begin([self.unseen[each] for each in sorted(unseen)])
        self.restored.update(unseen)
        return [each for each in ended if each.change.topic_partition not in unseen]

    def settle(
        self, rollback: Rollback, journal: Journal, begun: Collection[TopicPartition]
    ) -> tuple[AnyLeftover, ...]:
        """Restore the orders of partitions that this run did not elect, wait for late requests, and return the results.

        The other changes that the rollback watches are settled too. Changes that this run left in the journal stay.
        """
        present = {each.topic_partition: each for each in journal.orders}
        for partition, change in self.changes.items():
            if partition not in begun or partition in self.restored:
                # This run may have put another leader first before it failed to elect it.
                rollback.doubt(present.get(partition, change), was_restored=partition in begun)
        try:
            late = rollback.settle_doubt()
        except KafkaOpsError as error:
            unsettled = [each.change for each in rollback.doubts.values()]
            late = tuple(Leftover(each, Undoing.FAILED, str(error)) for each in unsettled)
        pending = {each.topic_partition for each in journal.orders}
        elected = sorted((self.changes.keys() & begun) - self.restored - pending)
        return (
            *late,
            *(Leftover(self.changes[each], Undoing.RESTORED, "restored after its election") for each in elected),
        )


def find_kept_orders(kafka: Kafka, journal: Journal, elections: Iterable[PlannedElection]) -> KeptOrders:
    """Return the orders of an earlier run that stay until this run has elected.

    An election that the earlier run requested may still be executed. With its order, or the order of this run, it
    elects a designated leader. With the original order, it would elect the first live replica.

    Raises NoBrokerAnswersError, RequestRefusedError or BrokerCallError.
    """
    planned = {each.topic_partition for each in elections}
    changes = find_changes_on_offline_partitions(
        kafka, [each for each in journal.orders if each.topic_partition in planned]
    )
    states = kafka.read_partition_states([each.topic_partition for each in changes]).states if changes else {}
    return KeptOrders(
        {each.topic_partition: each for each in changes},
        {
            each.topic_partition: each
            for each in changes
            if each.topic_partition in states and not each.is_set(states[each.topic_partition].replicas)
        },
    )


def find_restored_late(
    kafka: Kafka, outcomes: Mapping[TopicPartition, Outcome], partitions: Collection[TopicPartition]
) -> dict[TopicPartition, Outcome]:
    """Return the outcomes of these partitions, whose orders were restored after they had ended, with the order now."""
    if not partitions:
        return {}
    try:
        states = kafka.read_partition_states(partitions).states
    except CallError:
        return {}
    return {each: replace(outcomes[each], replicas_after=state.replicas) for each, state in states.items()}


def adopt_current_order(
    election: PlannedElection, state: PartitionState | None, kept: OrderChange | None
) -> PlannedElection:
    """Return the election with the partition's current order, if that is the original or the kept one."""
    if state is None or kept is None or kept.topic_id != election.topic_id:
        return election
    known = (kept.original, kept.changed)
    return replace(election, replicas=state.replicas) if {election.replicas, state.replicas} <= {*known} else election


def adopt_restored_orders(
    elections: Iterable[PlannedElection], leftovers: Iterable[OrderLeftover]
) -> list[PlannedElection]:
    """Return the elections with the restored orders, if the plan has an order that an earlier run had set."""
    restored = {each.change.topic_partition: each.change for each in leftovers if each.undoing in RESTORING}
    found = []
    for election in elections:
        change = restored.get(election.topic_partition)
        if change and change.topic_id == election.topic_id and change.changed == election.replicas:
            election = replace(election, replicas=change.restored_order)  # noqa: PLW2901
        found.append(election)
    return found


def simulate_restore(
    observations: Mapping[TopicPartition, PartitionObservation], leftovers: Iterable[OrderLeftover]
) -> dict[TopicPartition, PartitionObservation]:
    """Return the observations as they would be after earlier orders are restored. For check mode."""
    orders = {
        each.change.topic_partition: each.change.restored_order for each in leftovers if each.undoing in RESTORING
    }
    return {
        partition: replace(observation, state=observation.state._replace(replicas=orders[partition]))
        if observation.state and partition in orders
        else observation
        for partition, observation in observations.items()
    }


_BY_HAND = "the run that holds the lock now restores it; if no run does, restore it with kafka-reassign-partitions.sh"
_RESTORED = "the journal was deleted while this run had the lock: it took the lock again and restored the order"


@dataclass(frozen=True, slots=True)
class LostJournal:
    """The orders that a run changed and could not restore, because it lost its lock."""

    cluster_journal: ClusterJournal
    journal: Journal
    """The journal of this run, which may be lost."""
    writer: Writer
    living: Mapping[int, Address]
    progress: Progress
    stop: threading.Event

    def restore(self, outcomes: Mapping[TopicPartition, Outcome]) -> dict[TopicPartition, Outcome]:
        """Restore the orders that this run left changed, and return the new outcomes of their partitions.

        If the journal is not lost, nothing is read or returned.
        """
        mine = [each for each in self.journal.orders if each.topic_partition in outcomes]
        if not mine or not self.journal.is_lost:
            return {}
        try:
            states = self.writer.kafka.read_partition_states([each.topic_partition for each in mine]).states
            changed = [each for each in mine if each.topic_partition in states and _has_our_order(each, states)]
            ended = {each.change.topic_partition: each for each in self._restore_again(changed)}
            states |= self.writer.kafka.read_partition_states(ended).states
        except KafkaOpsError as error:
            return {each.topic_partition: _add_to_reason(outcomes, each, _by_hand(str(error))) for each in mine}
        return {
            each.topic_partition: self._explain_result(outcomes, each, ended.get(each.topic_partition), states)
            for each in mine
        }

    def _restore_again(self, changes: Sequence[OrderChange]) -> Sequence[OrderLeftover]:
        if not changes:
            return ()
        with self.cluster_journal.open(self.progress) as journal:
            journal.begin(changes)
            rollback = Rollback.of(self.writer, self.living, journal, progress=self.progress, stop=self.stop)
            return [each for each in rollback.undo() if isinstance(each.change, OrderChange)]

    @staticmethod
    def _explain_result(
        outcomes: Mapping[TopicPartition, Outcome], change: OrderChange, ended: OrderLeftover | None, states: _States
    ) -> Outcome:
        if ended is None:
            return _add_to_reason(outcomes, change, _explain_found_order(change, states.get(change.topic_partition)))
        if ended.undoing not in RESTORING:
            return _add_to_reason(outcomes, change, _by_hand(ended.reason))
        return replace(
            _add_to_reason(outcomes, change, _RESTORED), replicas_after=states[change.topic_partition].replicas
        )


def _has_our_order(change: OrderChange, states: _States) -> bool:
    state = states[change.topic_partition]
    return state.topic_id == change.topic_id and change.is_set(state.replicas)


def _explain_found_order(change: OrderChange, state: PartitionState | None) -> str:
    """Say which order the partition has, if it is not the order of this run."""
    if state is None:
        return say("its order could not be read: {remedy}", remedy=_BY_HAND)
    if state.topic_id != change.topic_id:
        return "its topic was re-created: there is nothing to restore"
    if state.replicas == change.original:
        return "its order is the original one now: another run restored it"
    return say("its order is {replicas} now: another run or a person has set it", replicas=state.replicas)


def _by_hand(error: str) -> str:
    return say(f"{_BY_HAND} ({{error}})", error=error)


def _add_to_reason(outcomes: Mapping[TopicPartition, Outcome], change: OrderChange, what: str) -> Outcome:
    outcome = outcomes[change.topic_partition]
    return replace(outcome, reason=because(outcome.reason, what))
