# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The decision about one partition: drift, crashes, and remembered orders."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.kafkaops.recovery.plugins.module_utils._leadership.decide import (
    OrderStatus,
    decide,
    decide_deleted,
    decide_hidden,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._leadership.orders import (
    Drift,
    Order,
    RememberedOrder,
    filter_order,
    with_last,
)
from unit.leadership.worlds import LISTED, ORDERS, OTHER_TOPIC_ID, TOPIC_ID, a_state

ORIGINAL, OURS = (1, 2, 3), (2, 3, 1)


def _remembered(original: Order = ORIGINAL, *ours: Order) -> RememberedOrder:
    return RememberedOrder("orders", 0, TOPIC_ID, original, ours or (original, OURS))


def test_a_new_partition() -> None:
    decision = decide(a_state(ORIGINAL), None, {1})
    assert decision.outcome.status is OrderStatus.WOULD_REORDER
    assert decision.outcome.replicas_after == OURS
    assert decision.remember == _remembered(ORIGINAL, ORIGINAL, OURS)


def test_nothing_is_remembered_if_the_broker_is_last_already() -> None:
    decision = decide(a_state((2, 3, 1)), None, {1})
    assert (decision.outcome.status, decision.has_work) == (OrderStatus.IN_ORDER, False)
    assert (decision.forgets, decision.requests_order) == (False, False)


def test_every_replica_listed() -> None:
    decision = decide(a_state(ORIGINAL), None, {1, 2, 3})
    assert (decision.outcome.status, decision.has_work) == (OrderStatus.ALL_LISTED, False)


def test_nothing_to_do_the_second_time() -> None:
    decision = decide(a_state(OURS), _remembered(), {1})
    assert (decision.outcome.status, decision.has_work) == (OrderStatus.IN_ORDER, False)


def test_a_run_that_died_after_remembering_and_before_the_reorder() -> None:
    """The order is set, although it is remembered already."""
    decision = decide(a_state(ORIGINAL), _remembered(), {1})
    assert (decision.remember, decision.outcome.replicas_after) == (_remembered(), OURS)
    assert decision.has_work


def test_one_of_two_is_removed() -> None:
    both = with_last(ORIGINAL, {1, 2})
    decision = decide(a_state(both), _remembered(ORIGINAL, ORIGINAL, both), {2})
    assert decision.outcome.replicas_after == (1, 3, 2)
    assert decision.outcome.status is OrderStatus.WOULD_REORDER
    assert decision.remember == _remembered(ORIGINAL, ORIGINAL, both, (1, 3, 2))


def test_any_other_order_is_another_partys() -> None:
    assert decide(a_state(ORIGINAL), None, {1}).possible_orders == {ORIGINAL, OURS}
    assert decide(a_state((3, 2, 1)), _remembered(), set()).possible_orders == {ORIGINAL, OURS, (3, 2, 1)}
    assert decide_deleted(_remembered()).possible_orders == {ORIGINAL, OURS}


def test_the_last_one_is_removed() -> None:
    decision = decide(a_state(OURS), _remembered(), set())
    assert (decision.outcome.status, decision.outcome.replicas_after) == (OrderStatus.WOULD_RESTORE, ORIGINAL)
    assert decision.forgets


def test_the_original_order_is_restored_already() -> None:
    """A run died after the restore, or a person restored the order."""
    decision = decide(a_state(ORIGINAL), _remembered(), set())
    assert decision.outcome.status is OrderStatus.IN_ORDER
    assert (decision.is_reorder, decision.forgets) == (False, True)
    assert decision.requests_order  # a broker that lags shows it as well


@pytest.mark.parametrize("listed", [set(), {1}])
def test_another_partys_order_stays(listed: set[int]) -> None:
    decision = decide(a_state((3, 2, 1)), _remembered(), listed)
    assert (decision.outcome.status, decision.outcome.drift) == (OrderStatus.CONFLICT, Drift.REORDERED)
    assert (decision.is_reorder, decision.forgets) == (False, True)


def test_another_partys_order_with_the_listed_broker_first() -> None:
    """The list still applies, and their order is restored later."""
    decision = decide(a_state((1, 3, 2)), _remembered(), {1})
    assert decision.outcome.replicas_after == (3, 2, 1)
    assert decision.remember is not None
    assert decision.remember.original == (1, 3, 2)


def test_an_order_of_an_earlier_replica_set_is_another_partys() -> None:
    """Another party replaced broker 3 by 4 while 1 was listed, a run followed, and then it replaced 4 by 3."""
    reassigned = decide(a_state((2, 4, 1)), _remembered(), {1}).remember
    assert reassigned == _remembered((1, 2, 4), (2, 4, 1))
    decision = decide(a_state(OURS), reassigned, {1})
    assert decision.outcome.drift is Drift.REASSIGNED
    assert (decision.outcome.original, decision.outcome.replicas_after) == (ORIGINAL, OURS)
    assert decision.remember == _remembered(ORIGINAL, OURS)


@pytest.mark.parametrize(("current", "back"), [(OURS, ORIGINAL), ((1, 2, 5), (1, 2, 5))])
def test_orders_of_another_replica_set_are_not_restored(current: Order, back: Order) -> None:
    decision = decide(a_state(current), _remembered((1, 2, 4), ORIGINAL, OURS, (2, 4, 1)), set())
    assert (decision.outcome.drift, decision.outcome.replicas_after) == (Drift.REASSIGNED, back)


