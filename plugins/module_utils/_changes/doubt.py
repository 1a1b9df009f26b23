# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Settle what is in doubt: wait until no late request can be executed, and undo what late requests change.

A KRaft broker keeps a request that it forwards to the controller for 60 s. So the controller may execute a request
after its sender died, or after its sender gave up waiting for the response (``Journal.doubt``). Until then, a change is
*in doubt*: the cluster may show its original state, and a late request may still make it. A change in doubt does not
end in the journal. So if this run dies, the next run inherits the doubt with the lock.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from .._kafka.errors import CallError
from .journal import Journal
from .order_rollback import (
    end_in_journal,
    find_changes_on_offline_partitions,
    preview_order_undo,
    restore_orders,
    restore_orders_with_retries,
)
from .record import (
    LEFT_AS_IS,
    PENDING,
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
from .sender import Writer, forwarded_for_s
from .setting_writer import SettingWriter, preview_setting_undo, restore_setting_unless_in_use

_PAUSE_S = 0.5
_MAY_BE_EXECUTED = (
    "may still be executed: a broker keeps it for 60 s. The change stays in the journal, and the next run undoes it"
)
_EARLIER_EXECUTED = "an earlier run requested it, and the request was executed late"
_LOST_RESPONSE = "the response to a request was lost, and the request"
_LASTING_ENDED = "an earlier run ended before it had set all its orders. None of its requests can be executed any more"
_NOT_EXECUTED = PENDING | {Undoing.ALREADY_BACK}


@dataclass(frozen=True, slots=True)
class Doubt:
    """A change in the journal that a late request may still make."""

    change: Change
    until: float
    """The monotonic time after which no such request can be executed."""
    was_restored: bool = True
    """The original state was seen. If not, the doubt ends when the change is undone."""
    is_ours: bool = False
    """This run made the change, and has undone it."""
    late_undo: AnyLeftover | None = None
    """The result of the last undo after a late request."""


@dataclass(frozen=True, slots=True)
class Doubts:
    """Watch the changes that late requests may make, and undo them."""

    journal: Journal
    orders: Writer
    settings: SettingWriter
    replicas: ReplicaSets
    since: float
    """The monotonic time at which this run took the lock. Earlier runs sent all their requests before it."""
    doubts: dict[str, Doubt] = field(default_factory=dict)
    """By key: changes that are undone, and that a late request may still make."""

    def doubt(self, change: Change, *, was_restored: bool = True) -> None:
        """Have ``settle_doubt`` watch a change that an earlier run may have requested."""
        until = self.since + forwarded_for_s(self.orders.kafka)
        self.doubts[change.key] = Doubt(change, until, was_restored)
        if was_restored:
            self.journal.doubt([subject_of(change)], until)

    def settle_doubt(self) -> tuple[AnyLeftover, ...]:
        """Wait until no late request can be executed, undo what late requests change, and return the results.

        Only results of changes of earlier runs are returned. If a change of this run was executed late, or if its undo
        failed, the journal's notes say so.

        The order of an offline partition is restored last: in the original order, an UNCLEAN election that was
        requested in the changed order would elect the first live replica.

        A run that is asked to stop leaves the changes to the next run. Raises JournalError.
        """
        results: list[AnyLeftover] = []
        clock = self.orders.kafka.clock
        self._doubt_own_changes()
        while self.doubts and not self.replicas.stop.is_set():
            self.replicas.progress.step("waiting for requests that may still be executed")
            now = clock.monotonic()
            expired = [each.change for each in self.doubts.values() if each.until <= now]
            for each in self._undo_executed():
                results += self._record_undo(each)
            expired = [each for each in expired if each.key in self.doubts]
            for each in self._restore_once_more(expired):
                may_follow = each.change.key in self.journal.in_doubt
                results += self._end_unfinished(each.change) if may_follow else self._end_doubt(each)
            self._doubt_own_changes(but=expired)
            if self.doubts:
                clock.sleep(_PAUSE_S)
        for left in [*self.doubts.values()]:
            results += self._end_unfinished(left.change)
        return tuple(results)

    def _doubt_own_changes(self, but: Sequence[Change] = ()) -> None:
        """Watch the changes that late requests of this run may make.

        ``but`` are changes that were just restored once more. If that response was lost too, the next run watches them.
        """
        for key, (change, until) in self.journal.in_doubt.items():
            known = self.doubts.get(key)
            if known is not None:
                self.doubts[key] = replace(known, until=max(known.until, until))
            elif change not in but:
                self.doubts[key] = Doubt(change, until, is_ours=True)

    def _record_undo(self, result: AnyLeftover) -> Iterator[AnyLeftover]:
        """Keep watching a change that was undone after a late request, since another request may follow."""
        known = self.doubts[result.change.key]
        if known.was_restored and result.undoing is Undoing.RESTORED:
            self.doubts[result.change.key] = replace(known, late_undo=result)
        else:
            yield from self._end_doubt(result)

    def _end_doubt(self, result: AnyLeftover) -> Iterator[AnyLeftover]:
        """Stop watching a change. Yield its result if an earlier run made it, or else note it in the journal."""
        known = self.doubts.pop(result.change.key)
        if result.undoing in LEFT_AS_IS:
            self.journal.trust([result.change])
            self.journal.end([result.change], result.undoing.value)
        if known.late_undo is not None and result.undoing is Undoing.ALREADY_BACK:
            result = known.late_undo
        is_late = known.was_restored and result.undoing is Undoing.RESTORED
        if not known.is_ours:
            yield replace(result, reason=f"{_EARLIER_EXECUTED}: {result.reason}") if is_late else result
        elif is_late:
            self.journal.notes.append(f"{result.change}: {_LOST_RESPONSE} was executed late: {result.reason}")
        elif result.undoing in PENDING:
            self.journal.notes.append(f"{result.change}: {result.reason}")

    def _end_unfinished(self, change: Change) -> Iterator[AnyLeftover]:
        """Stop watching a change that a late request may still make after this run has ended."""
        request = _LOST_RESPONSE if self.doubts[change.key].is_ours else "a request of an earlier run"
        yield from self._end_doubt(Leftover(change, Undoing.FAILED, f"{request} {_MAY_BE_EXECUTED}"))

    def _undo_executed(self) -> Iterator[AnyLeftover]:
        """Undo the watched changes that late requests have made. The next look tries again what cannot be read now."""
        changes = [each.change for each in self.doubts.values()]
        for change in changes:
            if isinstance(change, ReplicaChange) and self.replicas.is_dropped(change):
                yield self._restore_replica(change)
        yield from self._undo_executed_orders([each for each in changes if isinstance(each, OrderChange)])
        for change in changes:
            if not isinstance(change, SettingChange):
                continue
            if preview_setting_undo(self.settings, change)[0] not in _NOT_EXECUTED:
                undoing, reason = restore_setting_unless_in_use(self.settings, self.journal, change)
                if undoing not in PENDING:
                    yield Leftover(change, undoing, reason)

    def _undo_executed_orders(self, changes: Sequence[OrderChange]) -> Sequence[AnyLeftover]:
        kafka = self.orders.kafka
        try:
            offline = find_changes_on_offline_partitions(kafka, changes)
            online = [each for each in changes if each not in offline]
            found = preview_order_undo(kafka, online) if online else ()
            executed = [each.change for each in found if each.undoing not in _NOT_EXECUTED]
            results = restore_orders(self.orders, executed) if executed else ()
            undone = [each for each in results if each.undoing not in _NOT_EXECUTED]
            end_in_journal(self.journal, undone)
        except CallError:
            return ()
        return undone

    def _restore_once_more(self, changes: Sequence[Change]) -> Iterator[AnyLeftover]:
        """Restore the original state once more after the last late request, and end the changes in the journal."""
        self.journal.trust(changes)
        for change in changes:
            if isinstance(change, ReplicaChange):
                yield self._restore_replica(change)
        results = restore_orders_with_retries(self.orders, [each for each in changes if isinstance(each, OrderChange)])
        end_in_journal(self.journal, results)
        yield from results
        for change in changes:
            if isinstance(change, SettingChange):
                yield Leftover(change, *restore_setting_unless_in_use(self.settings, self.journal, change))
            elif isinstance(change, LastingOrders):
                self.journal.end([change], Undoing.GONE.value)
                yield Leftover(change, Undoing.GONE, _LASTING_ENDED)

    def _restore_replica(self, change: ReplicaChange) -> AnyLeftover:
        return self.replicas.end_in_journal(change, *self.replicas.restore_replica(change))
