# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A replica that is first for the time of an election: the way back, and what is pending where there is none."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from ansible_collections.kafkaops.recovery.plugins.module_utils._changes.record import OrderChange
from ansible_collections.kafkaops.recovery.plugins.module_utils._leadership.election import TemporaryOrders
from ansible_collections.kafkaops.recovery.plugins.module_utils._leadership.moves import Move, move_away
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.partition import TopicPartition
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.run import KafkaOpsError
from unit.leadership.well_cluster import Bastion, WellCluster
from unit.leadership.worlds import OTHER_TOPIC_ID

LISTED, AROUND = (4, 3, 1), (3, 4, 1)
FIRST = TopicPartition("orders", 0)


@pytest.fixture
def move(bastion: Bastion) -> Move:
    """Broker 1 is last and leads; broker 4, the preferred one, is not in sync."""
    bastion.cluster.add(0, LISTED, leader=1, isr=(1, 3))
    move = move_away(bastion.cluster.states[FIRST], {1}, assume_reordered=False)
    assert move is not None
    assert move.needs_reorder
    return move


def _detour(bastion: Bastion, move: Move, meanwhile: Callable[[WellCluster], None]) -> TemporaryOrders:
    with bastion.journal() as journal:
        temporary_orders = TemporaryOrders(bastion.writer(), journal)
        with temporary_orders.set_for([move]) as unready:
            assert unready == {}
            assert bastion.cluster.states[FIRST].replicas == AROUND
            meanwhile(bastion.cluster)
    return temporary_orders


def _nothing(_cluster: WellCluster) -> None:
    """Nobody else touches the partition."""


def test_the_order_is_put_back_and_nothing_is_pending(bastion: Bastion, move: Move) -> None:
    assert _detour(bastion, move, _nothing).not_restored == {}
    assert bastion.cluster.states[FIRST].replicas == LISTED
    assert bastion.cluster.pending() == ()


def _reassigned(cluster: WellCluster) -> None:
    cluster.change(FIRST, replicas=(3, 2, 1))


def _reordered(cluster: WellCluster) -> None:
    cluster.change(FIRST, replicas=(1, 3, 4))


def _recreated(cluster: WellCluster) -> None:
    cluster.change(FIRST, topic_id=OTHER_TOPIC_ID)


def _reassigning(cluster: WellCluster) -> None:
    cluster.reassigning = frozenset({FIRST})


def _deleted(cluster: WellCluster) -> None:
    del cluster.states[FIRST]


def _silent(cluster: WellCluster) -> None:
    cluster.reads_until_silent = 0


@pytest.mark.parametrize(
    ("meanwhile", "is_pending"),
    [
        (_reassigned, False),
        (_reordered, False),
        (_recreated, False),
        (_reassigning, False),
        (_deleted, False),
        (_silent, True),
    ],
)
def test_what_is_not_ours_is_left_alone_and_what_is_not_seen_stays_in_the_journal(
    bastion: Bastion, move: Move, meanwhile: Callable[[WellCluster], None], *, is_pending: bool
) -> None:
    assert FIRST in _detour(bastion, move, meanwhile).not_restored
    assert bastion.cluster.kinds() == ["reorder"]
    assert [each.key for each in bastion.cluster.pending()] == (["order/orders/0"] if is_pending else [])


def test_there_is_no_second_way_around_before_the_first_one_is_put_back(bastion: Bastion, move: Move) -> None:
    cluster = bastion.cluster
    with bastion.journal() as journal:
        temporary_orders = TemporaryOrders(bastion.writer(), journal)
        with temporary_orders.set_for([move]):
            cluster.reads_until_silent = 0
        cluster.reads_until_silent = None
        with temporary_orders.set_for([move]) as unready:
            assert "is not restored yet" in unready[FIRST]
    assert cluster.states[FIRST].replicas == AROUND
    (change,) = cluster.pending()
    assert isinstance(change, OrderChange)
    assert change.original == LISTED


def test_a_failing_way_back_hides_no_failure_before_it(bastion: Bastion, move: Move) -> None:
    def fail(cluster: WellCluster) -> None:
        _silent(cluster)
        raise KafkaOpsError("the election went wrong")

    with pytest.raises(KafkaOpsError, match="the election went wrong"):
        _detour(bastion, move, fail)
