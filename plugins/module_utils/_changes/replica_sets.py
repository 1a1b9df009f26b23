# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Write replica sets, and undo the changes of a run.

A run only drops a replica and adds it again at the same place of the order (``_cleaner.replica``).
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from .._kafka.elections import PREFERRED
from .._kafka.errors import BrokerCallError, CallError
from .._kafka.port import Kafka
from .._kafka.settings import Address
from .._model.partition import PartitionState, TopicPartition
from .._model.run import KafkaOpsError, Progress
from .journal import Journal
from .orders import OrderRequest, cancel_on_new_topic, cancel_once, explain_new_topic, set_orders
from .record import Leftover, ReplicaChange, Undoing, partition_subject
from .sender import Seen, Writer, undo_when_shown, until_seen

_LOOK_EVERY_S = 0.3


class StepError(KafkaOpsError):
    """A step failed. The earlier steps are undone."""


@dataclass(frozen=True, slots=True)
class ReplicaSets:
    """Write the replica sets of one run."""

    writer: Writer
    living: Mapping[int, Address]
    journal: Journal
    timeout_s: float
    """The time limit for one replica, from its drop until it is in sync again."""
    stop: threading.Event
    progress: Progress

    def restore_replica(self, change: ReplicaChange) -> Leftover[ReplicaChange]:
        """Cancel a running drop, request the original replicas, and wait until the replica is in sync.

        The replicas are requested also if they seem to be restored: a broker that lags behind the controller shows the
        original ones. Raises JournalError.
        """
        found = preview_replica_undo(self.writer.kafka, change)
        if found.undoing in (Undoing.WOULD_RESTORE, Undoing.ALREADY_BACK):
            try:
                self._cancel_drop(change)
                self.assign(change, change.original)
                # A run that is asked to stop must end soon. The next run undoes what takes longer.
                seconds = self.writer.verify_timeout_s if self.stop.is_set() else self.timeout_s
                self.wait_until_in_sync(change, self.writer.kafka.clock.monotonic() + seconds, heed_stop=False)
            except KafkaOpsError as error:
                return Leftover(
                    change,
                    Undoing.FAILED,
                    f"{error}; the replicas {list(change.original)} were requested, and the change stays in the "
                    f"journal: start broker {change.broker_id} if it is down, wait until it is in sync, and run again",
                )
            self.restore_leadership(change)
            if found.undoing is Undoing.WOULD_RESTORE:
                reason = f"its replicas are {list(change.original)} again, and it is in sync"
                return Leftover(change, Undoing.RESTORED, reason)
        if found.undoing is Undoing.GONE:
            return replace(found, reason=self._undo_on_new_topic(change) or found.reason)
        return found

    def _undo_on_new_topic(self, change: ReplicaChange) -> str:
        """Undo what a request of this change did to a topic that was re-created right before it.

        Return what was found; empty if the partition cannot be read, does not exist, or shows nothing of a request.
        """
        partition = change.topic_partition

        def undo() -> str:
            running = self.writer.kafka.running_reassignments([partition]).get(partition)
            state = self.writer.kafka.read_partition_state(partition)
            if state is None or state.topic_id == change.topic_id:
                return ""
            left = {*state.replicas} - {*(running.removing if running is not None else ())}
            for requested in (change.without_replica, change.original):
                if running is not None and left == {*requested}:
                    return cancel_on_new_topic(self.writer, state, requested)
            return explain_new_topic(state, change.without_replica) if state.replicas == change.without_replica else ""

        return undo_when_shown(self.writer.kafka, undo)

    def is_dropped(self, change: ReplicaChange) -> bool:
        """Return whether the replica is dropped or is being dropped; False if that cannot be read."""
        try:
            state = self.writer.kafka.read_partition_state(change.topic_partition)
            if (
                state is None
                or state.topic_id != change.topic_id
                or state.replicas not in _orders_while_dropped(change)
            ):
                return False
            # If the dropped replica is the last one, the order stays the same while it is dropped.
            running = self.writer.kafka.running_reassignments
            return state.replicas != change.original or bool(running([change.topic_partition]))
        except CallError:
            return False

    def move_leadership(self, change: ReplicaChange, order: tuple[int, ...], leader: int) -> None:
        """Set an order and request a preferred election of its first replica. Raises StepError."""
        partition = change.topic_partition
        request = OrderRequest(change.topic_id, order, (change.original, change.source_first))
        if failures := set_orders(self.writer, {partition: request}):
            raise StepError(f"broker {leader} could not be put first in the replica order: {failures[partition]}")

        def send(address: Address, partitions: Sequence[TopicPartition]) -> Mapping[TopicPartition, str | None]:
            answers = self.writer.kafka.elect(address, PREFERRED, partitions)
            return {each: answer.error for each, answer in answers.items()}

        def look(_partitions: Sequence[TopicPartition]) -> Mapping[TopicPartition, Seen]:
            state = self.read_state(change)
            return {partition: Seen(state.leader_id == leader, f"broker {state.leader_id} leads it")}

        for unseen in until_seen(self.writer, [partition], send, look, name=partition_subject).values():
            raise StepError(f"broker {leader} does not lead it after a preferred election: {unseen.reason}")

    def restore_leadership(self, change: ReplicaChange) -> None:
        """Let the replica lead again if it was the preferred leader before.

        A failure is only reported as progress, because Kafka's own rebalance also elects preferred leaders.
        """
        if change.leader == change.original[0] == change.broker_id:
            try:
                self.move_leadership(change, change.original, change.leader)
            except StepError as error:
                self.progress.step(f"{change.topic_partition}: {error}")

    def wait_until_in_sync(self, change: ReplicaChange, deadline: float, *, heed_stop: bool = True) -> None:
        """Wait until the re-created replica is in sync. Raises StepError."""
        whole = self.read_size_or_none(change, change.source)

        def is_done() -> bool:
            state = self.read_state(change)
            copied = self.read_size(change, change.broker_id)
            self.progress.step(f"{change.topic_partition}: re-creating on broker {change.broker_id}", copied, whole)
            return (
                state.replicas == change.original
                and change.broker_id in state.isr
                and not self.writer.kafka.running_reassignments([change.topic_partition])
            )

        self.wait_until(
            deadline, is_done, f"the new replica on broker {change.broker_id} is not in sync", heed_stop=heed_stop
        )

    def assign(self, change: ReplicaChange, replicas: Sequence[int]) -> None:
        """Request a replica set. Raises StepError.

        Kafka's request names the topic and not its id, so the partition is read right before it. ``restore_replica``
        undoes what a request did to a topic that was re-created after that.
        """
        partition = change.topic_partition

        def look(_partitions: Sequence[TopicPartition]) -> Mapping[TopicPartition, Seen]:
            state = self.read_state(change)
            running = self.writer.kafka.running_reassignments([partition]).get(partition)
            removing = running.removing if running is not None else ()
            is_requested = tuple(each for each in state.replicas if each not in removing) == tuple(replicas)
            return {partition: Seen(is_requested, f"its replicas are {list(state.replicas)}")}

        unseen = until_seen(
            self.writer,
            [partition],
            lambda to, _partitions: {partition: self.writer.kafka.assign(to, partition, replicas)},
            look,
            name=partition_subject,
            looks_first=True,
        )
        for each in unseen.values():
            raise StepError(f"the replicas {list(replicas)} are not set: {each.reason}")

    def _cancel_drop(self, change: ReplicaChange) -> None:
        """Cancel the reassignment if it removes the replica. Another cancellation would delete what was copied."""
        try:
            running = self.writer.kafka.running_reassignments([change.topic_partition]).get(change.topic_partition)
            is_drop = running is not None and change.broker_id in running.removing
            problem = cancel_once(self.writer, change.topic_partition) if is_drop else ""
        except CallError as error:
            problem = str(error)
        if problem:
            self.progress.step(f"{change.topic_partition}: its reassignment cannot be canceled: {problem}")

    def read_state(self, change: ReplicaChange) -> PartitionState:
        """Return the partition's state.

        Raises StepError if it does not exist, or CallError if it cannot be read.
        """
        state = self.writer.kafka.read_partition_state(change.topic_partition)
        if state is None:
            raise StepError("the partition does not exist any more")
        if state.topic_id != change.topic_id:
            raise StepError(f"the topic was re-created (id {state.topic_id})")
        return state

    def read_size_or_none(self, change: ReplicaChange, broker_id: int) -> int | None:
        """Return the bytes of a broker's copy, for display; None if it has none or cannot be asked."""
        try:
            return self.read_size(change, broker_id)
        except (BrokerCallError, StepError):
            return None

    def read_size(self, change: ReplicaChange, broker_id: int) -> int | None:
        """Return the bytes of a broker's copy; None if it has none.

        Raises BrokerCallError, or StepError if the broker is not online or refuses the request.
        """
        address = self.living.get(broker_id)
        if address is None:
            raise StepError(f"broker {broker_id} is not online")
        partition = change.topic_partition
        found = self.writer.kafka.describe_log_dirs(address, [partition])
        if found.refusal:
            raise StepError(f"broker {broker_id} refuses DescribeLogDirs: {found.refusal}")
        copy = found.current_replica(partition)
        return copy.size_bytes if copy is not None else None

    def wait_until(
        self, deadline: float, is_done: Callable[[], bool], otherwise: str, *, heed_stop: bool = True
    ) -> None:
        """Poll until ``is_done`` returns True. A failed read is tried again for at most ``verify_timeout_s``.

        Raises StepError, with the text ``otherwise`` at the deadline.
        """
        seen_at = self.writer.kafka.clock.monotonic()
        unseen = ""
        while True:
            if heed_stop and self.stop.is_set():
                raise StepError("the run was asked to stop")
            try:
                if is_done():
                    return
                seen_at, unseen = self.writer.kafka.clock.monotonic(), ""
            except CallError as error:
                unseen = f" ({error})"
                if self.writer.kafka.clock.monotonic() - seen_at >= self.writer.verify_timeout_s:
                    raise StepError(f"no read succeeded for {self.writer.verify_timeout_s:g} s: {error}") from None
            if self.writer.kafka.clock.monotonic() >= deadline:
                raise StepError(f"{otherwise} at its deadline{unseen}")
            self.writer.kafka.clock.sleep(_LOOK_EVERY_S)


