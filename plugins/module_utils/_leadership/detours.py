# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Puts an in-sync replica first for the time of a preferred election, where the preferred one is not in sync.

A preferred election takes the first replica in order and no other. Whoever drains a broker while another one is down
would otherwise have to wait for that one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from .._changes.orders import Writer, read_states, set_orders
from .._kafka.errors import BrokerCallError, NoBrokerAnswersError, RequestRefusedError
from .._kafka.reassignments import running_reassignments
from .._model.partition import PartitionState, TopicPartition
from .memory import order_changes
from .memory_homes import OpenMemory
from .moves import Move
from .orders import RememberedOrder, base_of, orders_of_ours

_REASSIGNING = "a reassignment of it is running, which is never overridden: run again once it has ended"


@dataclass(frozen=True, slots=True)
class Detours:
    """Remembered like every other order of ours, so that after a crash the next change of the list puts them back."""

    writer: Writer
    held: OpenMemory
    left: dict[TopicPartition, RememberedOrder] = field(default_factory=dict)
    """Remembered by this run, and not put back."""

    @contextmanager
    def taken(self, moves: Sequence[Move]) -> Iterator[dict[TopicPartition, str]]:
        """Each move's target is first within this context; why not, for those where it is not. Their set never changes.

        An order that is not seen back, or that is not ours to put back any more, stays remembered.

        Raises JournalError before anything was changed. NoBrokerAnswersError or RequestRefusedError: no broker could be
        read from before it.
        """
        running = running_reassignments(self.writer.wire, [each.topic_partition for each in moves])
        going = [each for each in moves if each.topic_partition not in running]
        remembered = {each.topic_partition: self._remembered(each) for each in going}
        self.held.store.write(order_changes(remembered.values()))
        faults = set_orders(self.writer, {each.topic_partition: _target_first(each) for each in going})
        try:
            yield faults | dict.fromkeys(running, _REASSIGNING)
        finally:
            back = self._put_back(going)
            self.held.store.write(order_changes(forgotten=[each for each in back if self._known(each) is None]))
            self.left.update({each: order for each, order in remembered.items() if each not in back})

    def _put_back(self, moves: Sequence[Move]) -> list[TopicPartition]:
        """Return the partitions whose order is seen back. What somebody else changed meanwhile is theirs."""
        partitions = [each.topic_partition for each in moves]
        try:
            states = read_states(self.writer.kafka, partitions)
            running = running_reassignments(self.writer.wire, partitions)
        except (NoBrokerAnswersError, BrokerCallError, RequestRefusedError):
            # To put back unseen could undo what somebody else did. What is remembered, a later run puts back.
            return []
        ours = {
            each.topic_partition: each.replicas
            for each in moves
            if each.topic_partition not in running and _is_as_left(each, states.get(each.topic_partition))
        }
        stuck = set_orders(self.writer, ours)
        return [each for each in ours if each not in stuck]

    def _known(self, partition: TopicPartition) -> RememberedOrder | None:
        return self.left.get(partition) or self.held.memory.orders.get(partition)

    def _remembered(self, move: Move) -> RememberedOrder:
        earlier = self._known(move.topic_partition)
        original = base_of(move.topic_id, move.replicas, earlier).order
        if earlier is not None and earlier.topic_id != move.topic_id:
            earlier = None
        ours = orders_of_ours(earlier, _target_first(move), move.replicas)
        return RememberedOrder(move.topic, move.partition, move.topic_id, original, ours)


def _is_as_left(move: Move, state: PartitionState | None) -> bool:
    """Whether it is the same topic still, and in an order of ours."""
    return (
        state is not None and state.topic_id == move.topic_id and state.replicas in (move.replicas, _target_first(move))
    )


def _target_first(move: Move) -> tuple[int, ...]:
    return (move.target, *(each for each in move.replicas if each != move.target))
