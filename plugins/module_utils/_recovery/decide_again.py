# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Decide again, right before an election, with what the replicas hold now. Pure; standard library only.

A replica that was silent in the plan may answer later. Then the plan's strategy and limit of lost records are applied
again, with what that replica holds.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from .._model.controller_model import acceptable_replicas
from .._model.partition import Cause, PartitionState, ReplicaLog
from .._model.reason import ClauseKind, as_kind, because, say
from .._model.reasons import name_brokers, named
from .candidate import (
    AnsweredLog,
    Candidate,
    Flag,
    SilentReplica,
    Standing,
    explain_ranks,
    explain_reused_epochs,
    rank_logs,
)
from .decide import decide
from .empty_leader import explain_empty_leader
from .expected_loss import describe_losses
from .forecast import forecast_losses
from .plan import LeftAlone, PlannedElection
from .preconditions import PartitionObservation


def decide_again(election: PlannedElection, observation: PartitionObservation) -> tuple[PlannedElection, str]:
    """Return the election with what is known now, and the reason against it; empty if there is none.

    This is the final decision: the forecast of the returned election says which records to save before it. For a bare
    designation there was none before. It is refused only if it leaves the partition empty.
    """
    state = observation.state
    if state is None:
        return election, ""
    if election.is_bare:
        compared = _compare_bare_designation(election, state, observation)
        return compared, _refuse_empty_leader(compared, state)
    if election.strategy is None:
        return election, ""
    answered = {each.broker_id for each in observation.logs.values() if each.answered}
    if unanswered := [each for each in _find_came_online(election, state) if each not in answered]:
        form = "{brokers} came online since the plan was made, and did not answer what it holds: make a new plan"
        return election, say(form, brokers=unanswered)
    returned = _find_returned(election, observation)
    if not returned:
        return election, _refuse_reused_epochs(election, observation)
    if observation.reused_epochs or any(each.reused_epochs for each in election.candidates):
        form = "{brokers} answered since the plan was made, and some leader epochs had two leaders: make a new plan"
        return election, say(form, brokers=[each.broker_id for each in returned])
    known = {each.broker_id for each in returned}
    candidates = rank_answers(election, observation)
    silent = tuple(each for each in election.silent if each.broker_id not in known)
    decision = _decide_as_before(election, state, candidates, silent)
    if isinstance(decision, LeftAlone):
        return election, (
            f"with what {name_brokers(known)} holds, silent in the plan and answering now: {decision.reason}; "
            "make a new plan"
        )
    # The reason stays that of the plan; ``explained`` has the new forecast.
    return replace(election, candidates=decision.candidates, silent=decision.silent, losses=decision.losses), ""


def rank_answers(election: PlannedElection, observation: PartitionObservation) -> tuple[Candidate, ...]:
    """Return the candidates whose batches are to be compared: those with others that answer only now, ranked.

    If no other one answers, the plan has compared them, unless it says that it has not.
    """
    state, logs = observation.state, observation.logs
    if state is None:
        return ()
    if election.is_bare:
        answered = [log for each in state.replicas if (log := logs.get(each)) is not None and log.answered]
        found = _rank_again([_unranked_candidate(each, state, is_tiered=False) for each in answered], state)
        if not observation.reused_epochs:
            return found
        return tuple(replace(each, reused_epochs=observation.reused_epochs.get(each.broker_id, ())) for each in found)
    returned = _find_returned(election, observation) if election.strategy is not None else []
    if not returned:
        return election.candidates if election.has_unread_batches else ()
    is_tiered = any(Flag.LOCAL_ONLY in each.flags for each in election.candidates)
    again = [_unranked_candidate(log, state, is_tiered=is_tiered) for log in returned]
    return _rank_again([*election.candidates, *again], state)


def _refuse_reused_epochs(election: PlannedElection, observation: PartitionObservation) -> str:
    reused = sorted({epoch for epochs in observation.reused_epochs.values() for epoch in epochs})
    if not reused:
        return ""
    return say(
        "{epochs} had two leaders, which the plan could not know: make a new plan for this partition alone",
        epochs=named("leader epoch", reused),
    )


def _find_returned(election: PlannedElection, observation: PartitionObservation) -> list[ReplicaLog]:
    """Return the answers of the replicas that were silent in the plan."""
    return [log for each in election.silent if (log := observation.logs.get(each.broker_id)) and log.answered]


