# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A replica that is first for the time of an election: the way back, and what is remembered where there is none."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from ansible_collections.kafkaops.recovery.plugins.module_utils._leadership.detours import Detours
from ansible_collections.kafkaops.recovery.plugins.module_utils._leadership.memory import order_changes
from ansible_collections.kafkaops.recovery.plugins.module_utils._leadership.moves import Move, move_away
from ansible_collections.kafkaops.recovery.plugins.module_utils._leadership.orders import Order, RememberedOrder
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.partition import TopicPartition
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.run import KafkaOpsError
from unit.leadership.well_cluster import Bastion, WellCluster
from unit.leadership.worlds import OTHER_TOPIC_ID, TOPIC_ID

ORIGINAL, LISTED, AROUND = (1, 4, 3), (4, 3, 1), (3, 4, 1)
FIRST = TopicPartition("orders", 0)


@pytest.fixture
def move(bastion: Bastion) -> Move:
    """Broker 1 is last and leads; broker 4, the preferred one, is not in sync."""
    bastion.cluster.add(0, LISTED, leader=1, isr=(1, 3))
    move = move_away(bastion.cluster.states[FIRST], {1}, assume_reordered=False)
    assert move is not None
    assert move.is_detour
    return move


def _detour(bastion: Bastion, move: Move, meanwhile: Callable[[WellCluster], None]) -> None:
    with bastion.homes().open() as held, Detours(bastion.writer(), held).taken([move]) as unready:
        assert unready == {}
        assert bastion.cluster.states[FIRST].replicas == AROUND
        meanwhile(bastion.cluster)


def _nothing(_cluster: WellCluster) -> None:
    """Nobody else touches the partition."""


def test_the_order_is_put_back_and_forgotten(bastion: Bastion, move: Move) -> None:
    _detour(bastion, move, _nothing)
    assert bastion.cluster.states[FIRST].replicas == LISTED
    assert bastion.cluster.memory().orders == {}


@pytest.mark.parametrize(
    ("ours", "topic_id", "put_back_later"),
    [
        ((ORIGINAL, LISTED), TOPIC_ID, ORIGINAL),
        (((1, 2, 3), (2, 3, 1)), TOPIC_ID, ORIGINAL),  # broker 2 replaced by 4 since
        (((1, 3, 5), (1, 3, 5)), TOPIC_ID, LISTED),  # reassigned since, in an order of their own
        (((1, 3, 4), (3, 4, 1)), TOPIC_ID, LISTED),  # reordered since
        ((ORIGINAL, LISTED), OTHER_TOPIC_ID, LISTED),
    ],
)
def test_what_is_remembered_meanwhile_fits_the_partition(
    bastion: Bastion, move: Move, ours: tuple[Order, ...], topic_id: str, put_back_later: Order
) -> None:
    """The first of ours is the original."""
    with bastion.homes().open() as held:
        held.store.write(order_changes([RememberedOrder("orders", 0, topic_id, ours[0], ours)]))
    _detour(bastion, move, _nothing)
    remembered = bastion.cluster.memory().orders[FIRST]
    assert (remembered.topic_id, remembered.original) == (TOPIC_ID, put_back_later)
    assert remembered.ours[-2:] == (AROUND, LISTED)
    assert {frozenset(each) for each in remembered.ours} == {frozenset(LISTED)}


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


@pytest.mark.parametrize("meanwhile", [_reassigned, _reordered, _recreated, _reassigning, _deleted, _silent])
def test_what_is_not_ours_or_not_seen_is_left_alone_and_stays_remembered(
    bastion: Bastion, move: Move, meanwhile: Callable[[WellCluster], None]
) -> None:
    _detour(bastion, move, meanwhile)
    assert bastion.cluster.kinds() == ["reorder"]
    assert bastion.cluster.memory().orders[FIRST].original == LISTED


def test_a_second_way_around_does_not_forget_what_the_first_one_left(bastion: Bastion, move: Move) -> None:
    cluster = bastion.cluster
    with bastion.homes().open() as held:
        detours = Detours(bastion.writer(), held)
        with detours.taken([move]):
            cluster.reads_until_silent = 0
        cluster.reads_until_silent = None
        cluster.change(FIRST, isr=(1, 4))
        again = move_away(cluster.states[FIRST], {1}, assume_reordered=False)
        assert again is not None
        with detours.taken([again]):
            assert cluster.states[FIRST].replicas == LISTED
    assert cluster.states[FIRST].replicas == AROUND
    assert cluster.memory().orders[FIRST].original == LISTED


def test_a_failing_way_back_hides_no_failure_before_it(bastion: Bastion, move: Move) -> None:
    def fail(cluster: WellCluster) -> None:
        _silent(cluster)
        raise KafkaOpsError("the election went wrong")

    with pytest.raises(KafkaOpsError, match="the election went wrong"):
        _detour(bastion, move, fail)
