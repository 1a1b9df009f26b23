# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Which brokers that are away are worth waiting for. Pure; standard library only."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from .._model.controller_model import acceptable_replicas
from .._model.partition import Broker, BrokerState, PartitionState
from .start_order import start_order
from .strategy import Policy, Step, rule_on

_MAY_RETURN = frozenset({BrokerState.FENCED, BrokerState.UNREACHABLE, BrokerState.HUNG})
"""Waiting does not help where a broker refuses us, and is not wanted where it was given up."""


@dataclass(frozen=True, slots=True)
class AwaitedBroker:
    """A broker that is away, and what its return may change. Counts are of partitions without a leader."""

    broker_id: int
    state: BrokerState
    cause: str
    partitions: int
    """For which its answer may decide who is elected."""
    holds_back: int
    """Of these, those that the strategy does not recover without it."""


@dataclass(frozen=True, slots=True)
class Expected:
    """What a run waits for."""

    brokers: tuple[AwaitedBroker, ...]
    """The one to start first comes first."""
    coming: int
    """How many partitions the controller is about to elect a leader for by itself."""


def expected(
    partitions: Iterable[PartitionState], policies: Mapping[str, Policy], brokers: Iterable[Broker]
) -> Expected:
    """Return what the partitions without a leader wait for. ``policies`` are by topic.

    An answer decides nothing where the controller or an ordinary election brings a member of the ISR or ELR, or where
    the strategy forbids any other election.
    """
    known = {each.broker_id: each for each in brokers}
    online = frozenset(each.broker_id for each in known.values() if each.state is BrokerState.ONLINE)
    given_up = frozenset(each.broker_id for each in known.values() if each.state is BrokerState.GIVEN_UP)
    away = frozenset(each.broker_id for each in known.values() if each.state in _MAY_RETURN)
    wanted: Counter[int] = Counter()
    needed: Counter[int] = Counter()
    coming = 0
    states = [each for each in partitions if each.is_offline]
    for state in states:
        ruling = rule_on(policies[state.topic].strategy, state, acceptable_replicas(state), online, given_up)
        if ruling.step is Step.UNCLEAN_RECOVERY:
            wanted.update(away.intersection(state.replicas))
        elif ruling.step is Step.WAIT:
            wanted.update(away.intersection(ruling.awaited))
            needed.update(away.intersection(ruling.awaited))
        coming += ruling.step is Step.LEAVE
    order = {each.broker_id: place for place, each in enumerate(start_order(states, known.values()))}
    return Expected(
        tuple(
            AwaitedBroker(each, known[each].state, known[each].cause, wanted[each], needed[each])
            for each in sorted(wanted, key=lambda each: (order.get(each, len(order)), each))
        ),
        coming,
    )


def in_words(brokers: Iterable[AwaitedBroker]) -> str:
    """Name the brokers and their states, the one to start first before the others."""
    return ", ".join(f"broker {each.broker_id} ({each.state.value.replace('_', ' ')})" for each in brokers)
