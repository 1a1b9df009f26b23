# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Decide the one way in which partitions without a leader go on. The terminal and the page print what this decides.

1. A missing broker that may return comes first: its return loses nothing. A broker that was declared lost is never to
   be started, and a broker that runs is never to be started.
2. If none may return, and the strategy refused, a more daring one can be looked at.
3. Otherwise somebody must follow the reasons, and look again.

Pure; standard library only.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from .._model.partition import RUNNING_STATES, BrokerState
from .plan import DONE_OR_FORESEEN, Status


class Way(StrEnum):
    """How to go on."""

    RETURN = "return"
    """Let the missing brokers return."""
    ELECT = "elect"
    """See what it costs to elect the best surviving replicas."""
    FOLLOW_REASONS = "follow_reasons"
    """Follow the reasons of the refusals, and look again."""
    NONE = "none"
    """Every partition has a leader, or gets one by the run that was planned."""


class How(StrEnum):
    """How a broker returns."""

    START = "start"
    REPAIR = "repair"
    """It runs, and a log directory of it is offline."""
    FREE = "free"
    """It runs, and the controller fences it, or it does not answer."""


@dataclass(frozen=True, slots=True)
class Return:
    """A missing broker that may return."""

    broker_id: int
    how: How
    advice: Mapping[str, Any]
    """Its entry of the start order; empty if only its state is known."""


def find_returns(
    start_order: Sequence[Mapping[str, Any]],
    states: Mapping[int, str],
    awaited: Collection[int],
    declared: Collection[int] = (),
) -> tuple[Return, ...]:
    """Return the missing brokers that may return, most useful first.

    Args:
        start_order: what a survey found (``start_order.StartAdvice``), or nothing.
        states: the state of each known broker by its id (``BrokerState``).
        awaited: the brokers with replicas of partitions that are not recovered. One that is not in the start order
            answered when that was found, and stopped since: nothing about its partitions is worth a bolder election.
        declared: the brokers that the operator declared lost.
    """
    lost = {*declared, *(broker_id for broker_id, state in states.items() if state == BrokerState.GIVEN_UP)}
    lost |= {each["broker_id"] for each in start_order if _state(each, states) == BrokerState.GIVEN_UP}
    known = {each["broker_id"] for each in start_order}
    away = [each for each, state in states.items() if state != BrokerState.ONLINE and each in {*awaited} - known]
    found = [Return(each, How.FREE if states[each] in RUNNING_STATES else How.START, {}) for each in away]
    found += [Return(each["broker_id"], _how(each, states), each) for each in start_order]
    return tuple(each for each in found if each.broker_id not in lost)


def choose_way(statuses: Collection[str], returns: Sequence[Return], *, may_elect: bool) -> Way:
    """Return the one way to go on.

    Args:
        statuses: those of the partitions (``plan.Status``), without the ones that no partition has.
        returns: from ``find_returns``.
        may_elect: whether a more daring strategy than that of the run exists.
    """
    left = {*statuses} - DONE_OR_FORESEEN
    if returns and (left or Status.WOULD_RECOVER in statuses):
        return Way.RETURN
    if not left:
        return Way.NONE
    return Way.ELECT if Status.REFUSED in left and may_elect else Way.FOLLOW_REASONS


def describe_first(returns: Sequence[Return]) -> str:
    """Return what to do first about the missing brokers, as a clause; empty if none may return."""
    if not returns:
        return ""
    broker_id = returns[0].broker_id
    return {
        How.START: f"broker {broker_id} should be started first",
        How.REPAIR: f"a log directory of broker {broker_id} should be repaired first",
        How.FREE: f"broker {broker_id}, which runs, should be looked at first",
    }[returns[0].how]


def _state(advice: Mapping[str, Any], states: Mapping[int, str]) -> str | None:
    return (advice.get("broker") or {}).get("state") or states.get(advice["broker_id"])


def _how(advice: Mapping[str, Any], states: Mapping[int, str]) -> How:
    if advice["is_running"]:
        return How.REPAIR
    return How.FREE if _state(advice, states) in RUNNING_STATES else How.START
