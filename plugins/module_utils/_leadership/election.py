# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Elect preferred leaders, a bounded number at a time, each seen to lead before the next ones are asked for.

Where the preferred replica is not in sync and another one is, that one is made preferred for the time of the election.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from .._changes.home import JournalHome
from .._changes.journal import Journal
from .._changes.order_rollback import end_in_journal, restore_orders_with_retries
from .._changes.orders import Writer, read_states, set_orders, wait_for_states
from .._changes.record import AnyLeftover, JournalError, OrderChange, Undoing
from .._changes.rollback import Rollback, has_restored
from .._kafka.elections import PREFERRED
from .._kafka.errors import BrokerCallError, RequestRefusedError
from .._kafka.messages import in_batches
from .._kafka.port import Kafka
from .._model.partition import PartitionState, TopicPartition
from .._model.run import Progress
from .blacklist import matches
from .memory import Memory
from .memory_homes import Homes, LeadershipOptions
from .moves import LEADERLESS, Move, MoveStatus, move_away, move_to
from .orders import Order, find_base, with_last

_PAUSE_S = 0.5
"""Before leaders are looked at again. Brokers lag behind the controller by less, as a rule."""
_OPEN = frozenset({MoveStatus.WOULD_MOVE, MoveStatus.STILL_PREFERRED})
_NOTHING = Memory()
STOPPED = "the run was asked to stop before this election; run it again"


@dataclass(frozen=True, slots=True, kw_only=True)
class MoveOptions(LeadershipOptions):
    """Which leaders to move, and how."""

    from_brokers: frozenset[int]
    """Shall lead nothing that another one can."""
    to_brokers: frozenset[int]
    """Shall lead what they are the preferred replica of."""
    patterns: tuple[str, ...]
    """Topics to look at; empty for all of them."""
    max_moves: int
    """Leaders that move at a time; at most PARTITIONS_PER_REQUEST."""

    def judge(self, state: PartitionState, undone: Memory) -> Move | None:
        """Return what is to be done to a partition; None: nothing. ``undone`` is remembered, and taken for put back."""
        is_passing = state.topic == self.journal.topic
        if is_passing or (self.patterns and not matches(state.topic, self.patterns)):
            return None
        away = move_away(state, self.from_brokers, assume_reordered=self.check_mode)
        return away or move_to(state, self.to_brokers, self._order_without(state, undone))

    def _order_without(self, state: PartitionState, memory: Memory) -> Order:
        """Return the order that is left once ``to_brokers`` are taken off the list.

        With nothing remembered, its own.
        """
        base = find_base(state.topic_id, state.replicas, memory.orders.get(state.topic_partition))
        return with_last(base.order, memory.blacklist.listed_for(state.topic) - self.to_brokers)


@dataclass(frozen=True, slots=True)
class MoveReport:
    """How every partition ended that had, or has, another leader than it should."""

    cluster_id: str
    moves: Mapping[TopicPartition, Move]
    notes: tuple[str, ...] = ()
    """What the person on call should know of the journal, and of what an earlier run left."""
    has_restored: bool = False
    """What an earlier run had left changed was put back."""
    requested: frozenset[TopicPartition] = frozenset()
    """Partitions whose election this run requested. Another leader than theirs was elected by somebody else."""
    report_error: str = ""
    """Why this is not in the report file, although one was asked for."""

    @property
    def is_changed(self) -> bool:
        """True when this run moved a leader, or, in check mode, would."""
        return self.has_restored or any(
            each.status is MoveStatus.WOULD_MOVE or (each.status is MoveStatus.MOVED and partition in self.requested)
            for partition, each in self.moves.items()
        )


def move_leaders(kafka: Kafka, options: MoveOptions, progress: Progress, stop: threading.Event) -> MoveReport:
    """Elects preferred leaders. In check mode nothing is asked for, and replica orders are taken for changed already:
    ``from_brokers`` for put on the list, ``to_brokers`` for taken off it.

    Raises JournalError, before anything was changed. NoBrokerAnswersError, RequestRefusedError or BrokerCallError: no
    broker could be read from.
    """
    progress.step("looking at the leaders")
    cluster = kafka.describe_cluster().with_last(options.from_brokers)
    brokers = kafka.look_at_brokers(cluster)
    living = cluster.living(brokers)
    undone = _NOTHING
    if options.check_mode and options.to_brokers:
        undone = Homes.of(kafka, living, options, cluster.cluster_id).read()
    moves = _find_moves(options, kafka.describe_partitions().partitions, undone)
    leftovers: tuple[AnyLeftover, ...] = ()
    notes: tuple[str, ...] = ()
    requested: set[TopicPartition] = set()
    if not options.check_mode and _open_moves(moves):
        with JournalHome(kafka, cluster, options.journal, brokers).open(progress) as journal:
            writer = Writer(kafka, [*living.values()], options.attempts, options.verify_timeout_ms / 1000)
            writer = writer.with_journal(journal)
            rollback = Rollback.of(writer, living, journal, progress=progress, stop=stop)
            leftovers = rollback.undo()
            temporary_orders = TemporaryOrders(writer, journal)
            moves = _Rounds(_Batch(writer, options, temporary_orders, stop, requested), progress).move(moves)
            moves |= {
                each: _with_unrestored_order(moves[each], why) for each, why in temporary_orders.not_restored.items()
            }
            rollback.undo_late_changes()
        notes = (*journal.notes, *(each.described for each in leftovers))
    return MoveReport(
        cluster.cluster_id, dict(sorted(moves.items())), notes, has_restored(leftovers), frozenset(requested)
    )


