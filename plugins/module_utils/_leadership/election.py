# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Elect preferred leaders in batches. Each batch is verified before the next one is requested.

If the preferred replica is not in sync and another replica is, that one is put first in the order for the election.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from .._changes.cluster_journal import ClusterJournal
from .._changes.journal import Journal
from .._changes.order_rollback import restore_orders
from .._changes.orders import OrderRequest, set_orders
from .._changes.record import AnyLeftover, JournalError, OrderChange, Undoing, partition_subject, partitions_of
from .._changes.rollback import Rollback, has_restored
from .._changes.sender import Seen, Writer, until_seen
from .._kafka.elections import PREFERRED
from .._kafka.errors import CallError
from .._kafka.port import Kafka
from .._kafka.settings import Address
from .._model.partition import REASSIGNING, PartitionState, Racks, TopicPartition, in_batches, racks_of
from .._model.reason import because, say
from .._model.run import Progress
from .._model.silent_leaders import wait_for_fencing
from .memory import Memory, list_changes
from .memory_topic import MemoryTopic
from .move_finder import MoveFinder, MoveOptions
from .moves import LEADERLESS, Move, MoveStatus
from .orders import with_last

_ROUND_S = 0.5
"""The shortest round. Brokers usually lag behind the controller by less."""
_OPEN = frozenset({MoveStatus.WOULD_MOVE, MoveStatus.STILL_PREFERRED})
STOPPED = "the run was asked to stop before this election; run it again"


@dataclass(frozen=True, slots=True)
class MoveReport:
    """The results for all partitions whose leader should be another broker."""

    cluster_id: str
    moves: Mapping[TopicPartition, Move]
    notes: tuple[str, ...] = ()
    """Messages about the journal, and about changes of earlier runs."""
    has_restored: bool = False
    """Whether changes of an earlier run were undone."""
    requested: frozenset[TopicPartition] = frozenset()
    """The partitions whose election this run requested. Other leaders were elected by other parties."""
    racks: Racks = ()
    report_error: str = ""
    """Why the requested report file does not have the moves."""

    @property
    def is_changed(self) -> bool:
        """Whether this run moved a leader or, in check mode, would move one."""
        return self.has_restored or any(
            each.status is MoveStatus.WOULD_MOVE or (each.status is MoveStatus.MOVED and partition in self.requested)
            for partition, each in self.moves.items()
        )


def move_leaders(kafka: Kafka, options: MoveOptions, progress: Progress, stop: threading.Event) -> MoveReport:
    """Elect preferred leaders.

    A run first waits until the controller fences leaders that do not answer. Those that it has not fenced in time get
    status LED_BY_SILENT.

    In check mode, nothing is requested. The moves then follow from the orders that a run would find: with
    ``from_brokers`` added to the list, and ``to_brokers`` removed from it.

    Raises JournalError before anything was changed; or CallError if no broker could be read.
    """
    progress.step("looking at the leaders")
    finder, moves = wait_for_fencing(
        lambda: _look(kafka, options),
        lambda found: [each for each in found[1].values() if each.status is MoveStatus.LED_BY_SILENT],
        0 if options.check_mode else options.fencing_wait_ms,
        kafka.clock,
        progress.step,
    )
    cluster, brokers = finder.cluster, finder.brokers
    living = cluster.living(brokers)
    leftovers: tuple[AnyLeftover, ...] = ()
    notes: tuple[str, ...] = ()
    requested: set[TopicPartition] = set()
    if not options.check_mode and _open_moves(moves):
        with ClusterJournal(kafka, cluster, options.journal, brokers).open(progress) as journal:
            writer = options.writer(kafka, [*living.values()], journal)
            rollback = Rollback.of(writer, living, journal, progress=progress, stop=stop)
            leftovers = rollback.undo()
            orders = TemporaryOrders(writer, journal)
            run = _Run(writer, finder, orders, progress, stop, requested)
            moves = run.move(moves)
            moves |= {each: _unrestored(moves[each], why) for each, why in orders.not_restored.items()}
            rollback.settle_doubt()
            forgotten = _forget_returned(MemoryTopic(kafka, living, options.memory_topic), options, journal, moves)
        notes = (*journal.notes, *(each.described for each in leftovers), *forgotten)
    return MoveReport(
        cluster.cluster_id,
        dict(sorted(moves.items())),
        notes,
        has_restored(leftovers),
        frozenset(requested),
        racks_of(brokers),
    )


