# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Restore replica orders that a run has changed and that no other party has changed since.

Some orders leave out unregistered brokers. The controller refuses every order that names such a broker
(validateManualPartitionAssignment, Kafka 3.9 to 4.4). An order without the broker is a reassignment that removes it.
The controller lists the removed broker last until all other replicas are in sync, for which the partition needs a
leader (PartitionReassignmentReplicas.maybeCompleteReassignment). A later order does not stop the removal. Only a
cancellation stops it, and the controller refuses that without an ISR (tried on 4.3.1).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace

from .._kafka.errors import CallError
from .._kafka.port import Kafka
from .._kafka.reassignments import parse_unregistered_broker
from .._kafka.views import OLD_MS
from .._model.controller_model import acceptable_replicas, predict
from .._model.partition import NO_LEADER, PartitionState, TopicPartition
from .._model.reason import say
from .._model.run import looks
from .orders import OrderRequest, cancel_once, set_orders
from .record import Leftover, OrderChange, OrderLeftover, Undoing
from .sender import Writer

_TO_REQUEST = frozenset({Undoing.WOULD_RESTORE, Undoing.ALREADY_BACK})
_PAUSE_S = 0.5


def find_changes_on_offline_partitions(kafka: Kafka, changes: Sequence[OrderChange]) -> list[OrderChange]:
    """Return the changes whose order is set, or may be set, on an offline partition.

    The original order counts as well, because a broker that lags behind the controller still shows it.

    Raises CallError.
    """
    if not changes:
        return []
    running = _find_running(kafka, changes)
    states = kafka.read_partition_states([each.topic_partition for each in changes]).states
    return [each for each in changes if running.get(each.topic_partition, True) and _is_offline(each, states)]


def _is_offline(change: OrderChange, states: Mapping[TopicPartition, PartitionState]) -> bool:
    state = states.get(change.topic_partition)
    if state is None or state.topic_id != change.topic_id:
        return False
    return state.is_offline and (state.replicas == change.original or change.is_set(state.replicas))


def _find_running(kafka: Kafka, changes: Iterable[OrderChange]) -> dict[TopicPartition, bool]:
    """Ask the controller which partitions are being reassigned. False means by another party.

    True means that it only removes the brokers that the change dropped, or that the change was made during this one.

    Raises CallError.
    """
    by_partition = {each.topic_partition: each for each in changes}
    return {
        each: how.is_expected(by_partition[each].reassignment, by_partition[each].dropped)
        for each, how in kafka.running_reassignments([*by_partition]).items()
    }


def preview_order_undo(kafka: Kafka, changes: Sequence[OrderChange]) -> tuple[OrderLeftover, ...]:
    """Return what an undo of each change would do. Writes nothing.

    Raises CallError.
    """
    if not changes:
        return ()
    # The reassignments come first: then a removal that ends between the two reads is seen as ended.
    running = _find_running(kafka, changes)
    metadata = kafka.read_partition_states([each.topic_partition for each in changes])
    return tuple(
        Leftover(each, Undoing.FAILED, metadata.why_hidden(each.topic))
        if each.topic in metadata.hidden
        else _preview(each, metadata.states.get(each.topic_partition), running.get(each.topic_partition))
        for each in changes
    )


def restore_orders(writer: Writer, changes: Sequence[OrderChange]) -> tuple[OrderLeftover, ...]:
    """Restore each order that no other party has changed since, and try again if the partitions cannot be read.

    The original order is requested also if it seems to be set: a broker that lags behind the controller still shows it.
    Nothing is written before it is read: a changed order does no harm and stays in the journal, but a reassignment of
    another party would be lost if it were overwritten. Raises nothing.
    """
    reason = ""
    for attempt in range(writer.attempts) if changes else ():
        if attempt:
            writer.kafka.clock.sleep(_PAUSE_S)
        try:
            return _restore(writer, changes)
        except CallError as error:
            reason = say("the current order cannot be read: {error}", error=str(error))
    return tuple(Leftover(each, Undoing.FAILED, reason) for each in changes)


def _restore(writer: Writer, changes: Sequence[OrderChange]) -> tuple[OrderLeftover, ...]:
    """Restore orders. Raises CallError before a write."""
    found: tuple[OrderLeftover, ...] = ()
    for _look in looks(writer.kafka.clock, OLD_MS / 1000):
        found = preview_order_undo(writer.kafka, changes)
        # Each removal ends at its own time, and a broker that lags behind the controller lists the dropped broker.
        # A broker that lags further behind is not asked.
        if not any(each.change.leaving and each.undoing is Undoing.CONFLICT for each in found):
            break
    complete = [each.change for each in found if each.undoing in _TO_REQUEST and not each.change.dropped_for_good]
    dropping = [each.change for each in found if each.undoing is Undoing.WOULD_RESTORE and each.change.dropped_for_good]
    states = writer.kafka.read_partition_states([each.topic_partition for each in dropping]).states if dropping else {}
    failures = set_orders(
        writer,
        {
            each.topic_partition: OrderRequest(
                each.topic_id, each.restored_order, each.possible_orders, each.leaving, each.reassignment
            )
            for each in complete
        },
        were_read=True,
    )
    dropping = [each for each in dropping if each.topic_partition in states]
    more_failures, kept = _restore_after_drops(writer, dropping, states)
    failures |= more_failures
    gone = _find_gone(writer.kafka, [each.change for each in found if each.change.topic_partition in failures])
    return tuple(
        Leftover(each.change, Undoing.GONE, failures[each.change.topic_partition])
        if each.change.key in gone
        else _result(each, failures.get(each.change.topic_partition), kept)
        for each in found
    )


