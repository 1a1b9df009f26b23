# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Drops one replica from its broker and makes it anew there, step by step, and takes every step back.

The uncleanable mark is in the broker's memory, and the cleaner forgets it in the first pass in which the broker does
not have the partition (LogCleanerManager.maintainUncleanablePartitions). So a pass must go by in between.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from ansible_collections.kafkaops.recovery.plugins.module_utils.journal.cleaner_journal import (
    CleanerJournal,
    ReplicaChange,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils.kafka.addresses import Address
from ansible_collections.kafkaops.recovery.plugins.module_utils.kafka.elections import PREFERRED, elect
from ansible_collections.kafkaops.recovery.plugins.module_utils.kafka.errors import (
    BrokerCallError,
    NoBrokerAnswersError,
    RequestRefusedError,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils.kafka.log_dirs import describe_log_dirs
from ansible_collections.kafkaops.recovery.plugins.module_utils.kafka.reassignments import running_reassignments
from ansible_collections.kafkaops.recovery.plugins.module_utils.kafka.replica_sets import assign, cancel
from ansible_collections.kafkaops.recovery.plugins.module_utils.model.errors import KafkaOpsError
from ansible_collections.kafkaops.recovery.plugins.module_utils.model.partition import PartitionState
from ansible_collections.kafkaops.recovery.plugins.module_utils.model.progress import Progress
from ansible_collections.kafkaops.recovery.plugins.module_utils.operations.log_cleaner_safeguard import (
    Safeguard,
    UnsafeError,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils.operations.log_cleaner_settings import Undoing
from ansible_collections.kafkaops.recovery.plugins.module_utils.operations.partition_sight import see_one
from ansible_collections.kafkaops.recovery.plugins.module_utils.operations.replica_orders import Writer, set_orders

_LOOK_EVERY_S = 0.3
_UNSEEN = (NoBrokerAnswersError, BrokerCallError, RequestRefusedError)


class StepError(KafkaOpsError):
    """A step did not come to its end. The steps before it are taken back."""


@dataclass(frozen=True, slots=True)
class ReplicaMaker:
    """Drops and makes replicas over one connection."""

    writer: Writer
    living: Mapping[int, Address]
    journal: CleanerJournal
    timeout_s: float
    """For one replica, from when it is dropped until it is in sync again."""
    stop: threading.Event
    progress: Progress

    def make_anew(self, change: ReplicaChange, safeguard: Safeguard, is_forgotten: Callable[[float], bool]) -> None:
        """Journal, leadership moved off, drop, wait until the mark is forgotten, re-create, order and leadership back.

        ``is_forgotten`` is asked, with the seconds since the drop, until the broker's cleaner has dropped the mark.

        Raises UnsafeError when it must not be done any more, and all is as it was; NoBrokerAnswersError,
        BrokerCallError, RequestRefusedError or JournalError before anything was changed; and StepError once everything
        was taken back that could be.
        """
        safeguard.require(change, [change.original])
        self.journal.begin(change)
        if change.leader != change.source:
            try:
                self._lead_elsewhere(change)
                # To move leadership takes its time, too.
                safeguard.require(change, [change.original, change.source_first])
            except KafkaOpsError as fault:
                raise self._not_dropped(change, fault) from None
        try:
            deadline = time.monotonic() + self.timeout_s
            self._drop(change, deadline, is_forgotten)
            self._assign(change, change.original)
            self._await_in_sync(change, deadline)
        except KafkaOpsError as fault:
            undoing, reason = self.take_back(change)
            raise StepError(f"{fault}; {undoing.value}: {reason}") from None
        self._lead_as_before(change)
        self.journal.end(change, "re-created")

    def take_back(self, change: ReplicaChange) -> tuple[Undoing, str]:
        """Cancels what of it still runs, asks for the original replicas in their order, and waits until it is in sync.

        It asks even where they seem to be back: a broker that lags behind the controller tells what was before our
        change. The journal forgets the change only then. Raises JournalError.
        """
        undoing, reason = self.look_at(change)
        if undoing in (Undoing.WOULD_RESTORE, Undoing.ALREADY_BACK):
            try:
                self._cancel(change)
                self._assign(change, change.original)
                # Whoever asks a run to stop waits for it. The journal is there for what takes longer.
                seconds = self.writer.verify_timeout_s if self.stop.is_set() else self.timeout_s
                self._await_in_sync(change, time.monotonic() + seconds, heed_stop=False)
            except KafkaOpsError as fault:
                return Undoing.FAILED, (
                    f"{fault}; the replicas {list(change.original)} were asked for, and the journal remembers it: "
                    f"start broker {change.broker_id} if it is down, wait until it is in sync, and run again"
                )
            self._lead_as_before(change)
            undoing, reason = Undoing.RESTORED, f"its replicas are {list(change.original)} again, and in sync"
        if undoing is not Undoing.FAILED:
            self.journal.end(change, undoing.value)
        return undoing, reason

    def look_at(self, change: ReplicaChange) -> tuple[Undoing, str]:
        """Says what taking back would do. Writes nothing."""
        try:
            state = self._state(change)
            is_running = bool(running_reassignments(self.writer.wire, [change.topic_partition]))
        except StepError as gone:
            return Undoing.GONE, str(gone)
        except _UNSEEN as fault:
            return Undoing.FAILED, str(fault)
        if state.topic_id != change.topic_id:
            return Undoing.GONE, f"the topic was recreated (id {state.topic_id})"
        if state.replicas == change.original and not is_running and change.broker_id in state.isr:
            return Undoing.ALREADY_BACK, f"its replicas are {list(change.original)}, as they were"
        if set(state.replicas) | {change.broker_id} == set(change.original):
            return Undoing.WOULD_RESTORE, f"its replicas are {list(state.replicas)}: back to {list(change.original)}"
        return Undoing.CONFLICT, (
            f"its replicas are {list(state.replicas)}, which we did not set; they were {list(change.original)}"
        )

    def _not_dropped(self, change: ReplicaChange, fault: KafkaOpsError) -> KafkaOpsError:
        """The error to raise where the replica was not dropped, once the order is back."""
        undoing, reason = self._order_back(change)
        if undoing is not Undoing.FAILED:
            self.journal.end(change, undoing.value)
        told = f"{fault}; {undoing.value}: {reason}"
        is_as_before = isinstance(fault, UnsafeError) and undoing in (Undoing.RESTORED, Undoing.GONE)
        return UnsafeError(told) if is_as_before else StepError(told)

    def _order_back(self, change: ReplicaChange) -> tuple[Undoing, str]:
        """Puts back the order alone. A set that is not the original one, or is to change, is somebody else's."""
        try:
            state = self._state(change)
            is_running = bool(running_reassignments(self.writer.wire, [change.topic_partition]))
        except StepError as gone:
            return Undoing.GONE, str(gone)
        except _UNSEEN as unseen:
            return Undoing.FAILED, str(unseen)
        if state.topic_id != change.topic_id:
            return Undoing.GONE, f"the topic was recreated (id {state.topic_id})"
        if is_running or {*state.replicas} != {*change.original}:
            return Undoing.CONFLICT, f"its replicas are {list(state.replicas)}, which we did not set, and stay so"
        fault = set_orders(self.writer, {change.topic_partition: change.original}).get(change.topic_partition)
        if fault:
            return (
                Undoing.FAILED,
                f"its order {list(change.original)} is not back, and the journal remembers it: {fault}",
            )
        self._lead_as_before(change)
        return Undoing.RESTORED, f"its replicas are {list(change.original)}, as they were"

    def _lead_elsewhere(self, change: ReplicaChange) -> None:
        self.progress.step(f"{change.topic_partition}: moving leadership to broker {change.source}")
        self._lead(change, change.source_first, change.source)

    def _lead(self, change: ReplicaChange, order: tuple[int, ...], leader: int) -> None:
        partition = change.topic_partition
        fault = set_orders(self.writer, {partition: order}).get(partition)
        if fault:
            raise StepError(f"broker {leader} cannot be put first: {fault}")
        answer = "no answer"
        for attempt in range(self.writer.attempts):
            try:
                answer = str(elect(self.writer.wire, self.writer.address(attempt), PREFERRED, [partition])[partition])
            except (*_UNSEEN, KeyError) as lost:
                answer = str(lost)
            if self._wait(change, lambda state: state.leader_id == leader, self.writer.verify_timeout_s):
                return
        raise StepError(f"broker {leader} does not lead it after a preferred election: {answer}")

    def _lead_as_before(self, change: ReplicaChange) -> None:
        """Best effort, since nothing depends on it: Kafka's own rebalance brings a preferred leader back, too."""
        if change.leader == change.original[0] == change.broker_id:
            try:
                self._lead(change, change.original, change.leader)
            except StepError as fault:
                self.progress.step(f"{change.topic_partition}: {fault}")

    def _drop(self, change: ReplicaChange, deadline: float, is_forgotten: Callable[[float], bool]) -> None:
        self.progress.step(f"{change.topic_partition}: dropping the replica on broker {change.broker_id}")
        self._assign(change, change.without_it)
        self._until(
            deadline,
            lambda: (
                set(self._state(change).replicas) == set(change.without_it)
                and self._size(change, change.broker_id) is None
            ),
            f"broker {change.broker_id} still has the replica",
        )
        dropped_at = time.monotonic()
        self.progress.step(f"{change.topic_partition}: waiting until the cleaner has forgotten the mark")
        self._until(
            deadline,
            lambda: is_forgotten(time.monotonic() - dropped_at),
            f"the cleaner of broker {change.broker_id} still has the mark: do its threads run?",
        )

    def _await_in_sync(self, change: ReplicaChange, deadline: float, *, heed_stop: bool = True) -> None:
        whole = self.size_if_told(change, change.source)

        def is_done() -> bool:
            state = self._state(change)
            copied = self._size(change, change.broker_id)
            self.progress.step(f"{change.topic_partition}: re-creating on broker {change.broker_id}", copied, whole)
            return (
                state.replicas == change.original
                and change.broker_id in state.isr
                and not running_reassignments(self.writer.wire, [change.topic_partition])
            )

        self._until(
            deadline, is_done, f"the new replica on broker {change.broker_id} is not in sync", heed_stop=heed_stop
        )

    def _assign(self, change: ReplicaChange, replicas: Sequence[int]) -> None:
        fault: str | None = None
        for attempt in range(self.writer.attempts):
            try:
                fault = assign(self.writer.wire, self.writer.address(attempt), change.topic_partition, replicas)
            except _UNSEEN as lost:
                # It may have been carried out. To ask for the same set again does no harm.
                fault = str(lost)
            if fault is None:
                return
        raise StepError(f"the replicas {list(replicas)} were refused: {fault}")

    def _cancel(self, change: ReplicaChange) -> None:
        try:
            running = running_reassignments(self.writer.wire, [change.topic_partition])
            fault = cancel(self.writer.wire, self.writer.address(0), change.topic_partition) if running else None
        except _UNSEEN as lost:
            fault = str(lost)
        if fault:
            self.progress.step(f"{change.topic_partition}: its reassignment cannot be cancelled: {fault}")

    def _state(self, change: ReplicaChange) -> PartitionState:
        """Raises StepError when it is known not to exist, and what ``_UNSEEN`` lists where it is not seen."""
        state = see_one(self.writer.wire, change.topic_partition)
        if state is None:
            raise StepError("the partition does not exist any more")
        return state

    def size_if_told(self, change: ReplicaChange, broker_id: int) -> int | None:
        """Bytes of a broker's copy, for a person to see; None when it has none, or does not tell."""
        try:
            return self._size(change, broker_id)
        except (BrokerCallError, StepError):
            return None

    def _size(self, change: ReplicaChange, broker_id: int) -> int | None:
        """None when the broker has no copy. Raises BrokerCallError, and StepError where it does not tell."""
        address = self.living.get(broker_id)
        if address is None:
            raise StepError(f"broker {broker_id} is not online")
        partition = change.topic_partition
        told = self.writer.wire.using(address, lambda each: describe_log_dirs(each, [partition]))
        if told.refusal:
            raise StepError(f"broker {broker_id} does not tell what it holds: {told.refusal}")
        copies = told.replicas.get(partition, ())
        return next((each.size_bytes for each in copies if not each.is_future), None)

    def _wait(self, change: ReplicaChange, is_done: Callable[[PartitionState], bool], seconds: float) -> bool:
        try:
            self._until(time.monotonic() + seconds, lambda: is_done(self._state(change)), "", heed_stop=False)
        except StepError:
            return False
        return True

    def _until(self, deadline: float, is_done: Callable[[], bool], otherwise: str, *, heed_stop: bool = True) -> None:
        """Looks until it is done. A look that fails is tried again, for as long as a change may take to be seen."""
        seen_at = time.monotonic()
        unseen = ""
        while True:
            if heed_stop and self.stop.is_set():
                raise StepError("the run was asked to stop")
            try:
                if is_done():
                    return
                seen_at, unseen = time.monotonic(), ""
            except _UNSEEN as fault:
                unseen = f" ({fault})"
                if time.monotonic() - seen_at >= self.writer.verify_timeout_s:
                    raise StepError(f"nothing is seen for {self.writer.verify_timeout_s:g} s: {fault}") from None
            if time.monotonic() >= deadline:
                raise StepError(f"{otherwise} at its deadline{unseen}")
            time.sleep(_LOOK_EVERY_S)
