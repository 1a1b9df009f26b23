# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Decides who is to lead a partition that has no leader. Pure; standard library only."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ansible_collections.kafkaops.recovery.plugins.module_utils.model.partition import PartitionState
from ansible_collections.kafkaops.recovery.plugins.module_utils.recovery.candidate import Candidate, SilentReplica
from ansible_collections.kafkaops.recovery.plugins.module_utils.recovery.controller_model import predict
from ansible_collections.kafkaops.recovery.plugins.module_utils.recovery.expected_loss import expected_losses
from ansible_collections.kafkaops.recovery.plugins.module_utils.recovery.forecast import (
    Forecast,
    forecast,
    refusal_above,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils.recovery.forecast_words import in_words
from ansible_collections.kafkaops.recovery.plugins.module_utils.recovery.pending_election import warning
from ansible_collections.kafkaops.recovery.plugins.module_utils.recovery.plan import (
    ElectionType,
    LeftAlone,
    PlannedElection,
    Status,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils.recovery.policy import Policy
from ansible_collections.kafkaops.recovery.plugins.module_utils.recovery.preconditions import (
    acceptable_replicas,
    against,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils.recovery.strategy import Step, rule_on


def decide(
    state: PartitionState, candidates: Sequence[Candidate], silent: Sequence[SilentReplica], policy: Policy
) -> PlannedElection | LeftAlone:
    """What the policy allows for this partition: an ordinary election, one of the best candidate, or none, and why.

    ``candidates`` come best first. A partition where the controller would elect another broker is left alone: that is
    for a person to decide.
    """
    forecasts = forecast(state, candidates, [each.broker_id for each in silent])
    case = _Case(state, tuple(candidates), tuple(silent), forecasts, acceptable_replicas(state))
    ruling = rule_on(policy.strategy, state, case.acceptable, [each.broker_id for each in candidates])
    if ruling.step is Step.UNCLEAN_RECOVERY:
        return case.unclean_election(policy)
    if ruling.step is Step.ORDINARY_ELECTION:
        return case.ordinary_election(policy, ruling.reason)
    return case.left_alone(Status.REFUSED, [ruling.reason, *case.warnings(), *case.best()])


@dataclass(frozen=True, slots=True)
class _Case:
    """One partition with all that is known of its replicas."""

    state: PartitionState
    candidates: tuple[Candidate, ...]
    silent: tuple[SilentReplica, ...]
    forecasts: tuple[Forecast, ...]
    acceptable: frozenset[int]

    def unclean_election(self, policy: Policy) -> PlannedElection | LeftAlone:
        best = next((each for each in self.candidates if each.broker_id in self.acceptable), None)
        if best is None:
            return self._nobody()
        loss = next(each for each in self.forecasts if each.broker_id == best.broker_id)
        reason = f"{self._why(best)}; {in_words(loss)}"
        election = self._election(best.broker_id, ElectionType.UNCLEAN, reason)
        obstacles = [*against(election, self.state), *self.warnings(), *self._above_limit(policy, best.broker_id)]
        return self.left_alone(Status.REFUSED, obstacles) if obstacles else election

    def ordinary_election(self, policy: Policy, reason: str) -> PlannedElection | LeftAlone:
        """Of a member of the ELR. A silent one has no forecast, and passes any limit: KIP-966 keeps a broker in the ELR
        only while it holds every committed record.
        """
        leader = predict(self.state, self.state.replicas, self.acceptable, unclean=False).leader_id
        obstacles = [*self.warnings(), *self._above_limit(policy, leader)]
        if obstacles:
            return self.left_alone(Status.REFUSED, obstacles)
        return self._election(leader, ElectionType.PREFERRED, reason)

    def left_alone(self, status: Status, reasons: Sequence[str]) -> LeftAlone:
        return LeftAlone(
            self.state.topic,
            self.state.partition,
            status,
            "; ".join(reasons),
            topic_id=self.state.topic_id,
            leader_id=self.state.leader_id,
            leader_epoch=self.state.leader_epoch,
            replicas=self.state.replicas,
            candidates=self.candidates,
            silent=self.silent,
            losses=expected_losses(self.forecasts),
        )

    def best(self) -> list[str]:
        """Who would be elected if a person decided to, and what that would cost."""
        return [f"best surviving replica: broker {each.broker_id}; {in_words(each)}" for each in self.forecasts[:1]]

    def warnings(self) -> list[str]:
        """What the controller is about to lose by itself."""
        pending = warning(self.state, self.acceptable, self.forecasts)
        return [pending] if pending else []

    def _above_limit(self, policy: Policy, leader: int) -> list[str]:
        limit = policy.max_lost_records
        if limit is None:
            return []
        refusals = [refusal_above(limit, each) for each in self.forecasts if each.broker_id == leader]
        return [each for each in refusals if each]

    def _election(self, leader: int, election_type: ElectionType, reason: str) -> PlannedElection:
        return PlannedElection(
            topic=self.state.topic,
            partition=self.state.partition,
            topic_id=self.state.topic_id,
            leader_epoch=self.state.leader_epoch,
            replicas=self.state.replicas,
            isr=self.state.isr,
            elr=self.state.elr,
            last_known_elr=self.state.last_known_elr,
            designated_leader=leader,
            reason=reason,
            candidates=self.candidates,
            silent=self.silent,
            losses=expected_losses(self.forecasts),
            election_type=election_type,
        )

    def _why(self, best: Candidate) -> str:
        reason = f"broker {best.broker_id}, {best.explanation}"
        passed_over = [str(each.broker_id) for each in self.candidates if each.rank < best.rank]
        if passed_over:
            reason += f"; ranked better, but fenced or with its log dir offline: {', '.join(passed_over)}"
        return reason

    def _nobody(self) -> LeftAlone:
        named = "; ".join(f"broker {each.broker_id}: {each.cause.value}" for each in self.silent)
        if self.candidates:
            told = ", ".join(str(each.broker_id) for each in self.candidates)
            reason = f"no replica can be elected: {told} answered, but are fenced or have their log dir offline"
            return self.left_alone(Status.UNRECOVERABLE, [reason, *([named] if named else [])])
        waiting = [str(each.broker_id) for each in self.silent if each.broker_id in self.acceptable]
        if waiting:
            reason = (
                f"no replica told what it holds ({named}), though the controller would take {', '.join(waiting)}: "
                "look at these brokers, then run again"
            )
            return self.left_alone(Status.UNKNOWN, [reason])
        return self.left_alone(Status.UNRECOVERABLE, [f"no replica left: {named or 'its replica list is empty'}"])