@pytest.mark.parametrize(
    ("current", "restored", "still_listed"),
    [
        ((2, 4, 1), (1, 2, 4), (2, 4, 1)),
        ((2, 3, 1, 4), (1, 2, 3, 4), (2, 3, 4, 1)),
        ((2, 3), (2, 3), (2, 3)),
        ((1, 4, 5), (1, 4, 5), (4, 5, 1)),
        ((4, 3, 2, 1), (4, 3, 2, 1), (4, 3, 2, 1)),  # in an order of their own
        ((4, 5, 6), (4, 5, 6), (4, 5, 6)),
    ],
)
def test_a_reassigned_partition_keeps_its_set(current: Order, restored: Order, still_listed: Order) -> None:
    for listed, expected in ((set(), restored), ({1}, still_listed)):
        decision = decide(a_state(current), _remembered(), listed)
        assert decision.outcome.drift is Drift.REASSIGNED
        assert decision.outcome.replicas_after == expected
        assert str(list(current)) in decision.outcome.reason


def test_a_re_created_topic() -> None:
    decision = decide(a_state(OURS, topic_id=OTHER_TOPIC_ID), _remembered(), set())
    assert (decision.outcome.status, decision.is_reorder) == (OrderStatus.GONE, False)
    assert (decision.forgets, decision.requests_order) == (True, False)
    of_the_old_one = _remembered(ORIGINAL, ORIGINAL, (3, 2, 1), OURS)
    listed = decide(a_state(ORIGINAL, topic_id=OTHER_TOPIC_ID), of_the_old_one, {1})
    assert listed.outcome.status is OrderStatus.WOULD_REORDER
    assert listed.remember is not None
    assert listed.remember.topic_id == OTHER_TOPIC_ID
    assert listed.remember.ours == (ORIGINAL, OURS)
    last_already = decide(a_state(OURS, topic_id=OTHER_TOPIC_ID), _remembered(), {1})
    assert (last_already.outcome.status, last_already.forgets) == (OrderStatus.IN_ORDER, True)


@pytest.mark.parametrize(
    ("current", "remembered", "listed", "words"),
    [
        (ORIGINAL, None, {1}, "broker 1 is last"),
        (ORIGINAL, None, {1, 2}, "brokers 1, 2 are last"),
        ((2, 3, 1), None, {1}, "broker 1 is last already"),
        ((3, 1, 2), None, {1, 2}, "brokers 1, 2 are last already"),
        (ORIGINAL, None, set(), "in its original order"),
        (OURS, _remembered(), set(), "back to [1, 2, 3]"),
    ],
)
def test_the_reason_names_the_brokers(
    current: Order, remembered: RememberedOrder | None, listed: set[int], words: str
) -> None:
    assert decide(a_state(current), remembered, listed).outcome.reason == words


def test_a_deleted_partition_is_forgotten_and_a_hidden_one_is_not() -> None:
    assert (decide_deleted(_remembered()).forgets, decide_deleted(_remembered()).requests_order) == (True, False)
    assert not decide_hidden(_remembered(), "not authorized").has_work


def test_an_offline_partition_is_left_alone() -> None:
    decision = decide(a_state(ORIGINAL, leader=-1), None, {1})
    assert (decision.outcome.status, decision.has_work) == (OrderStatus.LEFT_ALONE, False)
    restore = decide(a_state(OURS, leader=-1), _remembered(), set())
    assert (restore.outcome.status, restore.remember) == (OrderStatus.LEFT_ALONE, _remembered())
    back = decide(a_state(ORIGINAL, leader=-1), _remembered(), set())
    assert (back.outcome.status, back.has_work) == (OrderStatus.LEFT_ALONE, False)


@given(ORDERS, st.lists(LISTED, min_size=1, max_size=6), st.data())
def test_any_history_of_lists_and_crashes_ends_in_the_original_order(
    original: Order, lists: list[frozenset[int]], data: st.DataObject
) -> None:
    """Each run may die before it reorders, or before it forgets. The next run continues from there."""
    current, memory = original, None
    for listed in [*lists, frozenset[int]()]:
        for _attempt in range(2):
            decision = decide(a_state(current), memory, listed)
            assert decision.outcome.original == original
            memory = decision.remember or memory
            assert decision.outcome.replicas_after is not None
            if _attempt == 0 and data.draw(st.booleans(), label="dies before it reorders"):
                continue
            current = decision.outcome.replicas_after
            if _attempt == 0 and data.draw(st.booleans(), label="dies before it forgets"):
                continue
            memory = decision.remember
        assert current == with_last(original, listed)
        assert not decide(a_state(current), memory, listed).has_work
    assert (current, memory) == (original, None)


@given(ORDERS, LISTED, ORDERS, LISTED, st.data())
def test_a_decision_keeps_the_replica_set_and_needs_no_second_run(
    original: Order, before: frozenset[int], elsewhere: Order, listed: frozenset[int], data: st.DataObject
) -> None:
    """Another party may have changed the partition in any way, and any orders may be remembered as ours."""
    foreign = data.draw(st.lists(ORDERS, max_size=3), label="orders of any set")
    ours = data.draw(st.permutations([original, with_last(original, before), *foreign]).map(tuple), label="ours")
    memory = data.draw(st.none() | st.just(RememberedOrder("orders", 0, TOPIC_ID, original, ours)), label="memory")
    current = data.draw(st.sampled_from([elsewhere, *ours]), label="current")
    decision = decide(a_state(current), memory, listed)
    after = decision.outcome.replicas_after
    assert after is not None
    assert sorted(after) == sorted(current)
    assert after[len(after) - len(filter_order(after, listed)) :] == filter_order(after, listed)
    assert not decide(a_state(after), decision.remember, listed).has_work