def _forget_returned(
    topic: MemoryTopic, options: MoveOptions, journal: Journal, moves: Mapping[TopicPartition, Move]
) -> tuple[str, ...]:
    """Forget that leaders have to return to brokers that lead all of their preferred replicas. Return warnings.

    A broker stays in the memory while an original order is remembered that prefers it, because its leader returns after
    that order is restored.
    """
    if not options.to_brokers or options.patterns:
        return ()
    try:
        memory = topic.read()
        waiting = {each.target for each in moves.values() if each.status is not MoveStatus.MOVED}
        for partition, remembered in memory.orders.items():
            waiting.add(with_last(remembered.original, memory.blacklist.listed_for(partition.topic))[0])
        returned = options.to_brokers - waiting
        if returned.intersection(memory.returning):
            store, memory = topic.open(journal)
            left = tuple(each for each in memory.returning if each not in returned)
            store.write(list_changes(replace(memory, returning=left)))
    except (JournalError, CallError) as error:
        return (f"the leaders that are back are not noted, and the next run looks at them again: {error}",)
    return ()


def _look(kafka: Kafka, options: MoveOptions) -> tuple[MoveFinder, dict[TopicPartition, Move]]:
    cluster = kafka.describe_cluster().with_last(options.from_brokers)
    brokers = kafka.probe_brokers(cluster)
    undone = Memory()
    if options.check_mode and options.to_brokers:
        undone = MemoryTopic(kafka, cluster.living(brokers), options.memory_topic).read()
    finder = MoveFinder(kafka, options, cluster, brokers, undone)
    states = kafka.describe_partitions().partitions
    moves = finder.find(states)
    if options.check_mode and finder.look_for_late(moves.values()):
        moves = finder.find(states)
    return finder, moves


@dataclass(frozen=True, slots=True)
class _Run:
    writer: Writer
    finder: MoveFinder
    temporary_orders: TemporaryOrders
    progress: Progress
    stop: threading.Event
    requested: set[TopicPartition]

    def move(self, moves: dict[TopicPartition, Move]) -> dict[TopicPartition, Move]:
        """Move leaders in rounds, and return the results. After each round, all leaders are read again.

        An earlier read may have come from a broker that lags behind the controller, so the next one is some time later.
        """
        clock = self.writer.kafka.clock
        for _round in range(self.writer.attempts):
            began = clock.monotonic()
            moves = moves | self._in_batches({each: moves[each] for each in _to_move(moves)})
            if self.stop.is_set():
                break
            clock.sleep(max(0.0, began + _ROUND_S - clock.monotonic()))
            moves |= self._read_again(moves)
            if not _open_moves(moves):
                return moves
        return moves | {each: _give_up(moves[each]) for each in _to_move(moves)}

    def _in_batches(self, wanted: Mapping[TopicPartition, Move]) -> dict[TopicPartition, Move]:
        ended: dict[TopicPartition, Move] = {}
        for batch in in_batches([*wanted], self.finder.options.max_moves):
            self.progress.step("moving leaders", len(ended), len(wanted))
            if self.stop.is_set():
                ended |= {each: replace(wanted[each], status=MoveStatus.FAILED, reason=STOPPED) for each in batch}
            else:
                ended |= self._move_batch({each: wanted[each] for each in batch})
        return ended

    def _read_again(self, moves: Mapping[TopicPartition, Move]) -> dict[TopicPartition, Move]:
        """Read the leaders again, and return the moves that have changed. Failed moves are not tried again."""
        self.progress.step("looking at the leaders again")
        states = {each.topic_partition: each for each in self.writer.kafka.describe_partitions().partitions}
        found = self.finder.find(states.values())
        settled = [each for each in _open_moves(moves) if each not in found]
        return {each: move for each, move in found.items() if moves.get(each, move).status is not MoveStatus.FAILED} | {
            each: _end_move(moves[each], states.get(each)) for each in settled
        }

    def _move_batch(self, moves: Mapping[TopicPartition, Move]) -> dict[TopicPartition, Move]:
        """Carry out moves, and return the results. The partitions are read again right before each attempt.

        A move whose target has changed is returned as it is now, still to be made.
        """
        self.finder.look_for_late(moves.values())
        ended, waiting = self._judge_again(moves)

        def send(address: Address, partitions: Sequence[TopicPartition]) -> Mapping[TopicPartition, str | None]:
            self.requested.update(partitions)
            answers = self.writer.kafka.elect(address, PREFERRED, partitions)
            return {each: answer.error for each, answer in answers.items()}

        def look(partitions: Sequence[TopicPartition]) -> Mapping[TopicPartition, Seen]:
            over, open_moves = self._judge_again({each: waiting[each] for each in partitions})
            other_target = {each: move for each, move in open_moves.items() if move.target != waiting[each].target}
            ended.update(over | other_target)
            not_led = f"was not seen to lead within {self.writer.verify_timeout_s:g} s"
            return {each: Seen(each in ended, f"broker {waiting[each].target} {not_led}") for each in partitions}

        def look_again(partitions: Sequence[TopicPartition]) -> Mapping[TopicPartition, Seen]:
            return dict.fromkeys(partitions, Seen(False, STOPPED, True)) if self.stop.is_set() else look(partitions)

        with self.temporary_orders.set_for(waiting.values()) as failures:
            asked = [each for each in waiting if each not in failures]
            unseen = until_seen(self.writer, asked, send, look, name=partition_subject, look_again=look_again)
        failures |= {each: one.reason for each, one in unseen.items()}
        return ended | {
            each: replace(waiting[each], status=MoveStatus.FAILED, reason=reason) for each, reason in failures.items()
        }

    def _judge_again(
        self, moves: Mapping[TopicPartition, Move]
    ) -> tuple[dict[TopicPartition, Move], dict[TopicPartition, Move]]:
        """Read the partitions, and return the moves that are over, and those that are still to be made."""
        states = self.writer.kafka.read_partition_states(moves).states
        found = self.finder.find(states.values())
        waiting = {each: found[each] for each in _to_move(found)}
        over = {each: found.get(each) or _end_move(moves[each], states.get(each)) for each in moves}
        return {each: move for each, move in over.items() if each not in waiting}, waiting


