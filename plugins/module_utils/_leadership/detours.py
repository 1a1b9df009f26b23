# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Make a replica preferred for the time of one election: where the preferred one is not in sync, and another one is."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from .._changes.journal import Journal
from .._changes.order_rollback import put_back_surely, strike_out
from .._changes.orders import Writer, set_orders
from .._changes.record import JournalError, OrderChange, Undoing
from .._model.partition import TopicPartition
from .moves import Move

_REASSIGNING = "a reassignment of it is running, which is never overridden: run again once it has ended"
_PENDING = "a replica order that was set for an election is not put back yet: run again"


@dataclass(frozen=True, slots=True)
class Detours:
    """In the journal like every order that is set for a while, so that after a crash the next run puts it back."""

    writer: Writer
    journal: Journal
    left: dict[TopicPartition, str] = field(default_factory=dict)
    """Why the order of a partition is not put back."""

    @contextmanager
    def taken(self, moves: Sequence[Move]) -> Iterator[dict[TopicPartition, str]]:
        """Each move's target is first within this context; why not, for those where it is not. Their set never changes.

        An order that is not seen back stays in the journal. One that somebody else changed meanwhile stays as it is.

        Raises JournalError, NoBrokerAnswersError or RequestRefusedError, all of them before anything was changed.
        """
        partitions = [each.topic_partition for each in moves]
        pending = {each.topic_partition for each in self.journal.orders}.intersection(partitions)
        running = self.writer.kafka.running_reassignments(partitions)
        unready = dict.fromkeys(running, _REASSIGNING) | dict.fromkeys(pending, _PENDING)
        changes = self.journal.begin(_change(each) for each in moves if each.topic_partition not in unready)
        faults = set_orders(self.writer, {each.topic_partition: each.changed for each in changes})
        try:
            yield faults | unready
        finally:
            self._put_back(changes)

    def _put_back(self, changes: Sequence[OrderChange]) -> None:
        ended = put_back_surely(self.writer, changes)
        back = (Undoing.RESTORED, Undoing.ALREADY_BACK)
        self.left.update({each.change.topic_partition: each.reason for each in ended if each.undoing not in back})
        try:
            strike_out(self.journal, ended)
        except JournalError as error:
            # The next run finds them as they were, and strikes them out.
            self.left.update({each.topic_partition: str(error) for each in changes})


def _change(move: Move) -> OrderChange:
    target_first = (move.target, *(each for each in move.replicas if each != move.target))
    return OrderChange(move.topic, move.partition, move.topic_id, move.replicas, target_first)
