# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Writes replica sets, and undoes what a run did to one.

A replica is only ever dropped from a set and added again to the same place (``_cleaner.replica``).
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from .._kafka.elections import PREFERRED
from .._kafka.errors import BrokerCallError, NoBrokerAnswersError, RequestRefusedError
from .._kafka.port import Kafka
from .._kafka.settings import Address
from .._model.partition import PartitionState
from .._model.run import KafkaOpsError, Progress
from .journal import Journal
from .orders import Writer, set_orders
from .record import Leftover, ReplicaChange, Undoing

_LOOK_EVERY_S = 0.3
_UNSEEN = (NoBrokerAnswersError, BrokerCallError, RequestRefusedError)


class StepError(KafkaOpsError):
    """A step did not come to its end. The steps before it are undone."""


@dataclass(frozen=True, slots=True)
class ReplicaSets:
    """Writes replica sets for one run."""

    writer: Writer
    living: Mapping[int, Address]
    journal: Journal
    timeout_s: float
    """For one replica, from when it is dropped until it is in sync again."""
    stop: threading.Event
    progress: Progress

    def end_in_journal(self, change: ReplicaChange, undoing: Undoing, reason: str) -> Leftover[ReplicaChange]:
        """End a change in the journal, unless it could not be taken back. Raises JournalError."""
        if undoing is not Undoing.FAILED:
            self.journal.end([change], undoing.value)
        return Leftover(change, undoing, reason)

    def restore_replica(self, change: ReplicaChange) -> tuple[Undoing, str]:
        """Cancel what still runs, request the original replicas in their order, and wait until the replica is in sync.

        It asks even where they seem to be back: a broker that lags behind the controller returns what was before our
        change. The caller ends it in the journal unless it failed. Raises JournalError.
        """
        undoing, reason = preview_replica_undo(self.writer.kafka, change)
        if undoing in (Undoing.WOULD_RESTORE, Undoing.ALREADY_BACK):
            try:
                self._cancel(change)
                self.assign(change, change.original)
                # Whoever asks a run to stop waits for it. The journal is there for what takes longer.
                seconds = self.writer.verify_timeout_s if self.stop.is_set() else self.timeout_s
                self.wait_until_in_sync(change, self.writer.kafka.clock.monotonic() + seconds, heed_stop=False)
            except KafkaOpsError as error:
                return Undoing.FAILED, (
                    f"{error}; the replicas {list(change.original)} were asked for, and the journal remembers it: "
                    f"start broker {change.broker_id} if it is down, wait until it is in sync, and run again"
                )
            self.restore_leadership(change)
            undoing, reason = Undoing.RESTORED, f"its replicas are {list(change.original)} again, and in sync"
        return undoing, reason

    def is_dropped(self, change: ReplicaChange) -> bool:
        """Return whether the replica is seen to be dropped, or being dropped."""
        try:
            state = self.writer.kafka.see_one(change.topic_partition)
            if state is None or state.topic_id != change.topic_id or state.replicas not in _dropped(change):
                return False
            # The last replica of an order is listed where it was, also while it is dropped.
            running = self.writer.kafka.running_reassignments
            return state.replicas != change.original or bool(running([change.topic_partition]))
        except _UNSEEN:
            return False

    def restore_order(self, change: ReplicaChange) -> tuple[Undoing, str]:
        """Put back the order alone."""
        undoing, reason = preview_replica_undo(self.writer.kafka, change, _of_order)
        if undoing is not Undoing.WOULD_RESTORE:
            return undoing, reason
        error = self._set_order(change, change.original)
        if error:
            return (
                Undoing.FAILED,
                f"its order {list(change.original)} is not back, and the journal remembers it: {error}",
            )
        self.restore_leadership(change)
        return Undoing.RESTORED, f"its replicas are {list(change.original)}, as they were"

    def move_leadership(self, change: ReplicaChange, order: tuple[int, ...], leader: int) -> None:
        partition = change.topic_partition
        if error := self._set_order(change, order):
            raise StepError(f"broker {leader} cannot be put first: {error}")
        answer = "no answer"
        for attempt in range(self.writer.attempts):
            try:
                if forbidden := self.writer.why_forbidden():
                    raise StepError(forbidden)
                answers = self.writer.send(attempt, lambda to: self.writer.kafka.elect(to, PREFERRED, [partition]))
                answer = str(answers[partition])
            except (*_UNSEEN, KeyError) as lost:
                answer = str(lost)
            if self._wait(change, lambda state: state.leader_id == leader, self.writer.verify_timeout_s):
                return
        raise StepError(f"broker {leader} does not lead it after a preferred election: {answer}")

    def _set_order(self, change: ReplicaChange, order: tuple[int, ...]) -> str | None:
        """Set an order of the whole set, and return why it is not seen."""
        partition = change.topic_partition
        return set_orders(self.writer, {partition: order}, {partition: _whole(change)}).get(partition)

    def restore_leadership(self, change: ReplicaChange) -> None:
        """Best effort, since nothing depends on it: Kafka's own rebalance brings a preferred leader back, too."""
        if change.leader == change.original[0] == change.broker_id:
            try:
                self.move_leadership(change, change.original, change.leader)
            except StepError as error:
                self.progress.step(f"{change.topic_partition}: {error}")

    def wait_until_in_sync(self, change: ReplicaChange, deadline: float, *, heed_stop: bool = True) -> None:
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
        error: str | None = None
        for attempt in range(self.writer.attempts):
            if forbidden := self.writer.why_forbidden():
                raise StepError(forbidden)
            try:
                error = self.writer.send(
                    attempt, lambda to: self.writer.kafka.assign(to, change.topic_partition, replicas)
                )
            except (BrokerCallError, RequestRefusedError) as lost:
                # It may have been carried out. To ask for the same set again does no harm.
                self.writer.note_lost_response(lost, [change.topic_partition])
                error = str(lost)
            if error is None:
                return
        raise StepError(f"the replicas {list(replicas)} were refused: {error}")

    def _cancel(self, change: ReplicaChange) -> None:
        if forbidden := self.writer.why_forbidden():
            raise StepError(forbidden)
        try:
            running = self.writer.kafka.running_reassignments([change.topic_partition])
            cancel = self.writer.kafka.cancel
            error = self.writer.send(0, lambda to: cancel(to, change.topic_partition)) if running else None
        except (BrokerCallError, RequestRefusedError) as lost:
            self.writer.note_lost_response(lost, [change.topic_partition])
            error = str(lost)
        except NoBrokerAnswersError as lost:
            error = str(lost)
        if error:
            self.progress.step(f"{change.topic_partition}: its reassignment cannot be cancelled: {error}")

    def read_state(self, change: ReplicaChange) -> PartitionState:
        """Raise StepError when it is known not to exist, and what ``_UNSEEN`` lists where it is not seen."""
        state = self.writer.kafka.see_one(change.topic_partition)
        if state is None:
            raise StepError("the partition does not exist any more")
        return state

    def read_size_or_none(self, change: ReplicaChange, broker_id: int) -> int | None:
        """Bytes of a broker's copy, for a person to see; None when it has none, or its broker does not say."""
        try:
            return self.read_size(change, broker_id)
        except (BrokerCallError, StepError):
            return None

    def read_size(self, change: ReplicaChange, broker_id: int) -> int | None:
        """None when the broker has no copy. Raises BrokerCallError, and StepError where it refuses."""
        address = self.living.get(broker_id)
        if address is None:
            raise StepError(f"broker {broker_id} is not online")
        partition = change.topic_partition
        found = self.writer.kafka.describe_log_dirs(address, [partition])
        if found.refusal:
            raise StepError(f"broker {broker_id} refuses DescribeLogDirs: {found.refusal}")
        copies = found.replicas.get(partition, ())
        return next((each.size_bytes for each in copies if not each.is_future), None)

    def _wait(self, change: ReplicaChange, is_done: Callable[[PartitionState], bool], seconds: float) -> bool:
        try:
            self.wait_until(
                self.writer.kafka.clock.monotonic() + seconds,
                lambda: is_done(self.read_state(change)),
                "",
                heed_stop=False,
            )
        except StepError:
            return False
        return True

    def wait_until(
        self, deadline: float, is_done: Callable[[], bool], otherwise: str, *, heed_stop: bool = True
    ) -> None:
        """Look until it is done. A look that fails is tried again, for as long as a change may take to be seen."""
        seen_at = self.writer.kafka.clock.monotonic()
        unseen = ""
        while True:
            if heed_stop and self.stop.is_set():
                raise StepError("the run was asked to stop")
            try:
                if is_done():
                    return
                seen_at, unseen = self.writer.kafka.clock.monotonic(), ""
            except _UNSEEN as error:
                unseen = f" ({error})"
                if self.writer.kafka.clock.monotonic() - seen_at >= self.writer.verify_timeout_s:
                    raise StepError(f"nothing is seen for {self.writer.verify_timeout_s:g} s: {error}") from None
            if self.writer.kafka.clock.monotonic() >= deadline:
                raise StepError(f"{otherwise} at its deadline{unseen}")
            self.writer.kafka.clock.sleep(_LOOK_EVERY_S)