def _to_move(moves: Mapping[TopicPartition, Move]) -> Sequence[TopicPartition]:
    return [partition for partition, move in moves.items() if move.status is MoveStatus.WOULD_MOVE]


def _unrestored(move: Move, why: str) -> Move:
    unrestored = say("its order was changed for the election and is not restored: {why}", why=why)
    return replace(move, reason=because(move.reason, unrestored))


def _open_moves(moves: Mapping[TopicPartition, Move]) -> Sequence[TopicPartition]:
    """Return the partitions to move, and those whose order still prefers the wrong broker."""
    return [partition for partition, move in moves.items() if move.status in _OPEN]


def _give_up(move: Move) -> Move:
    reason = say("broker {broker} still leads it: run again", broker=move.leader_before)
    return replace(move, status=MoveStatus.FAILED, reason=reason, leader_after=move.leader_before)


def _end_move(move: Move, state: PartitionState | None) -> Move:
    """Return the result of a move that is not needed any more, after our election or another party's."""
    if state is None:
        return replace(
            move, status=MoveStatus.FAILED, reason="it is not in the metadata any more: it may have been deleted"
        )
    if state.is_offline:
        return replace(move, status=MoveStatus.LEADERLESS, reason=LEADERLESS, leader_after=state.leader_id)
    return replace(move, status=MoveStatus.MOVED, leader_after=state.leader_id)


_PENDING = "an earlier run changed its replicas or their order, and they are not restored yet: run again"


@dataclass(frozen=True, slots=True)
class TemporaryOrders:
    """Replica orders for the time of an election. The journal has them, so the next run restores them after a crash."""

    writer: Writer
    journal: Journal
    not_restored: dict[TopicPartition, str] = field(default_factory=dict)
    """Why the order of a partition is not restored."""

    @contextmanager
    def set_for(self, moves: Iterable[Move]) -> Iterator[dict[TopicPartition, str]]:
        """Put the targets of moves first during a ``with`` block, and yield why some are not first.

        Only moves that need a reorder are changed. An order that is not seen to be restored stays in the journal. An
        order that another party has changed in between stays as it is.

        Raises JournalError or CallError before anything was changed.
        """
        reordered = [each for each in moves if each.needs_reorder]
        if not reordered:
            yield {}
            return
        partitions = [each.topic_partition for each in reordered]
        pending = partitions_of(self.journal.pending).intersection(partitions)
        running = self.writer.kafka.running_reassignments(partitions)
        unready = dict.fromkeys(running, REASSIGNING) | dict.fromkeys(pending, _PENDING)
        changes = self.journal.begin(_change(each) for each in reordered if each.topic_partition not in unready)
        failures = set_orders(
            self.writer,
            {each.topic_partition: OrderRequest(each.topic_id, each.changed, each.possible_orders) for each in changes},
        )
        try:
            yield failures | unready
        finally:
            self._restore(changes)

    def _restore(self, changes: Sequence[OrderChange]) -> None:
        results = restore_orders(self.writer, changes)
        restored = (Undoing.RESTORED, Undoing.ALREADY_BACK)
        self.not_restored.update(
            {each.change.topic_partition: each.reason for each in results if each.undoing not in restored}
        )
        try:
            self.journal.end_undone(results)
        except JournalError as error:
            # The next run finds the orders restored, and ends the changes in the journal.
            self.not_restored.update({each.topic_partition: str(error) for each in changes})


def _change(move: Move) -> OrderChange:
    target_first = (move.target, *(each for each in move.replicas if each != move.target))
    return OrderChange(move.topic, move.partition, move.topic_id, move.replicas, target_first)
