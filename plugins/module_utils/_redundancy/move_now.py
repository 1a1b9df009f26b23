# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Compare a planned move with its partition as it is now: may it begin, has it begun, is it complete?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .._changes.sender import Seen
from .._kafka.port import Kafka
from .._model.partition import PartitionState, Reassignment, TopicPartition
from .._model.reasons import name_brokers
from .plan import MoveOutcome, ReplicaMove, ReplicaStatus, outcome_of

OTHERS = "another party has set its replicas"


@dataclass(frozen=True, slots=True)
class MoveNow:
    """A move, and what was read of its partition: None if it does not exist, or if no reassignment runs."""

    move: ReplicaMove
    state: PartitionState | None
    running: Reassignment | None

    @property
    def final(self) -> MoveOutcome | None:
        """Return why the move is not to begin. None if it may begin, has begun, or is complete."""
        move, state = self.move, self.state
        if state is None:
            return outcome_of(move, ReplicaStatus.CHANGED, "the partition does not exist any more")
        if state.topic_id != move.topic_id:
            return outcome_of(move, ReplicaStatus.CHANGED, f"the topic was re-created (id {state.topic_id})")
        if state.is_offline:
            return outcome_of(move, ReplicaStatus.NO_LEADER, "it has no leader now: recover it first")
        if self.left == move.target or self.is_ending:
            return None
        if state.replicas != move.replicas:
            change = f"{OTHERS} to {[*state.replicas]}; the plan is from {[*move.replicas]}"
            return outcome_of(move, ReplicaStatus.CHANGED, change)
        if self.has_returned:
            return outcome_of(move, ReplicaStatus.RETURNED, explain_returned(move))
        return None

    @property
    def seen(self) -> Seen:
        """Return whether the partition has the target, or a reassignment to it runs; otherwise what was found."""
        final = self.final
        if final is not None:
            return Seen(False, final.reason, is_final=True)
        if self.left == self.move.target:
            return Seen(True)
        if self.is_ending:
            return Seen(False, "its reassignment ends now")
        return Seen(False, f"its replicas are {[*self.state.replicas] if self.state else []}")

    @property
    def left(self) -> tuple[int, ...]:
        """Return the replicas that a running reassignment leaves, in their order."""
        removing = self.running.removing if self.running is not None else ()
        return tuple(each for each in (self.state.replicas if self.state else ()) if each not in removing)

    @property
    def is_complete(self) -> bool:
        """Return whether all new replicas are in sync, and the reassignment has ended or waits for a lost replica."""
        isr = {*self.state.isr} if self.state else set()
        return {*self.move.adding} <= isr and (self.running is None or not {*self.move.target} <= isr)

    @property
    def is_ending(self) -> bool:
        """Return whether the replicas are those of a reassignment to the target that has ended in between.

        It is read after the metadata, so it may have completed meanwhile. Kafka 3.9 shows this often.
        """
        if self.state is None or self.running is not None:
            return False
        count = len(self.move.target)
        rest = {*self.state.replicas[count:]}
        return self.state.replicas[:count] == self.move.target and bool(rest) and rest <= {*self.move.removing}

    @property
    def has_returned(self) -> bool:
        """Return whether all lost replicas are back in sync. While one of them is missing, the copy is needed."""
        removing = {*self.move.removing}
        return self.state is not None and bool(removing) and removing <= {*self.state.isr} & {*self.state.replicas}


def explain_returned(move: ReplicaMove) -> str:
    return f"{name_brokers(move.removing)} returned in sync, and kept what was there"


def foresee(kafka: Kafka, moves: Sequence[ReplicaMove]) -> dict[TopicPartition, MoveOutcome]:
    """Return what would become of the moves of a reviewed plan, by the cluster as it is now."""
    partitions = [each.topic_partition for each in moves]
    states = kafka.read_partition_states(partitions).states if moves else {}
    running = kafka.running_reassignments(partitions) if moves else {}
    return {
        each.topic_partition: _foresee(
            MoveNow(each, states.get(each.topic_partition), running.get(each.topic_partition))
        )
        for each in moves
    }


def _foresee(now: MoveNow) -> MoveOutcome:
    if now.final is not None:
        return now.final
    if now.seen.is_seen and now.is_complete:
        return outcome_of(now.move, ReplicaStatus.DONE_BEFORE)
    return outcome_of(now.move, ReplicaStatus.WOULD_RESTORE)
