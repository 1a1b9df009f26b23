# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The scenarios create the states that they describe."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from lab import Cluster, scenarios, wait_until
from lab.node import Node, each

pytestmark = [pytest.mark.on_any_version, pytest.mark.wide]


@pytest.fixture(scope="module")
def cluster(kafka_version: str) -> Iterator[Cluster]:
    with Cluster(kafka_version) as cluster:
        yield cluster


@pytest.fixture
def whole(cluster: Cluster) -> Cluster:
    each(Node.start, [broker for broker in cluster.brokers.values() if not broker.running])
    return cluster


def check(cluster: Cluster, offline: scenarios.Offline) -> None:
    """Check that every partition is offline, and that the survivors' logs are as described."""
    dead, *survivors = offline.replicas
    assert not cluster.brokers[dead].running
    for survivor in survivors:
        states = cluster.client.describe(offline.topic, broker=survivor)
        assert {state.leader for state in states.values()} == {None}
        assert {state.replicas for state in states.values()} == {offline.replicas}
        held = cluster.client.log_end_offsets(offline.topic, offline.partitions, survivor)
        assert set(held.values()) == {offline.log_end_offsets[survivor]}


def test_diverged(whole: Cluster) -> None:
    offline = scenarios.diverged(whole, "diverged", 2)
    check(whole, offline)
    assert offline.best == 3
    assert offline.log_end_offsets[3] > offline.log_end_offsets[2]
    # Stock Kafka elects the first unfenced replica in order, and loses records.
    whole.client.elect_unclean("diverged", offline.partitions)
    wait_until(lambda: whole.client.leader("diverged", 1) == 2)
    assert "longer-0" not in whole.client.consume_all("diverged", 1)


def test_longer_log_of_older_epoch(whole: Cluster) -> None:
    offline = scenarios.longer_log_of_older_epoch(whole, "epochs", 2)
    check(whole, offline)
    assert offline.best == 3
    assert offline.log_end_offsets[3] < offline.log_end_offsets[2]
    whole.brokers[1].start()
    wait_until(lambda: whole.client.leader("epochs", 1) == 1)
    values = whole.client.consume_all("epochs", 1)
    assert "newer-0" in values
    assert "older-0" not in values
