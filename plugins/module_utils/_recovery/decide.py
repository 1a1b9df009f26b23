# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Decide which replica is to lead an offline partition, and decide again right before its election.

Pure; standard library only. A replica that was silent in the plan may answer later. Then the plan's strategy and limit
of lost records are applied again, with what that replica holds.

``warn_of_lossy_leader`` warns if the controller is about to elect a leader that loses records. A replica that the
controller trusts, a member of the ISR or the last known leader, may have returned with a new disk. It becomes leader
at the next change of the partition, even by a reorder, and all others truncate to its empty log (tried on 3.9.2 and
4.3.1). On 3.9.2 the partition can stay offline for a long time, until such a change.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

from .._model.controller_model import acceptable_replicas, predict
from .._model.outage import ReplicaPast
from .._model.partition import NO_LEADER, Cause, PartitionState, ReplicaLog
from .._model.reason import Kind, as_kind, because, say
from .candidate import AnsweredLog, Candidate, Flag, SilentReplica, Standing, explain_ranks, rank_logs
from .empty_leader import explain_empty_leader
from .expected_loss import ExpectedLosses, describe_forecast, describe_losses, explain_estimate_refusal
from .forecast import Comparison, Forecast, explain_limit_refusal, forecast_losses
from .plan import ElectionType, LeftAlone, PlannedElection, Status, explain_choice, leave_alone, plan_election
from .preconditions import PartitionObservation, find_election_order, find_obstacles
from .strategy import Policy, Step, Strategy, apply_strategy, name_brokers


def decide(
    state: PartitionState,
    candidates: Sequence[Candidate],
    silent: Sequence[SilentReplica],
    policy: Policy,
    designated: int | None = None,
    *,
    pasts: Mapping[int, ReplicaPast] = MappingProxyType({}),
    compared: Sequence[Comparison] | None = None,
) -> PlannedElection | LeftAlone:
    """Return the election that the policy allows for this partition, or the partition as left alone, with the reason.

    The election is an ordinary one, or an unclean election of the best candidate. ``candidates`` are best first.
    ``designated`` is the leader that a person chose instead; the policy applies to it too. If the controller would
    elect another broker than the chosen one, the partition is left alone: a person has to decide. ``pasts`` is what is
    known of the replicas besides their logs, by broker id. ``compared`` are the comparisons of the candidates, if Spark
    has made them.
    """
    forecasts = forecast_losses(state, candidates, [each.broker_id for each in silent], compared)
    losses = describe_losses(forecasts, pasts)
    case = _Case(state, tuple(candidates), tuple(silent), forecasts, losses, acceptable_replicas(state), policy)
    lost = [each.broker_id for each in silent if each.cause is Cause.GIVEN_UP]
    if lost and {*lost} == {*state.replicas}:
        return case.leave_alone(Status.UNRECOVERABLE, [f"no replica left: {explain_lost_everywhere(lost)}"])
    ruling = apply_strategy(policy.strategy, state, case.acceptable, [each.broker_id for each in candidates], lost)
    if ruling.step is Step.UNCLEAN_RECOVERY or (ruling.step is Step.WAIT and case.is_proven(designated)):
        return case.plan_unclean_election(designated)
    if ruling.step is Step.ORDINARY_ELECTION:
        return case.plan_ordinary_election(ruling.reason, designated)
    return case.leave_alone(Status.REFUSED, [ruling.reason, *case.find_warnings()])


