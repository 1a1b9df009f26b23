# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Keep the journal: the durable record of pending changes. Standard library only.

The journal is in the run topic (``Log``). All modules of this collection share it.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Protocol

from .._model.partition import grouped
from .._model.setting import same_value
from .record import (
    PENDING,
    AnyChange,
    AnyLeftover,
    Change,
    Entry,
    JournalError,
    OrderChange,
    ReplicaChange,
    SettingChange,
    Undoing,
    begin_entries,
    doubt_entries,
    end_entries,
    in_undo_order,
    subject_of,
)

_MAY_REACH_SUCCESSOR = (
    "the topic is gone, and a request for it may still be executed within a minute, on a topic that has its name then: "
    "compare the replicas and configs of that one with what they should be"
)


class LockLostError(JournalError):
    """This run has lost its lock and must not write any more. Another run holds the lock, or no run does."""


class JournalLog(Protocol):
    """The topic of the journal. This run holds its lock."""

    def append(self, entries: Sequence[Entry]) -> None:
        """Return once the entries are durable. Raises JournalError."""

    def require_lock(self) -> None:
        """Raise LockLostError unless this run holds the lock, or JournalError if this cannot be checked."""

    def clear(self) -> None:
        """Remove all entries. Call this only when no change is pending. Raises JournalError."""


class Journal:
    """The open journal of one run. Threads may share it."""

    def __init__(self, log: JournalLog, pending: Iterable[Change], doubted: Iterable[str] = ()) -> None:
        self._log = log
        self._pending = {each.key: each for each in pending}
        self._lock = threading.Lock()
        self.notes: list[str] = []
        """Messages about the journal itself, for example that it was recovered."""
        self._doubt: dict[str, float] = {}
        """By subject: the monotonic time until which a request about it may be executed."""
        self.inherited_doubt = frozenset(doubted)
        """Subjects of requests that an earlier run sent again after a lost response: the first one may be executed."""
        self._undone: set[str] = set()
        """Keys of changes in doubt that were undone. Others stay as they are: the order of an election may have to."""

    @property
    def pending(self) -> tuple[Change, ...]:
        """The changes of all runs that are begun and not ended, in the order in which they are undone."""
        with self._lock:
            return in_undo_order(self._pending.values())

    @property
    def orders(self) -> tuple[OrderChange, ...]:
        """The pending changes of replica orders."""
        return tuple(each for each in self.pending if isinstance(each, OrderChange))

    def require_lock(self) -> None:
        """Check that this run holds the lock. Call this before each write request.

        Raises LockLostError, or JournalError if this cannot be checked.
        """
        self._log.require_lock()

    @property
    def is_lost(self) -> bool:
        """Whether this run has lost its lock. Then the next run may not see the changes that are pending here."""
        try:
            self.require_lock()
        except LockLostError:
            return True
        except JournalError:
            return False
        return False

    def begin(self, changes: Iterable[AnyChange]) -> tuple[AnyChange, ...]:
        """Record changes durably, and return them as recorded.

        If a pending change set the present value, the new change gets the original value of the pending one.

        Raises JournalError, also if another change of the same partition's replica set is pending.
        """
        with self._lock:
            recorded = tuple(self._with_first_original(each) for each in changes)
            self._log.append(begin_entries(recorded))
            self._pending |= {each.key: each for each in recorded}
            self._undone -= {each.key for each in recorded}
        return recorded

    def doubt(self, subjects: Iterable[str], until: float) -> None:
        """Note that requests about these subjects (``subject_of``) may be executed until a monotonic time."""
        with self._lock:
            for each in subjects:
                self._doubt[each] = max(until, self._doubt.get(each, until))

    def note_lost_response(self, subjects: Iterable[str], until: float) -> None:
        """Note the same of requests whose responses were lost, also for the next run, before they are sent again.

        Without the record, a run that finds their effect and undoes it would not watch for a second execution. If it
        cannot be written, this run has lost its lock, or finds the journal unusable before its next request.
        """
        named = [*subjects]
        self.doubt(named, until)
        with self._lock, suppress(JournalError):
            changed = {subject_of(each) for each in self._pending.values()}
            if entries := doubt_entries([each for each in named if each in changed]):
                self._log.append(entries)

    def in_doubt_until(self, subjects: Iterable[str]) -> float:
        """Return the monotonic time until which a request about these subjects may be executed; 0.0 if none may."""
        with self._lock:
            return max((self._doubt.get(each, 0.0) for each in subjects), default=0.0)

    def trust(self, changes: Iterable[Change]) -> None:
        """Note that no request about these changes can be executed any more."""
        with self._lock:
            for each in changes:
                self._doubt.pop(subject_of(each), None)
                self._undone.discard(each.key)

    @property
    def in_doubt(self) -> Mapping[str, tuple[Change, float]]:
        """By key: changes that were undone while a request may repeat them, with the time of its expiry."""
        with self._lock:
            return {
                each: (self._pending[each], self._doubt.get(subject_of(self._pending[each]), 0.0))
                for each in sorted(self._undone)
            }

    def end(self, changes: Iterable[Change], why: str) -> None:
        """Record that changes are undone, or that this collection does not undo them.

        A change in doubt stays pending, and is in ``in_doubt``, unless its topic is gone. Then nothing can be restored
        any more, and a note says what a late request may do to a topic of the same name.

        Raises JournalError.
        """
        with self._lock:
            known = [each for each in changes if each.key in self._pending]
            if why != Undoing.GONE:
                self._undone.update(each.key for each in known if subject_of(each) in self._doubt)
                known = [each for each in known if each.key not in self._undone]
            else:
                of_topics = [each for each in known if isinstance(each, (OrderChange, ReplicaChange, SettingChange))]
                self.notes += [
                    f"{each}: {_MAY_REACH_SUCCESSOR}" for each in of_topics if subject_of(each) in self._doubt
                ]
            if not known:
                return
            self._log.append(end_entries(known, why))
            for each in known:
                del self._pending[each.key]
                self._undone.discard(each.key)
            if not self._pending:
                self._log.clear()

    def end_undone(self, results: Iterable[AnyLeftover]) -> None:
        """End the changes of these results, except those whose undo failed or waits. Raises JournalError."""
        undone = ((each.undoing, each.change) for each in results if each.undoing not in PENDING)
        for undoing, changes in grouped(undone).items():
            self.end(changes, undoing.value)

    def _with_first_original(self, change: AnyChange) -> AnyChange:
        pending = self._pending.get(change.key)
        if isinstance(change, ReplicaChange) and pending is not None:
            raise JournalError(
                f"an earlier change of the replicas of {change.topic_partition} is not undone yet. A new change would "
                "lose their original order: remove the cause of the failed undo, and run again"
            )
        match change, pending:
            case SettingChange(), SettingChange() if same_value(change.original, pending.changed):
                return replace(change, original=pending.original)
            case OrderChange(topic_id=now), OrderChange(topic_id=then) if (now, change.original) == (
                then,
                pending.changed,
            ):
                return replace(change, original=pending.original)
        return change
