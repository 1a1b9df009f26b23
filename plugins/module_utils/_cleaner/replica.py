# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Drops one replica from its broker and re-creates it there, step by step, and takes every step back.

The uncleanable mark is in the broker's memory, and the cleaner forgets it in the first pass in which the broker does
not have the partition (LogCleanerManager.maintainUncleanablePartitions). So a pass must go by in between.
"""

from __future__ import annotations

from collections.abc import Callable

from .._changes.record import ReplicaChange, Undoing
from .._changes.replica_sets import ReplicaSets, StepError
from .._model.run import KafkaOpsError
from .safeguard import Safeguard, UnsafeError


class ReplicaMaker(ReplicaSets):
    """Drops replicas and re-creates them."""

    def make_anew(self, change: ReplicaChange, safeguard: Safeguard, is_forgotten: Callable[[float], bool]) -> None:
        """Journal, leadership moved off, drop, wait until the mark is forgotten, re-create, order and leadership back.

        ``is_forgotten`` is asked, with the seconds since the drop, until the broker's cleaner has dropped the mark.

        Raises UnsafeError when it must not be done any more, and all is as it was; NoBrokerAnswersError,
        BrokerCallError, RequestRefusedError or JournalError before anything was changed; and StepError once everything
        was taken back that could be.
        """
        safeguard.require(change, [change.original])
        self.journal.begin([change])
        if change.leader != change.source:
            try:
                self._lead_elsewhere(change)
                # To move leadership takes its time, too.
                safeguard.require(change, [change.original, change.source_first])
            except KafkaOpsError as error:
                raise self._not_dropped(change, error) from None
        try:
            deadline = self.writer.kafka.clock.monotonic() + self.timeout_s
            self._drop(change, deadline, is_forgotten)
            self.assign(change, change.original)
            self.await_in_sync(change, deadline)
        except KafkaOpsError as error:
            undoing, reason = self.take_back(change)
            if undoing is not Undoing.FAILED:
                self.journal.end([change], undoing.value)
            raise StepError(f"{error}; {undoing.value}: {reason}") from None
        self.lead_as_before(change)
        self.journal.end([change], "re-created")

    def _not_dropped(self, change: ReplicaChange, error: KafkaOpsError) -> KafkaOpsError:
        """Return the error to raise where the replica was not dropped, once the order is back."""
        undoing, reason = self.order_back(change)
        if undoing is not Undoing.FAILED:
            self.journal.end([change], undoing.value)
        problem = f"{error}; {undoing.value}: {reason}"
        is_as_before = isinstance(error, UnsafeError) and undoing in (Undoing.RESTORED, Undoing.GONE)
        return UnsafeError(problem) if is_as_before else StepError(problem)

    def _lead_elsewhere(self, change: ReplicaChange) -> None:
        self.progress.step(f"{change.topic_partition}: moving leadership to broker {change.source}")
        self.lead(change, change.source_first, change.source)

    def _drop(self, change: ReplicaChange, deadline: float, is_forgotten: Callable[[float], bool]) -> None:
        self.progress.step(f"{change.topic_partition}: dropping the replica on broker {change.broker_id}")
        self.assign(change, change.without_it)
        self.until(
            deadline,
            lambda: (
                set(self.state(change).replicas) == set(change.without_it)
                and self.size(change, change.broker_id) is None
            ),
            f"broker {change.broker_id} still has the replica",
        )
        dropped_at = self.writer.kafka.clock.monotonic()
        self.progress.step(f"{change.topic_partition}: waiting until the cleaner has forgotten the mark")
        self.until(
            deadline,
            lambda: is_forgotten(self.writer.kafka.clock.monotonic() - dropped_at),
            f"the cleaner of broker {change.broker_id} still has the mark: do its threads run?",
        )
