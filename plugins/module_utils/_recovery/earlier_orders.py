# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Replica orders that an earlier run left, as far as they matter for the elections of this run."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace

from .._changes.journal import Journal
from .._changes.late_requests import AnyLeftover
from .._changes.order_rollback import in_doubt
from .._changes.record import PUT_BACK, Leftover, OrderChange, OrderLeftover, Undoing
from .._changes.rollback import Rollback
from .._kafka.port import Kafka
from .._model.partition import PartitionState, TopicPartition
from .._model.run import KafkaOpsError
from .plan import PlannedElection
from .preconditions import PartitionObservation


@dataclass(frozen=True, slots=True)
class KeptOrders:
    """Orders of an earlier run that stay until this run has elected in them."""

    changes: Mapping[TopicPartition, OrderChange] = field(default_factory=dict)
    unseen: Mapping[TopicPartition, OrderChange] = field(default_factory=dict)
    """Those that are not seen to be set. The earlier run may have requested them, and they may still be set."""
    restored: set[TopicPartition] = field(default_factory=set)
    """Those of ``unseen`` whose original order is back after their elections. The journal still has them."""

    def keep_watching(self, journal: Journal, ended: Iterable[OrderLeftover]) -> list[OrderLeftover]:
        """Keep what may still be set in the journal, as the earlier run requested it, and return the others.

        Raises JournalError.
        """
        again = {each.change.topic_partition for each in ended if each.undoing is not Undoing.FAILED}
        again &= self.unseen.keys()
        journal.begin([self.unseen[each] for each in sorted(again)])
        self.restored.update(again)
        return [each for each in ended if each.change.topic_partition not in again]

    def settle(
        self, rollback: Rollback, journal: Journal, begun: Collection[TopicPartition]
    ) -> tuple[AnyLeftover, ...]:
        """Restore the orders of partitions that this run did not elect, watch for what comes late, and say how all end.

        Whatever else the rollback watches for is settled as well. What this run left in the journal itself stays there.
        """
        for partition, change in self.changes.items():
            if partition not in begun or partition in self.restored:
                rollback.late.watch_for(change, was_back=partition in begun)
        try:
            late = rollback.late.settle()
        except KafkaOpsError as error:
            unsettled = [each.change for each in rollback.late.watched.values()]
            late = tuple(Leftover(each, Undoing.FAILED, str(error)) for each in unsettled)
        pending = {each.topic_partition for each in journal.orders}
        elected = sorted((self.changes.keys() & begun) - self.restored - pending)
        return (
            *late,
            *(Leftover(self.changes[each], Undoing.RESTORED, "restored after its election") for each in elected),
        )


def kept_orders(kafka: Kafka, journal: Journal, elections: Iterable[PlannedElection]) -> KeptOrders:
    """Return the orders of an earlier run that stay until this run has elected.

    An election that the earlier run requested may still be executed. In its order, or in the one that this run sets, it
    elects a leader that was designated; in the original order it would elect the first live replica.

    Raises NoBrokerAnswersError, RequestRefusedError or BrokerCallError.
    """
    planned = {each.topic_partition for each in elections}
    changes = in_doubt(kafka, [each for each in journal.orders if each.topic_partition in planned])
    states = kafka.see([each.topic_partition for each in changes]).states if changes else {}
    return KeptOrders(
        {each.topic_partition: each for each in changes},
        {
            each.topic_partition: each
            for each in changes
            if each.topic_partition in states and not each.is_set(states[each.topic_partition].replicas)
        },
    )


def as_found(election: PlannedElection, state: PartitionState | None, kept: OrderChange | None) -> PlannedElection:
    """Return the election in the order in which the partition is, where that is the original one or a kept one."""
    if state is None or kept is None or kept.topic_id != election.topic_id:
        return election
    known = (kept.original, kept.changed)
    return replace(election, replicas=state.replicas) if {election.replicas, state.replicas} <= {*known} else election


def rebased(elections: Iterable[PlannedElection], leftovers: Iterable[OrderLeftover]) -> list[PlannedElection]:
    """Return the elections with the original orders, where the plan took an earlier run's order for it."""
    restored = {each.change.topic_partition: each.change for each in leftovers if each.undoing in PUT_BACK}
    found = []
    for election in elections:
        change = restored.get(election.topic_partition)
        if change and change.topic_id == election.topic_id and change.changed == election.replicas:
            election = replace(election, replicas=change.restored)  # noqa: PLW2901
        found.append(election)
    return found


def as_restored(
    worlds: Mapping[TopicPartition, PartitionObservation], leftovers: Iterable[OrderLeftover]
) -> dict[TopicPartition, PartitionObservation]:
    """Return the partitions as a run would find them after it restored the orders. For check mode."""
    orders = {each.change.topic_partition: each.change.restored for each in leftovers if each.undoing in PUT_BACK}
    return {
        partition: replace(world, state=replace(world.state, replicas=orders[partition]))
        if world.state and partition in orders
        else world
        for partition, world in worlds.items()
    }
