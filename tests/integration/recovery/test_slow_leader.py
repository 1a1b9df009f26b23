# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The only survivor applies metadata late: it is elected, and nobody is told that clients can write to it already."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from lab import Cluster, scenarios, settings, wire
from lab.module_process import run_module
from lab.slow_metadata import SlowMetadata

LOST, SLOW, OTHERS = 1, 2, (3, 4)
NOT_LEADER_OR_FOLLOWER = 6


@pytest.fixture
def cluster(kafka_version: str) -> Iterator[Cluster]:
    with Cluster(kafka_version, brokers=4) as started:
        yield started


@pytest.mark.wide
@pytest.mark.on_every_version
def test_a_leader_that_does_not_know_it_yet_is_named(cluster: Cluster) -> None:
    slow = SlowMetadata(cluster.brokers[SLOW])
    slow.prepare()
    cluster.client.create_topic("lost", {0: [LOST, SLOW]}, {"min.insync.replicas": 1})
    cluster.client.produce("lost", 0, 5)
    cluster.brokers[SLOW].freeze()
    scenarios.wait_isr(cluster, "lost", {LOST}, seen_by=OTHERS[0])
    cluster.client.produce("lost", 0, 3)
    cluster.brokers[LOST].kill()
    cluster.brokers[SLOW].thaw()
    for each in (SLOW, *OTHERS):
        scenarios.wait_offline(cluster, "lost", away={LOST}, seen_by=each)
    given = {
        "bootstrap_servers": [
            settings.address(cluster.host, cluster.brokers[each].advertised_port("PLAINTEXT")) for each in OTHERS
        ],
        "partitions": [{"topic": "lost", "partitions": [0]}],
        "recovery_strategy": "aggressive",
        "lost_brokers": [LOST],
    }
    with slow.applied_late():
        reported = run_module("unclean_recovery", given)
        # The controller has elected it, and it refuses what clients write.
        assert cluster.client.describe("lost", broker=OTHERS[0])[0].leader == SLOW
        broker = cluster.brokers[SLOW]
        refused = wire.produce(broker.host, broker.ports[settings.INTERNAL], "lost", [0], ["early"])
        assert refused == {0: NOT_LEADER_OR_FOLLOWER}
    assert [each["status"] for each in reported["partitions"]] == ["recovered"], reported
    assert reported["writable"] == {"writable": 0, "led": 1, "unknown": 1}
    found = [each["explanation"] for each in reported["aftermath"] if each["kind"] == "not_known"]
    assert any("broker 2, which leads them by the metadata, applies metadata late" in each for each in found), found
    cluster.client.produce("lost", 0, 1, label="late")
    assert cluster.client.consume_all("lost", 0)[-1] == "late-0"
