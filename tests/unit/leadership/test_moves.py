# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Which leaders move, and why others cannot."""

from __future__ import annotations

import pytest
from hypothesis import given

from ansible_collections.kafkaops.recovery.plugins.module_utils._leadership.moves import MoveStatus, move_away, move_to
from ansible_collections.kafkaops.recovery.plugins.module_utils._leadership.orders import Order, with_last
from unit.leadership.worlds import LISTED, ORDERS, a_state


def _away(replicas: Order, isr: Order, brokers: set[int], *, leader: int = 1) -> MoveStatus | None:
    move = move_away(a_state(replicas, leader=leader)._replace(isr=isr), brokers, assume_reordered=False)
    return move.status if move else None


@pytest.mark.parametrize(
    ("replicas", "isr", "brokers", "status"),
    [
        ((2, 3, 1), (1, 2, 3), {1}, MoveStatus.WOULD_MOVE),
        ((2, 3, 1), (1, 2, 3), {4}, None),
        ((2, 3, 1), (1,), {1}, MoveStatus.ONLY_IN_SYNC),
        ((2, 1, 3), (1, 3), {1, 3}, MoveStatus.ONLY_IN_SYNC),
        ((2, 3, 1), (1, 3), {1}, MoveStatus.WOULD_MOVE),
        ((1, 2, 3), (1, 2, 3), {1}, MoveStatus.STILL_PREFERRED),
        ((1, 2), (1, 2), {1, 2}, MoveStatus.ALL_LISTED),
    ],
)
def test_away_from_a_broker(replicas: Order, isr: Order, brokers: set[int], status: MoveStatus | None) -> None:
    assert _away(replicas, isr, brokers) is status


def test_the_first_in_sync_replica_leads_if_the_preferred_one_lags() -> None:
    move = move_away(a_state((2, 4, 3, 1), leader=1)._replace(isr=(1, 3, 4)), {1}, assume_reordered=False)
    assert move is not None
    assert (move.target, move.needs_reorder) == (4, True)


def test_an_offline_partition_has_no_move() -> None:
    assert _away((2, 1), (1,), {1}, leader=-1) is None


@pytest.mark.parametrize(
    ("leader", "isr", "brokers", "status"),
    [
        (2, (1, 2, 3), {1}, MoveStatus.WOULD_MOVE),
        (1, (1, 2, 3), {1}, None),
        (2, (1, 2, 3), {3}, None),
        (2, (2, 3), {1}, MoveStatus.LAGGING),
        (-1, (2,), {1}, MoveStatus.LEADERLESS),
    ],
)
def test_back_to_a_broker(leader: int, isr: Order, brokers: set[int], status: MoveStatus | None) -> None:
    move = move_to(a_state((1, 2, 3), leader=leader)._replace(isr=isr), brokers, (1, 2, 3))
    assert (move.status if move else None) is status


@given(ORDERS, LISTED)
def test_check_mode_assumes_the_changed_order(order: Order, listed: frozenset[int]) -> None:
    foreseen = move_away(a_state(order), listed, assume_reordered=True)
    then = move_away(a_state(with_last(order, listed), leader=order[0]), listed, assume_reordered=False)
    assert (foreseen.status, foreseen.target) == (then.status, then.target) if foreseen and then else foreseen is then


@pytest.mark.parametrize(
    ("silent", "status", "target"),
    [
        ({2}, MoveStatus.WOULD_MOVE, 3),
        ({3}, MoveStatus.WOULD_MOVE, 2),
        ({2, 3}, MoveStatus.ONLY_IN_SYNC, 2),
        ({1}, MoveStatus.WOULD_MOVE, 2),
    ],
)
def test_no_leader_moves_to_a_broker_that_does_not_answer(silent: set[int], status: MoveStatus, target: int) -> None:
    unfit = dict.fromkeys(silent, "does not answer")
    move = move_away(a_state((2, 3, 1), leader=1), {1}, unfit, assume_reordered=False)
    assert move is not None
    assert (move.status, move.target) == (status, target)


def test_no_leader_moves_back_to_a_broker_that_does_not_answer() -> None:
    move = move_to(a_state((1, 2, 3), leader=2), {1}, (1, 2, 3), {1: "does not answer"})
    assert move is not None
    assert (move.status, move.reason.split(": ")[0]) == (
        MoveStatus.LAGGING,
        "broker 2 leads, and the preferred replica on broker 1 does not answer",
    )