@dataclass(frozen=True, slots=True)
class _Case:
    """One partition, with what is known of its replicas."""

    state: PartitionState
    candidates: tuple[Candidate, ...]
    silent: tuple[SilentReplica, ...]
    forecasts: tuple[Forecast, ...]
    losses: ExpectedLosses
    """The forecasts with their explanations."""
    acceptable: frozenset[int]
    """Replicas that the controller would elect."""
    policy: Policy

    def is_proven(self, designated: int | None) -> bool:
        """Return whether the policy accepts a proof, and there is one for the leader: the designated one, or the best.

        ``balanced`` waits for replicas that hold all committed records. The proof shows that this replica is one, as a
        member of the ELR would be (KIP-966).
        """
        best = next((each.broker_id for each in self.candidates if each.broker_id in self.acceptable), None)
        leader = best if designated is None else designated
        may_accept = self.policy.strategy is Strategy.BALANCED and self.policy.accepts_proof
        return may_accept and any(each.broker_id == leader and each.acks_all_lost == 0 for each in self.losses)

    def plan_unclean_election(self, designated: int | None) -> PlannedElection | LeftAlone:
        best = next((each for each in self.candidates if each.broker_id in self.acceptable), None)
        if best is None:
            return self._leave_without_candidate()
        if designated not in (None, best.broker_id):
            chosen = next((each for each in self.candidates if each.broker_id == designated), None)
            if chosen is None:
                return self.leave_alone(Status.REFUSED, [self._explain_not_compared(designated)])
            best = chosen
        election = self._make_election(best.broker_id, is_designated=designated is not None)
        obstacles = [
            *find_obstacles(election, self.state, find_election_order(election, self.state)),
            *self.find_warnings(),
            *self._find_limit_refusals(best.broker_id),
            *(() if designated is not None else self._find_incomparable(best.broker_id)),
            *self._find_empty_leader(best),
        ]
        return self.leave_alone(Status.REFUSED, obstacles) if obstacles else election

    def plan_ordinary_election(self, reason: str, designated: int | None) -> PlannedElection | LeftAlone:
        """Elect a member of the ELR. A silent member has no forecast and meets every limit: KIP-966 keeps a broker in
        the ELR only while it holds all committed records.
        """
        leader = predict(self.state, self.state.replicas, self.acceptable, unclean=False).leader_id
        obstacles = [*self.find_warnings(), *self._find_limit_refusals(leader)]
        if designated not in (None, leader):
            other = "the controller would elect broker {broker}, not the designated {broker_designated}"
            obstacles.append(because(reason, say(other, broker=leader, broker_designated=designated)))
        if obstacles:
            return self.leave_alone(Status.REFUSED, obstacles)
        return self._make_election(leader, reason)

    def leave_alone(self, status: Status, reasons: Sequence[str]) -> LeftAlone:
        return replace(
            leave_alone(self.state, status, because(*reasons)),
            candidates=self.candidates,
            silent=self.silent,
            losses=self.losses,
        )

    def find_warnings(self) -> list[str]:
        """Return the warning of ``warn_of_lossy_leader``, if there is one."""
        pending = warn_of_lossy_leader(self.state, self.acceptable, self.forecasts)
        return [pending] if pending else []

    def _find_limit_refusals(self, leader: int) -> list[str]:
        limit, estimated = self.policy.max_lost_records, self.policy.max_estimated_loss
        refusals: list[str | None] = []
        if limit is not None:
            refusals += [
                explain_limit_refusal(limit, each, loss.at_least)
                for each, loss in zip(self.forecasts, self.losses, strict=True)
                if each.broker_id == leader
            ]
        if estimated is not None:
            refusals += [explain_estimate_refusal(estimated, each) for each in self.losses if each.broker_id == leader]
        return [each for each in refusals if each]

    def _find_empty_leader(self, leader: Candidate) -> list[str]:
        forecast = next(each for each in self.forecasts if each.broker_id == leader.broker_id)
        reason = explain_empty_leader(self.state, leader, self.candidates, forecast.against)
        return [reason] if reason and not self.policy.allow_empty_leader else []

    def _find_incomparable(self, leader: int) -> list[str]:
        """Return which replicas cannot be compared, so that the best one is unknown: a person has to designate it."""
        against = [other for each in self.forecasts if each.broker_id == leader for other in each.against]
        if not any(each.is_incomparable for each in against):
            return []
        return [
            *(
                f"what broker {each.broker_id} holds cannot be compared: {each.explanation}"
                for each in self.candidates
                if Flag.NOT_COMPARABLE in each.flags
            ),
            "so it is unknown which replica holds the most: designate the leader (unclean_recovery_designations), or, "
            "to keep both logs, stop the other brokers and save their disks first (salvage_logs)",
        ]

    def _make_election(
        self, leader: int, ordinary: str | None = None, *, is_designated: bool = False
    ) -> PlannedElection:
        """Make an unclean election, or an ordinary one for this reason."""
        unclean = explain_choice(leader, self.candidates, self.losses, is_designated=is_designated)
        return plan_election(
            self.state,
            leader,
            unclean if ordinary is None else ordinary,
            election_type=ElectionType.UNCLEAN if ordinary is None else ElectionType.PREFERRED,
            candidates=self.candidates,
            silent=self.silent,
            losses=self.losses,
            policy=self.policy,
            is_designated=is_designated,
        )

    def _explain_not_compared(self, designated: int | None) -> str:
        if designated not in self.state.replicas:
            form = "broker {broker} is not in its replica set {replicas}"
            return say(form, broker=designated, replicas=self.state.replicas)
        return say(
            "the designated broker {broker} did not answer, so that what its election loses is not known",
            broker=designated,
        )

    def _leave_without_candidate(self) -> LeftAlone:
        causes = "; ".join(f"broker {each.broker_id}: {each.cause.value}" for each in self.silent)
        if self.candidates:
            form = "no replica can be elected: {brokers} answered, but are fenced or have their log dir offline"
            reason = say(form, brokers=[each.broker_id for each in self.candidates])
            return self.leave_alone(Status.UNRECOVERABLE, [reason, *([causes] if causes else [])])
        waiting = [str(each.broker_id) for each in self.silent if each.broker_id in self.acceptable]
        if waiting:
            reason = say(
                f"no replica answered ({causes}), though the controller would take {', '.join(waiting)}: "
                "look at these brokers, then run again"
            )
            return self.leave_alone(Status.UNKNOWN, [reason])
        return self.leave_alone(Status.UNRECOVERABLE, [f"no replica left: {causes or 'its replica list is empty'}"])


