# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Preferred elections, and reports of partitions that change during the run."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from ansible_collections.kafkaops.recovery.plugins.module_utils._leadership.blacklist import Blacklist
from ansible_collections.kafkaops.recovery.plugins.module_utils._leadership.election_module import failure_message
from ansible_collections.kafkaops.recovery.plugins.module_utils._leadership.memory import (
    Memory,
    list_changes,
    order_changes,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._leadership.moves import MoveStatus
from ansible_collections.kafkaops.recovery.plugins.module_utils._leadership.orders import (
    Order,
    RememberedOrder,
    with_last,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.partition import (
    NO_LEADER,
    BrokerState,
    TopicPartition,
)
from unit.fakes.clock import FakeClock
from unit.fakes.fates import Fate
from unit.leadership.well_cluster import PREFERRED_LEADER_NOT_AVAILABLE, Bastion, WellCluster
from unit.leadership.worlds import TOPIC_ID

FIRST, SECOND = TopicPartition("orders", 0), TopicPartition("orders", 1)


@pytest.fixture
def cluster(bastion: Bastion) -> WellCluster:
    """Broker 1 is last in the orders of two partitions, and leads both."""
    bastion.cluster.add(0, (2, 3, 1), leader=1)
    bastion.cluster.add(1, (2, 3, 1), leader=1)
    return bastion.cluster


def test_leaders_move(bastion: Bastion, cluster: WellCluster) -> None:
    report = bastion.move_leaders(away_from=[1])
    assert {(each.status, each.leader_after) for each in report.moves.values()} == {(MoveStatus.MOVED, 2)}
    assert cluster.kinds() == ["elect"]
    assert report.is_changed


def test_a_leader_that_another_party_moved_is_no_change_of_this_run(bastion: Bastion, cluster: WellCluster) -> None:
    """The first read lags, so this run requests nothing."""
    cluster.lag_behind(1)
    for each in (FIRST, SECOND):
        cluster.change(each, leader_id=2)
    report = bastion.move_leaders(away_from=[1])
    assert {each.status for each in report.moves.values()} == {MoveStatus.MOVED}
    assert cluster.writes == []
    assert not report.is_changed


def _led_by_another(cluster: WellCluster) -> None:
    cluster.change(FIRST, leader_id=3)


def _leaderless(cluster: WellCluster) -> None:
    cluster.change(FIRST, leader_id=NO_LEADER)


def _deleted(cluster: WellCluster) -> None:
    del cluster.states[FIRST]


@pytest.mark.parametrize(
    ("interfere", "ended", "reason"),
    [
        (_led_by_another, (MoveStatus.MOVED, 3), "broker 2 is preferred"),
        (_leaderless, (MoveStatus.LEADERLESS, NO_LEADER), "recover it first"),
        (_deleted, (MoveStatus.FAILED, None), "not in the metadata any more"),
    ],
)
def test_a_partition_that_changes_between_two_attempts_is_reported(
    bastion: Bastion,
    cluster: WellCluster,
    interfere: Callable[[WellCluster], None],
    ended: tuple[MoveStatus, int | None],
    reason: str,
) -> None:
    cluster.fates["elect"] = [Fate(lost_request=True, before=lambda: interfere(cluster))]
    moves = bastion.move_leaders(away_from=[1]).moves
    assert (moves[FIRST].status, moves[FIRST].leader_after) == ended
    assert reason in moves[FIRST].reason
    assert (moves[SECOND].status, moves[SECOND].leader_after) == (MoveStatus.MOVED, 2)


def test_a_leader_that_a_lagging_first_read_missed_is_moved_as_well(bastion: Bastion, cluster: WellCluster) -> None:
    cluster.change(FIRST, leader_id=2)
    cluster.lag_behind(1)
    cluster.change(FIRST, leader_id=1)
    moves = bastion.move_leaders(away_from=[1]).moves
    assert {(each.status, each.leader_after) for each in moves.values()} == {(MoveStatus.MOVED, 2)}
    assert [each.partitions for each in cluster.writes] == [(SECOND,), (FIRST,)]
    assert [*moves] == [FIRST, SECOND]


def test_an_order_that_only_a_lagging_broker_shows_is_no_failure(bastion: Bastion, cluster: WellCluster) -> None:
    """The list has just changed the order, and the first broker does not show it yet."""
    cluster.change(FIRST, replicas=(1, 2, 3))
    cluster.change(SECOND, replicas=(1, 2, 3))
    cluster.lag_behind(1)
    cluster.change(FIRST, replicas=(2, 3, 1))
    cluster.change(SECOND, replicas=(2, 3, 1), leader_id=2)
    moves = bastion.move_leaders(away_from=[1]).moves
    assert {(each.status, each.leader_after) for each in moves.values()} == {(MoveStatus.MOVED, 2)}
    assert [each.partitions for each in cluster.writes] == [(FIRST,)]


def test_a_leader_that_cannot_be_moved_is_reported_after_all_attempts(bastion: Bastion, cluster: WellCluster) -> None:
    cluster.change(FIRST, replicas=(1, 2, 3))
    cluster.fates["elect"] = [Fate(errors={SECOND: PREFERRED_LEADER_NOT_AVAILABLE})] * 9
    moves = bastion.move_leaders(away_from=[1]).moves
    assert {each: move.status for each, move in moves.items()} == {
        FIRST: MoveStatus.STILL_PREFERRED,
        SECOND: MoveStatus.FAILED,
    }
    assert cluster.kinds() == ["elect"] * 3


def test_a_leader_that_returns_after_each_election_is_reported(
    bastion: Bastion, cluster: WellCluster, clock: FakeClock
) -> None:
    """Another party moves it back."""
    del cluster.states[SECOND]
    sleep = clock.sleep

    def move_back(seconds: float) -> None:
        sleep(seconds)
        cluster.change(FIRST, leader_id=1)

    clock.sleep = move_back  # type: ignore[method-assign]
    moves = bastion.move_leaders(away_from=[1]).moves
    assert (moves[FIRST].status, moves[FIRST].leader_after) == (MoveStatus.FAILED, 1)
    assert cluster.kinds() == ["elect"] * 3


def test_an_order_that_is_not_restored_after_the_election_is_reported(bastion: Bastion, cluster: WellCluster) -> None:
    cluster.change(FIRST, isr=(1, 3))

    def reassign() -> None:
        cluster.reassigning = frozenset({FIRST})

    cluster.fates["elect"] = [Fate(after=reassign)]
    moves = bastion.move_leaders(away_from=[1]).moves
    assert (moves[FIRST].status, moves[FIRST].leader_after) == (MoveStatus.MOVED, 3)
    assert "is not restored: another party is reassigning it" in moves[FIRST].reason
    assert "is not restored" not in moves[SECOND].reason
    assert cluster.pending() == (), "another party has changed it"


def test_a_late_election_is_waited_for_before_its_order_counts_as_restored(
    bastion: Bastion, cluster: WellCluster, clock: FakeClock
) -> None:
    """Broker 2, the preferred leader, is not in sync, so the order is changed for the election."""
    for each in (FIRST, SECOND):
        cluster.change(each, isr=(1, 3))
    cluster.fates["elect"] = [Fate(lost_request=True, executed_after_s=40)]
    moves = bastion.move_leaders(away_from=[1]).moves
    assert {(each.status, each.leader_after) for each in moves.values()} == {(MoveStatus.MOVED, 3)}
    assert sum(clock.slept) > 60, "a broker keeps the request for 60 s"
    assert {each.replicas for each in cluster.states.values()} == {(2, 3, 1)}
    assert cluster.pending() == ()


def test_a_run_that_is_asked_to_stop_requests_no_second_election(bastion: Bastion, cluster: WellCluster) -> None:
    cluster.fates["elect"] = [Fate(errors={SECOND: PREFERRED_LEADER_NOT_AVAILABLE}, after=bastion.stop.set)]
    moves = bastion.move_leaders(away_from=[1]).moves
    assert {each: move.status for each, move in moves.items()} == {FIRST: MoveStatus.MOVED, SECOND: MoveStatus.FAILED}
    assert "asked to stop" in moves[SECOND].reason
    assert cluster.kinds() == ["elect"]


def test_a_run_with_nothing_to_do_does_not_pause(bastion: Bastion, cluster: WellCluster, clock: FakeClock) -> None:
    assert bastion.move_leaders(away_from=[4]).moves == {}
    assert (clock.slept, cluster.writes) == ([], [])


def test_check_mode_does_not_pause(bastion: Bastion, cluster: WellCluster, clock: FakeClock) -> None:
    moves = bastion.move_leaders(away_from=[1], check_mode=True).moves
    assert {each.status for each in moves.values()} == {MoveStatus.WOULD_MOVE}
    assert (clock.slept, cluster.writes) == ([], [])


@pytest.mark.parametrize(
    ("listed", "second", "targets"), [((1,), (4, 1, 2), {FIRST: 1}), ((1, 4), (1, 2, 4), {FIRST: 1, SECOND: 1})]
)
def test_check_mode_assumes_the_orders_after_a_restore(
    bastion: Bastion, cluster: WellCluster, listed: Order, second: Order, targets: dict[TopicPartition, int]
) -> None:
    """Broker 1 is removed from the list. Broker 4 stays on it, if it is listed."""
    originals = {FIRST: (1, 2, 3), SECOND: (4, 1, 2)}
    orders = {
        each: RememberedOrder("orders", each.partition, TOPIC_ID, original, (with_last(original, listed),))
        for each, original in originals.items()
    }
    with bastion.memory() as held:
        held.write({**list_changes(Memory(Blacklist(listed))), **order_changes(orders, orders)})
    for each, original in originals.items():
        cluster.change(each, leader_id=2, replicas=with_last(original, listed), isr=original)
    foreseen = bastion.move_leaders(back_to=[1], check_mode=True).moves
    assert {each: move.target for each, move in foreseen.items()} == targets
    assert {each.status for each in foreseen.values()} == {MoveStatus.WOULD_MOVE}
    assert cluster.writes == []

    cluster.change(FIRST, replicas=originals[FIRST])
    cluster.change(SECOND, replicas=second)
    assert {each: move.leader_after for each, move in bastion.move_leaders(back_to=[1]).moves.items()} == targets


def test_a_run_waits_until_a_silent_leader_is_fenced(bastion: Bastion, cluster: WellCluster) -> None:
    """Broker 1 may lead what broker 3 leads now: only then does it lead nothing."""
    cluster.add(2, (2, 3, 1), leader=3)
    cluster.broker_states[3] = BrokerState.HUNG
    cluster.will_fence(3, leader_id=1, after_s=3)
    report = bastion.move_leaders(away_from=[1])
    assert {str(each): move.status for each, move in report.moves.items()} == dict.fromkeys(
        ["orders-0", "orders-1", "orders-2"], MoveStatus.MOVED
    )


@pytest.mark.parametrize("check_mode", [False, True])
def test_a_leader_that_stays_silent_is_a_failure(bastion: Bastion, cluster: WellCluster, check_mode: bool) -> None:
    third = cluster.add(2, (3, 2, 1), leader=3)
    cluster.add(3, (3, 2), leader=3)
    cluster.broker_states[3] = BrokerState.UNREACHABLE
    report = bastion.move_leaders(away_from=[1], check_mode=check_mode)
    assert report.moves[third].status is MoveStatus.LED_BY_SILENT
    assert {each.target for each in report.moves.values() if each.status is not MoveStatus.LED_BY_SILENT} == {2}
    assert len(report.moves) == 3
    message = failure_message(report)
    assert message is not None
    assert message.startswith("1 partition is led by brokers that do not answer")


@pytest.mark.parametrize(
    ("second_isr", "remembered", "left"),
    [((1, 2, 3), (), ()), ((2, 3), (), (1,)), ((1, 2, 3), (1, 2, 3), (1,)), ((1, 2, 3), (3, 1, 2), ())],
    ids=["all are back", "one is not in sync", "its order is not restored", "the order of another broker is not"],
)
def test_a_broker_whose_leaders_are_back_is_forgotten(
    bastion: Bastion, cluster: WellCluster, second_isr: Order, remembered: Order, left: tuple[int, ...]
) -> None:
    for each, isr in ((FIRST, (1, 2, 3)), (SECOND, second_isr)):
        cluster.change(each, leader_id=2, replicas=(1, 2, 3), isr=isr)
    orders = {}
    if remembered:
        third = cluster.add(2, (2, 3, 1), leader=2)
        orders = {third: RememberedOrder("orders", third.partition, TOPIC_ID, remembered, ((2, 3, 1),))}
    with bastion.memory() as held:
        held.write({**list_changes(Memory(returning=(1, 4))), **order_changes(orders, orders)})
    bastion.move_leaders(back_to=[1])
    assert cluster.memory().returning == (*left, 4)


@pytest.mark.parametrize("check_mode", [False, True])
def test_no_leader_returns_to_a_log_that_begins_later(bastion: Bastion, cluster: WellCluster, check_mode: bool) -> None:
    """The order is back: it was restored while broker 1 was down."""
    for each in (FIRST, SECOND):
        cluster.change(each, leader_id=2, replicas=(1, 2, 3), isr=(1, 2, 3))
    cluster.log_starts = {(FIRST, 1): 500, (FIRST, 2): 100, (SECOND, 1): 100, (SECOND, 2): 100}
    with bastion.memory() as held:
        held.write(list_changes(Memory(returning=(1,))))
    moves = bastion.move_leaders(back_to=[1], check_mode=check_mode).moves
    assert moves[FIRST].status is MoveStatus.FAILED
    assert "the log on broker 1, which would be preferred again, begins at offset 500" in moves[FIRST].reason
    assert moves[SECOND].status in (MoveStatus.MOVED, MoveStatus.WOULD_MOVE)
    assert (cluster.states[FIRST].leader_id, cluster.memory().returning) == (2, (1,))


@pytest.mark.parametrize("check_mode", [True, False])
def test_no_leader_moves_to_a_broker_that_applies_metadata_late(
    bastion: Bastion, cluster: WellCluster, check_mode: bool
) -> None:
    """Broker 2 would not lead before it knows that it is elected, and broker 1 would lead no more."""
    cluster.late_brokers = {2}
    cluster.add(2, (2, 1), leader=1)
    moves = bastion.move_leaders(away_from=[1], check_mode=check_mode).moves
    moved = MoveStatus.WOULD_MOVE if check_mode else MoveStatus.MOVED
    assert {(moves[each].status, moves[each].target) for each in (FIRST, SECOND)} == {(moved, 3)}
    assert "the preferred replica on broker 2 applies metadata late" in moves[FIRST].reason
    stays = moves[TopicPartition("orders", 2)]
    assert (stays.status, stays.leader_after) == (MoveStatus.ONLY_IN_SYNC, 1)
    assert "broker 2 applies metadata late" in stays.reason


def test_no_leader_returns_to_a_broker_that_applies_metadata_late(bastion: Bastion, cluster: WellCluster) -> None:
    cluster.late_brokers = {2}
    moves = bastion.move_leaders(back_to=[2]).moves
    assert {(each.status, each.leader_after) for each in moves.values()} == {(MoveStatus.LAGGING, 1)}
    assert cluster.writes == []
    cluster.late_brokers = set()
    assert {each.leader_after for each in bastion.move_leaders(back_to=[2]).moves.values()} == {2}
