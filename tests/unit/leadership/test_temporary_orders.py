# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Orders that are changed for the time of an election, and their restore."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from ansible_collections.kafkaops.recovery.plugins.module_utils._changes.record import OrderChange, ReplicaChange
from ansible_collections.kafkaops.recovery.plugins.module_utils._leadership.election import TemporaryOrders
from ansible_collections.kafkaops.recovery.plugins.module_utils._leadership.moves import Move, move_away
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.partition import TopicPartition
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.run import KafkaOpsError
from unit.leadership.well_cluster import Bastion, WellCluster
from unit.leadership.worlds import OTHER_TOPIC_ID

LISTED, TARGET_FIRST = (4, 3, 1), (3, 4, 1)
FIRST = TopicPartition("orders", 0)


@pytest.fixture
def move(bastion: Bastion) -> Move:
    """Broker 1 is last and leads, and the preferred broker 4 is not in sync."""
    bastion.cluster.add(0, LISTED, leader=1, isr=(1, 3))
    move = move_away(bastion.cluster.states[FIRST], {1}, assume_reordered=False)
    assert move is not None
    assert move.needs_reorder
    return move


def _reorder(bastion: Bastion, move: Move, interfere: Callable[[WellCluster], None]) -> TemporaryOrders:
    with bastion.journal() as journal:
        temporary_orders = TemporaryOrders(bastion.writer(), journal)
        with temporary_orders.set_for([move]) as unready:
            assert unready == {}
            assert bastion.cluster.states[FIRST].replicas == TARGET_FIRST
            interfere(bastion.cluster)
    return temporary_orders


def _nothing(_cluster: WellCluster) -> None:
    """Change nothing."""


def test_the_order_is_restored_and_nothing_is_pending(bastion: Bastion, move: Move) -> None:
    assert _reorder(bastion, move, _nothing).not_restored == {}
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
    ("interfere", "is_pending"),
    [
        (_reassigned, False),
        (_reordered, False),
        (_recreated, False),
        (_reassigning, False),
        (_deleted, False),
        (_silent, True),
    ],
)
def test_another_partys_order_is_left_alone_and_an_unseen_order_stays_pending(
    bastion: Bastion, move: Move, interfere: Callable[[WellCluster], None], *, is_pending: bool
) -> None:
    assert FIRST in _reorder(bastion, move, interfere).not_restored
    assert bastion.cluster.kinds() == ["reorder"]
    assert [each.key for each in bastion.cluster.pending()] == (["order/orders/0"] if is_pending else [])


def test_a_partition_with_a_pending_order_is_not_reordered_again(bastion: Bastion, move: Move) -> None:
    cluster = bastion.cluster
    with bastion.journal() as journal:
        temporary_orders = TemporaryOrders(bastion.writer(), journal)
        with temporary_orders.set_for([move]):
            cluster.reads_until_silent = 0
        cluster.reads_until_silent = None
        with temporary_orders.set_for([move]) as unready:
            assert "are not restored yet" in unready[FIRST]
    assert cluster.states[FIRST].replicas == TARGET_FIRST
    (change,) = cluster.pending()
    assert isinstance(change, OrderChange)
    assert change.original == LISTED


def test_a_partition_with_a_pending_replica_is_not_reordered(bastion: Bastion, move: Move) -> None:
    """Another order would be taken for that of another party, and the replica would not be put back."""
    cluster = bastion.cluster
    with bastion.journal() as journal:
        dropped = ReplicaChange(FIRST.topic, FIRST.partition, cluster.states[FIRST].topic_id, 4, LISTED, 1, 1)
        journal.begin([dropped])
        with TemporaryOrders(bastion.writer(), journal).set_for([move]) as unready:
            assert "are not restored yet" in unready[FIRST]
        assert cluster.states[FIRST].replicas == LISTED
        assert journal.pending == (dropped,)


def test_a_failed_restore_does_not_hide_the_earlier_failure(bastion: Bastion, move: Move) -> None:
    def fail(cluster: WellCluster) -> None:
        _silent(cluster)
        raise KafkaOpsError("the election went wrong")

    with pytest.raises(KafkaOpsError, match="the election went wrong"):
        _reorder(bastion, move, fail)
