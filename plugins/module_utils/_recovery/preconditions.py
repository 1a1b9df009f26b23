# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Decide, right before a write, whether a planned election may still be requested. Standard library only."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from .._model.controller_model import PredictedLeader, Rule, acceptable_replicas, predict
from .._model.partition import PartitionState, Reassignment, ReplicaLog
from .._model.reason import because, say
from .._model.reasons import name_brokers
from .candidate import Candidate, Flag
from .plan import ElectionType, PlannedElection, Status
from .sort_keys import HOLDS_MOST, python_order

_BY_HOLDINGS = python_order(HOLDS_MOST)


@dataclass(frozen=True, slots=True)
class PartitionObservation:
    """What was read of one partition right before the write."""

    state: PartitionState | None
    """None if the partition no longer exists, or our principal may not describe it."""
    logs: Mapping[int, ReplicaLog]
    """The answers of all replicas that were asked, by broker id."""
    unregistered: frozenset[int] = frozenset()
    """Brokers that are known to be unregistered: the controller refuses every new order that names one."""
    reassignment: Reassignment | None = None
    """The running reassignment."""
    reused_epochs: Mapping[int, tuple[int, ...]] = field(default_factory=dict)
    """Leader epochs of which a replica has other records than the best one, by broker id, as far as it was looked."""

    @property
    def removing(self) -> tuple[int, ...]:
        """Replicas that a running reassignment removes, if it adds none."""
        return self.reassignment.dropping if self.reassignment else ()


@dataclass(frozen=True, slots=True)
class Judgement:
    """Whether the election may be requested. If not, ``reason`` has all reasons."""

    status: Status | None
    """None if the election may be requested."""
    reason: str


def order_for_designated(election: PlannedElection) -> tuple[int, ...]:
    """Return the replica set with the designated leader first, then the others by rank, then the silent ones.

    If the designated broker is fenced at the last moment, the controller elects the second best replica.
    """
    ranked = [each.broker_id for each in sorted(election.candidates, key=lambda each: each.rank)]
    order = dict.fromkeys([election.designated_leader, *ranked, *election.replicas])
    return tuple(each for each in order if each in election.replicas or each == election.designated_leader)


def find_election_order(
    election: PlannedElection, state: PartitionState, unregistered: Collection[int] = ()
) -> tuple[int, ...]:
    """Return the replica order in which the election is requested.

    It is the present order if that already has the live replicas in the wanted order, or for an ordinary election,
    which may elect any member of the ISR or ELR. It is also the present order if the controller would refuse a new one,
    because a replica is unregistered, and an election of the present order elects the designated leader. Otherwise it
    is the order of ``order_for_designated``.
    """
    if election.election_type is ElectionType.PREFERRED:
        return state.replicas
    wanted, acceptable = order_for_designated(election), acceptable_replicas(state)
    if [each for each in state.replicas if each in acceptable] == [each for each in wanted if each in acceptable]:
        return state.replicas
    elects_designated = predict(state, state.replicas, acceptable, unclean=True).leader_id == election.designated_leader
    return state.replicas if elects_designated and set(unregistered) & set(state.replicas) else wanted


def judge_election(
    election: PlannedElection, observation: PartitionObservation, *, by_designation: bool = False
) -> Judgement:
    """Compare the observation with the plan. The judgement has all reasons against the election."""
    state = observation.state
    if state is None:
        return Judgement(
            Status.UNKNOWN, "the partition does not exist any more, or our principal needs DESCRIBE on the topic"
        )
    if state.topic_id == election.topic_id and not state.is_offline:
        return Judgement(
            Status.ALREADY_ONLINE,
            say("broker {broker} leads it: no unclean election is needed", broker=state.leader_id),
        )
    order = (
        order_for_designated(election)
        if by_designation
        else find_election_order(election, state, observation.unregistered)
    )
    reasons = [*_find_changes(election, state, observation), *find_obstacles(election, state, order)]
    if not by_designation:
        reasons += find_registration_obstacles(election, observation)
    if reasons:
        return Judgement(Status.REFUSED, because(*reasons))
    return Judgement(None, election.reason)


