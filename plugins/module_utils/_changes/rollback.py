# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The one rollback: undoes what this run, or an earlier one of any module, changed for a while.

Only a state that a run of this collection can have left is undone, order of replicas included. Every other state was
set by somebody else, and stays. Where the state from before is back already, a request may still come late
(``late_requests``).
"""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from .._kafka.port import Kafka
from .._kafka.settings import Address
from .._model.partition import TopicPartition
from .._model.run import Progress
from .journal import Journal
from .late_requests import LateRequests
from .order_rollback import end_in_journal, find_changes_on_offline_partitions, preview_order_undo, restore_orders
from .orders import Writer
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
from .setting_writer import SettingWriter, preview_setting_undo, restore_setting_unless_in_use, why_in_use

_LASTING = "an earlier run asked for it and ended before it was seen; see the voters that quorum_info returns"


@dataclass(frozen=True, slots=True)
class Rollback(LateRequests):
    """Undoes everything that is pending in a journal, whichever module left it, and watches for what may come late."""

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
        writer = writer.with_journal(journal)
        settings = SettingWriter(writer.kafka, living, writer.attempts, writer.verify_timeout_s).with_journal(journal)
        replicas = ReplicaSets(writer, living, journal, timeout_s or writer.verify_timeout_s, stop, progress)
        return cls(journal, writer, settings, replicas, since=writer.kafka.clock.monotonic())

    def undo(self) -> tuple[AnyLeftover, ...]:
        """Undo every pending change, wait until all are settled, and return how each ended.

        What failed stays in the journal.

        Raises JournalError, or NoBrokerAnswersError, RequestRefusedError or BrokerCallError before a write.
        """
        return (*self.undo_now(), *self.undo_late_changes())

    def undo_now(self, kept: Collection[TopicPartition] = ()) -> tuple[AnyLeftover, ...]:
        """Undo what can be undone now, and return how each change ended that is settled or failed.

        All others are watched for, and stay in the journal until they are settled. The orders of ``kept`` partitions
        stay as well: this run elects these, and restores their orders then.

        Replicas come before settings, since a throttle has to last as long as they are copied.

        Raises JournalError, or NoBrokerAnswersError, RequestRefusedError or BrokerCallError before a write.
        """
        ended: list[AnyLeftover] = []
        for change in self.journal.pending:
            if isinstance(change, ReplicaChange):
                ended += self._replica_at_once(change)
            elif isinstance(change, LastingOrders):
                self.watch(change)
        ended += self._orders_at_once([each for each in self.journal.orders if each.topic_partition not in kept])
        for change in self.journal.pending:
            if isinstance(change, SettingChange):
                ended += self._setting_at_once(change)
        voters = [each for each in self.journal.pending if isinstance(each, VoterChange)]
        self.journal.end(voters, Undoing.GONE.value)
        return (*ended, *(Leftover(each, Undoing.GONE, _LASTING) for each in voters))

    def _orders_at_once(self, changes: Sequence[OrderChange]) -> Iterator[AnyLeftover]:
        doubtful = find_changes_on_offline_partitions(self.orders.kafka, changes)
        for change in doubtful:
            self.watch(change, was_restored=False)
        changes = [each for each in changes if each not in doubtful]
        found = restore_orders(self.orders, changes) if changes else ()
        ended = []
        for change, leftover in zip(changes, found, strict=True):
            # One that drops brokers, and is back without them, was carried out.
            if leftover.undoing is Undoing.ALREADY_BACK and not leftover.change.dropped:
                self.watch(change)
            else:
                ended.append(leftover)
        end_in_journal(self.journal, ended)
        yield from ended

    def _setting_at_once(self, change: SettingChange) -> Iterator[AnyLeftover]:
        holding = why_in_use(change, [each.change for each in self.watched.values()])
        undoing, _reason = preview_setting_undo(self.settings, change)
        if holding or undoing is Undoing.ALREADY_BACK:
            self.watch(change, was_restored=not holding)
        else:
            yield Leftover(change, *restore_setting_unless_in_use(self.settings, self.journal, change))

    def _replica_at_once(self, change: ReplicaChange) -> Iterator[AnyLeftover]:
        was_dropped = self.replicas.is_dropped(change)
        undoing, reason = self.replicas.restore_replica(change)
        if undoing in RESTORING and not was_dropped:
            self.watch(change)
        else:
            yield self.replicas.end_in_journal(change, undoing, reason)


def has_restored(leftovers: Iterable[AnyLeftover]) -> bool:
    """Return whether any of the changes was put back, or, in check mode, would be."""
    return any(each.undoing in RESTORING for each in leftovers)


def preview_undo(kafka: Kafka, settings: SettingWriter, changes: Sequence[Change]) -> tuple[AnyLeftover, ...]:
    """Return what undoing would do to each change. Writes nothing.

    Raises NoBrokerAnswersError, RequestRefusedError or BrokerCallError.
    """
    orders = [each for each in changes if isinstance(each, OrderChange)]
    found: list[AnyLeftover] = [*preview_order_undo(kafka, orders)] if orders else []
    for each in changes:
        if isinstance(each, ReplicaChange):
            found.append(Leftover(each, *preview_replica_undo(kafka, each)))
        elif isinstance(each, SettingChange):
            found.append(Leftover(each, *preview_setting_undo(settings, each)))
    return tuple(found)
