# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Drop one replica from its broker and re-create it there, step by step, and take every step back.

It is judged once more right before it is touched: when its turn comes, its plan may be hours old.

The uncleanable mark is in the broker's memory, and the cleaner forgets it in the first pass in which the broker does
not have the partition (LogCleanerManager.maintainUncleanablePartitions). So a pass must go by in between.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass

from .._changes.record import ReplicaChange, Undoing
from .._changes.replica_sets import ReplicaSets, StepError
from .._kafka.port import Kafka
from .._model.partition import PartitionState
from .._model.run import KafkaOpsError
from .safety import Overrides, Surroundings, refusals

_MIN_ISR = "min.insync.replicas"


class UnsafeError(KafkaOpsError):
    """What was planned must not be done any more. Says every reason."""


def read_min_isrs(kafka: Kafka, topics: Collection[str]) -> dict[str, int]:
    """Return the topics' min.insync.replicas. What could not be read is left out.

    Raises NoBrokerAnswersError or RequestRefusedError.
    """
    found = kafka.topic_configs(sorted(topics), _MIN_ISR)
    return {topic: int(each.value) for topic, each in found.items() if each.value}


@dataclass(frozen=True, slots=True)
class Safeguard:
    """Looks again, by the rules of the plan."""

    kafka: Kafka
    overrides: Overrides

    def require(self, change: ReplicaChange, orders: Collection[tuple[int, ...]]) -> None:
        """Return when the replica may be touched, its partition being in one of these orders.

        Raises UnsafeError; NoBrokerAnswersError, BrokerCallError or RequestRefusedError where that is unknown.
        """
        state = self.kafka.see_one(change.topic_partition)
        if state is None:
            raise UnsafeError("the partition does not exist any more")
        if state.topic_id != change.topic_id:
            raise UnsafeError(f"the topic was re-created (id {state.topic_id}) since it was planned")
        reasons = [*self._changes(change, state, orders)]
        around = Surroundings(
            min_insync_replicas=read_min_isrs(self.kafka, [change.topic]).get(change.topic),
            is_reassigning=bool(self.kafka.running_reassignments([change.topic_partition])),
            living={*state.replicas} - {*state.offline_replicas},
        )
        reasons += refusals(state, change.broker_id, around, self.overrides)
        if reasons:
            raise UnsafeError("it is not as it was when it was planned: " + "; ".join(reasons))

    def _changes(
        self, change: ReplicaChange, state: PartitionState, orders: Collection[tuple[int, ...]]
    ) -> tuple[str, ...]:
        reasons = []
        if state.replicas not in orders:
            reasons.append(
                f"its replicas are {list(state.replicas)}, and were {list(change.original)}: somebody changes them"
            )
        if change.source not in state.isr:
            reasons.append(
                f"broker {change.source}, from whose copy it is to be made, is not in sync: wait until it is, and run "
                "again"
            )
        return tuple(reasons)


class ReplicaMaker(ReplicaSets):
    """Drops replicas and re-creates them."""

    def recreate(self, change: ReplicaChange, safeguard: Safeguard, is_forgotten: Callable[[float], bool]) -> None:
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
            self.wait_until_in_sync(change, deadline)
        except KafkaOpsError as error:
            undoing, reason = self.restore_replica(change)
            if undoing is not Undoing.FAILED:
                self.journal.end([change], undoing.value)
            raise StepError(f"{error}; {undoing.value}: {reason}") from None
        self.restore_leadership(change)
        self.journal.end([change], "re-created")

    def _not_dropped(self, change: ReplicaChange, error: KafkaOpsError) -> KafkaOpsError:
        """Return the error to raise where the replica was not dropped, once the order is back."""
        undoing, reason = self.restore_order(change)
        if undoing is not Undoing.FAILED:
            self.journal.end([change], undoing.value)
        problem = f"{error}; {undoing.value}: {reason}"
        is_as_before = isinstance(error, UnsafeError) and undoing in (Undoing.RESTORED, Undoing.GONE)
        return UnsafeError(problem) if is_as_before else StepError(problem)

    def _lead_elsewhere(self, change: ReplicaChange) -> None:
        self.progress.step(f"{change.topic_partition}: moving leadership to broker {change.source}")
        self.move_leadership(change, change.source_first, change.source)

    def _drop(self, change: ReplicaChange, deadline: float, is_forgotten: Callable[[float], bool]) -> None:
        self.progress.step(f"{change.topic_partition}: dropping the replica on broker {change.broker_id}")
        self.assign(change, change.without_replica)
        self.wait_until(
            deadline,
            lambda: (
                set(self.read_state(change).replicas) == set(change.without_replica)
                and self.read_size(change, change.broker_id) is None
            ),
            f"broker {change.broker_id} still has the replica",
        )
        dropped_at = self.writer.kafka.clock.monotonic()
        self.progress.step(f"{change.topic_partition}: waiting until the cleaner has forgotten the mark")
        self.wait_until(
            deadline,
            lambda: is_forgotten(self.writer.kafka.clock.monotonic() - dropped_at),
            f"the cleaner of broker {change.broker_id} still has the mark: do its threads run?",
        )
