# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Decide how the elections of one batch end, by the states of their partitions. No I/O; standard library only."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace

from .._model.controller_model import acceptable_replicas
from .._model.log_contents import Stretches, subtract
from .._model.partition import NO_LEADER, PartitionState, TopicPartition
from .._model.reason import Reason, because, say
from .decide_again import decide_again
from .outcome import Outcome, outcome_of_election
from .plan import ElectionType, PlannedElection, Status, find_tails
from .preconditions import (
    PartitionObservation,
    find_dropped,
    find_election_order,
    find_left_out,
    find_obstacles,
    find_target,
    judge_election,
    order_for_designated,
)


def explain_passed_over(broker_id: int) -> Reason:
    """Return why no election is requested that designates a broker which was passed over in another one."""
    return say(
        "not requested: broker {broker} was not elected for another partition for which it was designated; if it is "
        "not shutting down, run again",
        broker=broker_id,
    )


@dataclass
class BatchOutcomes:
    """At most PARTITIONS_PER_REQUEST elections of one type, each with an outcome of its own.

    ``outcomes`` has a partition once it has ended.
    """

    elections: Mapping[TopicPartition, PlannedElection]
    observations: dict[TopicPartition, PartitionObservation]
    has_taken_over: Callable[[PlannedElection, PartitionObservation, PartitionState], bool]
    """Return whether the leader of a partition whose reassignment has completed holds all that the designated leader
    held, which the reassignment has removed."""
    by_designation: bool = False
    """True if the brokers offer ElectLeaders with designated leaders: then no order is changed."""
    outcomes: dict[TopicPartition, Outcome] = field(default_factory=dict)
    passed_over: set[int] = field(default_factory=set)
    """Brokers that were not elected for a partition for which they were designated."""
    dropped_replicas: dict[TopicPartition, tuple[int, ...]] = field(default_factory=dict)
    """Brokers that were dropped from the replica set of a partition for good."""
    _orders: dict[TopicPartition, tuple[PlannedElection, PartitionObservation, tuple[int, ...]]] = field(
        default_factory=dict
    )
    """The order that each partition is elected in, with the election and observation that it was computed from."""
    written: set[TopicPartition] = field(default_factory=set)
    """Partitions for which an election was requested, or whose order stays changed."""
    saved: Mapping[TopicPartition, Stretches] | None = None
    """The records of losers that were saved before this batch, as far as ``salvage`` wants them saved. None if the run
    saves none."""
    unsaved: list[PlannedElection] = field(default_factory=list)
    """Elections that would delete records which are not saved yet, as they were decided last. They have not ended."""

    def select_allowed(self) -> list[TopicPartition]:
        """Compare the observations with the plan, end partitions that must not be elected, and return the others.

        This is the final decision. The records to save before an election are those that it loses by this decision:
        the plan may not know a loser that has returned since.
        """
        allowed = []
        judged = dict(self.elections)
        for partition, election in self.elections.items():
            verdict = judge_election(election, self.observations[partition], by_designation=self.by_designation)
            status, reason = verdict.status, verdict.reason
            if status is None:
                judged[partition], reason = decide_again(election, self.observations[partition])
                status = Status.REFUSED if reason else None
            if status is not None:
                self.end(partition, status, reason, self.observations[partition].state)
            elif self._must_wait_for_saving(judged[partition]):
                self.unsaved.append(judged[partition])
            else:
                allowed.append(partition)
        self.elections = judged
        return allowed

    def _must_wait_for_saving(self, election: PlannedElection) -> bool:
        """Return whether the election deletes records of a live replica that are to be saved, and are not yet."""
        if self.saved is None:
            return False
        saved = self.saved.get(election.topic_partition, ())
        return any(subtract(each.lost, saved) for each in find_tails(election))

    def end_changed(
        self, waiting: Iterable[TopicPartition], states: Mapping[TopicPartition, PartitionState]
    ) -> list[TopicPartition]:
        """End partitions that must no longer be elected, by states read just before the request; return the others."""
        self.end_led(states)
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
                form = "its replicas are {replicas} again: somebody else changes them"
                reasons.append(say(form, replicas=state.replicas))
            if reasons:
                self.end(partition, Status.REFUSED, because(*reasons), state)
        return [each for each in waiting if each not in self.outcomes]

    def end_led(self, states: Mapping[TopicPartition, PartitionState]) -> None:
        """End every partition that has a leader now, or whose topic was re-created."""
        for partition, state in states.items():
            if partition in self.outcomes:
                continue
            if not self._is_same_topic(partition, state):
                self.end(
                    partition,
                    Status.REFUSED,
                    say("the topic was re-created: its id is {now}", now=state.topic_id),
                    state,
                )
            elif state.is_offline:
                continue
            elif self._is_planned_leader(partition, state):
                self.end(partition, Status.RECOVERED, self.elections[partition].explained, state)
            elif self._has_returned(partition, state.leader_id):
                # No reason to stop: all other partitions of a broker that returns are elected like this.
                self.end(
                    partition,
                    Status.ALREADY_ONLINE,
                    say(
                        "broker {broker} is back, and leads it: the controller elects a member of the ISR or ELR and "
                        "the last known leader by itself",
                        broker=state.leader_id,
                    ),
                    state,
                )
            else:
                designated = self.designated_leader(partition)
                self.passed_over.add(designated)
                self.end(
                    partition,
                    Status.FAILED,
                    say(
                        "broker {broker} leads it, not the designated {broker_designated}: somebody else, or the "
                        "controller by itself, elected it, or broker {broker_designated} is shutting down, or has lost "
                        "the log directory; this run designates it no more",
                        broker=state.leader_id,
                        broker_designated=designated,
                    ),
                    state,
                )

    def record_final_states(self, states: Mapping[TopicPartition, PartitionState]) -> None:
        """Set the final leader and replica order in the outcomes, and fail partitions that lost their leader again."""
        for partition, state in states.items():
            if not self._is_same_topic(partition, state):
                continue
            outcome = self.outcomes[partition]
            if outcome.status is Status.RECOVERED and state.is_offline:
                outcome = replace(
                    outcome,
                    status=Status.FAILED,
                    reason=say(
                        "broker {broker} was elected and is gone again: offline as before",
                        broker=outcome.designated_leader,
                    ),
                )
            self.outcomes[partition] = replace(
                outcome,
                leader_after=state.leader_id,
                leader_epoch_after=state.leader_epoch,
                replicas_after=state.replicas,
                dropped=self.dropped_replicas.get(partition, ()),
            )

    def end(self, partition: TopicPartition, status: Status, reason: str, after: PartitionState | None = None) -> None:
        """End one partition. ``after`` is its last known state; the default is the observed one."""
        before = self.observations[partition].state
        outcome = outcome_of_election(self.elections[partition], status, reason, before=before, after=after or before)
        if status is Status.WOULD_RECOVER:
            outcome = replace(outcome, dropped=self.dropped(partition))
        self.outcomes[partition] = outcome

    def end_all(self, partitions: Iterable[TopicPartition], status: Status, reason: str) -> None:
        """End those of the partitions that have not ended."""
        for partition in partitions:
            if partition not in self.outcomes:
                self.end(partition, status, reason)

    def add_to_reason(self, partition: TopicPartition, what: str) -> None:
        """Add a clause to the reason of a partition that has ended."""
        outcome = self.outcomes[partition]
        self.outcomes[partition] = replace(outcome, reason=because(outcome.reason, what))

    def fail_unrestored_order(self, partition: TopicPartition, error: str, *, is_journal_lost: bool = False) -> None:
        """Fail a partition whose order is not restored. ``LostJournal`` handles a lost journal."""
        outcome = self.outcomes.get(partition)
        if outcome is None:  # the run is interrupted, so that there is no report
            return
        self.written.add(partition)
        remedy = "it stays in the journal, and the next run restores it"
        if is_journal_lost:
            remedy = f"it was {list(outcome.replicas)}"
        unrestored = say("its replica order was not restored ({error}): {remedy}", error=error, remedy=remedy)
        reason = because(outcome.reason, unrestored)
        self.outcomes[partition] = replace(outcome, status=Status.FAILED, reason=reason)

    def order(self, partition: TopicPartition) -> tuple[int, ...]:
        """Return the replica order in which the election is requested."""
        election, observation = self.elections[partition], self.observations[partition]
        known = self._orders.get(partition)
        # Cached: a batch needs each order several times.
        if known is None or known[0] is not election or known[1] is not observation:
            known = self._orders[partition] = (election, observation, self._find_order(partition))
        return known[2]

    def _find_order(self, partition: TopicPartition) -> tuple[int, ...]:
        election, observation = self.elections[partition], self.observations[partition]
        if self.by_designation or observation.state is None:
            return election.replicas
        order = find_election_order(election, observation.state, observation.unregistered)
        dropped = self.left_out(partition)
        # The controller lists replicas that it removes after the others.
        return (*(each for each in order if each not in dropped), *dropped)

    def dropped(self, partition: TopicPartition) -> tuple[int, ...]:
        """Return the unregistered brokers that the election drops from the replica set."""
        return () if self.by_designation else find_dropped(self.elections[partition], self.observations[partition])

    def left_out(self, partition: TopicPartition) -> tuple[int, ...]:
        """Return the replicas that the request for the new order leaves out."""
        return () if self.by_designation else find_left_out(self.elections[partition], self.observations[partition])

    def needs_reorder(self, partition: TopicPartition) -> bool:
        """Return whether the election needs another order than the original one."""
        return self.order(partition) != self.elections[partition].replicas

    def has_leader(self, partition: TopicPartition) -> bool:
        """Return whether the partition had a leader when it ended."""
        outcome = self.outcomes.get(partition)
        return outcome is not None and outcome.leader_after not in (None, NO_LEADER)

    def may_be_offline_in_our_order(self, partition: TopicPartition, state: PartitionState | None) -> bool:
        """Return whether the partition may be offline in the order of this run. ``state`` is None if it is unknown."""
        if state is None:
            return True
        return self._is_same_topic(partition, state) and state.is_offline and state.replicas == self.order(partition)

    def designated_leader(self, partition: TopicPartition) -> int:
        """Return the designated leader."""
        return self.elections[partition].designated_leader

    @property
    def election_type(self) -> ElectionType:
        """The type of all elections of the batch."""
        return next(iter(self.elections.values())).election_type

    def _is_same_topic(self, partition: TopicPartition, state: PartitionState) -> bool:
        return state.topic_id == self.elections[partition].topic_id

    def _has_returned(self, partition: TopicPartition, leader_id: int) -> bool:
        """Return whether the leader was out of reach, and is one that the controller elects without a request."""
        state = self.observations[partition].state
        if state is None or leader_id in acceptable_replicas(state):
            return False
        return leader_id in {*state.isr, *(state.elr or ()), *(state.last_known_elr or ())}

    def _is_planned_leader(self, partition: TopicPartition, state: PartitionState) -> bool:
        election, leader_id = self.elections[partition], state.leader_id
        if election.election_type is ElectionType.PREFERRED:
            return leader_id in {*election.isr, *(election.elr or ())}
        if leader_id == election.designated_leader:
            return True
        # A small partition is reassigned within milliseconds: then its designated leader is gone before it is seen.
        is_completed = {*state.replicas} == {*find_target(election)}
        is_removed = election.designated_leader in election.removing
        return is_removed and is_completed and self.has_taken_over(election, self.observations[partition], state)
