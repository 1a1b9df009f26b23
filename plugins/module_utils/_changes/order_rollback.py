# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Replica orders that were set for a while: which of them are still ours, and how they are put back.

Some left unregistered brokers out. The controller refuses every order that names such a broker
(validateManualPartitionAssignment, Kafka 3.9 to 4.4). An order without it is a reassignment that removes it. The
controller lists the removed broker behind the others until all of these are in sync, which takes a leader
(PartitionReassignmentReplicas.maybeCompleteReassignment). A later order does not end the removal, only cancelling it
does, and without an ISR that is refused (tried on 4.3.1).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from .._kafka.errors import BrokerCallError, NoBrokerAnswersError, RequestRefusedError
from .._kafka.partitions import Sight
from .._kafka.port import Kafka
from .._kafka.reassignments import unregistered_in
from .._model.controller_model import acceptable_replicas, predict
from .._model.partition import NO_LEADER, PartitionState, TopicPartition
from .journal import Journal
from .orders import Writer, read_states, set_orders
from .record import Leftover, OrderChange, OrderLeftover, Undoing

_ASKED_FOR = frozenset({Undoing.WOULD_RESTORE, Undoing.ALREADY_BACK})
_PAUSE_S = 0.5


@dataclass(frozen=True, slots=True)
class _Reassigned:
    """Which partitions of some changes are being reassigned."""

    by_others: frozenset[TopicPartition]
    dropping: frozenset[TopicPartition]
    """Those of which only what the change dropped is being removed."""


def find_changes_on_offline_partitions(kafka: Kafka, changes: Sequence[OrderChange]) -> list[OrderChange]:
    """Return the changes whose order stands, or may stand, on a partition without a leader.

    A broker that lags behind the controller shows the order from before the change.

    Raises NoBrokerAnswersError, RequestRefusedError or BrokerCallError.
    """
    partitions = [each.topic_partition for each in changes]
    if not partitions:
        return []
    theirs = _reassigned(kafka, changes).by_others
    states = kafka.see(partitions).states
    return [each for each in changes if each.topic_partition not in theirs and _stands(each, states)]


def _stands(change: OrderChange, states: Mapping[TopicPartition, PartitionState]) -> bool:
    state = states.get(change.topic_partition)
    if state is None or state.topic_id != change.topic_id:
        return False
    return state.is_offline and (state.replicas == change.original or change.is_set(state.replicas))


def _reassigned(kafka: Kafka, changes: Collection[OrderChange]) -> _Reassigned:
    """Ask the controller which partitions are being reassigned, and by whom.

    Raises NoBrokerAnswersError or RequestRefusedError.
    """
    running = kafka.running_reassignments([each.topic_partition for each in changes])
    drops = {each.topic_partition: each.dropped for each in changes if each.dropped}
    dropping = frozenset(each for each, how in running.items() if how.dropping and how.dropping == drops.get(each))
    return _Reassigned(frozenset(running) - dropping, dropping)


def preview_order_undo(kafka: Kafka, changes: Sequence[OrderChange]) -> tuple[OrderLeftover, ...]:
    """Says what undoing would do to each change. Writes nothing.

    Raises NoBrokerAnswersError, RequestRefusedError or BrokerCallError.
    """
    # In this order: a removal that ends in between is seen as ended.
    running = _reassigned(kafka, changes)
    sight = kafka.see([each.topic_partition for each in changes])
    return _compared(changes, sight, running)


def _compared(changes: Sequence[OrderChange], sight: Sight, running: _Reassigned) -> tuple[OrderLeftover, ...]:
    return tuple(
        Leftover(each, Undoing.FAILED, sight.why_hidden(each.topic))
        if each.topic in sight.hidden
        else _compare(each, sight.states.get(each.topic_partition), running)
        for each in changes
    )


def restore_orders(writer: Writer, changes: Sequence[OrderChange]) -> tuple[OrderLeftover, ...]:
    """Restore every order that is still the one we set.

    An order that seems to be back is asked for as well: a broker that lags behind the controller returns the one from
    before our change.

    Raises NoBrokerAnswersError, RequestRefusedError or BrokerCallError, before anything was written.
    """
    found = preview_order_undo(writer.kafka, changes)
    if any(each.change.dropped and each.undoing is Undoing.CONFLICT for each in found):
        # A broker that lags behind the controller shows a removal in progress that has just ended.
        writer.kafka.clock.sleep(_PAUSE_S)
        found = preview_order_undo(writer.kafka, changes)
    ours = [each.change for each in found if each.undoing in _ASKED_FOR and not each.change.dropped]
    rest = [each.change for each in found if each.undoing is Undoing.WOULD_RESTORE and each.change.dropped]
    states = read_states(writer.kafka, [each.topic_partition for each in rest]) if rest else {}
    faults = set_orders(
        writer,
        {each.topic_partition: each.original for each in ours},
        {each.topic_partition: each.possible_orders for each in ours},
    )
    undone, whole = _put_back_the_rest(writer, [each for each in rest if each.topic_partition in states], states)
    faults |= undone
    return tuple(_ended(each, faults.get(each.change.topic_partition), whole) for each in found)


