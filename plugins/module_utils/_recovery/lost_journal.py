# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What a run does when somebody deleted its journal, or another run took its lock: restore its orders, or say who does.

A run without the lock writes nothing. Where nobody holds the lock, it takes it again, journals what it had changed, and
restores that. An order that another run or a person has set meanwhile stays as it is.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from .._changes.home import JournalHome
from .._changes.journal import Journal
from .._changes.orders import States, Writer, read_states
from .._changes.record import PUT_BACK, OrderChange, OrderLeftover
from .._changes.rollback import Rollback
from .._kafka.addresses import Address
from .._model.partition import PartitionState, TopicPartition
from .._model.run import KafkaOpsError, Progress
from .plan import Outcome

_BY_HAND = (
    "the run that holds the lock now restores it; where no run does, restore it with kafka-reassign-partitions.sh"
)
_RESTORED = "the journal was deleted while this run had the lock: it took the lock again and restored the order"


@dataclass(frozen=True, slots=True)
class LostJournal:
    """The orders that a run changed and could not restore, because it lost its lock."""

    home: JournalHome
    journal: Journal
    """The run's own, which may be lost."""
    writer: Writer
    living: Mapping[int, Address]
    progress: Progress
    stop: threading.Event

    def restore(self, outcomes: Mapping[TopicPartition, Outcome]) -> dict[TopicPartition, Outcome]:
        """Restore what can be restored, and return the outcomes of the partitions whose orders this run left changed.

        Nothing is returned, or read, where the journal is not lost.
        """
        mine = [each for each in self.journal.orders if each.topic_partition in outcomes]
        if not mine or not self.journal.is_lost:
            return {}
        try:
            states = read_states(self.writer.kafka, [each.topic_partition for each in mine])
            changed = [each for each in mine if each.topic_partition in states and _is_set(each, states)]
            ended = {each.change.topic_partition: each for each in self._restored(changed)}
            states |= read_states(self.writer.kafka, ended)
        except KafkaOpsError as error:
            return {each.topic_partition: _add(outcomes, each, f"{_BY_HAND} ({error})") for each in mine}
        return {
            each.topic_partition: self._outcome(outcomes, each, ended.get(each.topic_partition), states)
            for each in mine
        }

    def _restored(self, changes: Sequence[OrderChange]) -> Sequence[OrderLeftover]:
        if not changes:
            return ()
        with self.home.open(self.progress) as journal:
            journal.begin(changes)
            rollback = Rollback.of(self.writer, self.living, journal, progress=self.progress, stop=self.stop)
            return [each for each in rollback.undo() if isinstance(each.change, OrderChange)]

    @staticmethod
    def _outcome(
        outcomes: Mapping[TopicPartition, Outcome], change: OrderChange, ended: OrderLeftover | None, states: States
    ) -> Outcome:
        if ended is None:
            return _add(outcomes, change, _what_stands(change, states.get(change.topic_partition)))
        if ended.undoing not in PUT_BACK:
            return _add(outcomes, change, f"{_BY_HAND} ({ended.reason})")
        return replace(_add(outcomes, change, _RESTORED), replicas_after=states[change.topic_partition].replicas)


def _is_set(change: OrderChange, states: States) -> bool:
    state = states[change.topic_partition]
    return state.topic_id == change.topic_id and change.is_set(state.replicas)


def _what_stands(change: OrderChange, state: PartitionState | None) -> str:
    """Say which order stands where it is not the one that this run set."""
    if state is None:
        return f"its order could not be read: {_BY_HAND}"
    if state.topic_id != change.topic_id:
        return "its topic was re-created: there is nothing to restore"
    if state.replicas == change.original:
        return "its order is the original one now: another run restored it"
    return f"its order is {list(state.replicas)} now: another run or a person has set it"


def _add(outcomes: Mapping[TopicPartition, Outcome], change: OrderChange, what: str) -> Outcome:
    outcome = outcomes[change.topic_partition]
    return replace(outcome, reason=f"{outcome.reason}; {what}")