def _find_gone(kafka: Kafka, changes: Sequence[OrderChange]) -> frozenset[str]:
    """Return the keys of changes whose topics were deleted or re-created while their orders were restored."""
    if not changes:
        return frozenset()
    try:
        found = preview_order_undo(kafka, changes)
    except CallError:
        return frozenset()
    return frozenset(each.change.key for each in found if each.undoing is Undoing.GONE)


def _restore_after_drops(
    writer: Writer, changes: Sequence[OrderChange], states: Mapping[TopicPartition, PartitionState]
) -> tuple[dict[TopicPartition, str], frozenset[TopicPartition]]:
    """Restore orders after brokers were dropped. Return the failures, and the partitions that keep all their replicas.

    The removal of a broker that has registered again is canceled. A broker that has left the replica set stays out,
    because adding it would copy the partition. Then only the order of the other replicas is restored.

    Raises CallError.
    """
    if not changes:
        return {}, frozenset()
    registered = {each.broker_id for each in writer.kafka.describe_cluster().registrations}
    kept = {
        each.topic_partition
        for each in changes
        if {*each.dropped} <= registered and _cancel_removal(writer, each, states[each.topic_partition])
    }
    requests = {
        each.topic_partition: OrderRequest(each.topic_id, each.original, each.possible_orders)
        if each.topic_partition in kept
        else OrderRequest(each.topic_id, each.restored_order, each.possible_orders, each.dropped)
        for each in changes
    }
    return set_orders(writer, requests), frozenset(kept)


def _cancel_removal(writer: Writer, change: OrderChange, state: PartitionState) -> bool:
    """Cancel the removal of the dropped brokers if possible, and return whether it was canceled."""
    if state.is_offline or not {*change.dropped} <= {*state.replicas}:
        return False
    return not cancel_once(writer, change.topic_partition)


def _preview(change: OrderChange, state: PartitionState | None, is_known: bool | None) -> OrderLeftover:
    """Judge a partition. ``is_known`` is None unless it is being reassigned, and False if by another party."""
    if state is None:
        return Leftover(change, Undoing.GONE, "the partition does not exist any more")
    if state.topic_id != change.topic_id:
        return Leftover(change, Undoing.GONE, f"the topic was re-created (id {state.topic_id})")
    replicas, original = list(state.replicas), f"the original order is {list(change.original)}"
    if state.replicas not in change.possible_orders:
        return Leftover(change, Undoing.CONFLICT, f"its replicas are {replicas}, set by another party; {original}")
    if is_known is False:
        return Leftover(change, Undoing.CONFLICT, f"another party is reassigning it; {original}")
    if not is_known and _was_canceled(change, state):
        what = "the reassignment" if change.reassignment else "the removal of the dropped brokers"
        canceled = f"its replicas are {replicas}: another party canceled {what}"
        return Leftover(change, Undoing.CONFLICT, f"{canceled}; {original}")
    leader = predict(state, change.restored_order, acceptable_replicas(state), unclean=False).leader_id
    if state.is_offline and leader != NO_LEADER:
        # The replica may have an empty disk, because nothing has read it yet (docs/strategies.md).
        return Leftover(
            change,
            Undoing.FAILED,
            f"the restored order {list(change.without_dropped)} would make the controller elect broker {leader}, "
            f"whatever it holds: elect a leader yourself, or stop broker {leader}. The next run restores the order",
        )
    if state.replicas == change.original and (change.reassignment or not is_known):
        if change.reassignment:
            return Leftover(change, Undoing.ALREADY_BACK, f"its order is {_restored_text(change)}")
        return Leftover(replace(change, dropped=()), Undoing.ALREADY_BACK, "its order is the original one")
    if change.leaving and state.replicas in (change.without_dropped, change.restored_order):
        return Leftover(change, Undoing.ALREADY_BACK, f"its order is {_restored_text(change)}")
    restored = f"back to {_restored_text(change)}"
    return Leftover(change, Undoing.WOULD_RESTORE, f"an earlier run left {list(change.changed)}: {restored}")


def _was_canceled(change: OrderChange, state: PartitionState) -> bool:
    """Return whether the partition keeps replicas that were to leave, although no reassignment is running."""
    if change.reassignment:
        # A request that leaves out only some of the brokers that leave makes the controller forget the others
        # (ReplicationControlManager.changePartitionReassignment). Then the reassignment ends with these.
        has_ended_by_itself = bool(change.dropped) and state.replicas == change.requested_order
        return not has_ended_by_itself and bool({*change.removing} & {*state.replicas})
    return state.replicas != change.original and bool({*change.dropped} & {*state.replicas})


def _restored_text(change: OrderChange) -> str:
    """Return the restored order, and which brokers it leaves out."""
    if change.reassignment:
        return f"{list(change.without_dropped)}, the order of the reassignment's target"
    if not change.dropped:
        return f"{list(change.original)}"
    dropped = ", ".join(map(str, change.dropped))
    return (
        f"{list(change.without_dropped)} without broker {dropped}, which the run dropped because it was not "
        "registered; add a replica on another broker (kafka-reassign-partitions.sh)"
    )


def _result(leftover: OrderLeftover, failure: str | None, kept: Collection[TopicPartition]) -> OrderLeftover:
    """Return the result of an undo from its preview, its failure, and the partitions that keep all replicas."""
    change = leftover.change
    if leftover.undoing is Undoing.ALREADY_BACK and parse_unregistered_broker(failure or "") is not None:
        # The controller refuses the order, which is set already.
        return leftover
    if failure:
        return Leftover(change, Undoing.FAILED, failure)
    if leftover.undoing is not Undoing.WOULD_RESTORE:
        return leftover
    if change.topic_partition in kept:
        change = replace(change, dropped=())
    return Leftover(change, Undoing.RESTORED, f"back to {_restored_text(change)}")