@dataclass(frozen=True, slots=True)
class _Rounds:
    batch: _Batch
    progress: Progress

    def move(self, moves: dict[TopicPartition, Move]) -> dict[TopicPartition, Move]:
        """How all ended. After each round all leaders are looked at again: the look before may have lagged."""
        for _round in range(self.batch.writer.attempts):
            moves = moves | self._in_batches({each: moves[each] for each in _to_move(moves)})
            if self.batch.stop.is_set():
                return moves
            time.sleep(_PAUSE_S)
            moves |= self._look_again(moves)
            if not _open_moves(moves):
                return moves
        return moves | {each: _give_up(moves[each]) for each in _to_move(moves)}

    def _in_batches(self, wanted: Mapping[TopicPartition, Move]) -> dict[TopicPartition, Move]:
        ended: dict[TopicPartition, Move] = {}
        for batch in in_batches([*wanted], self.batch.options.max_moves):
            self.progress.step("moving leaders", len(ended), len(wanted))
            if self.batch.stop.is_set():
                ended |= {each: replace(wanted[each], status=MoveStatus.FAILED, reason=STOPPED) for each in batch}
            else:
                ended |= self.batch.move({each: wanted[each] for each in batch})
        return ended

    def _look_again(self, moves: Mapping[TopicPartition, Move]) -> dict[TopicPartition, Move]:
        """Return the partitions that differ from the outcome so far. One that failed was tried often enough."""
        self.progress.step("looking at the leaders again")
        states = {each.topic_partition: each for each in self.batch.writer.kafka.describe_partitions().partitions}
        found = _find_moves(self.batch.options, states.values())
        failed = {each for each, move in moves.items() if move.status is MoveStatus.FAILED}
        settled = [each for each in _open_moves(moves) if each not in found]
        return {each: move for each, move in found.items() if each not in failed} | {
            each: _end_move(moves[each], states.get(each)) for each in settled
        }


@dataclass(frozen=True, slots=True)
class _Batch:
    writer: Writer
    options: MoveOptions
    temporary_orders: TemporaryOrders
    stop: threading.Event
    requested: set[TopicPartition]

    def move(self, moves: Mapping[TopicPartition, Move]) -> dict[TopicPartition, Move]:
        """How each of the moves ended. The partitions are looked at again just before each attempt."""
        ended: dict[TopicPartition, Move] = {}
        faults: dict[TopicPartition, str] = {}
        for attempt in range(self.writer.attempts):
            left = [each for each in moves if each not in ended]
            states = read_states(self.writer.kafka, left)
            again = _find_moves(self.options, states.values())
            ended |= {each: _end_move(moves[each], states.get(each)) for each in left if each not in again}
            ended |= {each: move for each, move in again.items() if move.status is not MoveStatus.WOULD_MOVE}
            waiting = {each: again[each] for each in _to_move(again)}
            if not waiting:
                break
            faults, seen = self._attempt(waiting, attempt)
            for partition, state in seen.items():
                if state.leader_id == waiting[partition].target:
                    ended[partition] = _end_move(waiting[partition], state)
            if self.stop.is_set():
                break
        return ended | {
            each: replace(moves[each], status=MoveStatus.FAILED, reason=faults.get(each) or self._not_seen(moves[each]))
            for each in moves
            if each not in ended
        }

    def _attempt(
        self, waiting: Mapping[TopicPartition, Move], attempt: int
    ) -> tuple[dict[TopicPartition, str], Mapping[TopicPartition, PartitionState]]:
        """Each partition's error, and the partitions that were asked for as they were seen last."""
        with self.temporary_orders.set_for(waiting.values()) as unready:
            asked = [each for each in waiting if each not in unready]
            if not asked:
                return unready, {}
            faults = self._elect(asked, attempt)
            states = wait_for_states(
                self.writer,
                [each for each in asked if each not in faults],
                lambda state: state.leader_id == waiting[state.topic_partition].target,
            )
        return {**unready, **faults}, states

    def _elect(self, waiting: Collection[TopicPartition], attempt: int) -> dict[TopicPartition, str]:
        """Each partition's error. A lost answer is none: what became of it is looked up."""
        if forbidden := self.writer.why_forbidden():
            return dict.fromkeys(waiting, forbidden)
        self.requested.update(waiting)
        try:
            answers = self.writer.send(attempt, lambda address: self.writer.kafka.elect(address, PREFERRED, waiting))
        except RequestRefusedError as fault:
            return {} if fault.is_outcome_unknown else dict.fromkeys(waiting, str(fault))
        except BrokerCallError:
            return {}
        return {
            partition: str(answer)
            for partition, answer in answers.items()
            if not (answer.is_elected or answer.was_not_needed)
        }

    def _not_seen(self, move: Move) -> str:
        return f"broker {move.target} was not seen to lead within {self.writer.verify_timeout_s:g} s of each attempt"


