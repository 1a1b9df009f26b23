# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The one rollback: undoes what this run, or an earlier one of any module, changed for a while.

Only a state that a run of this collection can have left is undone, order of replicas included. Every other state was
set by somebody else, and stays.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from .._kafka.port import Kafka
from .._model.controller_model import acceptable_replicas, predict
from .._model.partition import NO_LEADER, PartitionState
from .journal import Journal
from .orders import Writer, set_orders
from .record import Change, Leftover, OrderChange, OrderLeftover, ReplicaChange, SettingChange, Undoing
from .replica_sets import ReplicaSets, look_at_replica
from .setting_writer import SettingWriter, look_at_setting, put_back_unless_held

AnyLeftover: TypeAlias = Leftover[Any]
_ASKED_FOR = frozenset({Undoing.WOULD_RESTORE, Undoing.ALREADY_BACK})
_LASTING = "an earlier run asked for it and ended before it was seen; see the voters that quorum_info returns"


@dataclass(frozen=True, slots=True)
class Rollback:
    """Undoes everything that is pending in a journal, whichever module left it."""

    orders: Writer
    settings: SettingWriter
    replicas: ReplicaSets

    def undo(self, journal: Journal) -> tuple[AnyLeftover, ...]:
        """Undo every pending change, and return how each ended. What failed stays in the journal.

        Replicas come before settings, since a throttle has to last as long as they are copied.

        Raises JournalError, or NoBrokerAnswersError, RequestRefusedError or BrokerCallError before a write.
        """
        ended: list[AnyLeftover] = []
        for change in journal.pending:
            if isinstance(change, ReplicaChange):
                ended.append(Leftover(change, *self.replicas.take_back(change)))
        ended += undo_orders(self.orders, journal) if journal.orders else ()
        for change in journal.pending:
            if isinstance(change, SettingChange):
                ended.append(Leftover(change, *put_back_unless_held(self.settings, journal, change)))
        lasting = [
            each for each in journal.pending if not isinstance(each, (ReplicaChange, OrderChange, SettingChange))
        ]
        journal.end(lasting, Undoing.GONE.value)
        return (*ended, *(Leftover(each, Undoing.GONE, _LASTING) for each in lasting))


def look_at_leftovers(kafka: Kafka, settings: SettingWriter, changes: Sequence[Change]) -> tuple[AnyLeftover, ...]:
    """Return what undoing would do to each change. Writes nothing.

    Raises NoBrokerAnswersError, RequestRefusedError or BrokerCallError.
    """
    orders = [each for each in changes if isinstance(each, OrderChange)]
    found: list[AnyLeftover] = [*look_at_orders(kafka, orders)] if orders else []
    for each in changes:
        if isinstance(each, ReplicaChange):
            found.append(Leftover(each, *look_at_replica(kafka, each)))
        elif isinstance(each, SettingChange):
            found.append(Leftover(each, *look_at_setting(settings, each)))
    return tuple(found)


def look_at_orders(kafka: Kafka, changes: Sequence[OrderChange]) -> tuple[OrderLeftover, ...]:
    """Says what undoing would do to each change. Writes nothing.

    Raises NoBrokerAnswersError, RequestRefusedError or BrokerCallError.
    """
    partitions = [each.topic_partition for each in changes]
    sight = kafka.see(partitions)
    reassigning = kafka.running_reassignments(partitions)
    return tuple(
        Leftover(each, Undoing.FAILED, sight.why_hidden(each.topic))
        if each.topic in sight.hidden
        else _compare(each, sight.states.get(each.topic_partition), is_reassigning=each.topic_partition in reassigning)
        for each in changes
    )


def undo_orders(writer: Writer, journal: Journal) -> tuple[OrderLeftover, ...]:
    """Restore every order that is still the one we set, and end the settled changes.

    Raises NoBrokerAnswersError, RequestRefusedError, BrokerCallError or JournalError.
    """
    ended = put_back(writer, journal.orders)
    strike_out(journal, ended)
    return ended


def put_back(writer: Writer, changes: Sequence[OrderChange]) -> tuple[OrderLeftover, ...]:
    """Restore every order that is still the one we set.

    An order that seems to be back is asked for as well: a broker that lags behind the controller tells the one from
    before our change.

    Raises NoBrokerAnswersError, RequestRefusedError or BrokerCallError, before anything was written.
    """
    found = look_at_orders(writer.kafka, changes)
    ours = {each.change.topic_partition: each for each in found if each.undoing in _ASKED_FOR}
    faults = set_orders(writer, {partition: each.change.original for partition, each in ours.items()})
    return tuple(_ended(each, faults.get(each.change.topic_partition)) for each in found)


def strike_out(journal: Journal, ended: Iterable[OrderLeftover]) -> None:
    """End the settled changes in the journal, and leave what failed to the next run.

    Raises JournalError.
    """
    settled: dict[Undoing, list[OrderChange]] = {}
    for each in ended:
        settled.setdefault(each.undoing, []).append(each.change)
    settled.pop(Undoing.FAILED, None)
    for undoing, changes in settled.items():
        journal.end(changes, undoing.value)


def _compare(change: OrderChange, state: PartitionState | None, *, is_reassigning: bool) -> OrderLeftover:
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


def _ended(leftover: OrderLeftover, fault: str | None) -> OrderLeftover:
    if fault:
        return Leftover(leftover.change, Undoing.FAILED, fault)
    if leftover.undoing is not Undoing.WOULD_RESTORE:
        return leftover
    return Leftover(leftover.change, Undoing.RESTORED, f"back to {list(leftover.change.original)}")
