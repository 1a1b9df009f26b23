# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Changes of another party while brokers are listed, and failing brokers."""

from __future__ import annotations

import pytest

from ansible_collections.kafkaops.recovery.plugins.module_utils._leadership.decide import OrderStatus
from ansible_collections.kafkaops.recovery.plugins.module_utils._leadership.orders import Drift
from lab import Cluster
from lab.leadership import (
    Operator,
    assign,
    delete_topic,
    leaders,
    orders,
    outcome,
    request_reassignments,
    wait_in_sync,
    wait_orders,
)
from lab.waiting import wait_until


def test_reassigned_reordered_and_grown_partitions(cluster: Cluster, operator: Operator) -> None:
    cluster.client.create_topic("drift", dict.fromkeys(range(5), (1, 2, 3)))
    operator.list(1)
    assign(
        cluster,
        "drift",
        {
            1: (2, 4, 1),  # another replica set, in our order
            2: (3, 2, 1),  # the same replica set, in another order
            3: (2, 3, 1, 4),  # one more replica
            4: (2, 3),  # without the listed replica
        },
    )
    result = operator.restore()
    assert orders(cluster, "drift") == {0: (1, 2, 3), 1: (1, 2, 4), 2: (3, 2, 1), 3: (1, 2, 3, 4), 4: (2, 3)}
    assert [outcome(result, "drift", each).drift for each in range(5)] == [
        Drift.NONE,
        Drift.REASSIGNED,
        Drift.REORDERED,
        Drift.REASSIGNED,
        Drift.REASSIGNED,
    ]
    assert outcome(result, "drift", 2).status is OrderStatus.CONFLICT
    assert not operator.restore().is_changed


def test_another_partys_changes_while_the_broker_stays_listed(cluster: Cluster, operator: Operator) -> None:
    cluster.client.create_topic("meddled", dict.fromkeys(range(3), (1, 2, 3)))
    operator.list(1)
    assign(cluster, "meddled", {0: (1, 2, 3), 1: (1, 3, 2), 2: (2, 3, 1, 4)})
    operator.list()
    assert orders(cluster, "meddled") == {0: (2, 3, 1), 1: (3, 2, 1), 2: (2, 3, 4, 1)}
    operator.restore()
    assert orders(cluster, "meddled") == {0: (1, 2, 3), 1: (1, 3, 2), 2: (1, 2, 3, 4)}


@pytest.mark.wide
def test_topics_that_were_deleted_or_re_created(cluster: Cluster, operator: Operator) -> None:
    for topic in ("deleted", "again"):
        cluster.client.create_topic(topic, {0: (1, 2, 3)})
    operator.list(1)
    for topic in ("deleted", "again"):
        delete_topic(cluster, topic)
    cluster.client.create_topic("again", {0: (2, 3, 1)})
    result = operator.restore()
    assert outcome(result, "deleted").status is OrderStatus.GONE
    assert outcome(result, "again").status is OrderStatus.GONE
    assert outcome(result, "again").drift is Drift.RECREATED
    assert orders(cluster, "again") == {0: (2, 3, 1)}
    assert not operator.restore().outcomes


@pytest.mark.wide
def test_a_running_reassignment_is_left_alone(cluster: Cluster, operator: Operator) -> None:
    cluster.client.create_topic("moving", {0: (1, 2, 3), 1: (1, 2, 3)})
    cluster.brokers[4].freeze()
    try:
        request_reassignments(cluster, "moving", {0: (1, 2, 4)})
        result = operator.list(1)
    finally:
        cluster.brokers[4].thaw()
    assert outcome(result, "moving").status is OrderStatus.LEFT_ALONE
    assert "reassignment" in outcome(result, "moving").reason
    assert orders(cluster, "moving")[1] == (2, 3, 1)
    wait_orders(cluster, "moving", {0: (1, 2, 4)})
    operator.list()
    assert orders(cluster, "moving") == {0: (2, 4, 1), 1: (2, 3, 1)}


def test_under_replicated_partitions_are_reordered_and_leaderless_ones_are_not(
    cluster: Cluster, operator: Operator
) -> None:
    """A reorder of the same replica set moves no data, so it cannot stall (Cruise Control issue 403)."""
    cluster.client.create_topic("lagging", {0: (1, 2, 4)})
    cluster.client.create_topic("leaderless", {0: (4, 3)}, {"min.insync.replicas": 1})
    cluster.brokers[3].freeze()
    wait_until(lambda: cluster.client.describe("leaderless", broker=4)[0].isr == (4,), what="3 leaves the ISR")
    cluster.brokers[4].kill()
    cluster.brokers[3].thaw()
    try:
        wait_until(lambda: cluster.client.leader("leaderless") is None, what="no leader")
        wait_until(lambda: 4 not in cluster.client.describe("lagging")[0].isr, what="4 leaves the ISR")
        result = operator.list(1, 4)
        assert orders(cluster, "lagging") == {0: (2, 1, 4)}
        assert outcome(result, "leaderless").status is OrderStatus.LEFT_ALONE
        assert orders(cluster, "leaderless") == {0: (4, 3)}
        operator.restore()
        assert orders(cluster, "lagging") == {0: (1, 2, 4)}
    finally:
        cluster.brokers[4].start()
    wait_in_sync(cluster, "leaderless")


@pytest.mark.wide
def test_an_unlisted_broker_follows_a_failed_leader_and_the_list_survives_restarts(
    cluster: Cluster, operator: Operator
) -> None:
    """KIP-491: "even broker_id 2 offline, the 3rd broker can take leadership"."""
    topic = "failing"
    cluster.client.create_topic(topic, {0: (1, 2, 3), 1: (1, 3, 2)})
    operator.list(2)
    assert leaders(cluster, topic) == {0: 1, 1: 1}
    cluster.brokers[1].kill()
    wait_until(lambda: leaders(cluster, topic) == {0: 3, 1: 3}, what="3 leads, and not the listed 2")
    cluster.brokers[1].start()
    for controller in cluster.controllers.values():
        controller.restart()
    wait_in_sync(cluster, topic)
    assert orders(cluster, topic) == {0: (1, 3, 2), 1: (1, 3, 2)}
    cluster.proxy.clear_once_idle()
    assert not operator.list(2).is_changed
    assert cluster.proxy.write_requests() == []
    operator.restore()
    assert orders(cluster, topic) == {0: (1, 2, 3), 1: (1, 3, 2)}
