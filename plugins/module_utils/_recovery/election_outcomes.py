# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""How the elections of one batch end, by what is seen of the partitions. No I/O; standard library only."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from .._model.partition import NO_LEADER, PartitionState, TopicPartition
from .decide import decide_again
from .outcome import Outcome, end_election
from .plan import ElectionType, PlannedElection, Status
from .preconditions import (
    PartitionObservation,
    find_dropped,
    find_election_order,
    find_obstacles,
    judge_election,
    order_for_designated,
)


@dataclass
class ElectionOutcomes:
    """At most PARTITIONS_PER_REQUEST elections, all of one type, that succeed or fail each by itself.

    ``outcomes`` has a partition once it has ended. ``is_disturbed`` says that another leader than the designated one
    came up: somebody else acts on this cluster, or a broker shuts down, and the run must not go on.
    """

    elections: Mapping[TopicPartition, PlannedElection]
    worlds: dict[TopicPartition, PartitionObservation]
    by_designation: bool = False
    """The brokers offer ElectLeaders with designated leaders: no order has to be changed."""
    outcomes: dict[TopicPartition, Outcome] = field(default_factory=dict)
    is_disturbed: bool = False
    ordered_without: dict[TopicPartition, tuple[int, ...]] = field(default_factory=dict)
    """What was dropped from the replica sets of partitions, and is not put back."""
    _orders: dict[TopicPartition, tuple[PlannedElection, PartitionObservation, tuple[int, ...]]] = field(
        default_factory=dict
    )
    """By partition, with what they follow from."""
    written: set[TopicPartition] = field(default_factory=set)
    """Partitions that an election was requested of, or whose order stays changed."""

    def judge(self) -> list[TopicPartition]:
        """Compare the cluster with the plan, end what must not be elected, and return the others."""
        going = []
        judged = dict(self.elections)
        for partition, election in self.elections.items():
            verdict = judge_election(election, self.worlds[partition], by_designation=self.by_designation)
            status, reason = verdict.status, verdict.reason
            if status is None:
                judged[partition], reason = decide_again(election, self.worlds[partition])
                status = Status.REFUSED if reason else None
            if status is None:
                going.append(partition)
            else:
                self.end(partition, status, reason, self.worlds[partition].state)
        self.elections = judged
        return going

    def still_right(
        self, waiting: Iterable[TopicPartition], states: Mapping[TopicPartition, PartitionState]
    ) -> list[TopicPartition]:
        """End what must not be elected any more, by the states read just before the election; return the others."""
        self.settle(states)
        for partition in waiting:
            state = states.get(partition)
            if partition in self.outcomes:
                continue
            if state is None:
                self.end(partition, Status.UNKNOWN, "it cannot be read any more: look at it before any further run")
                continue
            election, order = self.elections[partition], self.order(partition)
            reasons = [
                *find_obstacles(election, state, order_for_designated(election) if self.by_designation else order)
            ]
            if state.replicas != order:
                reasons.append(f"its replicas are {list(state.replicas)} again: somebody else changes them")
            if reasons:
                self.end(partition, Status.REFUSED, "; ".join(reasons), state)
        return [each for each in waiting if each not in self.outcomes]

    def settle(self, states: Mapping[TopicPartition, PartitionState]) -> None:
        """End every partition that has a leader, the designated one or another, or that is of another topic now."""
        for partition, state in states.items():
            if partition in self.outcomes:
                continue
            if not self._is_same_topic(partition, state):
                self.end(partition, Status.REFUSED, f"the topic was re-created: its id is {state.topic_id}", state)
            elif state.is_offline:
                continue
            elif self._is_wanted(partition, state.leader_id):
                self.end(partition, Status.RECOVERED, self.why(partition), state)
            else:
                self.is_disturbed = True
                self.end(
                    partition,
                    Status.FAILED,
                    f"broker {state.leader_id} leads it, not the designated {self.leader(partition)}: somebody else, "
                    f"or the controller by itself, elected it, or broker {self.leader(partition)} is shutting down; "
                    "the run stops here",
                    state,
                )

    def see_the_end(self, states: Mapping[TopicPartition, PartitionState]) -> None:
        """Note the end state of all that was touched: a leader that died at once, and the order after the restore."""
        for partition, state in states.items():
            if not self._is_same_topic(partition, state):
                continue
            outcome = self.outcomes[partition]
            if outcome.status is Status.RECOVERED and state.is_offline:
                outcome = replace(
                    outcome,
                    status=Status.FAILED,
                    reason=f"broker {outcome.designated_leader} was elected and is gone again: offline as before",
                )
            self.outcomes[partition] = replace(
                outcome,
                leader_after=state.leader_id,
                leader_epoch_after=state.leader_epoch,
                replicas_after=state.replicas,
                dropped=self.ordered_without.get(partition, ()),
            )

    def end(self, partition: TopicPartition, status: Status, reason: str, after: PartitionState | None = None) -> None:
        """End one partition. ``after`` is how it was seen last; without it, as it was seen first."""
        before = self.worlds[partition].state
        outcome = end_election(self.elections[partition], status, reason, before=before, after=after or before)
        if status is Status.WOULD_RECOVER:
            outcome = replace(outcome, dropped=self.dropped(partition))
        self.outcomes[partition] = outcome

    def end_all(self, partitions: Iterable[TopicPartition], status: Status, reason: str) -> None:
        """End partitions that have not ended yet."""
        for partition in partitions:
            if partition not in self.outcomes:
                self.end(partition, status, reason)

    def add(self, partition: TopicPartition, what: str) -> None:
        """Add to the reason of a partition that has ended."""
        outcome = self.outcomes[partition]
        self.outcomes[partition] = replace(outcome, reason=f"{outcome.reason}; {what}")

    def order_stays_changed(self, partition: TopicPartition, error: str, *, is_journal_lost: bool = False) -> None:
        """Fail a partition whose order is not restored. What happens where the journal is lost: ``LostJournal``."""
        outcome = self.outcomes.get(partition)
        if outcome is None:  # an interrupt is on its way, and there will be no report
            return
        self.written.add(partition)
        remedy = "it stays in the journal, and the next run restores it"
        if is_journal_lost:
            remedy = f"it was {list(outcome.replicas)}"
        reason = f"{outcome.reason}; its replica order was not restored ({error}): {remedy}"
        self.outcomes[partition] = replace(outcome, status=Status.FAILED, reason=reason)

    def order(self, partition: TopicPartition) -> tuple[int, ...]:
        """Return the replica order in which the election is requested."""
        election, world = self.elections[partition], self.worlds[partition]
        known = self._orders.get(partition)
        # Asked for several times in each batch, while neither changes.
        if known is None or known[0] is not election or known[1] is not world:
            known = self._orders[partition] = (election, world, self._order(partition))
        return known[2]

    def _order(self, partition: TopicPartition) -> tuple[int, ...]:
        election, world = self.elections[partition], self.worlds[partition]
        if self.by_designation or world.state is None:
            return election.replicas
        order = find_election_order(election, world.state, world.unregistered)
        dropped = self.dropped(partition)
        # The controller lists what it removes behind the others.
        return (*(each for each in order if each not in dropped), *dropped)

    def dropped(self, partition: TopicPartition) -> tuple[int, ...]:
        """Return the unregistered brokers that are not in the replica set any more after the election."""
        return () if self.by_designation else find_dropped(self.elections[partition], self.worlds[partition])

    def needs_reorder(self, partition: TopicPartition) -> bool:
        """Return whether another order than the original one is needed."""
        return self.order(partition) != self.elections[partition].replicas

    def has_leader(self, partition: TopicPartition) -> bool:
        """Return whether the partition was seen with a leader when it ended."""
        outcome = self.outcomes.get(partition)
        return outcome is not None and outcome.leader_after not in (None, NO_LEADER)

    def is_offline_in_our_order(self, partition: TopicPartition, state: PartitionState | None) -> bool:
        """Return whether an order of this run stands on a partition without a leader, or may do so, for all we know."""
        if not self.needs_reorder(partition):
            return False
        if state is None:
            return True
        return self._is_same_topic(partition, state) and state.is_offline and state.replicas == self.order(partition)

    def leader(self, partition: TopicPartition) -> int:
        """Return the designated leader."""
        return self.elections[partition].designated_leader

    def why(self, partition: TopicPartition) -> str:
        """Return the plan's reason."""
        return self.elections[partition].reason

    @property
    def election_type(self) -> ElectionType:
        """The type of all these elections."""
        return next(iter(self.elections.values())).election_type

    def _is_same_topic(self, partition: TopicPartition, state: PartitionState) -> bool:
        return state.topic_id == self.elections[partition].topic_id

    def _is_wanted(self, partition: TopicPartition, leader_id: int) -> bool:
        election = self.elections[partition]
        if election.election_type is ElectionType.PREFERRED:
            return leader_id in {*election.isr, *(election.elr or ())}
        return leader_id == election.designated_leader
