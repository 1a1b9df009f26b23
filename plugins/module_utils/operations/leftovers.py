# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Puts back the replica orders that this run, or an earlier, killed one, changed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from ansible_collections.kafkaops.recovery.plugins.module_utils.journal.order_change import Journal, OrderChange
from ansible_collections.kafkaops.recovery.plugins.module_utils.kafka.reassignments import running_reassignments
from ansible_collections.kafkaops.recovery.plugins.module_utils.kafka.wire import Wire
from ansible_collections.kafkaops.recovery.plugins.module_utils.model.partition import (
    NO_LEADER,
    PartitionState,
    TopicPartition,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils.operations.partition_sight import see
from ansible_collections.kafkaops.recovery.plugins.module_utils.operations.replica_orders import Writer, set_orders
from ansible_collections.kafkaops.recovery.plugins.module_utils.recovery.controller_model import predict
from ansible_collections.kafkaops.recovery.plugins.module_utils.recovery.preconditions import acceptable_replicas


class Undoing(StrEnum):
    """What became of one left-over order change."""

    RESTORED = "restored"
    WOULD_RESTORE = "would_restore"
    ALREADY_BACK = "already_back"
    CONFLICT = "conflict"
    """Somebody else set another order or set meanwhile: it is theirs, and stays."""
    GONE = "gone"
    """The topic was deleted or recreated."""
    FAILED = "failed"
    """Still in the journal: the next run tries again."""


NOT_OURS = frozenset({Undoing.CONFLICT, Undoing.GONE})
"""Nobody puts these back any more."""

_ASKED_FOR = frozenset({Undoing.WOULD_RESTORE, Undoing.ALREADY_BACK})


@dataclass(frozen=True, slots=True)
class Leftover:
    """One order change that is to be undone, and how that ended."""

    change: OrderChange
    undoing: Undoing
    reason: str


def look_at_leftovers(wire: Wire, changes: Sequence[OrderChange]) -> tuple[Leftover, ...]:
    """Says what undoing would do to each change. Writes nothing.

    Raises NoBrokerAnswersError, RequestRefusedError or BrokerCallError.
    """
    partitions = [each.topic_partition for each in changes]
    sight = see(wire, partitions)
    reassigning = running_reassignments(wire, partitions)
    return tuple(
        Leftover(each, Undoing.FAILED, sight.why_hidden(each.topic))
        if each.topic in sight.hidden
        else _compare(each, sight.states.get(each.topic_partition), is_reassigning=each.topic_partition in reassigning)
        for each in changes
    )


def undo_leftovers(writer: Writer, journal: Journal) -> tuple[Leftover, ...]:
    """Puts back every order that is still the one we set, and strikes out what is settled.

    Raises NoBrokerAnswersError, RequestRefusedError, BrokerCallError or JournalError.
    """
    ended = put_back(writer, journal.unfinished)
    strike_out(journal, ended)
    return ended


def put_back(writer: Writer, changes: Sequence[OrderChange]) -> tuple[Leftover, ...]:
    """Puts back every order that is still the one we set.

    An order that seems to be back is asked for as well: a broker that lags behind the controller tells the one from
    before our change.

    Raises NoBrokerAnswersError, RequestRefusedError or BrokerCallError, before anything was written.
    """
    found = look_at_leftovers(writer.wire, changes)
    ours = {each.change.topic_partition: each for each in found if each.undoing in _ASKED_FOR}
    faults = set_orders(writer, {partition: each.change.original for partition, each in ours.items()})
    return tuple(_ended(each, faults.get(each.change.topic_partition)) for each in found)


def strike_out(journal: Journal, ended: Iterable[Leftover]) -> None:
    """Ends in the journal what is settled, and leaves what failed to the next run.

    Raises JournalError.
    """
    settled: dict[Undoing, list[TopicPartition]] = {}
    for each in ended:
        settled.setdefault(each.undoing, []).append(each.change.topic_partition)
    settled.pop(Undoing.FAILED, None)
    for undoing, partitions in settled.items():
        journal.end(partitions, undoing.value)


def _compare(change: OrderChange, state: PartitionState | None, *, is_reassigning: bool) -> Leftover:
    if state is None:
        return Leftover(change, Undoing.GONE, "the partition does not exist any more")
    if state.topic_id != change.topic_id:
        return Leftover(change, Undoing.GONE, f"the topic was recreated (id {state.topic_id})")
    if state.replicas not in (change.original, change.changed):
        return Leftover(
            change,
            Undoing.CONFLICT,
            f"its replicas are {list(state.replicas)}, which we did not set; the original was {list(change.original)}",
        )
    if is_reassigning:
        return Leftover(
            change,
            Undoing.CONFLICT,
            f"a reassignment of it is running, which we did not ask for; the original was {list(change.original)}",
        )
    leader = predict(state, change.original, acceptable_replicas(state), unclean=False).leader_id
    if state.is_offline and leader != NO_LEADER:
        # Such a replica may have come back with an empty disk, and nobody has looked: see docs/strategies.md.
        return Leftover(
            change,
            Undoing.FAILED,
            f"to put {list(change.original)} back would make the controller elect broker {leader}, whatever it holds: "
            f"elect it yourself, or stop broker {leader}; the next run puts the order back",
        )
    if state.replicas == change.original:
        return Leftover(change, Undoing.ALREADY_BACK, "its order is the original one")
    return Leftover(
        change,
        Undoing.WOULD_RESTORE,
        f"an earlier run left {list(change.changed)}: back to {list(change.original)}",
    )


def _ended(leftover: Leftover, fault: str | None) -> Leftover:
    if fault:
        return Leftover(leftover.change, Undoing.FAILED, fault)
    if leftover.undoing is not Undoing.WOULD_RESTORE:
        return leftover
    return Leftover(leftover.change, Undoing.RESTORED, f"back to {list(leftover.change.original)}")
