# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""How much an operator accepts to get a partition back (KIP-966). Pure; standard library only."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from enum import StrEnum

from .._model.partition import PartitionState

_AWAY = "fenced, or its log dir offline"


class Strategy(StrEnum):
    """KIP-966's unclean.recovery.strategy."""

    NONE = "none"
    """Never loses anything: only replicas that hold all committed records may lead."""
    BALANCED = "balanced"
    """Recovers when every replica that may hold the most is there to be compared. The KIP's default."""
    AGGRESSIVE = "aggressive"
    """Recovers with whoever answers."""

    @classmethod
    def from_config(cls, topic: bool | None, broker: bool | None) -> Strategy:
        """Return what unclean.leader.election.enable stands for (KIP-966): the topic's value, else the broker's.

        None is "not set"; where neither is, Kafka's default, false, holds.
        """
        enabled = broker if topic is None else topic
        return cls.AGGRESSIVE if enabled else cls.BALANCED


@dataclass(frozen=True, slots=True)
class Policy:
    """How much may be lost to get a partition back."""

    strategy: Strategy
    max_lost_records: int | None = None
    """The most that an election may be known to lose, in records; None for no limit."""


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
    """What to do about a partition that has no leader."""

    LEAVE = "leave"
    """It comes back by itself. Nothing is written: even a mere reorder would hasten the election."""
    ORDINARY_ELECTION = "ordinary_election"
    """Ask for a PREFERRED election. The controller takes one of the ISR or ELR for it, the first in order, or the last
    known leader where a plain change would, and never another one: not even if the world changes meanwhile."""
    UNCLEAN_RECOVERY = "unclean_recovery"
    """Elect the best ranked candidate, accepting the forecast loss."""
    WAIT = "wait"
    """Until the brokers that are named are there."""
    NEVER = "never"
    """A person must decide otherwise."""


@dataclass(frozen=True, slots=True)
class Ruling:
    """What the strategy says of one partition, and why."""

    step: Step
    rule: KipRule
    reason: str
    awaited: tuple[int, ...] = ()
    """The brokers that a WAIT waits for."""


def apply_strategy(
    strategy: Strategy,
    state: PartitionState,
    acceptable: Collection[int],
    answered: Collection[int],
    given_up: Collection[int] = (),
) -> Ruling:
    """Read KIP-966's list, from the top, for a partition that has no leader.

    ``acceptable`` are the replicas that the controller would take: unfenced, with their log dir online. All others
    count as fenced. ``answered`` are those that said what they hold. ``given_up`` are those that the operator named as
    gone for good: nothing waits for them.

    Where ELR is off or unknown, the controller never empties the ISR: the last member stays in it, dead or not. This
    last ISR stands in for the ELR: it holds all committed records, and is elected as soon as it is back. With ELR on,
    the ISR of a partition without a leader is empty, so that both read as one set.

    Silent replicas hold back only ``balanced``, and only those among the last known ELR. Where nothing is known of the
    last known ELR, any replica may have been in it, so that all of them stand in for it: missing data is no consent.
    """
    eligible = tuple(dict.fromkeys((*state.isr, *(state.elr or ()))))
    in_isr = [each for each in state.isr if each in acceptable]
    if in_isr:
        by_itself = "the controller elects it by itself, at the latest when anything about the partition changes"
        return Ruling(Step.LEAVE, KipRule.ISR_MEMBER, f"{name_brokers(in_isr)} of the ISR can lead: {by_itself}")
    in_elr = [each for each in eligible if each in acceptable]
    if in_elr:
        reason = f"{name_brokers(in_elr)} of the ELR can lead: an ordinary election loses no committed record"
        return Ruling(Step.ORDINARY_ELECTION, KipRule.UNFENCED_ELR, reason)
    awaited = tuple(each for each in eligible if each not in given_up)
    if eligible and (awaited or strategy is Strategy.AGGRESSIVE):
        return _rule_on_fenced_elr(strategy, awaited or eligible, "last ISR" if state.isr else "ELR")
    return _rule_without_elr(strategy, state, acceptable, answered, given_up)


def _rule_on_fenced_elr(strategy: Strategy, eligible: tuple[int, ...], name: str) -> Ruling:
    away = f"{name_brokers(eligible)} of the {name} cannot lead now ({_AWAY})"
    if strategy is Strategy.AGGRESSIVE:
        reason = f"{away}, and aggressive does not wait"
        return Ruling(Step.UNCLEAN_RECOVERY, KipRule.FENCED_ELR_AGGRESSIVE, reason)
    reason = f"{away}; {strategy} waits: any one of them brings all committed records back"
    return Ruling(Step.WAIT, KipRule.FENCED_ELR_OTHERWISE, reason, eligible)


def _rule_without_elr(
    strategy: Strategy,
    state: PartitionState,
    acceptable: Collection[int],
    answered: Collection[int],
    given_up: Collection[int],
) -> Ruling:
    gone = [each for each in state.replicas if each in given_up]
    left = f"no replica that is left (given up: {name_brokers(gone)})" if gone else "no replica"
    unknown = f"{left} is known to hold all committed records"
    if strategy is Strategy.AGGRESSIVE:
        return Ruling(Step.UNCLEAN_RECOVERY, KipRule.NO_ELR_AGGRESSIVE, f"{unknown}: aggressive recovers")
    if strategy is Strategy.NONE:
        return Ruling(Step.NEVER, KipRule.NO_ELR_NONE, f"{unknown}, and strategy none never risks a loss")
    wanted, name = _find_replicas_to_compare(state, given_up)
    if not wanted:
        return Ruling(Step.NEVER, KipRule.NO_ELR_BALANCED, f"{unknown}, and all replicas are given up")
    fenced = tuple(each for each in wanted if each not in acceptable)
    silent = tuple(each for each in wanted if each in acceptable and each not in answered)
    if not fenced and not silent:
        reason = f"{unknown}, but {name_brokers(wanted)} ({name}) can lead and answered: balanced recovers"
        return Ruling(Step.UNCLEAN_RECOVERY, KipRule.NO_ELR_BALANCED, reason)
    missing = []
    if fenced:
        missing.append(f"{name_brokers(fenced)} cannot lead now ({_AWAY})")
    if silent:
        missing.append(f"{name_brokers(silent)} can lead but did not answer")
    reason = f"{unknown}, and balanced first compares {name}: {'; '.join(missing)}"
    return Ruling(Step.WAIT, KipRule.NO_ELR_BALANCED, reason, (*fenced, *silent))


def _find_replicas_to_compare(state: PartitionState, given_up: Collection[int]) -> tuple[tuple[int, ...], str]:
    """Return whom ``balanced`` compares, and what they are."""
    last_known = tuple(each for each in state.last_known_elr or () if each not in given_up)
    if last_known:
        return last_known, "the last known ELR"
    others = tuple(each for each in state.replicas if each not in given_up)
    if len(others) < len(state.replicas):
        return others, "all replicas that are not given up"
    return others, "all replicas, since the last known ELR is not known"


def name_brokers(broker_ids: Sequence[int]) -> str:
    """Return "broker 3" or "brokers 3, 4"."""
    return f"broker{'s' if len(broker_ids) > 1 else ''} {', '.join(map(str, broker_ids))}"
