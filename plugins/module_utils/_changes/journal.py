# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The journal: what was changed for a while, until it is undone. Standard library only.

It is kept in a topic or in a local file (``Log``). Every module of this collection sees every pending change.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Protocol

from .._model.setting import same_value
from .record import (
    AnyChange,
    Change,
    Entry,
    JournalError,
    OrderChange,
    ReplicaChange,
    SettingChange,
    Undoing,
    apply_entry,
    begin_entry,
    end_entry,
    in_order,
    subject_of,
)


class LockLostError(JournalError):
    """Another run holds the lock now, or nobody does. This run must not write anything more."""


class Log(Protocol):
    """Where the journal is kept, held under a lock by this run."""

    @property
    def name(self) -> str:
        """What it is, for a person."""

    def append(self, entries: Sequence[Entry]) -> None:
        """Return once the entries are durable. Raises JournalError."""

    def require_lock(self) -> None:
        """Raise LockLostError, or JournalError when it cannot be found out, unless this run holds the lock."""

    def clear(self) -> None:
        """Drop all entries, since nothing is pending. Raises JournalError."""


class Journal:
    """The open journal of one run. Threads may share it."""

    def __init__(self, log: Log, pending: Iterable[Change]) -> None:
        self._log = log
        self._pending = {each.key: each for each in pending}
        self._lock = threading.Lock()
        self.notes: list[str] = []
        """What the person on call should know of the journal itself, such as why it is not in the topic."""
        self._unanswered: dict[str, float] = {}
        self._unsettled: set[str] = set()

    @property
    def name(self) -> str:
        """Where it is kept, for a person."""
        return self._log.name

    @property
    def pending(self) -> tuple[Change, ...]:
        """Changes that are begun and not ended, of every kind and run, in the order in which they are undone."""
        with self._lock:
            return in_order(self._pending.values())

    @property
    def orders(self) -> tuple[OrderChange, ...]:
        """The pending changes of replica orders."""
        return tuple(each for each in self.pending if isinstance(each, OrderChange))

    def require_lock(self) -> None:
        """Make sure that this run may write. To be called before each write request.

        Raises LockLostError, or JournalError when it cannot be found out.
        """
        self._log.require_lock()

    @property
    def is_lost(self) -> bool:
        """Whether another run holds the lock now, or nobody does: the next run may not see what is pending here."""
        try:
            self.require_lock()
        except LockLostError:
            return True
        except JournalError:
            return False
        return False

    def begin(self, changes: Iterable[AnyChange]) -> tuple[AnyChange, ...]:
        """Return the changes once they are durable, as they are recorded.

        A setting or order that still is the one of a pending change keeps that one's original: what was read is ours.

        Raises JournalError, also where a change of the same partition's replicas is pending.
        """
        with self._lock:
            recorded = tuple(self._recorded(each) for each in changes)
            self._log.append([begin_entry(each) for each in recorded])
            self._pending |= {each.key: each for each in recorded}
            self._unsettled -= {each.key for each in recorded}
        return recorded

    def note_late_requests(self, subjects: Iterable[str], until: float) -> None:
        """Note that a request about these (``subject_of``) may still be executed until then, by this run's clock."""
        with self._lock:
            for each in subjects:
                self._unanswered[each] = max(until, self._unanswered.get(each, until))

    def late_requests_until(self, subjects: Iterable[str]) -> float:
        """Return until when, by this run's clock, a request about one of these may be executed; 0.0 for never."""
        with self._lock:
            return max((self._unanswered.get(each, 0.0) for each in subjects), default=0.0)

    def forget_late_requests(self, changes: Iterable[Change]) -> None:
        """Note that no request about these can be executed any more."""
        with self._lock:
            for each in changes:
                self._unanswered.pop(subject_of(each), None)
                self._unsettled.discard(each.key)

    @property
    def awaiting_late_requests(self) -> Mapping[str, tuple[Change, float]]:
        """The changes, by key, that were ended while a request about them may still be executed, and until when."""
        with self._lock:
            return {
                each: (self._pending[each], self._unanswered.get(subject_of(self._pending[each]), 0.0))
                for each in sorted(self._unsettled)
            }

    def end(self, changes: Iterable[Change], why: str) -> None:
        """Record that changes are settled: undone, or no longer this collection's to undo.

        Those that a request may still make are kept as ``unsettled``, and stay pending. Raises JournalError.
        """
        with self._lock:
            known = [each for each in changes if each.key in self._pending]
            if why != Undoing.GONE:
                self._unsettled.update(each.key for each in known if subject_of(each) in self._unanswered)
                known = [each for each in known if each.key not in self._unsettled]
            if not known:
                return
            self._log.append([end_entry(each, why) for each in known])
            for each in known:
                del self._pending[each.key]
                self._unsettled.discard(each.key)
            if not self._pending:
                self._log.clear()

    def _recorded(self, change: AnyChange) -> AnyChange:
        pending = self._pending.get(change.key)
        if isinstance(change, ReplicaChange) and pending is not None:
            raise JournalError(
                f"an earlier change of the replicas of {change.topic_partition} is not undone yet, and their original "
                "order would be lost: remove what prevents that, and run again"
            )
        match change, pending:
            case SettingChange(), SettingChange() if same_value(change.original, pending.changed):
                return replace(change, original=pending.original)
            case OrderChange(), OrderChange() if change.continues(pending):
                return replace(change, original=pending.original)
        return change


def pending_changes(entries: Iterable[Entry], name: str) -> tuple[Change, ...]:
    """Return the pending changes of a log that is called ``name``.

    Raises JournalError for a record that this version did not write.
    """
    pending: dict[str, Change] = {}
    for number, entry in enumerate(entries, start=1):
        try:
            apply_entry(pending, entry)
        except (KeyError, TypeError, ValueError):
            raise damage_error(name, number) from None
    return in_order(pending.values())


def damage_error(name: str, number: int) -> JournalError:
    """Return the error for a record, counted from 1, that no run of this version wrote."""
    return JournalError(
        f"{name} is damaged in record {number}: nothing is changed before a person has looked at it; compare the "
        "replica orders and settings in it with the cluster, then remove it"
    )