def _find_changes(election: PlannedElection, state: PartitionState, observation: PartitionObservation) -> Iterator[str]:
    if state.topic_id != election.topic_id:
        form = "the topic was re-created: its id is {now}, and the plan is for {then}"
        yield say(form, now=state.topic_id, then=election.topic_id)
    if state.replicas != election.replicas:
        form = "its replicas are {now} now, and were {then} in the plan"
        yield say(form, now=state.replicas, then=election.replicas)
    if state.leader_epoch != election.leader_epoch:
        form = "its leader epoch is {now} now, and was {then} in the plan"
        yield say(form, now=state.leader_epoch, then=election.leader_epoch)
    yield from _find_reassignment_changes(election, observation)
    yield from _find_log_changes(election, observation.logs)


def _find_reassignment_changes(election: PlannedElection, observation: PartitionObservation) -> Iterator[str]:
    """Yield the obstacle of a reassignment that began, ended or was changed since the plan."""
    found, planned = observation.reassignment, election.reassignment
    is_drop = observation.removing and {*observation.removing} <= {*election.dropped, *observation.unregistered}
    if is_drop and planned is None:
        return
    if found is not None and (planned is None or not found.is_part_of(planned)):
        began = f"a reassignment of it is running, which {describe_reassignment(found)}"
        since = "was not running when the plan was made" if planned is None else "was another one in the plan"
        yield f"{began}, and {since}: make a new plan"
    elif found is None and planned is not None:
        yield (
            f"the reassignment that was running when the plan was made, which {describe_reassignment(planned)}, has "
            "ended or was canceled: make a new plan"
        )


def describe_reassignment(reassignment: Reassignment) -> str:
    """Return what a reassignment does, such as "adds broker 2 and removes brokers 1, 3"."""
    clauses = [
        f"{verb} {name_brokers(brokers)}"
        for verb, brokers in (("adds", reassignment.adding), ("removes", reassignment.removing))
        if brokers
    ]
    return " and ".join(clauses)


def find_left_out(election: PlannedElection, observation: PartitionObservation) -> tuple[int, ...]:
    """Return the replicas that the request for the new order leaves out, by id, as the controller lists them last.

    These are the replicas of ``find_dropped``. During a reassignment, they are the replicas that it removes: then the
    request names its target. If one of these is to lead, the request names all registered replicas, because the
    reassignment goes on removing replicas that an order names (ReplicationControlManager.changePartitionReassignment,
    tried on 3.9.2 and 4.3.1).
    """
    state = observation.state
    if state is None or election.reassignment is None or observation.reassignment is None:
        return find_dropped(election, observation)
    if find_election_order(election, state, observation.unregistered) == state.replicas:
        return ()
    removing = {*election.removing} & {*state.replicas}
    if election.designated_leader in removing:
        removing &= observation.unregistered
    return tuple(sorted(removing))


def find_target(election: PlannedElection) -> tuple[int, ...]:
    """Return the replicas of the reassignment's target, in their order."""
    return tuple(each for each in election.replicas if each not in election.removing)


REASSIGNMENT_NOTE = "which goes on after the election and completes once"
"""Part of each note of ``explain_reassignment``."""

DROP_NOTE = "so that the controller refuses every order with it: the new order drops it"
"""Part of each note of ``explain_drop``."""


def explain_reassignment(election: PlannedElection) -> str:
    """Return the note in a plan on a reassignment that is running."""
    target, leader = list(find_target(election)), election.designated_leader
    until = f"broker {leader}, which it removes, leads until they are in sync; " if leader in election.removing else ""
    return (
        f"it is being reassigned to {target}, {REASSIGNMENT_NOTE} these replicas are in sync; {until}the order of the "
        "target is restored"
    )