def explain_lost_everywhere(lost: Sequence[int]) -> str:
    """Return what is left to do for a partition whose replicas are all on brokers that were declared lost.

    Tried on 4.3.1 with ELR: the broker with the empty disk registers, and the controller elects it only on request.
    """
    return (
        f"lost_brokers names all its replicas ({name_brokers(lost)}). If their disks are gone, its records are lost. "
        "Once all other partitions there are recovered: start the same id with an empty disk, and recover again with "
        "unclean_recovery_allow_empty_leader if the controller does not elect it; or delete and re-create the topic. "
        "Its offsets then begin at 0, so that groups with committed offsets point beyond its end: reset "
        "these (kafka-consumer-groups.sh --reset-offsets). If only a log directory of a broker is lost, replace this "
        "directory instead of the disk"
    )


def warn_of_lossy_leader(
    state: PartitionState, acceptable: Collection[int], forecasts: Sequence[Forecast]
) -> str | None:
    """Return a warning if the controller is about to elect a leader that loses records; otherwise None.

    ``acceptable`` are the replicas that the controller would elect. ``forecasts`` are those of all replicas that
    answered, best first. There is no warning of the best one: to elect another one would lose the newest records.
    """
    leader = predict(state, state.replicas, acceptable, unclean=False).leader_id
    lossy = next((each for each in forecasts[1:] if each.broker_id == leader and each.lost), None)
    if leader == NO_LEADER or lossy is None:
        return None
    return (
        f"the controller elects broker {leader} by itself, at the next change of the partition; "
        f"{describe_forecast(lossy)}. To keep these records, stop broker {leader} first, and only then recover the "
        "partition"
    )


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
    if unanswered := [
        each for each in _find_came_online(election, state) if not _has_answered(observation.logs.get(each))
    ]:
        return election, (
            say(
                "{brokers} came online since the plan was made, and did not answer what it holds: make a new plan",
                brokers=unanswered,
            )
        )
    returned = [log for each in election.silent if (log := observation.logs.get(each.broker_id)) and log.answered]
    if not returned:
        return election, ""
    known = {each.broker_id for each in returned}
    is_tiered = any(Flag.LOCAL_ONLY in each.flags for each in election.candidates)
    again = [_unranked_candidate(log, state, is_tiered=is_tiered) for log in returned]
    candidates = _rank_again([*election.candidates, *again], state)
    silent = tuple(each for each in election.silent if each.broker_id not in known)
    decision = _decide_as_before(election, state, candidates, silent)
    if isinstance(decision, LeftAlone):
        return election, (
            f"with what {name_brokers(sorted(known))} holds, silent in the plan and answering now: {decision.reason}; "
            "make a new plan"
        )
    # The reason stays that of the plan; ``explained`` has the new forecast.
    return replace(election, candidates=decision.candidates, silent=decision.silent, losses=decision.losses), ""


def _decide_as_before(
    election: PlannedElection, state: PartitionState, candidates: Sequence[Candidate], silent: Sequence[SilentReplica]
) -> PlannedElection | LeftAlone:
    """Decide on the leader of the plan. It counts as designated by a person only if it was so in the plan."""
    leader, policy = election.designated_leader, election.policy
    pasts = {each.broker_id: each.past for each in election.losses}
    decision = decide(state, candidates, silent, policy, pasts=pasts)
    if isinstance(decision, PlannedElection):
        # Of logs that are alike, the one that has returned may come first in the replica list.
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
    answered = [log for each in state.replicas if (log := logs.get(each)) is not None and log.answered]
    candidates = _rank_again([_unranked_candidate(each, state, is_tiered=False) for each in answered], state)
    known = {each.broker_id for each in answered}
    silent = tuple(_silent_replica(each, logs.get(each)) for each in state.replicas if each not in known)
    losses = describe_losses(forecast_losses(state, candidates, [each.broker_id for each in silent]))
    of_leader = [each.explanation for each in losses if each.broker_id == election.designated_leader]
    reason = because(election.reason, *(as_kind(Kind.LOSS, each) for each in of_leader))
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


def _has_answered(log: ReplicaLog | None) -> bool:
    return log is not None and log.answered


def _unranked_candidate(log: ReplicaLog, state: PartitionState, *, is_tiered: bool) -> Candidate:
    """Return a replica that answered as a candidate with a provisional rank and no explanation."""
    is_fenced = log.broker_id not in acceptable_replicas(state)
    conditions = (
        (Flag.FUTURE_REPLICA, log.is_future),
        (Flag.FENCED, is_fenced),
        (Flag.LOCAL_ONLY, is_tiered),
    )
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
