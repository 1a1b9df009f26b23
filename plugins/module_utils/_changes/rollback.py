# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The one rollback: undoes what this run, or an earlier one of any module, changed for a while.

Only a state that a run of this collection can have left is undone, order of replicas included. Every other state was
set by somebody else, and stays.

A KRaft broker keeps a request that it forwards to the controller for 60 s. So what a run requested before it died may
be carried out after its death. Where the cluster shows the state from before a change, this run watches for that long
before it takes the change for settled, and undoes what comes.
"""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

from .._kafka.addresses import Address
from .._kafka.errors import BrokerCallError, NoBrokerAnswersError, RequestRefusedError
from .._kafka.port import Kafka
from .._model.partition import TopicPartition
from .._model.run import Progress
from .journal import Journal
from .order_rollback import in_doubt, look_at_orders, put_back, put_back_surely, strike_out
from .orders import Writer
from .record import PUT_BACK, Change, Leftover, OrderChange, ReplicaChange, SettingChange, Undoing
from .replica_sets import ReplicaSets, look_at_replica
from .setting_writer import SettingWriter, look_at_setting, put_back_unless_held, why_held

AnyLeftover: TypeAlias = Leftover[Any]
_PAUSE_S = 0.5
_FORWARDED_FOR_S = 60.0
"""How long a KRaft broker keeps a request that it forwards to the controller (BrokerServer, retryTimeoutMs)."""
_HELD = (
    "a request that an earlier run sent may still be executed: a broker keeps it for 60 s; the journal has the "
    "change, and the next run settles it"
)
_LASTING = "an earlier run asked for it and ended before it was seen; see the voters that quorum_info returns"
_NOTHING_CAME = frozenset({Undoing.ALREADY_BACK, Undoing.FAILED})


def forwarded_for_s(kafka: Kafka) -> float:
    """Return for how many seconds a request may be executed whose response was lost, or whose sender died."""
    return _FORWARDED_FOR_S + kafka.settings.request_timeout_ms / 1000


@dataclass(frozen=True, slots=True)
class Watched:
    """A change in the journal that a request which was sent may still set."""

    change: Change
    until: float
    """By the clock of this run: when no such request can be carried out any more."""
    was_back: bool = True
    """Its state from before was seen."""


@dataclass(frozen=True, slots=True)
class Rollback:
    """Undoes everything that is pending in a journal, whichever module left it."""

    orders: Writer
    settings: SettingWriter
    replicas: ReplicaSets
    since: float
    """By the clock, when this run took the lock: whatever a run before it requested, it requested before that."""
    watched: dict[str, Watched] = field(default_factory=dict)
    """Changes that are undone, and not settled yet, by key."""

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
        """Return the rollback of the run that has this journal, and has just opened it.

        It waits for a replica ``timeout_s``, or no longer than for any other change.
        """
        writer = writer.under(journal)
        settings = SettingWriter(writer.kafka, living, writer.attempts, writer.verify_timeout_s, writer.require_lock)
        replicas = ReplicaSets(writer, living, journal, timeout_s or writer.verify_timeout_s, stop, progress)
        return cls(writer, settings, replicas, writer.kafka.clock.monotonic())

    def undo(self, journal: Journal) -> tuple[AnyLeftover, ...]:
        """Undo every pending change, wait until all are settled, and return how each ended.

        What failed stays in the journal.

        Raises JournalError, or NoBrokerAnswersError, RequestRefusedError or BrokerCallError before a write.
        """
        return (*self.undo_at_once(journal), *self.settle(journal))

    def undo_at_once(self, journal: Journal, kept: Collection[TopicPartition] = ()) -> tuple[AnyLeftover, ...]:
        """Undo what can be undone now, and return how each change ended that is settled or failed.

        All others are ``watched``, and stay in the journal until they are settled. The orders of ``kept`` partitions
        stay as well: this run elects these, and restores their orders then.

        Replicas come before settings, since a throttle has to last as long as they are copied.

        Raises JournalError, or NoBrokerAnswersError, RequestRefusedError or BrokerCallError before a write.
        """
        ended: list[AnyLeftover] = []
        for change in journal.pending:
            if isinstance(change, ReplicaChange):
                ended += self._replica_at_once(journal, change)
        ended += self._orders_at_once(journal, [each for each in journal.orders if each.topic_partition not in kept])
        for change in journal.pending:
            if isinstance(change, SettingChange):
                ended += self._setting_at_once(journal, change)
        lasting = [
            each for each in journal.pending if not isinstance(each, (ReplicaChange, OrderChange, SettingChange))
        ]
        journal.end(lasting, Undoing.GONE.value)
        return (*ended, *(Leftover(each, Undoing.GONE, _LASTING) for each in lasting))

    def watch_for(self, change: Change, *, was_back: bool = True) -> None:
        """Have ``settle`` watch for what a run before this one may have requested."""
        until = self.since + forwarded_for_s(self.orders.kafka)
        self.watched[change.key] = Watched(change, until, was_back)

    def settle(self, journal: Journal) -> tuple[AnyLeftover, ...]:
        """Undo what comes late, until nothing can come any more, and return how the watched changes ended.

        An order that stands on a partition without a leader is restored last: an UNCLEAN election that was requested
        in it would elect the first live replica of the original one.

        A run that is asked to stop leaves them to the next one. Raises JournalError.
        """
        ended: list[AnyLeftover] = []
        clock = self.orders.kafka.clock
        while self.watched and not self.replicas.stop.is_set():
            self.replicas.progress.step("waiting for requests of an earlier run that may still be executed")
            now = clock.monotonic()
            over = [each for each in self.watched.values() if each.until <= now]
            ended += self._settled(self._came(journal))
            ended += self._settled(self._ended(journal, over))
            if self.watched:
                clock.sleep(_PAUSE_S)
        ended += [Leftover(each.change, Undoing.FAILED, _HELD) for each in self.watched.values()]
        self.watched.clear()
        return tuple(ended)

    def _settled(self, leftovers: Iterable[AnyLeftover]) -> Iterator[AnyLeftover]:
        """Watch for these no longer, and name what came late."""
        for each in leftovers:
            was_back = self.watched.pop(each.change.key).was_back
            reason = f"an earlier run requested it, and it was executed late: {each.reason}"
            yield replace(each, reason=reason) if was_back and each.undoing is Undoing.RESTORED else each

    def _orders_at_once(self, journal: Journal, changes: Sequence[OrderChange]) -> Iterator[AnyLeftover]:
        doubtful = in_doubt(self.orders.kafka, changes)
        for change in doubtful:
            self.watch_for(change, was_back=False)
        changes = [each for each in changes if each not in doubtful]
        found = put_back(self.orders, changes) if changes else ()
        ended = []
        for change, leftover in zip(changes, found, strict=True):
            # One that drops brokers, and is back without them, was carried out.
            if leftover.undoing is Undoing.ALREADY_BACK and not leftover.change.dropped:
                self.watch_for(change)
            else:
                ended.append(leftover)
        strike_out(journal, ended)
        yield from ended

    def _setting_at_once(self, journal: Journal, change: SettingChange) -> Iterator[AnyLeftover]:
        holding = why_held(change, [each.change for each in self.watched.values()])
        undoing, _reason = look_at_setting(self.settings, change)
        if holding or undoing is Undoing.ALREADY_BACK:
            self.watch_for(change, was_back=not holding)
        else:
            yield Leftover(change, *put_back_unless_held(self.settings, journal, change))

    def _replica_at_once(self, journal: Journal, change: ReplicaChange) -> Iterator[AnyLeftover]:
        was_dropped = self.replicas.is_dropped(change)
        undoing, reason = self.replicas.take_back(change)
        if undoing in PUT_BACK and not was_dropped:
            self.watch_for(change)
            return
        yield self._replica_ended(journal, change, undoing, reason)

    @staticmethod
    def _replica_ended(journal: Journal, change: ReplicaChange, undoing: Undoing, reason: str) -> AnyLeftover:
        if undoing is not Undoing.FAILED:
            journal.end([change], undoing.value)
        return Leftover(change, undoing, reason)

    def _came(self, journal: Journal) -> Iterator[AnyLeftover]:
        """Undo what has come since the last look, and say how it ended. What cannot be seen is looked at again."""
        changes = [each.change for each in self.watched.values()]
        for change in changes:
            if isinstance(change, ReplicaChange) and self.replicas.is_dropped(change):
                yield self._replica_ended(journal, change, *self.replicas.take_back(change))
        with suppress(NoBrokerAnswersError, RequestRefusedError, BrokerCallError):
            orders = [each for each in changes if isinstance(each, OrderChange)]
            doubtful = in_doubt(self.orders.kafka, orders)
            orders = [each for each in orders if each not in doubtful]
            found = zip(orders, look_at_orders(self.orders.kafka, orders) if orders else (), strict=True)
            came = [each for each, leftover in found if leftover.undoing not in _NOTHING_CAME]
            ended = [
                each for each in (put_back(self.orders, came) if came else ()) if each.undoing not in _NOTHING_CAME
            ]
            strike_out(journal, ended)
            yield from ended
        for change in changes:
            if isinstance(change, SettingChange) and look_at_setting(self.settings, change)[0] not in _NOTHING_CAME:
                undoing, reason = put_back_unless_held(self.settings, journal, change)
                if undoing is not Undoing.FAILED:
                    yield Leftover(change, undoing, reason)

    def _ended(self, journal: Journal, over: Iterable[Watched]) -> Iterator[AnyLeftover]:
        """Ask for the original state once more where nothing can come any more, and settle that."""
        changes = [each.change for each in over if each.change.key in self.watched]
        for change in changes:
            if isinstance(change, ReplicaChange):
                yield self._replica_ended(journal, change, *self.replicas.take_back(change))
        ended = put_back_surely(self.orders, [each for each in changes if isinstance(each, OrderChange)])
        strike_out(journal, ended)
        yield from ended
        for change in changes:
            if isinstance(change, SettingChange):
                yield Leftover(change, *put_back_unless_held(self.settings, journal, change))


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
