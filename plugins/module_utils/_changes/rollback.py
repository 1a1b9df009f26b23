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
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from .._kafka.port import Kafka
from .._kafka.settings import Address
from .._model.partition import TopicPartition
from .._model.run import Progress
from .doubt import Doubts
from .journal import Journal
from .order_rollback import find_changes_on_offline_partitions, preview_order_undo
from .record import (
    RESTORING,
    AnyLeftover,
    Change,
    LastingOrders,
    OrderChange,
    ReplicaChange,
    SettingChange,
    Undoing,
)
from .replica_sets import ReplicaSets, preview_replica_undo
from .sender import Writer, forwarded_for_s
from .setting_writer import SettingWriter, preview_setting_undo, why_in_use

_BACK = frozenset({Undoing.RESTORED, Undoing.ALREADY_BACK})


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

        Raises JournalError, or CallError before a write.
        """
        pending = {
            each.key: each
            for each in self.journal.pending
            if not (isinstance(each, OrderChange) and each.topic_partition in kept)
        }
        replicas = [each for each in pending.values() if isinstance(each, ReplicaChange)]
        dropped = {each.key for each in replicas if self.replicas.is_dropped(each)}
        orders = [each for each in pending.values() if isinstance(each, OrderChange)]
        for offline in find_changes_on_offline_partitions(self.orders.kafka, orders):
            self.doubt(pending.pop(offline.key), was_restored=False)

        def ends(result: AnyLeftover) -> bool:
            if may_be_made := self._may_be_made(result, dropped):
                undone = result if result.undoing is Undoing.RESTORED else None
                is_kept = result.undoing is Undoing.FAILED  # the throttle of a replica in doubt
                self.doubt(pending[result.change.key], was_restored=not is_kept, undone=undone)
            return not may_be_made

        return tuple(self.restore([*pending.values()], ends))

    def _may_be_made(self, result: AnyLeftover, dropped: Collection[str]) -> bool:
        """Return whether a late request may still make a change. ``dropped`` has the keys of replicas that were."""
        match result.change:
            case ReplicaChange() as change:
                return result.undoing in _BACK and change.key not in dropped
            case SettingChange() as change if why_in_use(change, [each.change for each in self.doubts.values()]):
                return True
            case LastingOrders():
                return True
            case OrderChange(dropped=(_, *_)):
                # It was executed: brokers are dropped, and the order of the others is restored.
                return False
        return result.undoing is Undoing.ALREADY_BACK


def has_restored(leftovers: Iterable[AnyLeftover]) -> bool:
    """Return whether any of the changes was restored or, in check mode, would be."""
    return any(each.undoing in RESTORING for each in leftovers)


def preview_undo(kafka: Kafka, settings: SettingWriter, changes: Sequence[Change]) -> tuple[AnyLeftover, ...]:
    """Return what an undo of each change would do. Writes nothing.

    Raises CallError.
    """
    orders = [each for each in changes if isinstance(each, OrderChange)]
    return (
        *preview_order_undo(kafka, orders),
        *(preview_replica_undo(kafka, each) for each in changes if isinstance(each, ReplicaChange)),
        *(preview_setting_undo(settings, each) for each in changes if isinstance(each, SettingChange)),
    )


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