def _decide_as_before(
    election: PlannedElection, state: PartitionState, candidates: Sequence[Candidate], silent: Sequence[SilentReplica]
) -> PlannedElection | LeftAlone:
    """Decide on the leader of the plan. It counts as designated by a person only if it was so in the plan."""
    leader, policy = election.designated_leader, election.policy
    pasts = {each.broker_id: each.past for each in election.losses}
    decision = decide(state, candidates, silent, policy, pasts=pasts)
    if isinstance(decision, PlannedElection):
        # If logs are equal, the replica that has returned may come first in the replica list.
        if decision.designated_leader == leader:
            return decision
        return decide(state, candidates, silent, policy, leader, pasts=pasts)
    planned = decide(election.state, election.candidates, election.silent, policy, pasts=pasts)
    was_chosen = isinstance(planned, LeftAlone) or planned.designated_leader != leader
    return decide(state, candidates, silent, policy, leader, pasts=pasts) if was_chosen else decision


def _compare_bare_designation(
    election: PlannedElection, state: PartitionState, observation: PartitionObservation
) -> PlannedElection:
    """Return the election with a forecast by what all replicas answered right now."""
    logs = observation.logs
    candidates = rank_answers(election, observation)
    known = {each.broker_id for each in candidates}
    silent = tuple(_silent_replica(each, logs.get(each)) for each in state.replicas if each not in known)
    losses = describe_losses(forecast_losses(state, candidates, [each.broker_id for each in silent]))
    of_leader = [each.explanation for each in losses if each.broker_id == election.designated_leader]
    notes = explain_reused_epochs(candidates)
    reason = because(election.reason, *notes, *(as_kind(ClauseKind.LOSS, each) for each in of_leader))
    return replace(election, candidates=candidates, silent=silent, losses=losses, reason=reason)


def _refuse_empty_leader(election: PlannedElection, state: PartitionState) -> str:
    """Return why a bare designation of an empty log is refused; empty if it is not."""
    leader = next((each for each in election.candidates if each.broker_id == election.designated_leader), None)
    if leader is None or election.allow_empty_leader:
        return ""
    against = [other for each in election.losses if each.broker_id == leader.broker_id for other in each.against]
    return explain_empty_leader(state, leader, election.candidates, against) or ""


def _silent_replica(broker_id: int, log: ReplicaLog | None) -> SilentReplica:
    if log is None:
        return SilentReplica(broker_id, Cause.FENCED, "the controller does not list this broker")
    return SilentReplica(broker_id, log.cause or Cause.BAD_ANSWER, log.error)


def _find_came_online(election: PlannedElection, state: PartitionState) -> list[int]:
    """Return replicas that can lead now, and in the plan were silent and could not lead. Lost brokers do not count."""
    acceptable = acceptable_replicas(state)
    silent = {each.broker_id for each in election.silent if each.cause is not Cause.GIVEN_UP}
    return [each for each in election.offline_replicas if each in silent and each in acceptable]


def _unranked_candidate(log: ReplicaLog, state: PartitionState, *, is_tiered: bool) -> Candidate:
    """Return a replica that answered as a candidate with a provisional rank and no explanation."""
    conditions = (
        (Flag.FUTURE_REPLICA, log.is_future),
        (Flag.FENCED, log.broker_id not in acceptable_replicas(state)),
        (Flag.LOCAL_ONLY, is_tiered),
    )
    return Candidate(
        broker_id=log.broker_id,
        rank=1,
        last_written_epoch=log.last_written_epoch,
        log_start_offset=log.log_start_offset or 0,
        log_end_offset=log.log_end_offset or 0,
        lineage=log.lineage,
        size_bytes=log.size_bytes,
        flags=tuple(flag for flag, holds in conditions if holds),
        explanation="",
        local_log_start_offset=log.local_log_start_offset,
        last_tiered_offset=log.last_tiered_offset,
    )


def _rank_again(candidates: Iterable[Candidate], state: PartitionState) -> tuple[Candidate, ...]:
    by_broker = {each.broker_id: each for each in candidates}
    ranked = rank_logs(_answered_log(each, state) for each in by_broker.values())
    standings = [
        Standing(
            log.broker_id,
            log.last_written_epoch,
            log.log_start_offset,
            log.log_end_offset,
            flags,
            log.local_log_start_offset,
        )
        for log, flags in ranked
    ]
    return tuple(
        replace(by_broker[one.broker_id], rank=number, flags=one.flags, explanation=explanation)
        for number, (one, explanation) in enumerate(zip(standings, explain_ranks(standings), strict=True), start=1)
    )


def _answered_log(candidate: Candidate, state: PartitionState) -> AnsweredLog:
    replicas = state.replicas
    return AnsweredLog(
        candidate.broker_id,
        replicas.index(candidate.broker_id) if candidate.broker_id in replicas else len(replicas),
        candidate.last_written_epoch,
        candidate.log_start_offset,
        candidate.log_end_offset,
        candidate.lineage,
        candidate.local_log_start_offset,
        is_fenced=Flag.FENCED in candidate.flags,
        is_future=Flag.FUTURE_REPLICA in candidate.flags,
        is_tiered=Flag.LOCAL_ONLY in candidate.flags,
    )