def _find_log_changes(election: PlannedElection, logs: Mapping[int, ReplicaLog]) -> Iterator[str]:
    for candidate in election.candidates:
        log = logs.get(candidate.broker_id)
        if log is None or not log.answered:
            continue
        planned = (candidate.last_written_epoch, candidate.log_end_offset)
        found = (log.last_written_epoch, log.log_end_offset)
        if found != planned:
            yield say(
                "replica {broker} ends at (epoch, offset) ({epoch}, {offset}) now, and at ({epoch_then}, "
                "{offset_then}) in the plan, though the log of a leaderless partition does not grow: make a new plan",
                broker=candidate.broker_id,
                epoch=found[0],
                offset=found[1],
                epoch_then=planned[0],
                offset_then=planned[1],
            )
    if election.election_type is ElectionType.PREFERRED:
        return
    designated = logs.get(election.designated_leader)
    if designated is None:
        yield say("broker {broker} was not asked again", broker=election.designated_leader)
        return
    if not designated.answered:
        form = "the designated replica {broker} is silent now: {error}"
        yield say(form, broker=election.designated_leader, error=designated.error)
        return
    compared = next((each for each in election.candidates if each.broker_id == election.designated_leader), None)
    for silent in election.silent:
        log = logs.get(silent.broker_id)
        if log is not None and log.answered and _holds_more(log, designated, compared):
            yield say(
                "replica {broker}, silent in the plan, answers now and holds more, from offset {start} up to (epoch, "
                "offset) ({epoch}, {offset}): make a new plan",
                broker=silent.broker_id,
                start=log.log_start_offset,
                epoch=log.last_written_epoch,
                offset=log.log_end_offset,
            )


def find_dropped(election: PlannedElection, observation: PartitionObservation) -> tuple[int, ...]:
    """Return the replicas that the election drops from the replica set, by id, as the controller lists them.

    These are the unregistered replicas that the plan may drop, if a new order is needed, and the replicas that an
    earlier run's order is dropping.
    """
    state = observation.state
    if state is None or not election.dropped or election.election_type is ElectionType.PREFERRED:
        return ()
    needs_order = find_election_order(election, state, observation.unregistered) != state.replicas
    gone = {*observation.unregistered, *observation.removing} if needs_order else {*observation.removing}
    return tuple(sorted(gone & {*state.replicas} & {*election.dropped}))


def explain_drop(broker_ids: Sequence[int]) -> str:
    """Return the note in a plan on replicas that a new order drops."""
    return say(
        f"{{brokers}} of its replicas is not registered, {DROP_NOTE}, and it is not put back",
        brokers=broker_ids,
    )


def find_registration_obstacles(election: PlannedElection, observation: PartitionObservation) -> Iterator[str]:
    """Yield the obstacles of unregistered brokers: the controller refuses the order that the election needs."""
    state = observation.state
    if state is None or election.election_type is ElectionType.PREFERRED:
        return
    if election.reassignment is not None:
        yield from _find_unregistered_targets(election, observation, state)
        return
    allow = "set unclean_recovery_allow_dropping_unregistered (allow_dropping_unregistered) and make a new plan"
    in_progress = [
        each for each in observation.removing if each in observation.unregistered and each not in election.dropped
    ]
    if in_progress:
        yield say(
            f"an order that drops {{brokers}}, which is not registered, is in progress, and ends with the election: "
            f"{allow}",
            brokers=in_progress,
        )
    gone = [each for each in state.replicas if each in observation.unregistered and each not in election.dropped]
    if gone and not in_progress and find_election_order(election, state, observation.unregistered) != state.replicas:
        plain = predict(state, state.replicas, acceptable_replicas(state), unclean=True)
        yield say(
            "{brokers} of its replica list is not registered: the controller refuses to put broker {broker} first "
            "(INVALID_REPLICA_ASSIGNMENT), and without that an election takes broker {broker_plain}; start broker "
            "{broker_gone} with its own disk and make a new plan, or, to drop it from the replica set for good, "
            f"{allow}",
            brokers=gone,
            broker=election.designated_leader,
            broker_plain=plain.leader_id,
            broker_gone=gone[0],
        )


