# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The brokers that a run waits for, and those whose answer cannot change an election."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from ansible_collections.kafkaops.recovery.plugins.module_utils._model.partition import Broker, BrokerState
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.start_order import (
    find_awaited,
    name_with_states,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.strategy import Policy, Strategy
from unit.recovery.wreckage import an_offline_partition

NONE, BALANCED, AGGRESSIVE = Strategy.NONE, Strategy.BALANCED, Strategy.AGGRESSIVE
ONLINE, FENCED, HUNG = BrokerState.ONLINE, BrokerState.FENCED, BrokerState.HUNG
ONE_AND_TWO_AWAY: dict[str, Any] = {"elr": (1,), "last_known_elr": (1,), "offline": (1, 2)}


def brokers(**states: BrokerState) -> list[Broker]:
    return [
        Broker(int(name[1:]), f"host{name}", 9092, None, is_fenced=state is FENCED, state=state, cause=f"{state}")
        for name, state in states.items()
    ]


def awaited(strategy: Strategy, known: Iterable[Broker], **partition: Any) -> dict[int, tuple[int, int]]:
    found = find_awaited([an_offline_partition(**partition)], {"orders": Policy(strategy)}, known)
    return {each.broker_id: (each.partitions, each.holds_back) for each in found.brokers}


AWAY = brokers(b1=FENCED, b2=FENCED, b3=ONLINE)


def test_aggressive_waits_for_every_replica_and_balanced_for_those_that_it_needs() -> None:
    assert awaited(AGGRESSIVE, AWAY, **ONE_AND_TWO_AWAY) == {1: (1, 0), 2: (1, 0)}
    assert awaited(BALANCED, AWAY, **ONE_AND_TWO_AWAY) == {1: (1, 1)}
    assert awaited(NONE, AWAY, **ONE_AND_TWO_AWAY) == {1: (1, 1)}


def test_lost_and_unauthorized_brokers_are_not_awaited() -> None:
    for state in (BrokerState.GIVEN_UP, BrokerState.NOT_AUTHORIZED):
        assert awaited(AGGRESSIVE, brokers(b1=state, b2=HUNG, b3=ONLINE), **ONE_AND_TWO_AWAY) == {2: (1, 0)}
    given_up = brokers(b1=BrokerState.GIVEN_UP, b2=FENCED, b3=ONLINE)
    assert awaited(BALANCED, given_up, **ONE_AND_TWO_AWAY) == {2: (1, 1)}, "the others are compared then"


@pytest.mark.parametrize("strategy", Strategy)
def test_no_broker_is_awaited_if_its_answer_cannot_change_the_election(strategy: Strategy) -> None:
    known = brokers(b1=FENCED, b2=ONLINE, b3=ONLINE)
    assert awaited(strategy, known, elr=(2,), offline=(1,)) == {}, "an ordinary election"
    assert awaited(strategy, known, isr=(2,), offline=(1,)) == {}, "the controller elects by itself"
    nobody_knows: dict[str, Any] = {"elr": (), "last_known_elr": (), "offline": (1,)}
    assert (1 in awaited(strategy, known, **nobody_knows)) == (strategy is not NONE), "none never elects then"


def test_partitions_that_the_controller_is_about_to_elect_are_counted() -> None:
    found = find_awaited([an_offline_partition(isr=(2,), offline=(1,))], {"orders": Policy(BALANCED)}, AWAY)
    assert found.left_to_controller == 1


def test_brokers_are_named_in_start_order() -> None:
    state = an_offline_partition(elr=(2,), last_known_elr=(2,), offline=(1, 2))
    found = find_awaited([state], {"orders": Policy(AGGRESSIVE)}, AWAY)
    assert name_with_states(found.brokers) == "broker 2 (fenced), broker 1 (fenced)"
