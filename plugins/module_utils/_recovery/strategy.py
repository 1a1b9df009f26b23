# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Decide by the recovery strategy what to do about an offline partition (KIP-966). Pure; standard library only."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from enum import StrEnum

from .._model.partition import PartitionState
from .._model.reason import Reason, say

_AWAY = "fenced, or its log dir offline"


class Strategy(StrEnum):
    """KIP-966's unclean.recovery.strategy."""

    NONE = "none"
    """Never loses a committed record: only replicas that hold all of them may lead."""
    BALANCED = "balanced"
    """Recovers once every replica that may hold the most records has answered. The KIP's default."""
    AGGRESSIVE = "aggressive"
    """Recovers with the replicas that answer."""


class ProofRule(StrEnum):
    """Which proofs are sufficient where ``balanced`` waits for replicas that hold all committed records."""

    IGNORE = "ignore"
    STRICT = "strict"
    """Those that assume nothing which no log shows."""
    ACCEPT = "accept"


@dataclass(frozen=True, slots=True)
class Policy:
    """The strategy for a partition, and how many records its election may lose."""

    strategy: Strategy
    max_lost_records: int | None = None
    """The greatest number of records that an election may be known to lose; None for no limit."""
    allow_empty_leader: bool = False
    """Whether an empty log may be elected although records may exist elsewhere."""
    proof_rule: ProofRule = ProofRule.IGNORE
    """Whether ``balanced`` elects instead of waiting where the metadata log proves that no record is lost that was
    acknowledged with acks=all."""
    max_estimated_loss: int | None = None
    """The greatest number of records that an election may be estimated to lose, by the upper end; None for no limit."""


class KipRule(StrEnum):
    """The points of KIP-966's list, by their numbers there."""

    ISR_MEMBER = "1"
    UNFENCED_ELR = "2"
    FENCED_ELR_AGGRESSIVE = "3.1"
    FENCED_ELR_OTHERWISE = "3.2"
    NO_ELR_AGGRESSIVE = "4.1"
    NO_ELR_BALANCED = "4.2"
    NO_ELR_NONE = "4.3"


class Step(StrEnum):
    """What to do about an offline partition."""

    LEAVE_TO_CONTROLLER = "leave"
    """Wait a moment: the controller elects a leader by itself, or else at the next change. Even a reorder is one. If it
    does not, an ordinary election is asked for, unless the leader would lack what another replica holds."""
    ORDINARY_ELECTION = "ordinary_election"
    """Request a PREFERRED election. The controller elects the first live member of the ISR or ELR, or the last known
    leader if any change would elect it. It never elects another replica, even if the cluster changes meanwhile."""
    UNCLEAN_RECOVERY = "unclean_recovery"
    """Elect the best candidate, and accept the forecast loss."""
    WAIT = "wait"
    """Wait for the named brokers."""
    NEVER = "never"
    """The strategy allows no election: a person must decide."""


@dataclass(frozen=True, slots=True)
class Ruling:
    """What the strategy decides for one partition, and why."""

    step: Step
    rule: KipRule
    reason: str
    awaited: tuple[int, ...] = ()
    """The brokers to wait for, if the step is WAIT."""


def apply_strategy(
    strategy: Strategy,
    state: PartitionState,
    acceptable: Collection[int],
    answered: Collection[int],
    lost: Collection[int] = (),
) -> Ruling:
    """Apply KIP-966's list of rules to an offline partition, from the top.

    - ``acceptable`` are the replicas that the controller would elect: unfenced, with their log dir online. All others
      count as fenced.
    - ``answered`` are the replicas that reported what they hold.
    - ``lost`` are the brokers that the operator named as lost for good (lost_brokers). They are not waited for.

    With ELR off or unknown, the controller never empties the ISR: its last member stays in it, alive or dead. This ISR
    is used like the ELR, because its member holds all committed records and is elected as soon as it returns. With ELR
    on, the ISR of an offline partition is empty. So both can be treated as one set.

    Silent replicas stop only ``balanced``, and only if they are in the last known ELR. If the last known ELR is
    unknown, every replica may have been in it, so that every silent replica stops ``balanced``.
    """
    eligible = tuple(dict.fromkeys((*state.isr, *(state.elr or ()))))
    in_isr = [each for each in state.isr if each in acceptable]
    if in_isr:
        form = (
            "{brokers} of the ISR can lead: the controller elects it by itself, at the latest when anything about the "
            "partition changes"
        )
        return Ruling(Step.LEAVE_TO_CONTROLLER, KipRule.ISR_MEMBER, say(form, brokers=in_isr))
    in_elr = [each for each in eligible if each in acceptable]
    if in_elr:
        form = "{brokers} of the ELR can lead: an ordinary election loses no committed record"
        reason = say(form, brokers=in_elr)
        return Ruling(Step.ORDINARY_ELECTION, KipRule.UNFENCED_ELR, reason)
    awaited = tuple(each for each in eligible if each not in lost)
    if eligible and (awaited or strategy is Strategy.AGGRESSIVE):
        return _rule_on_fenced_elr(strategy, awaited or eligible, "last ISR" if state.isr else "ELR")
    return _rule_without_elr(strategy, state, acceptable, answered, lost)


