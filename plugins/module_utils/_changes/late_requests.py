# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Requests that may be executed after their sender died, or gave up waiting for the response.

A KRaft broker keeps a request that it forwards to the controller for 60 s. So where the cluster shows the state from
before a change, this run watches for such a request and undoes what comes, before it takes the change for settled. The
same holds for this run's own requests whose responses were lost (``Journal.unanswered``). The changes stay in the
journal until nothing can come any more: should this run die, the next one watches for them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace

from .._kafka.errors import BrokerCallError, NoBrokerAnswersError, RequestRefusedError
from .journal import Journal
from .order_rollback import (
    end_in_journal,
    find_changes_on_offline_partitions,
    preview_order_undo,
    restore_orders,
    restore_orders_with_retries,
)
from .orders import Writer, forwarded_for_s
from .record import (
    LEFT_AS_IS,
    AnyLeftover,
    Change,
    LastingOrders,
    Leftover,
    OrderChange,
    ReplicaChange,
    SettingChange,
    Undoing,
    subject_of,
)
from .replica_sets import ReplicaSets
from .setting_writer import SettingWriter, preview_setting_undo, restore_setting_unless_in_use

_PAUSE_S = 0.5
_MAY_COME = "may still be executed: a broker keeps it for 60 s; the journal has the change, and the next run settles it"
_HELD = f"a request that an earlier run sent {_MAY_COME}"
_OUR_LATE = "the response to a request of this run was lost, and it was executed late"
_OUR_HELD = f"the response to a request of this run was lost, and it {_MAY_COME}"
_NO_LONGER = "an earlier run ended before its orders were all set; nothing that it requested can be executed any more"
_NOTHING_CAME = frozenset({Undoing.ALREADY_BACK, Undoing.FAILED})


@dataclass(frozen=True, slots=True)
class Watched:
    """A change in the journal that a request which was sent may still make."""

    change: Change
    until: float
    """By the clock of this run: when no such request can be executed any more."""
    was_restored: bool = True
    """Its state from before was seen. Where it was not, it is settled as soon as it is undone."""
    is_ours: bool = False
    """This run made the change, and has undone it."""
    came: AnyLeftover | None = None
    """How it was undone after it came late."""


