# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The strategies, compared with KIP-966's rules."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.kafkaops.recovery.plugins.module_utils._model.partition import PartitionState
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.strategy import (
    KipRule,
    Step,
    Strategy,
    apply_strategy,
)
from unit.recovery.wreckage import an_offline_partition

NONE, BALANCED, AGGRESSIVE = Strategy.NONE, Strategy.BALANCED, Strategy.AGGRESSIVE

# What the metadata says on 4.x with ELR after the last leader, 1, was killed; and with ELR off.
WITH_ELR: dict[str, Any] = {"isr": (), "elr": (1,), "last_known_elr": (1,)}
WITHOUT_ELR: dict[str, Any] = {"isr": (1,), "elr": None, "last_known_elr": None}
ELR_OFF: dict[str, Any] = {"isr": (1,), "elr": (), "last_known_elr": ()}
ELR_LEFT: dict[str, Any] = {"isr": (), "elr": (), "last_known_elr": (1,)}
NOTHING_KNOWN: dict[str, Any] = {"isr": (), "elr": (), "last_known_elr": ()}


class Row(NamedTuple):
    """A partition, and the expected rule."""

    name: str
    strategies: Iterable[Strategy]
    partition: dict[str, Any]
    acceptable: set[int]
    answered: set[int]
    step: Step
    rule: str
    awaited: tuple[int, ...] = ()


TABLE = [
    Row("another ISR member is there", Strategy, {"isr": (1, 2)}, {2, 3}, {3}, Step.LEAVE_TO_CONTROLLER, "1"),
    Row("the last ISR member is back", Strategy, WITHOUT_ELR, {1, 2, 3}, {3}, Step.LEAVE_TO_CONTROLLER, "1"),
    Row("an unfenced ELR member", Strategy, {"elr": (1, 2)}, {2, 3}, {3}, Step.ORDINARY_ELECTION, "2"),
    Row("fenced ELR, aggressive", [AGGRESSIVE], WITH_ELR, {2, 3}, {2, 3}, Step.UNCLEAN_RECOVERY, "3.1"),
    Row("fenced ELR", [BALANCED, NONE], WITH_ELR, {2, 3}, {2, 3}, Step.WAIT, "3.2", (1,)),
    Row("last ISR, aggressive", [AGGRESSIVE], WITHOUT_ELR, {2, 3}, {2}, Step.UNCLEAN_RECOVERY, "3.1"),
    Row("last ISR, ELR unknown", [BALANCED, NONE], WITHOUT_ELR, {2, 3}, {2, 3}, Step.WAIT, "3.2", (1,)),
    Row("last ISR, ELR off", [BALANCED, NONE], ELR_OFF, {2, 3}, {2, 3}, Step.WAIT, "3.2", (1,)),
    Row("no ELR, aggressive", [AGGRESSIVE], ELR_LEFT, {2, 3}, {2}, Step.UNCLEAN_RECOVERY, "4.1"),
    Row("no ELR, none", [NONE], ELR_LEFT, {1, 2, 3}, {1, 2, 3}, Step.NEVER, "4.3"),
    Row("last known ELR answered", [BALANCED], ELR_LEFT, {1, 2}, {1}, Step.UNCLEAN_RECOVERY, "4.2"),
    Row("last known ELR fenced", [BALANCED], ELR_LEFT, {2, 3}, {1, 2, 3}, Step.WAIT, "4.2", (1,)),
    Row("last known ELR silent", [BALANCED], ELR_LEFT, {1, 2, 3}, {2, 3}, Step.WAIT, "4.2", (1,)),
    Row("one fenced, one silent", [BALANCED], {"last_known_elr": (1, 2)}, {2, 3}, {3}, Step.WAIT, "4.2", (1, 2)),
    Row("nothing known, one silent", [BALANCED], NOTHING_KNOWN, {1, 2, 3}, {2, 3}, Step.WAIT, "4.2", (1,)),
    Row("nothing known, all answered", [BALANCED], NOTHING_KNOWN, {1, 2, 3}, {1, 2, 3}, Step.UNCLEAN_RECOVERY, "4.2"),
]