def _rule_on_fenced_elr(strategy: Strategy, eligible: tuple[int, ...], name: str) -> Ruling:
    away = f"{{brokers}} of the {name} cannot lead now ({_AWAY})"
    if strategy is Strategy.AGGRESSIVE:
        reason = say(f"{away}, and aggressive does not wait", brokers=eligible)
        return Ruling(Step.UNCLEAN_RECOVERY, KipRule.FENCED_ELR_AGGRESSIVE, reason)
    form = f"{away}; {strategy} waits: any member of the {name} brings all committed records back"
    reason = say(form, brokers=eligible)
    return Ruling(Step.WAIT, KipRule.FENCED_ELR_OTHERWISE, reason, eligible)


def _rule_without_elr(
    strategy: Strategy,
    state: PartitionState,
    acceptable: Collection[int],
    answered: Collection[int],
    lost: Collection[int],
) -> Ruling:
    lost_replicas = [each for each in state.replicas if each in lost]
    none = "no remaining replica (lost_brokers names {brokers_lost})" if lost_replicas else "no replica"
    unknown = f"{none} is known to hold all committed records"

    def ruled(form: str, **brokers: Sequence[int]) -> Reason:
        return say(unknown + form, **({"brokers_lost": lost_replicas} if lost_replicas else {}), **brokers)

    if strategy is Strategy.AGGRESSIVE:
        return Ruling(Step.UNCLEAN_RECOVERY, KipRule.NO_ELR_AGGRESSIVE, ruled(": aggressive recovers"))
    if strategy is Strategy.NONE:
        return Ruling(Step.NEVER, KipRule.NO_ELR_NONE, ruled(", and strategy none never risks a loss"))
    wanted, name = _find_replicas_to_compare(state, lost)
    if not wanted:
        return Ruling(Step.NEVER, KipRule.NO_ELR_BALANCED, ruled(", and lost_brokers names all replicas"))
    fenced = tuple(each for each in wanted if each not in acceptable)
    silent = tuple(each for each in wanted if each in acceptable and each not in answered)
    if not fenced and not silent:
        reason = ruled(f", but {{brokers}} ({name}) can lead and answered: balanced recovers", brokers=wanted)
        return Ruling(Step.UNCLEAN_RECOVERY, KipRule.NO_ELR_BALANCED, reason)
    missing: dict[str, Sequence[int]] = {}
    forms = []
    if fenced:
        forms.append(f"{{brokers_fenced}} cannot lead now ({_AWAY})")
        missing["brokers_fenced"] = fenced
    if silent:
        forms.append("{brokers_silent} can lead but did not answer")
        missing["brokers_silent"] = silent
    reason = ruled(f", and balanced first compares {name}: {'; '.join(forms)}", **missing)
    return Ruling(Step.WAIT, KipRule.NO_ELR_BALANCED, reason, (*fenced, *silent))


def _find_replicas_to_compare(state: PartitionState, lost: Collection[int]) -> tuple[tuple[int, ...], str]:
    """Return the replicas that ``balanced`` compares, and what to call them."""
    last_known = tuple(each for each in state.last_known_elr or () if each not in lost)
    if last_known:
        return last_known, "the last known ELR"
    others = tuple(each for each in state.replicas if each not in lost)
    if len(others) < len(state.replicas):
        return others, "all replicas except those in lost_brokers"
    return others, "all replicas, since the last known ELR is unknown"
