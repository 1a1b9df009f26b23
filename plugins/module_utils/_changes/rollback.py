# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The one rollback: undoes what this run, or an earlier one of any module, changed for a while.

Only a state that a run of this collection can have left is undone, order of replicas included. Every other state was
set by somebody else, and stays.
"""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from .._kafka.addresses import Address
from .._kafka.errors import BrokerCallError, NoBrokerAnswersError, RequestRefusedError
from .._kafka.partitions import Sight
from .._kafka.port import Kafka
from .._kafka.reassignments import unregistered_in
from .._model.controller_model import acceptable_replicas, predict
from .._model.partition import NO_LEADER, PartitionState, TopicPartition
from .._model.run import Progress
from .dropped import Reassigned, put_back_the_rest, reassigned
from .journal import Journal
from .orders import Writer, read_states, set_orders
from .record import PUT_BACK, Change, Leftover, OrderChange, OrderLeftover, ReplicaChange, SettingChange, Undoing
from .replica_sets import ReplicaSets, look_at_replica
from .setting_writer import SettingWriter, look_at_setting, put_back_unless_held

AnyLeftover: TypeAlias = Leftover[Any]
_ASKED_FOR = frozenset({Undoing.WOULD_RESTORE, Undoing.ALREADY_BACK})
_PAUSE_S = 0.5
_FORWARDED_FOR_S = 60.0
"""How long a KRaft broker keeps a request that it forwards to the controller (BrokerServer, retryTimeoutMs)."""
_HELD = (
    "an election that an earlier run requested may still be executed, and would elect the first live replica of the "
    "order; the next run restores it"
)
_LASTING = "an earlier run asked for it and ended before it was seen; see the voters that quorum_info returns"


@dataclass(frozen=True, slots=True)
class Rollback:
    """Undoes everything that is pending in a journal, whichever module left it."""

    orders: Writer
    settings: SettingWriter
    replicas: ReplicaSets

    @classmethod
    def of(
        cls,
        writer: Writer,
        living: Mapping[int, Address],
        journal: Journal,
        *,
        progress: Progress,
        stop: threading.Event,
        timeout_s: float | None = None,
    ) -> Rollback:
        """Return the rollback of the run that has this journal.

        It waits for a replica ``timeout_s``, or no longer than for any other change.
        """
        writer = writer.under(journal)
        settings = SettingWriter(writer.kafka, living, writer.attempts, writer.verify_timeout_s, writer.require_lock)
        replicas = ReplicaSets(writer, living, journal, timeout_s or writer.verify_timeout_s, stop, progress)
        return cls(writer, settings, replicas)

    def undo(self, journal: Journal, kept: Collection[TopicPartition] = ()) -> tuple[AnyLeftover, ...]:
        """Undo every pending change, and return how each ended. What failed stays in the journal.

        The orders of ``kept`` partitions stay as well: this run elects these, and restores their orders then.

        Replicas come before settings, since a throttle has to last as long as they are copied.

        Raises JournalError, or NoBrokerAnswersError, RequestRefusedError or BrokerCallError before a write.
        """
        ended: list[AnyLeftover] = []
        for change in journal.pending:
            if isinstance(change, ReplicaChange):
                ended.append(Leftover(change, *self.replicas.take_back(change)))
        ended += self.undo_orders(journal, kept)
        for change in journal.pending:
            if isinstance(change, SettingChange):
                ended.append(Leftover(change, *put_back_unless_held(self.settings, journal, change)))
        lasting = [
            each for each in journal.pending if not isinstance(each, (ReplicaChange, OrderChange, SettingChange))
        ]
        journal.end(lasting, Undoing.GONE.value)
        return (*ended, *(Leftover(each, Undoing.GONE, _LASTING) for each in lasting))

    def undo_orders(self, journal: Journal, kept: Collection[TopicPartition] = ()) -> tuple[OrderLeftover, ...]:
        """Restore every pending order that is still the one that was set, and end the settled changes.

        An UNCLEAN election that a dead run requested may be executed for some time after its death. Restored, the order
        would make it elect the first live replica of the original one. So an order that stands on a partition without a
        leader is restored last: once a leader is seen, or once this run has watched for longer than that.

        Raises NoBrokerAnswersError, RequestRefusedError, BrokerCallError or JournalError.
        """
        changes = [each for each in journal.orders if each.topic_partition not in kept]
        doubtful = in_doubt(self.orders.kafka, changes)
        ended = put_back(self.orders, [each for each in changes if each not in doubtful]) if changes else ()
        strike_out(journal, ended)
        if not doubtful:
            return ended
        held = self._wait_for_leaders(doubtful)
        late = put_back(self.orders, [each for each in doubtful if each not in held])
        strike_out(journal, late)
        return (*ended, *late, *(Leftover(each, Undoing.FAILED, _HELD) for each in held))

    def _wait_for_leaders(self, changes: Sequence[OrderChange]) -> Sequence[OrderChange]:
        """Wait until no election of an earlier run can be executed any more; return those where that is not so."""
        kafka = self.orders.kafka
        self.replicas.progress.step("waiting for elections of an earlier run", 0, len(changes))
        deadline = kafka.clock.monotonic() + forwarded_for_s(kafka)
        while changes and kafka.clock.monotonic() < deadline:
            if self.replicas.stop.is_set():
                return changes
            kafka.clock.sleep(_PAUSE_S)
            with suppress(NoBrokerAnswersError, RequestRefusedError, BrokerCallError):
                changes = in_doubt(kafka, changes)
        return ()


def forwarded_for_s(kafka: Kafka) -> float:
    """Return for how many seconds a request may be executed whose response was lost, or whose sender died."""
    return _FORWARDED_FOR_S + kafka.settings.request_timeout_ms / 1000


def in_doubt(kafka: Kafka, changes: Sequence[OrderChange]) -> list[OrderChange]:
    """Return the changes whose order stands, or may stand, on a partition without a leader.

    A broker that lags behind the controller shows the order from before the change.

    Raises NoBrokerAnswersError, RequestRefusedError or BrokerCallError.
    """
    partitions = [each.topic_partition for each in changes]
    if not partitions:
        return []
    theirs = reassigned(kafka, changes).by_others
    states = kafka.see(partitions).states
    return [each for each in changes if each.topic_partition not in theirs and _stands(each, states)]


def _stands(change: OrderChange, states: Mapping[TopicPartition, PartitionState]) -> bool:
    state = states.get(change.topic_partition)
    if state is None or state.topic_id != change.topic_id:
        return False
    return state.is_offline and (state.replicas == change.original or change.is_set(state.replicas))


def has_put_back(leftovers: Iterable[AnyLeftover]) -> bool:
    """Return whether any of the changes was put back, or, in check mode, would be."""
    return any(each.undoing in PUT_BACK for each in leftovers)


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
    # In this order: a removal that ends in between is seen as ended.
    running = reassigned(kafka, changes)
    sight = kafka.see([each.topic_partition for each in changes])
    return _compared(changes, sight, running)


def _compared(changes: Sequence[OrderChange], sight: Sight, running: Reassigned) -> tuple[OrderLeftover, ...]:
    return tuple(
        Leftover(each, Undoing.FAILED, sight.why_hidden(each.topic))
        if each.topic in sight.hidden
        else _compare(each, sight.states.get(each.topic_partition), running)
        for each in changes
    )


def put_back(writer: Writer, changes: Sequence[OrderChange]) -> tuple[OrderLeftover, ...]:
    """Restore every order that is still the one we set.

    An order that seems to be back is asked for as well: a broker that lags behind the controller returns the one from
    before our change.

    Raises NoBrokerAnswersError, RequestRefusedError or BrokerCallError, before anything was written.
    """
    found = look_at_orders(writer.kafka, changes)
    if any(each.change.dropped and each.undoing is Undoing.CONFLICT for each in found):
        # A broker that lags behind the controller shows a removal in progress that has just ended.
        writer.kafka.clock.sleep(_PAUSE_S)
        found = look_at_orders(writer.kafka, changes)
    ours = [each.change for each in found if each.undoing in _ASKED_FOR and not each.change.dropped]
    rest = [each.change for each in found if each.undoing is Undoing.WOULD_RESTORE and each.change.dropped]
    states = read_states(writer.kafka, [each.topic_partition for each in rest]) if rest else {}
    faults = set_orders(writer, {each.topic_partition: each.original for each in ours})
    undone, whole = put_back_the_rest(writer, [each for each in rest if each.topic_partition in states], states)
    faults |= undone
    return tuple(_ended(each, faults.get(each.change.topic_partition), whole) for each in found)


def put_back_surely(writer: Writer, changes: Sequence[OrderChange]) -> tuple[OrderLeftover, ...]:
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
            return put_back(writer, changes)
        except (NoBrokerAnswersError, RequestRefusedError, BrokerCallError) as error:
            reason = f"whether it is still ours is unknown: {error}"
    return tuple(Leftover(each, Undoing.FAILED, reason) for each in changes)


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


def _compare(change: OrderChange, state: PartitionState | None, running: Reassigned) -> OrderLeftover:
    if state is None:
        return Leftover(change, Undoing.GONE, "the partition does not exist any more")
    if state.topic_id != change.topic_id:
        return Leftover(change, Undoing.GONE, f"the topic was recreated (id {state.topic_id})")
    is_dropping = change.topic_partition in running.dropping
    is_rest_back = change.is_back_without_dropped(state.replicas)
    if not (state.replicas == change.original or change.is_set(state.replicas) or is_rest_back):
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
    leader = predict(state, change.restored, acceptable_replicas(state), unclean=False).leader_id
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
