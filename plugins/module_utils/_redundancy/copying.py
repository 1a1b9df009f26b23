# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Copy replicas to their new brokers, some at a time on each broker, and watch them until they are in sync.

1. Read the partitions right before each request. One that another party has changed since the plan is left alone. If a
   topic is re-created after that, its successor gets the request, which is then undone as far as possible.
2. Request its target, if each broker that gets a replica copies fewer than ``at_once`` others.
3. Look until the new replicas are in sync. If all lost replicas of a partition are back in sync first, they stay: the
   copy is canceled, or not begun. While one of them is missing, it goes on.
4. A partition whose copies keep their size for ``stall_s`` is canceled, and the others go on. A copy also shrinks while
   it goes on, because its broker compacts it.
5. A partition that loses its leader for a while has failed, and its reassignment stays.
6. If a new replica is offline for a while, its broker died, or the disk is full. Nothing more is begun on that broker,
   and its partitions are ``left`` to the caller, who plans them again or gives them up. Their other copies go on.

Before the first request, the journal has a record (``LastingOrders``): the next run holds the lock until no request of
a killed run can be executed any more. A reassignment that a killed run began goes on, and the next plan takes it over.
"""

from __future__ import annotations

import threading
from collections import Counter, deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from .._changes.orders import undo_on_new_topics
from .._changes.record import partition_subject
from .._changes.sender import Answer, Seen, Writer, until_seen
from .._kafka.errors import CallError
from .._kafka.settings import Address
from .._model.partition import PARTITIONS_PER_REQUEST, PartitionState, Reassignment, TopicPartition, grouped
from .._model.reasons import name_brokers, plural
from .._model.run import Progress
from .move_now import OTHERS, MoveNow, explain_returned
from .plan import MoveOutcome, ReplicaMove, ReplicaStatus, outcome_of

_LOOK_EVERY_S = 0.5
_OFFLINE_S = 60.0
"""For how long a new replica may be offline: a broker that restarts is back by then."""
_SIZES_EVERY_S = 2.0
_MIB = 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class CopyPace:
    """How much to copy at a time."""

    at_once: int
    """How many replicas each broker copies at the same time."""
    stall_s: float
    """Give up a partition whose copies have had the same size for so long."""


@dataclass(slots=True)
class _Copy:
    """A move that is running."""

    move: ReplicaMove
    changed_at: float
    """When a size was last read that differs from the one before."""
    sizes: dict[int, int] = field(default_factory=dict)
    """The bytes that the new replicas have, by broker."""
    offline: tuple[int, ...] = ()
    """The brokers that get a replica and whose replica is offline."""
    offline_since: float = 0.0
    leaderless_since: float | None = None
    """Since when the partition has no leader, so that nothing is copied. None if it has one."""


@dataclass(slots=True)
class ReplicaCopier:
    """Carry out moves under the lock of this run."""

    writer: Writer
    living: Mapping[int, Address]
    pace: CopyPace
    progress: Progress
    stop: threading.Event
    cancels_on_stop: bool
    """Whether a stop cancels running copies. Without a throttle, they may go on."""
    outcomes: list[MoveOutcome] = field(default_factory=list)
    given_up: set[int] = field(default_factory=set)
    """Brokers whose new replicas were offline for too long."""
    left: list[ReplicaMove] = field(default_factory=list)
    """The moves to these brokers. They have no outcome."""
    _running: dict[TopicPartition, _Copy] = field(default_factory=dict)
    _began_at: float = 0.0
    _done_bytes: int = 0
    _total_bytes: int = 0
    _sizes_at: float = 0.0

    def carry_out(self, moves: Sequence[ReplicaMove]) -> list[MoveOutcome]:
        """Carry out the moves, and return their outcomes. Raises JournalError if the lock is lost."""
        waiting = deque(moves)
        self._began_at = self._now()
        self._total_bytes = sum(each.size_bytes * len(each.adding) for each in moves)
        while waiting or self._running:
            if self.stop.is_set():
                self._end_early(waiting)
                break
            waiting = self._leave_given_up(waiting)
            startable = self._take_startable(waiting)
            if startable:
                self._start(startable)
            self._watch()
            if self._running:
                self.writer.kafka.clock.sleep(_LOOK_EVERY_S)
        return self.outcomes

    def _now(self) -> float:
        return self.writer.kafka.clock.monotonic()

    def _leave_given_up(self, waiting: deque[ReplicaMove]) -> deque[ReplicaMove]:
        """Return the moves that may still begin. The others would only wait for a broker that does not copy."""
        if not self.given_up:
            return waiting
        self.left += [each for each in waiting if self.given_up.intersection(each.adding)]
        return deque(each for each in waiting if not self.given_up.intersection(each.adding))

    def _take_startable(self, waiting: deque[ReplicaMove]) -> list[ReplicaMove]:
        """Remove the next moves from ``waiting`` for which each broker has room, and return them."""
        busy = Counter(each for copy in self._running.values() for each in copy.move.adding)
        taken: list[ReplicaMove] = []
        for _number in range(len(waiting)):
            move = waiting.popleft()
            if len(taken) < PARTITIONS_PER_REQUEST and all(busy[each] < self.pace.at_once for each in move.adding):
                busy.update(move.adding)
                taken.append(move)
            else:
                waiting.append(move)
        return taken

    def _start(self, moves: Sequence[ReplicaMove]) -> None:
        by_partition = {each.topic_partition: each for each in moves}
        kafka = self.writer.kafka
        requested: set[TopicPartition] = set()
        recreated: set[TopicPartition] = set()
        finals: dict[TopicPartition, ReplicaStatus] = {}

        def send(address: Address, partitions: Sequence[TopicPartition]) -> Mapping[TopicPartition, str | None]:
            requested.update(partitions)
            targets = {each: by_partition[each].target for each in partitions}
            return self._request(address, lambda to: kafka.reassign(to, targets))

        def look(partitions: Sequence[TopicPartition]) -> Mapping[TopicPartition, Seen]:
            running = kafka.running_reassignments(partitions)
            metadata = kafka.read_partition_states(partitions)
            recreated.update(
                each for each, state in metadata.states.items() if state.topic_id != by_partition[each].topic_id
            )
            now = {
                each: MoveNow(by_partition[each], metadata.states.get(each), running.get(each)) for each in partitions
            }
            finals.update((each, final.status) for each, it in now.items() if (final := it.final))
            return {each: it.seen for each, it in now.items()}

        unseen = until_seen(self.writer, [*by_partition], send, look, name=partition_subject, looks_first=True)
        undone = undo_on_new_topics(
            self.writer, {each: by_partition[each].target for each in sorted(requested & recreated)}
        )
        for partition, move in by_partition.items():
            if partition in unseen:
                reason = undone.get(partition) or unseen[partition].reason
                status = ReplicaStatus.FAILED if unseen[partition].may_be_made else finals.get(partition)
                self._end(outcome_of(move, status or ReplicaStatus.FAILED, reason))
            else:
                self._running[partition] = _Copy(move, self._now())

    def _watch(self) -> None:
        if not self._running:
            return
        kafka = self.writer.kafka
        try:
            states = kafka.read_partition_states([*self._running]).states
            running = kafka.running_reassignments([*self._running])
        except CallError as error:
            self.progress.step(f"the copies cannot be watched now: {error}")
            self._give_up_hopeless()
            return
        for partition, copy in [*self._running.items()]:
            self._judge(copy, states.get(partition), running.get(partition))
        self._read_sizes()
        self._give_up_hopeless()
        self._report()

    def _judge(self, copy: _Copy, state: PartitionState | None, running: Reassignment | None) -> None:
        move = copy.move
        if state is None or state.topic_id != move.topic_id:
            self._end(outcome_of(move, ReplicaStatus.CHANGED, "the topic was deleted or re-created"))
            return
        now = MoveNow(move, state, running)
        if now.is_ending:
            return
        if now.left != move.target:
            self._end(outcome_of(move, ReplicaStatus.CHANGED, f"{OTHERS} to {[*state.replicas]} meanwhile"))
            return
        offline = tuple(each for each in move.adding if each in state.offline_replicas)
        if offline != copy.offline:
            copy.offline, copy.offline_since = offline, self._now()
        if state.is_offline and copy.leaderless_since is None:
            copy.leaderless_since = self._now()
        elif not state.is_offline and copy.leaderless_since is not None:
            copy.leaderless_since, copy.changed_at = None, self._now()
        if {*move.adding} <= {*state.isr}:
            if now.is_complete:
                waits = "" if running is None else _STAYS_RUNNING
                self._end(outcome_of(move, ReplicaStatus.RESTORED, waits))
        elif now.has_returned:
            problem = self._cancel(move)
            status = ReplicaStatus.FAILED if problem else ReplicaStatus.RETURNED
            self._end(outcome_of(move, status, problem or explain_returned(move)))

    def _read_sizes(self) -> None:
        """Read how much is copied, now and then. What cannot be read has not changed."""
        if self._now() - self._sizes_at < _SIZES_EVERY_S:
            return
        self._sizes_at = self._now()
        by_broker = grouped(
            (each, partition)
            for partition, copy in self._running.items()
            for each in copy.move.adding
            if each in self.living
        )
        kafka = self.writer.kafka
        answers = kafka.in_parallel(
            lambda broker_id: kafka.describe_log_dirs(self.living[broker_id], by_broker[broker_id]), by_broker
        )
        for broker_id, answer in answers.items():
            for partition, copies in () if isinstance(answer, CallError) else answer.replicas.items():
                copy, size = self._running[partition], sum(each.size_bytes for each in copies if not each.is_future)
                if copy.sizes.get(broker_id, 0) != size:
                    copy.sizes[broker_id], copy.changed_at = size, self._now()

    def _give_up_hopeless(self) -> None:
        for partition, copy in [*self._running.items()]:
            since = copy.leaderless_since
            if since is not None:
                if self._now() - since > min(_OFFLINE_S, self.pace.stall_s):
                    self._end(outcome_of(copy.move, ReplicaStatus.FAILED, _LEADERLESS))
            elif copy.offline:
                if self._now() - copy.offline_since > min(_OFFLINE_S, self.pace.stall_s):
                    self.given_up.update(copy.offline)
                    self.left.append(copy.move)
                    del self._running[partition]
            elif self._now() - copy.changed_at > self.pace.stall_s:
                brokers = ", ".join(map(str, copy.move.adding))
                why = f"the copy on broker {brokers} has had the same size for {self.pace.stall_s:.0f} s"
                problem = self._cancel(copy.move)
                self._end(outcome_of(copy.move, ReplicaStatus.FAILED, f"{why}: {problem or 'it was canceled'}"))

    def give_up(self, move: ReplicaMove) -> MoveOutcome:
        """Cancel one of the moves that are left, unless it is complete by now, and return its outcome."""
        kafka, partition = self.writer.kafka, move.topic_partition
        gone = self.given_up.intersection(move.adding)
        why = f"what {name_brokers(gone)} copied is offline (the broker is down, or its disk)"
        try:
            state = kafka.read_partition_states([partition]).states.get(partition)
            is_running = partition in kafka.running_reassignments([partition])
        except CallError as error:
            return outcome_of(move, ReplicaStatus.FAILED, f"{why}. Its reassignment is not canceled: {error}")
        if state is not None and {*move.target} <= {*state.isr}:
            return outcome_of(move, ReplicaStatus.RESTORED)
        if state is not None and state.is_offline:
            return outcome_of(move, ReplicaStatus.FAILED, f"{why}; {_LEADERLESS}")
        problem = self._cancel(move) if is_running else ""
        return outcome_of(move, ReplicaStatus.FAILED, "; ".join(filter(None, [why, problem])))

    def _end_early(self, waiting: Iterable[ReplicaMove]) -> None:
        for copy in [*self._running.values()]:
            how = "it goes on, and the next run takes it over"
            if copy.leaderless_since is not None:
                how = _LEADERLESS
            elif self.cancels_on_stop:
                how = self._cancel(copy.move) or "it was canceled, because it would go on without a throttle"
            self._end(outcome_of(copy.move, ReplicaStatus.STOPPED, f"the run was asked to stop during the copy: {how}"))
        for move in waiting:
            self._end(
                outcome_of(move, ReplicaStatus.STOPPED, "the run was asked to stop before this copy; run it again")
            )

    def _cancel(self, move: ReplicaMove) -> str:
        """Cancel the reassignment of a partition, and return why that failed; empty if it did not."""
        kafka, partition = self.writer.kafka, move.topic_partition

        def send(address: Address, _partitions: Sequence[TopicPartition]) -> Mapping[TopicPartition, str | None]:
            return {partition: self._request(address, lambda to: kafka.cancel(to, partition))}

        def look(_partitions: Sequence[TopicPartition]) -> Mapping[TopicPartition, Seen]:
            running = kafka.running_reassignments([partition]).get(partition)
            if running is None:
                return {partition: Seen(True)}
            is_ours = {*running.adding} <= {*move.adding}
            return {partition: Seen(False, "it still runs" if is_ours else OTHERS, is_final=not is_ours)}

        unseen = until_seen(self.writer, [partition], send, look, name=partition_subject)
        return f"it could not be canceled: {unseen[partition].reason}" if unseen else ""

    def _request(self, address: Address, request: Callable[[Address], Answer]) -> Answer:
        """Send a request. If the broker may hang, later requests begin with the others."""
        try:
            return request(address)
        except CallError as error:
            if error.may_be_executed:
                others = [each for each in self.writer.addresses if each != address]
                self.writer = replace(self.writer, addresses=[*others, address])
            raise

    def _end(self, outcome: MoveOutcome) -> None:
        self._running.pop(outcome.topic_partition, None)
        self._done_bytes += outcome.size_bytes * len(outcome.adding)
        self.outcomes.append(outcome)

    def _report(self) -> None:
        """Report how much is copied, the rate, and the time left at this rate."""
        copied = self._done_bytes + sum(sum(each.sizes.values()) for each in self._running.values())
        seconds = max(self._now() - self._began_at, 0.001)
        rate = copied / seconds
        left = max(0, self._total_bytes - copied)
        time_left = f", {left / rate:.0f} s left" if rate >= 1 else ""
        self.progress.step(
            f"copying {plural(len(self._running), 'partition')} at {rate / _MIB:.1f} MiB/s{time_left}",
            copied,
            self._total_bytes,
        )


_LEADERLESS = (
    "it has no leader now: recover it first (playbook kafkaops.recovery.recover_offline_partitions). What was copied "
    "may be all that is left, so its reassignment is not canceled. When it has a leader, the copy goes on without a "
    "throttle: then run this again"
)
_STAYS_RUNNING = (
    "the reassignment stays listed until the lost replica that could not be replaced is in sync (Kafka before 4.3)"
)
