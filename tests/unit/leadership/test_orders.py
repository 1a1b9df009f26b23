# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Orders with some brokers last, and the restored orders."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.kafkaops.recovery.plugins.module_utils._leadership.orders import (
    Order,
    brokers_moved_last,
    filter_order,
    restore_order,
    with_last,
)
from unit.leadership.worlds import LISTED, ORDERS


@pytest.mark.parametrize(
    ("order", "listed", "expected"),
    [
        ((1, 2, 3), {1}, (2, 3, 1)),
        ((1, 2, 3), {3}, (1, 2, 3)),
        ((3, 1, 2, 4), {1, 3}, (2, 4, 3, 1)),
        ((1, 2), {1, 2}, (1, 2)),
        ((1, 2), {7}, (1, 2)),
        ((1,), {1}, (1,)),
    ],
)
def test_listed_brokers_come_last(order: Order, listed: set[int], expected: Order) -> None:
    assert with_last(order, listed) == expected


@given(ORDERS, LISTED)
def test_moving_brokers_last_keeps_the_set_and_both_relative_orders(order: Order, listed: frozenset[int]) -> None:
    last = with_last(order, listed)
    assert sorted(last) == sorted(order)
    assert filter_order(last, listed) == filter_order(order, listed)
    assert last == (*(each for each in order if each not in listed), *filter_order(order, listed))
    assert with_last(last, listed) == last


@given(ORDERS, LISTED)
def test_the_moved_brokers_follow_from_the_two_orders(order: Order, listed: frozenset[int]) -> None:
    last = with_last(order, listed)
    assert brokers_moved_last(order, last) == (() if last == order else filter_order(order, listed))


@given(ORDERS, LISTED)
def test_an_unchanged_set_gets_its_original_order(order: Order, listed: frozenset[int]) -> None:
    last = with_last(order, listed)
    assert restore_order(last, order, last) == order


@pytest.mark.parametrize(
    ("current", "original", "ours", "expected"),
    [
        ((2, 4, 1), (1, 2, 3), (2, 3, 1), (1, 2, 4)),  # broker 3 replaced by 4
        ((4, 2, 1), (1, 2, 3), (2, 3, 1), (1, 4, 2)),  # and 4 is put first
        ((2, 4, 1), (2, 1, 3), (2, 3, 1), (2, 1, 4)),  # 1 was second, behind 2
        ((2, 3, 1, 4), (1, 2, 3), (2, 3, 1), (1, 2, 3, 4)),  # a replica was added
        ((2, 3), (1, 2, 3), (2, 3, 1), (2, 3)),  # the listed replica was removed
        ((3, 1), (1, 2, 3), (2, 3, 1), (1, 3)),  # another replica was removed
        ((3, 4, 1, 2), (1, 2, 3, 4), (3, 4, 1, 2), (1, 2, 3, 4)),  # two brokers are listed
        ((4, 5, 1, 2), (1, 2, 3, 4), (3, 4, 1, 2), (1, 2, 4, 5)),
    ],
)
def test_a_changed_set_stays(current: Order, original: Order, ours: Order, expected: Order) -> None:
    assert restore_order(current, original, ours) == expected


@given(ORDERS, LISTED, st.data())
def test_any_change_of_the_set_keeps_the_original_relative_order(
    original: Order, listed: frozenset[int], data: st.DataObject
) -> None:
    """Some replicas were removed, some added. The others, which are in our order, get their original order."""
    ours = with_last(original, listed)
    stayed = [each for each in ours if data.draw(st.booleans(), label=f"{each} stays")]
    current = list(stayed)
    for new in data.draw(st.lists(st.integers(10, 19), max_size=3, unique=True)):
        current.insert(data.draw(st.integers(0, len(current))), new)
    restored = restore_order(tuple(current), original, ours)
    assert sorted(restored) == sorted(current)
    assert filter_order(restored, stayed) == filter_order(original, stayed)
    others = [each for each in current if each not in brokers_moved_last(original, ours)]
    assert filter_order(restored, others) == tuple(others)