@dataclass(frozen=True, slots=True)
class LateRequests:
    """Watches for what may come late, and undoes it."""

    journal: Journal
    orders: Writer
    settings: SettingWriter
    replicas: ReplicaSets
    since: float
    """By the clock, when this run took the lock: whatever a run before it requested, it requested before that."""
    watched: dict[str, Watched] = field(default_factory=dict)
    """Changes that are undone, and not settled yet, by key."""

    def watch(self, change: Change, *, was_restored: bool = True) -> None:
        """Have ``settle`` watch for what a run before this one may have requested."""
        until = self.since + forwarded_for_s(self.orders.kafka)
        self.watched[change.key] = Watched(change, until, was_restored)
        if was_restored:
            self.journal.note_late_requests([subject_of(change)], until)

    def undo_late_changes(self) -> tuple[AnyLeftover, ...]:
        """Undo what comes late, until nothing can come any more, and return how changes of earlier runs ended.

        What becomes of this run's own ones is in the journal's notes, where a person has to know of it.

        An order that stands on a partition without a leader is restored last: an UNCLEAN election that was requested
        in it would elect the first live replica of the original one.

        A run that is asked to stop leaves them to the next one. Raises JournalError.
        """
        ended: list[AnyLeftover] = []
        clock = self.orders.kafka.clock
        self._watch_for_ours()
        while self.watched and not self.replicas.stop.is_set():
            self.replicas.progress.step("waiting for requests that may still be executed")
            now = clock.monotonic()
            over = [each.change for each in self.watched.values() if each.until <= now]
            for each in self._came():
                ended += self._noted(each)
            over = [each for each in over if each.key in self.watched]
            for each in self._asked_for_again(over):
                is_lost = each.change.key in self.journal.awaiting_late_requests
                ended += self._settled(Leftover(each.change, Undoing.FAILED, _HELD) if is_lost else each)
            self._watch_for_ours(but=over)
            if self.watched:
                clock.sleep(_PAUSE_S)
        for left in [*self.watched.values()]:
            ended += self._settled(Leftover(left.change, Undoing.FAILED, _HELD))
        return tuple(ended)

    def _watch_for_ours(self, but: Sequence[Change] = ()) -> None:
        """Watch for this run's own requests, too; where even the last one of ``but`` is lost, the next run does."""
        for key, (change, until) in self.journal.awaiting_late_requests.items():
            known = self.watched.get(key)
            if known is not None:
                self.watched[key] = replace(known, until=max(known.until, until))
            elif change not in but:
                self.watched[key] = Watched(change, until, is_ours=True)

    def _noted(self, leftover: AnyLeftover) -> Iterator[AnyLeftover]:
        """Note what came. Another request for the same may follow it: it is still watched for, and stays journaled."""
        known = self.watched[leftover.change.key]
        if known.was_restored and leftover.undoing is Undoing.RESTORED:
            self.watched[leftover.change.key] = replace(known, came=leftover)
        else:
            yield from self._settled(leftover)

    def _settled(self, leftover: AnyLeftover) -> Iterator[AnyLeftover]:
        """Watch for this one no longer, and name what came late."""
        known = self.watched.pop(leftover.change.key)
        if leftover.undoing in LEFT_AS_IS:
            self.journal.forget_late_requests([leftover.change])
            self.journal.end([leftover.change], leftover.undoing.value)
        ended = known.came if known.came is not None and leftover.undoing is Undoing.ALREADY_BACK else leftover
        is_late = known.was_restored and ended.undoing is Undoing.RESTORED
        if not known.is_ours:
            reason = f"an earlier run requested it, and it was executed late: {ended.reason}"
            yield replace(ended, reason=reason) if is_late else ended
        elif is_late:
            self.journal.notes.append(f"{ended.change}: {_OUR_LATE}: {ended.reason}")
        elif ended.undoing is Undoing.FAILED:
            reason = _OUR_HELD if ended.reason == _HELD else ended.reason
            self.journal.notes.append(f"{ended.change}: {reason}")

    def _came(self) -> Iterator[AnyLeftover]:
        """Undo what has come since the last look, and say how. What cannot be seen is looked at again."""
        changes = [each.change for each in self.watched.values()]
        for change in changes:
            if isinstance(change, ReplicaChange) and self.replicas.is_dropped(change):
                yield self.replicas.end_in_journal(change, *self.replicas.restore_replica(change))
        with suppress(NoBrokerAnswersError, RequestRefusedError, BrokerCallError):
            orders = [each for each in changes if isinstance(each, OrderChange)]
            doubtful = find_changes_on_offline_partitions(self.orders.kafka, orders)
            orders = [each for each in orders if each not in doubtful]
            found = zip(orders, preview_order_undo(self.orders.kafka, orders) if orders else (), strict=True)
            came = [each for each, leftover in found if leftover.undoing not in _NOTHING_CAME]
            ended = [
                each
                for each in (restore_orders(self.orders, came) if came else ())
                if each.undoing not in _NOTHING_CAME
            ]
            end_in_journal(self.journal, ended)
            yield from ended
        for change in changes:
            if (
                isinstance(change, SettingChange)
                and preview_setting_undo(self.settings, change)[0] not in _NOTHING_CAME
            ):
                undoing, reason = restore_setting_unless_in_use(self.settings, self.journal, change)
                if undoing is not Undoing.FAILED:
                    yield Leftover(change, undoing, reason)

    def _asked_for_again(self, changes: Sequence[Change]) -> Iterator[AnyLeftover]:
        """Ask for the original state once more where nothing can come any more, and settle that."""
        self.journal.forget_late_requests(changes)
        for change in changes:
            if isinstance(change, ReplicaChange):
                yield self.replicas.end_in_journal(change, *self.replicas.restore_replica(change))
        ended = restore_orders_with_retries(self.orders, [each for each in changes if isinstance(each, OrderChange)])
        end_in_journal(self.journal, ended)
        yield from ended
        for change in changes:
            if isinstance(change, SettingChange):
                yield Leftover(change, *restore_setting_unless_in_use(self.settings, self.journal, change))
            elif isinstance(change, LastingOrders):
                self.journal.end([change], Undoing.GONE.value)
                yield Leftover(change, Undoing.GONE, _NO_LONGER)
