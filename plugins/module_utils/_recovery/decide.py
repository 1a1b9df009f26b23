# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Decide which replica is to lead an offline partition. Pure; standard library only.

``warn_of_lossy_leader`` warns if the controller is about to elect a leader that loses records. A replica that the
controller trusts, a member of the ISR or the last known leader, may have returned with a new disk. It becomes leader
at the next change of the partition, even by a reorder, and all others truncate to its empty log (tried on 3.9.2 and
4.3.1). On 3.9.2 the partition can stay offline for a long time, until such a change.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

from .._model.controller_model import acceptable_replicas, predict
from .._model.outage import ReplicaPast, describe_assumptions
from .._model.partition import NO_LEADER, Cause, PartitionState
from .._model.reason import because, say
from .._model.reasons import name_brokers
from .candidate import Candidate, Flag, SilentReplica
from .empty_leader import ALLOW_EMPTY, explain_empty_leader, is_empty
from .expected_loss import ExpectedLoss, ExpectedLosses, describe_forecast, describe_losses, explain_estimate_refusal
from .forecast import Comparison, Forecast, explain_limit_refusal, forecast_losses
from .plan import (
    ElectionType,
    LeftAlone,
    PlannedElection,
    RefusedBy,
    Status,
    explain_choice,
    leave_alone,
    plan_election,
)
from .preconditions import find_election_order, find_obstacles
from .strategy import Policy, ProofRule, Step, Strategy, apply_strategy

_NOT_PROVEN = "it is not proven that an election now loses no record that was acknowledged with acks=all"
_ASKED_FOR = "an ordinary election, which loses no committed record, is such a change"


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
    given_up = [each for each in silent if each.cause is Cause.GIVEN_UP]
    lost = [each.broker_id for each in given_up]
    if lost and {*lost} == {*state.replicas}:
        return case.leave_alone(Status.UNRECOVERABLE, [f"no replica left: {explain_lost_everywhere(given_up)}"])
    ruling = apply_strategy(policy.strategy, state, case.acceptable, [each.broker_id for each in candidates], lost)
    if ruling.step is Step.UNCLEAN_RECOVERY or (ruling.step is Step.WAIT and case.is_proven(designated)):
        return case.plan_unclean_election(designated)
    if ruling.step is Step.ORDINARY_ELECTION:
        return case.plan_ordinary_election(ruling.reason, designated)
    if ruling.step is Step.LEAVE_TO_CONTROLLER:
        return case.plan_election_of_isr_member(ruling.reason, designated)
    unproven = case.explain_unproven(designated) if ruling.step is Step.WAIT else []
    refused = case.leave_alone(Status.REFUSED, [ruling.reason, *unproven, *case.find_warnings()])
    return replace(refused, refused_by=RefusedBy.STRATEGY)


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
        loss = self._loss_by_proof(designated)
        return loss is not None and loss.acks_all_lost == 0 and not self._assumes_too_much(loss)

    def explain_unproven(self, designated: int | None) -> list[str]:
        """Return why the policy accepts a proof, and there is none."""
        loss = self._loss_by_proof(designated)
        if loss is not None and loss.acks_all_lost == 0 and self._assumes_too_much(loss):
            return [f"{_NOT_PROVEN} without assumptions: it is proven {describe_assumptions(loss.assumptions)}"]
        return [f"{_NOT_PROVEN}: {loss.proof}"] if loss is not None and loss.proof else []

    def _assumes_too_much(self, loss: ExpectedLoss) -> bool:
        return self.policy.proof_rule is ProofRule.STRICT and bool(loss.assumptions)

    def _loss_by_proof(self, designated: int | None) -> ExpectedLoss | None:
        """Return the loss by the leader. None if the policy accepts no proof, or if the leader is not compared."""
        best = next((each.broker_id for each in self.candidates if each.broker_id in self.acceptable), None)
        leader = best if designated is None else designated
        may_accept = self.policy.strategy is Strategy.BALANCED and self.policy.proof_rule is not ProofRule.IGNORE
        return next((each for each in self.losses if may_accept and each.broker_id == leader), None)

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

    def plan_election_of_isr_member(self, reason: str, designated: int | None) -> PlannedElection | LeftAlone:
        """Ask for the election that the controller makes at the next change, which may never come.

        Without ELR, a broker stays in the ISR also with a new disk. So its log must be the best one, and not empty.
        """
        leader = predict(self.state, self.state.replicas, self.acceptable, unclean=False).leader_id
        log = next((each for each in self.candidates if each.broker_id == leader), None)
        doubts = [*self.find_warnings(), *(self._find_emptied(log) if log is not None else ())]
        if log is None or doubts:
            return self.leave_alone(Status.REFUSED, [reason, *doubts])
        return self.plan_ordinary_election(because(reason, _ASKED_FOR), designated)

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

    def _find_emptied(self, leader: Candidate) -> list[str]:
        """Return why an empty log is not asked for although the controller would elect it."""
        if refusal := self._find_empty_leader(leader):
            return refusal
        if self.policy.allow_empty_leader or not is_empty(leader) or not self.state.leader_epoch:
            return []
        return [
            f"its log is empty, and the partition had a leader (its leader epoch is {self.state.leader_epoch}), so its "
            f"disk may be new: if its records are elsewhere, stop broker {leader.broker_id}; otherwise {ALLOW_EMPTY}"
        ]

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
            "to keep both logs, stop the other brokers and save their disks first (kafkaops.recovery.salvage_logs)",
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
        if any(each.cause is not Cause.GIVEN_UP for each in self.silent):
            return self.leave_alone(Status.UNRECOVERABLE, [f"no replica answers now: {causes}"])
        return self.leave_alone(Status.UNRECOVERABLE, [f"no replica left: {causes or 'its replica list is empty'}"])


def explain_lost_everywhere(lost: Sequence[SilentReplica]) -> str:
    """Return what is left to do for a partition whose replicas are all on brokers that were declared lost.

    Tried on 4.3.1 with ELR: the broker with the empty disk registers, and the controller elects it only on request. A
    broker that runs without one log directory must not lose the others: it leads partitions on them.
    """
    running = [each.broker_id for each in lost if each.is_on_lost_dir]
    if running:
        begin_again = (
            f"restart {name_brokers(running[:1])} with an empty directory in place of the offline one, and with all "
            "its other directories as they are"
        )
    else:
        begin_again = "start the same id with an empty disk"
    return (
        f"lost_brokers names all its replicas ({name_brokers([each.broker_id for each in lost])}). If their disks are "
        f"gone, its records are lost. Once all other partitions there are recovered: {begin_again}, and recover again "
        "with unclean_recovery_allow_empty_leader if the controller does not elect it; or delete and re-create the "
        "topic. Its offsets then begin at 0, so that groups with committed offsets point beyond its end: reset these "
        "(kafka-consumer-groups.sh --reset-offsets)"
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
