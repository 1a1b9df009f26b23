# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Decides, just before a write, whether a planned election may still be asked for. Standard library only."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from ansible_collections.kafkaops.recovery.plugins.module_utils.model.partition import NO_LEADER, PartitionState
from ansible_collections.kafkaops.recovery.plugins.module_utils.model.replica_log import ReplicaLog
from ansible_collections.kafkaops.recovery.plugins.module_utils.recovery.controller_model import (
    Prediction,
    Rule,
    predict,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils.recovery.plan import (
    ElectionType,
    PlannedElection,
    Status,
)

_NO_EPOCH = -1


@dataclass(frozen=True, slots=True)
class Observation:
    """One partition's world, read again just before the write."""

    state: PartitionState | None
    """None when the partition does not exist any more, or is hidden from us."""
    logs: Mapping[int, ReplicaLog]
    """By broker id, for every replica that was asked."""
    is_reassigning: bool


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether to go on. ``status`` is None for "go", and all reasons against are in ``reason``."""

    status: Status | None
    reason: str


def designated_order(election: PlannedElection) -> tuple[int, ...]:
    """The same replica set with the designated leader first and the others in their order.

    An ordinary election leaves the order as it is: any member of the ISR or ELR will do.
    """
    if election.election_type is ElectionType.PREFERRED:
        return election.replicas
    others = (broker_id for broker_id in election.replicas if broker_id != election.designated_leader)
    return (election.designated_leader, *others)


def judge(election: PlannedElection, world: Observation) -> Verdict:
    """Compares the world with the plan. Everything that stands against the election is named, not only the first."""
    state = world.state
    if state is None:
        return Verdict(Status.UNKNOWN, "the partition does not exist any more, or is hidden from our principal")
    if state.topic_id == election.topic_id and not state.is_offline:
        return Verdict(Status.ALREADY_ONLINE, f"broker {state.leader_id} leads it: no unclean election is needed")
    reasons = [*_changes(election, state, world), *against(election, state)]
    if reasons:
        return Verdict(Status.REFUSED, "; ".join(reasons))
    return Verdict(None, election.reason)


def _changes(election: PlannedElection, state: PartitionState, world: Observation) -> Iterator[str]:
    if state.topic_id != election.topic_id:
        yield f"the topic was recreated: its id is {state.topic_id}, and the plan is for {election.topic_id}"
    if state.replicas != election.replicas:
        yield f"its replicas are {list(state.replicas)} now, and were {list(election.replicas)} in the plan"
    if state.leader_epoch != election.leader_epoch:
        yield f"its leader epoch is {state.leader_epoch} now, and was {election.leader_epoch} in the plan"
    if world.is_reassigning:
        yield "a reassignment of it is running: wait for it, or cancel it first"
    yield from _log_changes(election, world.logs)


def _log_changes(election: PlannedElection, logs: Mapping[int, ReplicaLog]) -> Iterator[str]:
    for candidate in election.candidates:
        log = logs.get(candidate.broker_id)
        if log is None or not log.answered:
            continue
        planned = (candidate.last_written_epoch, candidate.log_end_offset)
        found = (log.last_written_epoch, log.log_end_offset)
        if found != planned:
            yield (
                f"replica {candidate.broker_id} ends at (epoch, offset) {_place(found)} now, and at {_place(planned)} "
                "in the plan, though the log of a leaderless partition does not grow: make a new plan"
            )
    if election.election_type is ElectionType.PREFERRED:
        return
    designated = logs.get(election.designated_leader)
    if designated is None:
        yield f"broker {election.designated_leader} was not asked again"
        return
    if not designated.answered:
        yield f"the designated replica {election.designated_leader} is silent now: {designated.error}"
        return
    for silent in election.silent:
        log = logs.get(silent.broker_id)
        if log is not None and log.answered and _rank(log) > _rank(designated):
            yield (
                f"replica {silent.broker_id}, silent in the plan, answers now and holds more, up to (epoch, offset) "
                f"{_place((log.last_written_epoch, log.log_end_offset))}: make a new plan"
            )


def against(election: PlannedElection, state: PartitionState) -> Iterator[str]:
    """What would keep the controller from electing the designated leader, as the partition stands."""
    designated, acceptable = election.designated_leader, acceptable_replicas(state)
    if designated not in state.replicas:
        yield f"broker {designated} is not in its replica set {list(state.replicas)}"
        return
    if designated not in acceptable:
        yield (f"broker {designated} cannot be elected: the controller fences it, or the replica's log dir is offline")
        return
    order = designated_order(election)
    if election.election_type is ElectionType.PREFERRED:
        prediction = predict(state, order, acceptable, unclean=False)
        if prediction.rule is not Rule.IN_SYNC:
            yield "no member of the ISR or ELR can lead it any more: make a new plan"
        elif prediction.leader_id != designated:
            yield _other_leader(prediction, designated)
        return
    for unclean in (False, True):
        prediction = predict(state, order, acceptable, unclean=unclean)
        if prediction.leader_id not in (designated, NO_LEADER):
            yield _other_leader(prediction, designated)
            return


def _other_leader(prediction: Prediction, designated: int) -> str:
    why = {
        Rule.IN_SYNC: "it is in the ISR or the ELR and back: an ordinary election takes it, and nothing is lost",
        Rule.LAST_KNOWN_LEADER: "it is the last known leader and back: any change of the partition elects it (KIP-966)",
    }.get(prediction.rule, prediction.rule.value)
    return f"the controller would elect broker {prediction.leader_id}, not the designated {designated}: {why}"


def _rank(log: ReplicaLog) -> tuple[int, int]:
    epoch = log.last_written_epoch
    return (_NO_EPOCH if epoch is None else epoch, log.log_end_offset or 0)


def _place(place: tuple[int | None, int | None]) -> str:
    epoch, offset = place
    return f"({'none' if epoch is None else epoch}, {offset})"


def acceptable_replicas(state: PartitionState) -> frozenset[int]:
    """Replicas that the controller would take: their broker is unfenced and their log dir online.

    The metadata lists every other replica as offline, fenced brokers included.
    """
    return frozenset(state.replicas) - frozenset(state.offline_replicas)