def _put_back_the_rest(
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
    before = {each.topic_partition: each.possible_orders for each in changes}
    faults = set_orders(writer, whole, before)
    faults |= set_orders(
        writer,
        {each.topic_partition: each.restored_order for each in rest},
        before,
        {each.topic_partition: each.dropped for each in rest},
    )
    return faults, frozenset(whole)


def _is_kept(writer: Writer, change: OrderChange, state: PartitionState) -> bool:
    """Cancel the removal where that can be, and return whether it was done."""
    if state.is_offline or not {*change.dropped} <= {*state.replicas} or writer.why_forbidden():
        return False
    try:
        return writer.send(0, lambda to: writer.kafka.cancel(to, change.topic_partition)) is None
    except (BrokerCallError, RequestRefusedError) as error:
        writer.note_lost_response(error, [change.topic_partition])
        return False


def restore_orders_with_retries(writer: Writer, changes: Sequence[OrderChange]) -> tuple[OrderLeftover, ...]:
    """Restore every order that is still the one we set, and try again where that cannot be read. Raises nothing.

    The change of one whose dropped brokers are all back, or never left, drops nothing.

    Not written unseen: an order that stays changed does no harm and is in the journal, while a reassignment that
    somebody began is lost without a trace once it is overwritten.
    """
    reason = ""
    for attempt in range(writer.attempts) if changes else ():
        if attempt:
            writer.kafka.clock.sleep(_PAUSE_S)
        try:
            return restore_orders(writer, changes)
        except (NoBrokerAnswersError, RequestRefusedError, BrokerCallError) as error:
            reason = f"whether it is still ours is unknown: {error}"
    return tuple(Leftover(each, Undoing.FAILED, reason) for each in changes)


def end_in_journal(journal: Journal, ended: Iterable[OrderLeftover]) -> None:
    """End the settled changes in the journal, and leave what failed to the next run.

    Raises JournalError.
    """
    settled: dict[Undoing, list[OrderChange]] = {}
    for each in ended:
        settled.setdefault(each.undoing, []).append(each.change)
    settled.pop(Undoing.FAILED, None)
    for undoing, changes in settled.items():
        journal.end(changes, undoing.value)


def _compare(change: OrderChange, state: PartitionState | None, running: _Reassigned) -> OrderLeftover:
    if state is None:
        return Leftover(change, Undoing.GONE, "the partition does not exist any more")
    if state.topic_id != change.topic_id:
        return Leftover(change, Undoing.GONE, f"the topic was recreated (id {state.topic_id})")
    is_dropping = change.topic_partition in running.dropping
    is_rest_back = change.is_restored_without_dropped(state.replicas)
    if state.replicas not in change.possible_orders:
        return Leftover(
            change,
            Undoing.CONFLICT,
            f"its replicas are {list(state.replicas)}, which we did not set; the original was {list(change.original)}",
        )
    if change.topic_partition in running.by_others:
        return Leftover(
            change,
            Undoing.CONFLICT,
            f"a reassignment of it is running, which we did not ask for; the original was {list(change.original)}",
        )
    if not is_dropping and state.replicas != change.original and {*change.dropped} & {*state.replicas}:
        return Leftover(
            change,
            Undoing.CONFLICT,
            f"its replicas are {list(state.replicas)}, and nothing is removed from them: somebody else cancelled that; "
            f"the original was {list(change.original)}",
        )
    leader = predict(state, change.restored_order, acceptable_replicas(state), unclean=False).leader_id
    if state.is_offline and leader != NO_LEADER:
        # Such a replica may have come back with an empty disk, and nobody has looked: see docs/strategies.md.
        return Leftover(
            change,
            Undoing.FAILED,
            f"to put {list(change.without_dropped)} back would make the controller elect broker {leader}, whatever it "
            f"holds: elect it yourself, or stop broker {leader}; the next run puts the order back",
        )
    if state.replicas == change.original and not is_dropping:
        return Leftover(replace(change, dropped=()), Undoing.ALREADY_BACK, "its order is the original one")
    if is_rest_back:
        return Leftover(change, Undoing.ALREADY_BACK, f"its order is {_back(change)}")
    return Leftover(
        change, Undoing.WOULD_RESTORE, f"an earlier run left {list(change.changed)}: back to {_back(change)}"
    )


def _back(change: OrderChange) -> str:
    """Say what is put back, and what is not."""
    if not change.dropped:
        return f"{list(change.original)}"
    dropped = ", ".join(map(str, change.dropped))
    return (
        f"{list(change.without_dropped)} without broker {dropped}, which the run dropped because it was not "
        "registered; add a replica on another broker (kafka-reassign-partitions.sh)"
    )


def _ended(leftover: OrderLeftover, fault: str | None, whole: Collection[TopicPartition]) -> OrderLeftover:
    change = leftover.change
    if leftover.undoing is Undoing.ALREADY_BACK and unregistered_in(fault or "") is not None:
        # The controller refuses to be asked for it, and nothing has to be changed.
        return leftover
    if fault:
        return Leftover(change, Undoing.FAILED, fault)
    if leftover.undoing is not Undoing.WOULD_RESTORE:
        return leftover
    if change.topic_partition in whole:
        change = replace(change, dropped=())
    return Leftover(change, Undoing.RESTORED, f"back to {_back(change)}")