def _find_unregistered_targets(
    election: PlannedElection, observation: PartitionObservation, state: PartitionState
) -> Iterator[str]:
    gone = [each for each in find_target(election) if each in observation.unregistered]
    if gone and find_election_order(election, state, observation.unregistered) != state.replicas:
        yield (
            f"{name_brokers(gone)} of its reassignment's target is not registered: the controller refuses to put "
            f"broker {election.designated_leader} first (INVALID_REPLICA_ASSIGNMENT); start broker {gone[0]}, or name "
            f"another target that has broker {election.designated_leader} (kafka-reassign-partitions.sh --execute "
            "--additional), and make a new plan"
        )


def find_obstacles(election: PlannedElection, state: PartitionState, order: Sequence[int]) -> Iterator[str]:
    """Yield why the controller would not elect the designated leader, with the replicas in ``order``."""
    designated, acceptable = election.designated_leader, acceptable_replicas(state)
    if designated not in state.replicas:
        form = "broker {broker} is not in its replica set {replicas}"
        yield say(form, broker=designated, replicas=state.replicas)
        return
    if designated not in acceptable:
        form = "broker {broker} cannot be elected: the controller fences it, or the replica's log dir is offline"
        yield say(form, broker=designated)
        return
    better = [each for each in _find_passed_over(election) if each in acceptable]
    if better:
        form = "{brokers} of a better rank was fenced in the plan and can be elected now: make a new plan"
        yield say(form, brokers=better)
    if election.election_type is ElectionType.PREFERRED:
        prediction = predict(state, order, acceptable, unclean=False)
        if prediction.rule is not Rule.IN_SYNC:
            yield "no member of the ISR or ELR can lead it any more: make a new plan"
        elif prediction.leader_id != designated:
            yield _explain_other_leader(prediction, designated)
        return
    # If any change of the partition would elect a broker, an UNCLEAN election elects the same one.
    prediction = predict(state, order, acceptable, unclean=True)
    if prediction.leader_id != designated:
        yield _explain_other_leader(prediction, designated)


def _find_passed_over(election: PlannedElection) -> list[int]:
    """Return the replicas that rank above the designated leader, and that the controller fenced in the plan."""
    ranks = {each.broker_id: each.rank for each in election.candidates}
    if election.designated_leader not in ranks:
        return []
    return [
        each.broker_id
        for each in election.candidates
        if each.rank < ranks[election.designated_leader] and Flag.FENCED in each.flags
    ]


def _explain_other_leader(prediction: PredictedLeader, designated: int) -> str:
    why = {
        Rule.IN_SYNC: "it is in the ISR or the ELR and back: an ordinary election takes it, and nothing is lost",
        Rule.LAST_KNOWN_LEADER: "it is the last known leader and back: any change of the partition elects it (KIP-966)",
    }.get(prediction.rule, prediction.rule.value)
    return say(
        f"the controller would elect broker {{broker}}, not the designated {{broker_designated}}: {why}",
        broker=prediction.leader_id,
        broker_designated=designated,
    )


def _holds_more(log: ReplicaLog, designated: ReplicaLog, planned: Candidate | None) -> bool:
    """Return whether a ranking puts this log before the designated one, whatever the replica list is.

    Of the designated replica, only the end was asked again: ``planned`` has its starts. A replica that the plan did not
    compare has none, and is compared by its end.
    """
    known = log if planned is None else planned
    held = replace(
        designated,
        log_start_offset=known.log_start_offset,
        local_log_start_offset=known.local_log_start_offset,
    )
    return _BY_HOLDINGS(log) < _BY_HOLDINGS(held)
