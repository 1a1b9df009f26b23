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
from dataclasses import dataclass

from ansible_collections.kafkaops.recovery.plugins.module_utils.journal.leadership_memory import order_changes
from ansible_collections.kafkaops.recovery.plugins.module_utils.kafka.reassignments import running_reassignments
from ansible_collections.kafkaops.recovery.plugins.module_utils.leadership.moves import Move
from ansible_collections.kafkaops.recovery.plugins.module_utils.leadership.remembered import (
    RememberedOrder,
    orders_of_ours,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils.model.partition import TopicPartition
from ansible_collections.kafkaops.recovery.plugins.module_utils.operations.leadership_memory import OpenMemory
from ansible_collections.kafkaops.recovery.plugins.module_utils.operations.replica_orders import Writer, set_orders

_REASSIGNING = "a reassignment of it is running, which is never overridden: run again once it has ended"


@dataclass(frozen=True, slots=True)
class Detours:
    """Remembered like every other order of ours, so that after a crash the next change of the list puts them back."""

    writer: Writer
    held: OpenMemory

    @contextmanager
    def taken(self, moves: Sequence[Move]) -> Iterator[dict[TopicPartition, str]]:
        """Each move's target is first within this context; why not, for those where it is not. Their set never changes.

        Raises JournalError before anything was changed. An order that is not seen back stays remembered.
        """
        running = running_reassignments(self.writer.wire, [each.topic_partition for each in moves])
        going = [each for each in moves if each.topic_partition not in running]
        self.held.store.write(order_changes(self._remembered(each) for each in going))
        faults = set_orders(self.writer, {each.topic_partition: _target_first(each) for each in going})
        try:
            yield faults | dict.fromkeys(running, _REASSIGNING)
        finally:
            stuck = set_orders(self.writer, {each.topic_partition: each.replicas for each in going})
            self.held.store.write(
                order_changes(
                    forgotten=[
                        each.topic_partition
                        for each in going
                        if each.topic_partition not in self.held.memory.orders and each.topic_partition not in stuck
                    ]
                )
            )

    def _remembered(self, move: Move) -> RememberedOrder:
        earlier = self.held.memory.orders.get(move.topic_partition)
        if earlier is not None and earlier.topic_id != move.topic_id:
            earlier = None
        original = earlier.original if earlier else move.replicas
        ours = orders_of_ours(earlier, _target_first(move), move.replicas)
        return RememberedOrder(move.topic, move.partition, move.topic_id, original, ours)


def _target_first(move: Move) -> tuple[int, ...]:
    return (move.target, *(each for each in move.replicas if each != move.target))