GIVEN_UP = [
    Row("ELR given up", [BALANCED], WITH_ELR, {2, 3}, {2, 3}, Step.UNCLEAN_RECOVERY, "4.2"),
    Row("last ISR given up", [BALANCED], WITHOUT_ELR, {2, 3}, {2, 3}, Step.UNCLEAN_RECOVERY, "4.2"),
    Row("last ISR given up, another away", [BALANCED], WITHOUT_ELR, {2}, {2}, Step.WAIT, "4.2", (3,)),
    Row("half of the ELR given up", [BALANCED], {"elr": (1, 2)}, {3}, {3}, Step.WAIT, "3.2", (2,)),
    Row("last known ELR given up", [BALANCED], ELR_LEFT, {2, 3}, {2, 3}, Step.UNCLEAN_RECOVERY, "4.2"),
    Row("never, given up or not", [NONE], WITH_ELR, {2, 3}, {2, 3}, Step.NEVER, "4.3"),
    Row("aggressive as ever", [AGGRESSIVE], WITH_ELR, {2, 3}, {2, 3}, Step.UNCLEAN_RECOVERY, "3.1"),
]


@pytest.mark.parametrize("row", GIVEN_UP, ids=lambda row: row.name)
def test_lost_brokers_are_not_waited_for(row: Row) -> None:
    for strategy in row.strategies:
        ruling = apply_strategy(strategy, an_offline_partition(**row.partition), row.acceptable, row.answered, {1})
        assert (ruling.step, ruling.rule, ruling.awaited) == (row.step, KipRule(row.rule), row.awaited)


def test_balanced_recovers_nothing_if_all_brokers_are_lost() -> None:
    ruling = apply_strategy(BALANCED, an_offline_partition(**WITH_ELR), (), (), {1, 2, 3})
    assert ruling.step is Step.NEVER
    assert "lost_brokers names brokers 1, 2, 3" in ruling.reason


@pytest.mark.parametrize("row", TABLE, ids=lambda row: row.name)
def test_each_rule_of_kip_966(row: Row) -> None:
    for strategy in row.strategies:
        ruling = apply_strategy(strategy, an_offline_partition(**row.partition), row.acceptable, row.answered)
        assert (ruling.step, ruling.rule, ruling.awaited) == (row.step, KipRule(row.rule), row.awaited)
        assert all(str(broker_id) in ruling.reason for broker_id in row.awaited)


def test_a_wait_names_the_brokers_and_the_reason() -> None:
    partition = an_offline_partition(last_known_elr=(1, 2))
    assert apply_strategy(BALANCED, partition, {2, 3}, {3}).reason == (
        "no replica is known to hold all committed records, and balanced first compares the last known ELR: "
        "broker 1 cannot lead now (fenced, or its log dir offline); broker 2 can lead but did not answer"
    )


broker_ids = st.integers(min_value=0, max_value=4)
members = st.lists(broker_ids, unique=True, max_size=3)
brokers = st.frozensets(broker_ids)
partitions = st.builds(
    an_offline_partition,
    replicas=st.permutations(range(5)),
    isr=members,
    elr=st.none() | members,
    last_known_elr=st.none() | members,
)


@given(strategy=st.sampled_from(Strategy), partition=partitions, acceptable=brokers, answered=brokers)
def test_there_is_one_ruling_for_every_partition_without_a_leader(
    strategy: Strategy, partition: PartitionState, acceptable: frozenset[int], answered: frozenset[int]
) -> None:
    ruling = apply_strategy(strategy, partition, acceptable, answered)
    members_back = acceptable & {*partition.isr, *(partition.elr or ())}
    assert ruling.reason
    assert (ruling.step is Step.WAIT) == bool(ruling.awaited)
    assert (ruling.step in (Step.LEAVE_TO_CONTROLLER, Step.ORDINARY_ELECTION)) == bool(members_back)
    if ruling.step is Step.UNCLEAN_RECOVERY:
        last_known = set(partition.last_known_elr or partition.replicas)
        assert strategy is AGGRESSIVE or (strategy is BALANCED and acceptable & answered >= last_known)
    if strategy is AGGRESSIVE:
        assert ruling.step is Step.UNCLEAN_RECOVERY or members_back


@given(partition=partitions, acceptable=brokers, answered=brokers)
def test_each_strategy_recovers_at_least_what_the_more_careful_one_recovers(
    partition: PartitionState, acceptable: frozenset[int], answered: frozenset[int]
) -> None:
    recovers = [
        apply_strategy(each, partition, acceptable, answered).step is Step.UNCLEAN_RECOVERY
        for each in (NONE, BALANCED, AGGRESSIVE)
    ]
    assert recovers == sorted(recovers)
