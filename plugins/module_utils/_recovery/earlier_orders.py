# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Replica orders that an earlier run left, as far as they matter for the elections of this run."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace

from .._changes.journal import Journal
from .._changes.record import PUT_BACK, OrderChange, OrderLeftover, Undoing
from .._changes.rollback import Rollback, in_doubt
from .._kafka.port import Kafka
from .._model.partition import PartitionState, TopicPartition
from .._model.run import KafkaOpsError
from .plan import PlannedElection
from .preconditions import PartitionObservation


def kept_orders(
    kafka: Kafka, journal: Journal, elections: Iterable[PlannedElection]
) -> dict[TopicPartition, OrderChange]:
    """Return the orders of an earlier run that stay until this run has elected.

    An election that the earlier run requested may still be executed. In its order, or in the one that this run sets, it
    elects a leader that was designated; in the original order it would elect the first live replica.

    Raises NoBrokerAnswersError, RequestRefusedError or BrokerCallError.
    """
    planned = {each.topic_partition for each in elections}
    changes = [each for each in journal.orders if each.topic_partition in planned]
    return {each.topic_partition: each for each in in_doubt(kafka, changes)}


def restored_late(
    rollback: Rollback, journal: Journal, kept: Mapping[TopicPartition, OrderChange], begun: Collection[TopicPartition]
) -> tuple[OrderLeftover, ...]:
    """Restore the kept orders of partitions that this run did not elect, and return how all of them ended."""
    untouched = kept.keys() - begun
    pending = {each.topic_partition for each in journal.orders}
    try:
        late = rollback.undo_orders(journal, pending - untouched) if pending & untouched else ()
    except KafkaOpsError as error:
        late = tuple(OrderLeftover(kept[each], Undoing.FAILED, str(error)) for each in sorted(untouched))
    elected = sorted(kept.keys() - untouched - pending)
    return *late, *(OrderLeftover(kept[each], Undoing.RESTORED, "restored after its election") for each in elected)


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
