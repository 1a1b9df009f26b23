# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Which leader the controller elects: one named case for each of its rules, and properties of every case."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.kafkaops.recovery.plugins.module_utils._model.controller_model import (
    PredictedLeader,
    Rule,
    predict,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.partition import NO_LEADER, PartitionState

NOBODY = PredictedLeader(NO_LEADER, Rule.NOBODY)


def a_state(
    *,
    leader_id: int = NO_LEADER,
    isr: tuple[int, ...] = (),
    elr: tuple[int, ...] | None = (),
    last_known_elr: tuple[int, ...] | None = (),
) -> PartitionState:
    return PartitionState("t", 0, "A" * 22, leader_id, 5, (1, 2, 3), isr, elr, last_known_elr, ())


@pytest.mark.parametrize(
    ("state", "acceptable", "leader_id", "rule"),
    [
        pytest.param(a_state(leader_id=2, isr=(1, 2)), {1, 2, 3}, 2, Rule.HAS_LEADER, id="a leader in the ISR stays"),
        pytest.param(a_state(leader_id=2, isr=(1, 2)), {1, 3}, 1, Rule.IN_SYNC, id="a fenced leader does not"),
        pytest.param(a_state(leader_id=2, isr=(1,)), {1, 2}, 1, Rule.IN_SYNC, id="nor one outside of ISR and ELR"),
        pytest.param(a_state(leader_id=2, elr=(2,)), {1, 2}, 2, Rule.HAS_LEADER, id="a leader in the ELR stays"),
        pytest.param(a_state(isr=(2,)), {1, 2, 3}, 2, Rule.IN_SYNC, id="the ISR before the order"),
        pytest.param(a_state(isr=(3, 2)), {2, 3}, 2, Rule.IN_SYNC, id="of two in the ISR the first in order"),
        pytest.param(a_state(elr=(3,)), {1, 3}, 3, Rule.IN_SYNC, id="an ELR member that is back"),
        pytest.param(a_state(isr=(2,), elr=(3,)), {3}, 3, Rule.IN_SYNC, id="the ELR where the ISR is dead"),
        pytest.param(a_state(isr=(2,), elr=None), {2, 3}, 2, Rule.IN_SYNC, id="a broker that does not report the ELR"),
        pytest.param(
            a_state(last_known_elr=(3,)), {1, 3}, 3, Rule.LAST_KNOWN_LEADER, id="the last known leader, back (KIP-966)"
        ),
    ],
)
def test_without_an_unclean_election_the_first_rule_that_fits_decides(
    state: PartitionState, acceptable: set[int], leader_id: int, rule: Rule
) -> None:
    expected = PredictedLeader(leader_id, rule)
    assert predict(state, (1, 2, 3), acceptable, unclean=False) == expected
    assert predict(state, (1, 2, 3), acceptable, unclean=True) == expected


@pytest.mark.parametrize(
    ("state", "acceptable", "leader_id"),
    [
        pytest.param(a_state(isr=(2,)), {1, 3}, 3, id="the ISR is dead"),
        pytest.param(a_state(elr=(2,)), {1, 3}, 3, id="the ELR is dead"),
        pytest.param(a_state(), {1, 3}, 3, id="nothing is known"),
        pytest.param(a_state(elr=None, last_known_elr=None), {1, 3}, 3, id="the broker reports no ELR"),
        pytest.param(a_state(), {1}, 1, id="the first in order is fenced"),
        pytest.param(a_state(last_known_elr=(2,)), {1, 3}, 3, id="the last known leader is dead"),
        pytest.param(a_state(last_known_elr=(1, 2)), {1, 2, 3}, 3, id="two last known ones are one too many"),
        pytest.param(a_state(isr=(2,), last_known_elr=(1,)), {1, 3}, 3, id="a dead ISR bars the last known leader"),
        pytest.param(a_state(elr=(2,), last_known_elr=(1,)), {1, 3}, 3, id="and so does a dead ELR"),
    ],
)
def test_an_unclean_election_takes_the_first_acceptable_in_order_and_nothing_else_elects(
    state: PartitionState, acceptable: set[int], leader_id: int
) -> None:
    assert predict(state, (3, 1, 2), acceptable, unclean=True) == PredictedLeader(leader_id, Rule.UNCLEAN)
    assert predict(state, (3, 1, 2), acceptable, unclean=False) == NOBODY


brokers = st.integers(1, 5)
some = st.lists(brokers, unique=True).map(tuple)
states = st.builds(
    a_state,
    leader_id=brokers | st.just(NO_LEADER),
    isr=some,
    elr=st.none() | some,
    last_known_elr=st.none() | some,
)
orders = st.permutations(range(1, 6))


@given(states, orders, st.sets(brokers), st.booleans())
def test_only_an_acceptable_replica_is_ever_elected(
    state: PartitionState, order: list[int], acceptable: set[int], unclean: bool
) -> None:
    prediction = predict(state, order, acceptable, unclean=unclean)
    assert (prediction.leader_id == NO_LEADER) == (prediction.rule is Rule.NOBODY)
    assert prediction.leader_id in {*acceptable, NO_LEADER}


@given(states, orders, st.sets(brokers))
def test_unclean_election_finds_no_leader_only_without_acceptable_replicas(
    state: PartitionState, order: list[int], acceptable: set[int]
) -> None:
    assert (predict(state, order, acceptable, unclean=True) == NOBODY) == (not acceptable)


@given(states, orders, st.sets(brokers))
def test_an_unclean_election_changes_nothing_where_a_clean_one_elects(
    state: PartitionState, order: list[int], acceptable: set[int]
) -> None:
    clean = predict(state, order, acceptable, unclean=False)
    unclean = predict(state, order, acceptable, unclean=True)
    assert unclean == clean or (clean == NOBODY and unclean.rule is Rule.UNCLEAN)
    assert clean.rule is not Rule.UNCLEAN


@given(states, orders, st.sets(brokers), st.booleans())
def test_nothing_is_lost_while_a_member_of_isr_or_elr_may_lead(
    state: PartitionState, order: list[int], acceptable: set[int], unclean: bool
) -> None:
    prediction = predict(state, order, acceptable, unclean=unclean)
    eligible = {*state.isr, *(state.elr or ())}
    assert (prediction.leader_id in eligible) == bool(eligible & acceptable)


@given(states, orders, st.sets(brokers, min_size=1))
def test_first_replica_is_elected_uncleanly_unless_another_rule_applies(
    state: PartitionState, order: list[int], acceptable: set[int]
) -> None:
    wanted = min(acceptable)
    prediction = predict(state, [wanted, *(each for each in order if each != wanted)], acceptable, unclean=True)
    assert prediction.leader_id == wanted or prediction.rule is not Rule.UNCLEAN


@given(states, orders, st.sets(brokers), st.booleans())
def test_unknown_elr_counts_as_empty(
    state: PartitionState, order: list[int], acceptable: set[int], unclean: bool
) -> None:
    silent = state._replace(elr=None, last_known_elr=None)
    telling = state._replace(elr=(), last_known_elr=())
    assert predict(silent, order, acceptable, unclean=unclean) == predict(telling, order, acceptable, unclean=unclean)
