# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Drop one replica from its broker and re-create it there. If a step fails, undo the steps before it.

Right before the drop, the replica is judged again, because its plan may be hours old.

The uncleanable mark is in the broker's memory. The cleaner clears it in its first pass in which the broker does not
have the partition (LogCleanerManager.maintainUncleanablePartitions). So the replica stays away for at least one pass.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass

from .._changes.order_rollback import restore_orders
from .._changes.record import Leftover, OrderChange, ReplicaChange, Undoing
from .._changes.replica_sets import ReplicaSets, StepError
from .._kafka.port import Kafka
from .._kafka.settings import Address
from .._model.partition import PartitionState
from .._model.run import KafkaOpsError
from .safety import Overrides, Surroundings, refusals


class UnsafeError(KafkaOpsError):
    """The planned repair is not safe any more. The text names all reasons."""


@dataclass(frozen=True, slots=True)
class Safeguard:
    """Judge a replica again, by the rules of the plan."""

    kafka: Kafka
    living: Mapping[int, Address]
    overrides: Overrides

    def require(self, change: ReplicaChange, orders: Collection[tuple[int, ...]]) -> None:
        """Return if the replica may be changed. ``orders`` are the allowed orders of its partition.

        Raises UnsafeError if not; or NoBrokerAnswersError, BrokerCallError or RequestRefusedError if that is unknown.
        """
        state = self.kafka.read_partition_state(change.topic_partition)
        if state is None:
            raise UnsafeError("the partition does not exist any more")
        if state.topic_id != change.topic_id:
            raise UnsafeError(f"the topic was re-created (id {state.topic_id}) since the repair was planned")
        reasons = [*self._changes_since_plan(change, state, orders)]
        # Another repair's broker may die at any moment, and its value is none of this partition's business.
        asked = {each: address for each, address in self.living.items() if each in state.replicas}
        around = Surroundings(
            min_insync_replicas=self.kafka.min_insync_replicas([change.topic], asked).get(change.topic),
            is_reassigning=bool(self.kafka.running_reassignments([change.topic_partition])),
            living={*state.replicas} - {*state.offline_replicas},
        )
        reasons += refusals(state, change.broker_id, around, self.overrides)
        if reasons:
            raise UnsafeError("the replica has changed since the repair was planned: " + "; ".join(reasons))

    def _changes_since_plan(
        self, change: ReplicaChange, state: PartitionState, orders: Collection[tuple[int, ...]]
    ) -> tuple[str, ...]:
        reasons = []
        if state.replicas not in orders:
            reasons.append(
                f"its replicas are {list(state.replicas)} and were {list(change.original)}: another party changes them"
            )
        if change.source not in state.isr:
            reasons.append(
                f"broker {change.source}, the source of the copy, is not in sync: wait until it is, and run again"
            )
        return tuple(reasons)


class ReplicaMaker(ReplicaSets):
    """Drops replicas and re-creates them."""

    def recreate(self, change: ReplicaChange, safeguard: Safeguard, is_mark_cleared: Callable[[float], bool]) -> None:
        """Drop a replica, wait until its mark is cleared, and re-create it.

        The change is recorded in the journal first. If the replica leads, leadership moves to the source until the end.
        ``is_mark_cleared`` is called with the seconds since the drop, until it returns True.

        Raises UnsafeError if the repair is not safe any more, and nothing stays changed; NoBrokerAnswersError,
        BrokerCallError, RequestRefusedError or JournalError before anything was changed; or StepError if a step failed,
        after the undo.
        """
        safeguard.require(change, [change.original])
        self.journal.begin([change])
        if change.leader != change.source:
            try:
                self._move_leadership_away(change)
                # The move of leadership may have taken long.
                safeguard.require(change, [change.original, change.source_first])
            except KafkaOpsError as error:
                raise self._not_dropped(change, error) from None
        try:
            deadline = self.writer.kafka.clock.monotonic() + self.timeout_s
            self._drop(change, deadline, is_mark_cleared)
            self.assign(change, change.original)
            self.wait_until_in_sync(change, deadline)
        except KafkaOpsError as error:
            result = self.restore_replica(change)
            self.journal.end_undone([result])
            raise StepError(f"{error}; {result.undoing.value}: {result.reason}") from None
        self.restore_leadership(change)
        self.journal.end([change], "re-created")

    def _not_dropped(self, change: ReplicaChange, error: KafkaOpsError) -> KafkaOpsError:
        """Restore the order of a replica that was not dropped, and return the error to raise."""
        order = OrderChange(change.topic, change.partition, change.topic_id, change.original, change.source_first)
        (result,) = restore_orders(self.writer, [order])
        is_restored = result.undoing in (Undoing.RESTORED, Undoing.ALREADY_BACK)
        if is_restored:
            self.restore_leadership(change)
        self.journal.end_undone([Leftover(change, result.undoing, result.reason)])
        stays = "the change stays in the journal: " if result.undoing is Undoing.FAILED else ""
        problem = f"{error}; {result.undoing.value}: {stays}{result.reason}"
        is_as_before = isinstance(error, UnsafeError) and (is_restored or result.undoing is Undoing.GONE)
        return UnsafeError(problem) if is_as_before else StepError(problem)

    def _move_leadership_away(self, change: ReplicaChange) -> None:
        self.progress.step(f"{change.topic_partition}: moving leadership to broker {change.source}")
        self.move_leadership(change, change.source_first, change.source)

    def _drop(self, change: ReplicaChange, deadline: float, is_mark_cleared: Callable[[float], bool]) -> None:
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
        self.progress.step(f"{change.topic_partition}: waiting until the cleaner has cleared the mark")
        self.wait_until(
            deadline,
            lambda: is_mark_cleared(self.writer.kafka.clock.monotonic() - dropped_at),
            f"the cleaner of broker {change.broker_id} still has the mark: do its threads run?",
        )
