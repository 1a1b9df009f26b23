# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Undo the pending changes of this run and of earlier runs of any module.

A change is undone only if a run of this collection can have set the present state. Another party has set any other
state, and it stays. A change whose original state is already restored may still be made by a late request
(``doubt``).
"""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from .._kafka.port import Kafka
from .._kafka.settings import Address
from .._model.partition import TopicPartition
from .._model.run import Progress
from .doubt import Doubts
from .journal import Journal
from .order_rollback import end_in_journal, find_changes_on_offline_partitions, preview_order_undo, restore_orders
from .record import (
    RESTORING,
    AnyLeftover,
    Change,
    LastingOrders,
    Leftover,
    OrderChange,
    ReplicaChange,
    SettingChange,
    Undoing,
    VoterChange,
)
from .replica_sets import ReplicaSets, preview_replica_undo
from .sender import Writer, forwarded_for_s
from .setting_writer import SettingWriter, preview_setting_undo, restore_setting_unless_in_use, why_in_use

_VOTER_REQUESTED = (
    "an earlier run requested it and ended before it saw the result: see the voters that quorum_info returns"
)


@dataclass(frozen=True, slots=True)
class Rollback(Doubts):
    """Undo all pending changes of a journal, and watch those that late requests may make."""

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
        """Return the rollback of a run that has just opened this journal.

        ``timeout_s`` is the time limit for a replica; by default that of any other change.
        """
        writer = writer.with_journal(journal)
        settings = SettingWriter(writer, living)
        now = writer.kafka.clock.monotonic()
        journal.doubt(journal.inherited_doubt, now + forwarded_for_s(writer.kafka))
        replicas = ReplicaSets(writer, living, journal, timeout_s or writer.verify_timeout_s, stop, progress)
        return cls(journal, writer, settings, replicas, since=now)

    def undo(self) -> tuple[AnyLeftover, ...]:
        """Undo all pending changes, wait until no late request can make them, and return the results.

        If an undo failed, its change stays in the journal.

        Raises JournalError, or CallError before a write.
        """
        return (*self.undo_now(), *self.settle_doubt())

    def undo_now(self, kept: Collection[TopicPartition] = ()) -> tuple[AnyLeftover, ...]:
        """Undo the changes that can be undone now, and return the final results.

        A change that a late request may make stays in the journal, and ``settle_doubt`` returns its result. The
        orders of ``kept`` partitions stay: this run elects these partitions first, and then restores their orders.

        Replicas come before settings, because a throttle must last until the replicas are copied.

        Raises JournalError, or CallError before a write.
        """
        results: list[AnyLeftover] = []
        for change in self.journal.pending:
            if isinstance(change, ReplicaChange):
                results += self._undo_replica(change)
            elif isinstance(change, LastingOrders):
                self.doubt(change)
        results += self._undo_orders([each for each in self.journal.orders if each.topic_partition not in kept])
        for change in self.journal.pending:
            if isinstance(change, SettingChange):
                results += self._undo_setting(change)
        voters = [each for each in self.journal.pending if isinstance(each, VoterChange)]
        self.journal.end(voters, Undoing.GONE.value)
        return (*results, *(Leftover(each, Undoing.GONE, _VOTER_REQUESTED) for each in voters))

    def _undo_orders(self, changes: Sequence[OrderChange]) -> Iterator[AnyLeftover]:
        offline = find_changes_on_offline_partitions(self.orders.kafka, changes)
        for change in offline:
            self.doubt(change, was_restored=False)
        changes = [each for each in changes if each not in offline]
        found = restore_orders(self.orders, changes) if changes else ()
        results = []
        for change, leftover in zip(changes, found, strict=True):
            # A change that dropped brokers, and whose order is restored without them, was executed: no need to wait.
            if leftover.undoing is Undoing.ALREADY_BACK and not leftover.change.dropped:
                self.doubt(change)
            else:
                results.append(leftover)
        end_in_journal(self.journal, results)
        yield from results

    def _undo_setting(self, change: SettingChange) -> Iterator[AnyLeftover]:
        is_in_use = bool(why_in_use(change, [each.change for each in self.doubts.values()]))
        undoing, _reason = preview_setting_undo(self.settings, change)
        if is_in_use or undoing is Undoing.ALREADY_BACK:
            self.doubt(change, was_restored=not is_in_use)
        else:
            yield Leftover(change, *restore_setting_unless_in_use(self.settings, self.journal, change))

    def _undo_replica(self, change: ReplicaChange) -> Iterator[AnyLeftover]:
        was_dropped = self.replicas.is_dropped(change)
        undoing, reason = self.replicas.restore_replica(change)
        if undoing in RESTORING and not was_dropped:
            self.doubt(change)
        else:
            yield self.replicas.end_in_journal(change, undoing, reason)


def has_restored(leftovers: Iterable[AnyLeftover]) -> bool:
    """Return whether any of the changes was restored or, in check mode, would be."""
    return any(each.undoing in RESTORING for each in leftovers)


def preview_undo(kafka: Kafka, settings: SettingWriter, changes: Sequence[Change]) -> tuple[AnyLeftover, ...]:
    """Return what an undo of each change would do. Writes nothing.

    Raises CallError.
    """
    orders = [each for each in changes if isinstance(each, OrderChange)]
    found: list[AnyLeftover] = [*preview_order_undo(kafka, orders)] if orders else []
    for each in changes:
        if isinstance(each, ReplicaChange):
            found.append(Leftover(each, *preview_replica_undo(kafka, each)))
        elif isinstance(each, SettingChange):
            found.append(Leftover(each, *preview_setting_undo(settings, each)))
    return tuple(found)


def leftover_results(leftovers: Iterable[AnyLeftover]) -> list[dict[str, str]]:
    """Return the results of changes that earlier runs left."""
    return [{"change": str(each.change), "undoing": each.undoing.value, "reason": each.reason} for each in leftovers]


def failure_message(failures: Sequence[str], leftovers: Iterable[AnyLeftover]) -> str:
    """Return why the module fails, with one reason in each line; empty if it does not."""
    stuck = [
        f"an earlier run left {each.change}: {each.reason}" for each in leftovers if each.undoing is Undoing.FAILED
    ]
    return "\n".join([*failures, *stuck])


def conflict_warnings(notes: Sequence[str], leftovers: Iterable[AnyLeftover]) -> list[str]:
    """Return warnings of the journal, and of changes that stay: another party changed them, or a broker is down."""
    staying = [each for each in leftovers if each.undoing in (Undoing.CONFLICT, Undoing.WAITS)]
    return [*notes, *(f"{each.change}: {each.reason}" for each in staying)]


def restored_diff(leftovers: Iterable[AnyLeftover], word: str) -> dict[str, str]:
    """Return the restored changes of earlier runs, each with this word, for one side of a diff."""
    return {str(each.change): word for each in leftovers if each.undoing in RESTORING}
