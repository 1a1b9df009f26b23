# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Preferred elections, and what is told of partitions that change meanwhile."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from ansible_collections.kafkaops.recovery.plugins.module_utils.leadership.moves import MoveStatus
from ansible_collections.kafkaops.recovery.plugins.module_utils.model.partition import NO_LEADER, TopicPartition
from unit.leadership.well_cluster import Bastion, WellCluster
from unit.operations.fake_cluster import Fate

FIRST, SECOND = TopicPartition("orders", 0), TopicPartition("orders", 1)


@pytest.fixture
def cluster(bastion: Bastion) -> WellCluster:
    """Broker 1 is last in the orders of two partitions, and leads both."""
    bastion.cluster.add(0, (2, 3, 1), leader=1)
    bastion.cluster.add(1, (2, 3, 1), leader=1)
    return bastion.cluster


def test_leaders_move(bastion: Bastion, cluster: WellCluster) -> None:
    moves = bastion.move_leaders(away_from=[1]).moves
    assert {(each.status, each.leader_after) for each in moves.values()} == {(MoveStatus.MOVED, 2)}
    assert cluster.kinds() == ["elect"]


def _led_by_another(cluster: WellCluster) -> None:
    cluster.change(FIRST, leader_id=3)


def _leaderless(cluster: WellCluster) -> None:
    cluster.change(FIRST, leader_id=NO_LEADER)


def _deleted(cluster: WellCluster) -> None:
    del cluster.states[FIRST]


@pytest.mark.parametrize(
    ("meanwhile", "ended", "reason"),
    [
        (_led_by_another, (MoveStatus.MOVED, 3), "broker 2 is preferred"),
        (_leaderless, (MoveStatus.LEADERLESS, NO_LEADER), "recover it first"),
        (_deleted, (MoveStatus.FAILED, None), "not in the metadata any more"),
    ],
)
def test_what_became_of_a_partition_between_two_attempts_is_told(
    bastion: Bastion,
    cluster: WellCluster,
    meanwhile: Callable[[WellCluster], None],
    ended: tuple[MoveStatus, int | None],
    reason: str,
) -> None:
    cluster.fates["elect"] = [Fate(lost_request=True, before=lambda: meanwhile(cluster))]
    moves = bastion.move_leaders(away_from=[1]).moves
    assert (moves[FIRST].status, moves[FIRST].leader_after) == ended
    assert reason in moves[FIRST].reason
    assert (moves[SECOND].status, moves[SECOND].leader_after) == (MoveStatus.MOVED, 2)
