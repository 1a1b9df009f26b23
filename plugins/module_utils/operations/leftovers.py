# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Puts back the replica orders that an earlier, killed run left changed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from ansible_collections.kafkaops.recovery.plugins.module_utils.journal.order_change import Journal, OrderChange
from ansible_collections.kafkaops.recovery.plugins.module_utils.kafka.partitions import describe_partitions
from ansible_collections.kafkaops.recovery.plugins.module_utils.kafka.wire import Wire
from ansible_collections.kafkaops.recovery.plugins.module_utils.model.partition import PartitionState
from ansible_collections.kafkaops.recovery.plugins.module_utils.operations.replica_orders import Writer, set_orders


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


_ASKED_FOR = frozenset({Undoing.WOULD_RESTORE, Undoing.ALREADY_BACK})


@dataclass(frozen=True, slots=True)
class Leftover:
    """One left-over order change, and how it ended."""

    change: OrderChange
    undoing: Undoing
    reason: str


def look_at_leftovers(wire: Wire, changes: Sequence[OrderChange]) -> tuple[Leftover, ...]:
    """Says what undoing would do to each change. Writes nothing.

    Raises NoBrokerAnswersError or BrokerCallError.
    """
    description = describe_partitions(wire, {each.topic for each in changes})
    states = {each.topic_partition: each for each in description.partitions}
    # Only a topic that is known not to exist is gone: any other refusal tells nothing of its partitions.
    hidden = {each.topic: each for each in description.refused if not each.is_unknown}
    return tuple(
        Leftover(each, Undoing.FAILED, f"topic {each.topic} cannot be looked at: {hidden[each.topic]}")
        if each.topic in hidden
        else _compare(each, states.get(each.topic_partition))
        for each in changes
    )


def undo_leftovers(writer: Writer, journal: Journal) -> tuple[Leftover, ...]:
    """Puts back every order that is still the one we set, and strikes out what is settled.

    An order that seems to be back is asked for as well: a broker that lags behind the controller tells the one from
    before our change.

    Raises NoBrokerAnswersError, BrokerCallError or JournalError.
    """
    found = look_at_leftovers(writer.wire, journal.unfinished)
    ours = {each.change.topic_partition: each for each in found if each.undoing in _ASKED_FOR}
    faults = set_orders(writer, {partition: each.change.original for partition, each in ours.items()})
    ended = tuple(_ended(each, faults.get(each.change.topic_partition)) for each in found)
    for undoing in Undoing:
        if undoing is not Undoing.FAILED:
            journal.end([each.change.topic_partition for each in ended if each.undoing is undoing], undoing.value)
    return ended


def _compare(change: OrderChange, state: PartitionState | None) -> Leftover:
    if state is None:
        return Leftover(change, Undoing.GONE, "the partition does not exist any more")
    if state.topic_id != change.topic_id:
        return Leftover(change, Undoing.GONE, f"the topic was recreated (id {state.topic_id})")
    if state.replicas == change.original:
        return Leftover(change, Undoing.ALREADY_BACK, "its order is the original one")
    if state.replicas == change.changed:
        return Leftover(
            change,
            Undoing.WOULD_RESTORE,
            f"an earlier run left {list(change.changed)}: back to {list(change.original)}",
        )
    return Leftover(
        change,
        Undoing.CONFLICT,
        f"its replicas are {list(state.replicas)}, which we did not set; the original was {list(change.original)}",
    )


def _ended(leftover: Leftover, fault: str | None) -> Leftover:
    if fault:
        return Leftover(leftover.change, Undoing.FAILED, fault)
    if leftover.undoing is not Undoing.WOULD_RESTORE:
        return leftover
    return Leftover(leftover.change, Undoing.RESTORED, f"back to {list(leftover.change.original)}")
