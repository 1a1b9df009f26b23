# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Orders that left unregistered brokers out: what of them is still in progress, and what can be put back.

The controller refuses every order that names a broker that is not registered (validateManualPartitionAssignment, Kafka
3.9 to 4.4). An order without it is a reassignment that removes it. The controller lists the removed broker behind the
others until all of these are in sync, which takes a leader (PartitionReassignmentReplicas.maybeCompleteReassignment).
A later order does not end the removal, only cancelling it does, and without an ISR that is refused (tried on 4.3.1).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from .._kafka.errors import BrokerCallError, RequestRefusedError
from .._kafka.port import Kafka
from .._model.partition import PartitionState, TopicPartition
from .orders import Writer, set_orders
from .record import OrderChange


@dataclass(frozen=True, slots=True)
class Reassigned:
    """Which partitions of some changes are being reassigned."""

    by_others: frozenset[TopicPartition]
    dropping: frozenset[TopicPartition]
    """Those of which only what the change dropped is being removed."""


def reassigned(kafka: Kafka, changes: Collection[OrderChange]) -> Reassigned:
    """Ask the controller which partitions are being reassigned, and by whom.

    Raises NoBrokerAnswersError or RequestRefusedError.
    """
    running = kafka.running_reassignments([each.topic_partition for each in changes])
    drops = {each.topic_partition: each.dropped for each in changes if each.dropped}
    dropping = frozenset(each for each, how in running.items() if how.dropping and how.dropping == drops.get(each))
    return Reassigned(frozenset(running) - dropping, dropping)


def put_back_the_rest(
    writer: Writer, changes: Sequence[OrderChange], states: Mapping[TopicPartition, PartitionState]
) -> tuple[dict[TopicPartition, str], frozenset[TopicPartition]]:
    """Restore the order of the replicas that stay; return why not, by partition, and where all replicas are back.

    A broker that is registered again while it is being removed is kept: the removal is cancelled. One that is out of
    the replica set stays out, because to add it would copy the partition.

    Raises NoBrokerAnswersError or RequestRefusedError.
    """
    if not changes:
        return {}, frozenset()
    registered = {each.broker_id for each in writer.kafka.describe_cluster().registrations}
    whole = {
        each.topic_partition: each.original
        for each in changes
        if {*each.dropped} <= registered and _is_kept(writer, each, states[each.topic_partition])
    }
    rest = [each for each in changes if each.topic_partition not in whole]
    faults = set_orders(writer, whole)
    faults |= set_orders(
        writer,
        {each.topic_partition: each.restored for each in rest},
        {each.topic_partition: each.dropped for each in rest},
    )
    return faults, frozenset(whole)


def _is_kept(writer: Writer, change: OrderChange, state: PartitionState) -> bool:
    """Cancel the removal where that can be, and return whether it was done."""
    if state.is_offline or not {*change.dropped} <= {*state.replicas} or writer.why_not():
        return False
    try:
        return writer.kafka.cancel(writer.address(0), change.topic_partition) is None
    except (BrokerCallError, RequestRefusedError) as error:
        writer.lost_answer(error, [change.topic_partition])
        return False
