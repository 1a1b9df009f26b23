# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Three nodes are broker and controller, and two of them lose their disks: what becomes of their partitions is said."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Producer

from integration.quorum_recovery.combined import CombinedCluster
from integration.quorum_recovery.site import Site, lose
from lab import Cluster, settings, wait_until
from lab.playbook import RECOVER, run_playbook

pytestmark = [pytest.mark.timeout(900), pytest.mark.wide]

_SURVIVOR, _LOST = 101, (102, 103)


@pytest.fixture(params=[True, False], ids=["dynamic", "static"])
def cluster(kafka_version: str, request: pytest.FixtureRequest) -> Iterator[Cluster]:
    with CombinedCluster(kafka_version, brokers=1, controllers=3, dynamic_quorum=request.param) as cluster:
        producer = Producer({"bootstrap.servers": cluster.bootstrap(settings.INTERNAL), "acks": "all"})
        # The lab waits for those that are brokers alone.
        wait_until(lambda: len(producer.list_topics(timeout=10).brokers) == 4, 60, what="all brokers are registered")
        three = {0: [102, 101, 103], 1: [101, 102, 103], 2: [103, 102, 1]}
        cluster.client.create_topic("orders", three, {"min.insync.replicas": 1})
        cluster.client.create_topic("gone", {0: [102, 103]}, {"min.insync.replicas": 1})
        for number in range(30):
            producer.produce("orders", f"record-{number}", partition=number % 3)
        producer.produce("gone", "record", partition=0)
        assert producer.flush(60) == 0
        yield cluster


def test_the_partitions_of_the_lost_brokers_are_named(cluster: Cluster, tmp_path: Path) -> None:
    survivor = cluster.controllers[_SURVIVOR]
    site = Site(cluster, tmp_path)
    lose(cluster, _LOST)
    early = site.run(lost_voters=_LOST, automated_recovery=True)
    assert early.returncode != 0, early.output
    assert "Stop controller 101 on node101 (it is a broker, too: kill it" in early.words, early.output
    survivor.kill()
    plan, report = tmp_path / "plan.json", tmp_path / "report.json"
    look = site.run(lost_voters=_LOST, manual_output_file=str(plan))
    assert look.returncode == 0, look.output
    assert "Brokers too: 102, 103. A quorum does not bring their replicas back." in look.words, look.output
    with site.started(survivor) as start_command:
        run = site.carry_out(plan, report, _LOST, start_command)
        assert run.returncode == 0, run.output
        assert "First, the partitions of brokers 102, 103, unless" in run.words, run.output
        assert {1, _SURVIVOR} <= {*json.loads(report.read_text("utf-8"))["outcome"]["brokers"], _SURVIVOR}
        _follow_what_is_said(cluster)


def _follow_what_is_said(cluster: Cluster) -> None:
    """Recover the partitions that have a replica, and give them replicas again; the others are named."""
    client = cluster.client
    where = {"kafka_bootstrap_servers": cluster.bootstrap("INTERNAL")}
    go = {"unclean_recovery_all_offline_partitions": "true", "unclean_recovery_automated_recovery": "true"}
    offline = {number for number, each in client.describe("orders", broker=1).items() if each.leader is None}
    recovered = run_playbook(RECOVER, {**where, **go, "unclean_recovery_lost_brokers": "102,103"})
    # Both replicas of it are lost.
    assert "gone 0" in recovered.words, recovered.output
    states = client.describe("orders", broker=1)
    assert all(each.leader in {1, _SURVIVOR} for each in states.values()), (offline, states, recovered.output)
    restored = {"redundancy_lost_brokers": "102,103", "redundancy_automated_recovery": "true"}
    run_playbook("kafkaops.recovery.restore_redundancy", {**where, **restored})
    wait_until(
        lambda: all({1, _SURVIVOR} <= {*each.isr} for each in client.describe("orders", broker=1).values()),
        60,
        what="both living brokers have each partition",
    )
    assert all(len(client.consume_all("orders", number)) == 10 for number in states)
