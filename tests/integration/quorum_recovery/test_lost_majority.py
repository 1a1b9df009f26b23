# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Two of three controllers lose their disks. The playbook brings the quorum back; Kafka's own tools read the result."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest

from integration.quorum_recovery.combined import CombinedCluster
from integration.quorum_recovery.site import Site, files_of, lose
from lab import wait_until, wire
from lab.cluster import Cluster

pytestmark = pytest.mark.timeout(900)

_GOAL_S = 120
"""From the lost majority to a new topic: two looks, a stop, a recovery with its start, and a topic."""
_CONFIGS = {"min.insync.replicas": 1, "retention.ms": 86400001}


_KINDS: dict[str, Callable[[str], Cluster]] = {
    "dynamic": partial(Cluster, brokers=1, controllers=3, dynamic_quorum=True),
    "static": partial(Cluster, brokers=1, controllers=3),
    "five controllers": partial(Cluster, brokers=1, controllers=5, dynamic_quorum=True),
    "combined nodes": partial(CombinedCluster, brokers=1, controllers=3, dynamic_quorum=True),
    "static combined nodes": partial(CombinedCluster, brokers=1, controllers=3),
}


@pytest.fixture(params=[each if each == "dynamic" else pytest.param(each, marks=pytest.mark.wide) for each in _KINDS])
def cluster(kafka_version: str, request: pytest.FixtureRequest) -> Iterator[Cluster]:
    with _KINDS[request.param](kafka_version) as cluster:
        cluster.client.create_topic("orders", {0: [1], 1: [1]}, _CONFIGS)
        cluster.client.produce("orders", 0, 10)
        yield cluster


def test_the_survivor_becomes_the_only_voter(cluster: Cluster, tmp_path: Path) -> None:
    first, *lost = cluster.controllers
    survivor = cluster.controllers[first]
    site = Site(cluster, tmp_path)
    lose(cluster, lost)
    began = time.monotonic()

    look = site.run()
    assert look.returncode != 0, look.output
    assert (
        f"quorum_recovery_lost_voters is not set. If voters {', '.join(map(str, lost[:-1]))} and {lost[-1]} "
        in look.words
    )
    if isinstance(cluster, CombinedCluster):
        survivor.kill()  # In its controlled shutdown it would wait for a leader of the controllers.
    else:
        survivor.stop()
    before = files_of(cluster.work_dir / f"controller-{first}")
    plan = tmp_path / "plan.json"
    look = site.run(lost_voters=lost, manual_output_file=str(plan))
    assert look.returncode == 0, look.output
    began_to_check = time.monotonic()
    checked = site.run("--check", "--diff", lost_voters=lost, plan_file=str(plan), automated_recovery=True)
    assert checked.returncode == 0, checked.output
    assert files_of(cluster.work_dir / f"controller-{first}") == before
    began += time.monotonic() - began_to_check  # Nobody has to do that.

    report = tmp_path / "report.json"
    with site.started(survivor) as start_command:
        run = site.carry_out(plan, report, lost, start_command)
        assert run.returncode == 0, run.output
        # Until the lost nodes are fenced, brokers may tell clients that one of them is the controller.
        wait_until(lambda: not {*lost} & _unfenced(cluster), 30, what="the lost nodes are fenced")
        cluster.client.create_topic("new", {0: [1]})
        took_s = time.monotonic() - began
        print(f"from the lost majority to a new topic: {took_s:.0f} s, of {_GOAL_S} s wanted")  # noqa: T201
        outcome = json.loads(report.read_text("utf-8"))["outcome"]
        assert (outcome["brokers"], outcome["missingBrokers"]) == ([1], 0)
        _check_recovered(cluster, first)


def _unfenced(cluster: Cluster) -> set[int]:
    broker = cluster.brokers[1]
    return {each.node_id for each in wire.metadata(broker.host, broker.ports["INTERNAL"]).brokers}


def _check_recovered(cluster: Cluster, survivor: int) -> None:
    """Read the result with Kafka's own tools, and use it."""
    cluster.client.create_topic("after", {0: [1]})
    described = cluster.client.run_tool(
        "org.apache.kafka.tools.MetadataQuorumCommand",
        *("--bootstrap-server", cluster.bootstrap("INTERNAL"), "describe", "--status"),
    )
    assert f"LeaderId: {survivor}" in " ".join(described.stdout.split())
    assert cluster.client.consume_all("orders", 0)
    assert {each.leader for each in cluster.client.describe("orders").values()} == {1}
    dumped = cluster.client.run_tool(
        "kafka.tools.DumpLogSegments",
        *("--cluster-metadata-decoder", "--files"),
        str(max(cluster.controllers[survivor].data_dirs[0].glob("__cluster_metadata-0/*.log"))),
    )
    assert "isvalid: false" not in dumped.stdout
    assert ("KRaftVoters" in dumped.stdout) != cluster.has_static_voters, dumped.stdout + dumped.stderr
