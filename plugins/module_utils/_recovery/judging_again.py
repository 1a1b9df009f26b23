# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Judge a planned election again, with what more is known than when it was planned. Pure; standard library only.

A replica that was silent in the plan may answer now. Then the strategy and the limit of lost records, which the plan
has, are applied to what it holds too.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from .._model.controller_model import acceptable_replicas
from .._model.partition import PartitionState
from .._model.replica_log import Cause, ReplicaLog
from .candidate import Candidate, Flag, Standing, explain
from .decide import decide
from .plan import LeftAlone, PlannedElection
from .preconditions import PartitionObservation
from .ranking import AnsweredLog, rank
from .strategy import Policy, named


def judge_again(election: PlannedElection, world: PartitionObservation) -> tuple[PlannedElection, str]:
    """Return the election with all that is known now, and what is against it; empty for nothing.

    Judged are elections of a plan that has a strategy. Bare designations were never compared with anything.
    """
    state = world.state
    if state is None or election.strategy is None:
        return election, ""
    if mute := [each for each in _came_online(election, state) if not _answers(world.logs.get(each))]:
        return election, (
            f"{named(mute)} came online since the plan was made, and did not answer what it holds: make a new plan"
        )
    returned = [log for each in election.silent if (log := world.logs.get(each.broker_id)) and log.answered]
    if not returned:
        return election, ""
    known = {each.broker_id for each in returned}
    is_tiered = any(Flag.LOCAL_ONLY in each.flags for each in election.candidates)
    again = [_candidate(log, state, is_tiered=is_tiered) for log in returned]
    candidates = _ranked([*election.candidates, *again], state)
    silent = tuple(each for each in election.silent if each.broker_id not in known)
    policy = Policy(election.strategy, election.max_lost_records)
    decision = decide(state, candidates, silent, policy, election.designated_leader)
    if isinstance(decision, LeftAlone):
        return election, (
            f"with what {named(sorted(known))} holds, silent in the plan and answering now: {decision.reason}; "
            "make a new plan"
        )
    return replace(election, candidates=decision.candidates, silent=decision.silent, losses=decision.losses), ""


def _came_online(election: PlannedElection, state: PartitionState) -> list[int]:
    """Return replicas that were silent and could not lead in the plan, and that could lead now, unless given up."""
    acceptable = acceptable_replicas(state)
    silent = {each.broker_id for each in election.silent if each.cause is not Cause.GIVEN_UP}
    return [each for each in election.offline_replicas if each in silent and each in acceptable]


def _answers(log: ReplicaLog | None) -> bool:
    return log is not None and log.answered


def _candidate(log: ReplicaLog, state: PartitionState, *, is_tiered: bool) -> Candidate:
    """Return a replica that answered, not ranked yet."""
    is_fenced = log.broker_id not in acceptable_replicas(state)
    conditions = ((Flag.FUTURE_REPLICA, log.is_future), (Flag.FENCED, is_fenced), (Flag.LOCAL_ONLY, is_tiered))
    flags = [flag for flag, holds in conditions if holds]
    return Candidate(
        broker_id=log.broker_id,
        rank=1,
        last_written_epoch=log.last_written_epoch,
        log_start_offset=log.log_start_offset or 0,
        log_end_offset=log.log_end_offset or 0,
        lineage=log.lineage,
        size_bytes=log.size_bytes,
        flags=tuple(flags),
        explanation="",
        local_log_start_offset=log.local_log_start_offset,
        last_tiered_offset=log.last_tiered_offset,
    )


def _ranked(candidates: Iterable[Candidate], state: PartitionState) -> tuple[Candidate, ...]:
    by_broker = {each.broker_id: each for each in candidates}
    ranked = rank(_log(each, state) for each in by_broker.values())
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
        for number, (one, explanation) in enumerate(zip(standings, explain(standings), strict=True), start=1)
    )


def _log(candidate: Candidate, state: PartitionState) -> AnsweredLog:
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
