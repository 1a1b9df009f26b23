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

import threading
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace

from .._kafka.errors import CallError
from .._model.partition import TopicPartition
from .._model.run import Progress
from .journal import Journal
from .order_rollback import find_changes_on_offline_partitions, preview_order_undo, restore_orders
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
    VoterChange,
    partition_subject,
    subject_of,
)
from .replica_sets import ReplicaSets
from .sender import Writer, forwarded_for_s
from .setting_writer import SettingWriter, preview_setting_undo, restore_setting

_PAUSE_S = 0.5
_MAY_BE_EXECUTED = (
    "may still be executed: a broker keeps it for 60 s. The change stays in the journal, and the next run undoes it"
)
_EARLIER_EXECUTED = "an earlier run requested it, and the request was executed late"
_LOST_RESPONSE = "the response to a request was lost, and the request"
_LASTING_ENDED = "an earlier run ended before it had set all its orders. None of its requests can be executed any more"
_VOTER_REQUESTED = (
    "an earlier run requested it and ended before it saw the result: see the voters that quorum_info returns"
)
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
    undone: AnyLeftover | None = None
    """The result of the last undo that changed something."""


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

    def doubt(self, change: Change, *, was_restored: bool = True, undone: AnyLeftover | None = None) -> None:
        """Have ``settle_doubt`` watch a change that an earlier run may have requested."""
        until = self.since + forwarded_for_s(self.orders.kafka)
        self.doubts[change.key] = Doubt(change, until, was_restored, undone=undone)
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
            # The next look tries again what cannot be read or undone now, but a replica has had all its time.
            for each in self.restore(self._find_executed(), _is_undone):
                results += self._record_undo(each)
            expired = [each for each in expired if each.key in self.doubts]
            self.journal.trust(expired)
            for each in self.restore(expired):
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
            self.doubts[result.change.key] = replace(known, undone=_explain_late(known, result))
        else:
            yield from self._end_doubt(result)

    def _end_doubt(self, result: AnyLeftover) -> Iterator[AnyLeftover]:
        """Stop watching a change. Yield its result if an earlier run made it, or else note it in the journal."""
        known = self.doubts.pop(result.change.key)
        if result.undoing in LEFT_AS_IS:
            self.journal.trust([result.change])
            self.journal.end([result.change], result.undoing.value)
        if known.undone is not None and result.undoing is Undoing.ALREADY_BACK:
            result = known.undone
        elif known.was_restored and result.undoing is Undoing.RESTORED:
            result = _explain_late(known, result)
        if not known.is_ours:
            yield result
        elif result.undoing in PENDING | {Undoing.RESTORED}:
            self.journal.notes.append(f"{result.change}: {result.reason}")

    def _end_unfinished(self, change: Change) -> Iterator[AnyLeftover]:
        """Stop watching a change that a late request may still make after this run has ended."""
        request = _LOST_RESPONSE if self.doubts[change.key].is_ours else "a request of an earlier run"
        yield from self._end_doubt(Leftover(change, Undoing.FAILED, f"{request} {_MAY_BE_EXECUTED}"))

    def _find_executed(self) -> list[Change]:
        """Return the watched changes that late requests have made."""
        watched = [each.change for each in self.doubts.values()]
        orders = [each for each in watched if isinstance(each, OrderChange)]
        found: list[AnyLeftover] = [
            preview_setting_undo(self.settings, each) for each in watched if isinstance(each, SettingChange)
        ]
        with suppress(CallError):
            offline = find_changes_on_offline_partitions(self.orders.kafka, orders)
            found += preview_order_undo(self.orders.kafka, [each for each in orders if each not in offline])
        dropped = [each for each in watched if isinstance(each, ReplicaChange) and self.replicas.is_dropped(each)]
        return [*dropped, *(each.change for each in found if each.undoing not in _NOT_EXECUTED)]

    def restore(
        self, changes: Sequence[Change], ends: Callable[[AnyLeftover], bool] = lambda _result: True
    ) -> list[AnyLeftover]:
        """Undo changes. End those in the journal whose result ``ends`` them, and return their results."""
        ended: list[AnyLeftover] = []
        for results in self._restore_each_kind(changes):
            ending = [each for each in results if ends(each)]
            self.journal.end_undone(ending)
            ended += ending
        return ended

    def _restore_each_kind(self, changes: Sequence[Change]) -> Iterator[Sequence[AnyLeftover]]:
        """Undo changes, and yield the results. Replicas come first: a throttle must last until they are copied."""
        for each in changes:
            if isinstance(each, ReplicaChange):
                yield [self.replicas.restore_replica(each)]
        yield restore_orders(self.orders, [each for each in changes if isinstance(each, OrderChange)])
        for each in changes:
            if isinstance(each, SettingChange):
                yield [restore_setting(self.settings, self.journal, each)]
        yield [Leftover(each, Undoing.GONE, _VOTER_REQUESTED) for each in changes if isinstance(each, VoterChange)]
        yield [Leftover(each, Undoing.GONE, _LASTING_ENDED) for each in changes if isinstance(each, LastingOrders)]


def _explain_late(known: Doubt, result: AnyLeftover) -> AnyLeftover:
    how = f"{_LOST_RESPONSE} was executed late" if known.is_ours else _EARLIER_EXECUTED
    return replace(result, reason=f"{how}: {result.reason}")


def _is_undone(result: AnyLeftover) -> bool:
    return result.undoing not in _NOT_EXECUTED or isinstance(result.change, ReplicaChange)


def wait_for_late_requests(
    writer: Writer, partitions: Collection[TopicPartition], progress: Progress, stop: threading.Event
) -> bool:
    """Wait until no request about these partitions can be executed late. Return False if asked to stop first."""
    if writer.journal is None:
        return True
    until = writer.journal.in_doubt_until(map(partition_subject, partitions))
    while writer.kafka.clock.monotonic() < until:
        if stop.is_set():
            return False
        progress.step("waiting for requests whose responses were lost")
        writer.kafka.clock.sleep(_PAUSE_S)
    return True