Judge = Callable[[ReplicaChange, PartitionState, bool], tuple[Undoing, str]]


def _of_replica(change: ReplicaChange, state: PartitionState, is_running: bool) -> tuple[Undoing, str]:
    """Judge a partition whose replica may have been dropped: only orders that its run can have left are undone."""
    if state.replicas == change.original and not is_running and change.broker_id in state.isr:
        return Undoing.ALREADY_BACK, f"its replicas are {list(change.original)}, as they were"
    if state.replicas in (change.original, change.source_first, *_dropped(change)):
        return Undoing.WOULD_RESTORE, f"its replicas are {list(state.replicas)}: back to {list(change.original)}"
    return Undoing.CONFLICT, (
        f"its replicas are {list(state.replicas)}, which no run of this collection set; they were "
        f"{list(change.original)}"
    )


def _dropped(change: ReplicaChange) -> tuple[tuple[int, ...], ...]:
    """Return the replicas without it. While it is dropped, the controller lists the others first and it after them."""
    return change.without_replica, (*change.without_replica, change.broker_id)


def _whole(change: ReplicaChange) -> tuple[tuple[int, ...], ...]:
    """Return the orders that a run sets before it drops the replica, and after it added it again."""
    return change.original, change.source_first


def _of_order(change: ReplicaChange, state: PartitionState, is_running: bool) -> tuple[Undoing, str]:
    """Judge a partition whose replica was not dropped. Another order, or a running reassignment, is somebody else's."""
    if is_running or state.replicas not in _whole(change):
        return Undoing.CONFLICT, f"its replicas are {list(state.replicas)}, which this run did not set, and stay so"
    return Undoing.WOULD_RESTORE, f"its replicas are {list(state.replicas)}: back to {list(change.original)}"


def preview_replica_undo(kafka: Kafka, change: ReplicaChange, judge: Judge = _of_replica) -> tuple[Undoing, str]:
    """Return what undoing a change would do, and why. Writes nothing."""
    try:
        state = kafka.see_one(change.topic_partition)
        is_running = bool(kafka.running_reassignments([change.topic_partition]))
    except _UNSEEN as error:
        return Undoing.FAILED, str(error)
    if state is None:
        return Undoing.GONE, "the partition does not exist any more"
    if state.topic_id != change.topic_id:
        return Undoing.GONE, f"the topic was re-created (id {state.topic_id})"
    return judge(change, state, is_running)