def preview_replica_undo(kafka: Kafka, change: ReplicaChange) -> Leftover[ReplicaChange]:
    """Return what an undo of a change would do, and why. Only orders that its run can have set are undone.

    Writes nothing.
    """
    try:
        state = kafka.read_partition_state(change.topic_partition)
        is_running = bool(kafka.running_reassignments([change.topic_partition]))
    except CallError as error:
        return Leftover(change, Undoing.FAILED, str(error))
    if state is None:
        return Leftover(change, Undoing.GONE, "the partition does not exist any more")
    if state.topic_id != change.topic_id:
        return Leftover(change, Undoing.GONE, f"the topic was re-created (id {state.topic_id})")
    original = list(change.original)
    if state.replicas == change.original and not is_running and change.broker_id in state.isr:
        return Leftover(change, Undoing.ALREADY_BACK, f"its replicas are {original}, the original order")
    found = f"its replicas are {list(state.replicas)}"
    if state.replicas in (change.original, change.source_first, *_orders_while_dropped(change)):
        return Leftover(change, Undoing.WOULD_RESTORE, f"{found}: back to {original}")
    return Leftover(change, Undoing.CONFLICT, f"{found}, set by another party; the original order is {original}")


def _orders_while_dropped(change: ReplicaChange) -> tuple[tuple[int, ...], ...]:
    """Return the orders without the replica: while the controller drops it, it lists it last."""
    return change.without_replica, (*change.without_replica, change.broker_id)