def _find_moves(
    options: MoveOptions, states: Iterable[PartitionState], undone: Memory = _NOTHING
) -> dict[TopicPartition, Move]:
    judged = {state.topic_partition: options.judge(state, undone) for state in states}
    return {partition: move for partition, move in sorted(judged.items()) if move is not None}


def _to_move(moves: Mapping[TopicPartition, Move]) -> Sequence[TopicPartition]:
    return [partition for partition, move in moves.items() if move.status is MoveStatus.WOULD_MOVE]


def _with_unrestored_order(move: Move, why: str) -> Move:
    return replace(move, reason=f"{move.reason}; the order that it was given for the election is not put back: {why}")


def _open_moves(moves: Mapping[TopicPartition, Move]) -> Sequence[TopicPartition]:
    """Return the moves, and the partitions whose order is not as it should be."""
    return [partition for partition, move in moves.items() if move.status in _OPEN]


def _give_up(move: Move) -> Move:
    reason = f"broker {move.leader_before} leads it at the last look, after every attempt: run again"
    return replace(move, status=MoveStatus.FAILED, reason=reason, leader_after=move.leader_before)


def _end_move(move: Move, state: PartitionState | None) -> Move:
    """How a move ended of which nothing is left to be done, by our election or because somebody else was faster."""
    if state is None:
        return replace(move, status=MoveStatus.FAILED, reason="it is not in the metadata any more: was it deleted?")
    if state.is_offline:
        return replace(move, status=MoveStatus.LEADERLESS, reason=LEADERLESS, leader_after=state.leader_id)
    return replace(move, status=MoveStatus.MOVED, leader_after=state.leader_id)


_REASSIGNING = "a reassignment of it is running, which is never overridden: run again once it has ended"
_PENDING = "a replica order that was set for an election is not put back yet: run again"


@dataclass(frozen=True, slots=True)
class TemporaryOrders:
    """In the journal like every order that is set for a while, so that after a crash the next run puts it back."""

    writer: Writer
    journal: Journal
    not_restored: dict[TopicPartition, str] = field(default_factory=dict)
    """Why the order of a partition is not put back."""

    @contextmanager
    def set_for(self, moves: Iterable[Move]) -> Iterator[dict[TopicPartition, str]]:
        """Each move's target is first within this context; why not, for those where it is not. Their set never changes.

        Nothing is read or written where no move is a detour. An order that is not seen back stays in the journal. One
        that somebody else changed meanwhile stays as it is.

        Raises JournalError, NoBrokerAnswersError or RequestRefusedError, all of them before anything was changed.
        """
        around = [each for each in moves if each.needs_reorder]
        if not around:
            yield {}
            return
        partitions = [each.topic_partition for each in around]
        pending = {each.topic_partition for each in self.journal.orders}.intersection(partitions)
        running = self.writer.kafka.running_reassignments(partitions)
        unready = dict.fromkeys(running, _REASSIGNING) | dict.fromkeys(pending, _PENDING)
        changes = self.journal.begin(_change(each) for each in around if each.topic_partition not in unready)
        faults = set_orders(
            self.writer,
            {each.topic_partition: each.changed for each in changes},
            {each.topic_partition: each.possible_orders for each in changes},
        )
        try:
            yield faults | unready
        finally:
            self._restore(changes)

    def _restore(self, changes: Sequence[OrderChange]) -> None:
        ended = restore_orders_with_retries(self.writer, changes)
        back = (Undoing.RESTORED, Undoing.ALREADY_BACK)
        self.not_restored.update(
            {each.change.topic_partition: each.reason for each in ended if each.undoing not in back}
        )
        try:
            end_in_journal(self.journal, ended)
        except JournalError as error:
            # The next run finds them as they were, and strikes them out.
            self.not_restored.update({each.topic_partition: str(error) for each in changes})


def _change(move: Move) -> OrderChange:
    target_first = (move.target, *(each for each in move.replicas if each != move.target))
    return OrderChange(move.topic, move.partition, move.topic_id, move.replicas, target_first)
