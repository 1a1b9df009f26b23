# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Two of three controllers lose their disks. The playbook brings the quorum back; Kafka's own tools read the result."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import signal
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from lab.cluster import Cluster
from lab.node import Controller, Node
from lab.playbook import PlaybookRun, run_playbook

_PLAYBOOK = "kafkaops.recovery.recover_quorum"
_CONFIGS = {"min.insync.replicas": 1, "retention.ms": 86400001}


@pytest.fixture(params=[True, pytest.param(False, marks=pytest.mark.wide)], ids=["dynamic", "static"])
def cluster(kafka_version: str, request: pytest.FixtureRequest) -> Iterator[Cluster]:
    with Cluster(kafka_version, brokers=1, controllers=3, dynamic_quorum=request.param) as cluster:
        cluster.client.create_topic("orders", {0: [1], 1: [1]}, _CONFIGS)
        cluster.client.produce("orders", 0, 10)
        yield cluster


class Site:
    """The hosts of a cluster's nodes: names of an inventory, all on this machine."""

    def __init__(self, cluster: Cluster, directory: Path) -> None:
        self.cluster = cluster
        self.directory = directory
        self.inventory = directory / "inventory.json"
        hosts = {
            f"node{node.node_id}": {
                "ansible_connection": "local",
                "quorum_recovery_properties": str(node.write_properties()),
            }
            for node in cluster.nodes
        }
        controllers: dict[str, object] = {f"node{node_id}": {} for node_id in cluster.controllers}
        groups = {"kafka_controllers": {"hosts": controllers}}
        self.inventory.write_text(json.dumps({"all": {"hosts": hosts, "children": groups}}), encoding="utf-8")

    def run(self, *arguments: str, **variables: object) -> PlaybookRun:
        """Run the playbook with variables of the role, without their prefix."""
        named = {f"quorum_recovery_{name}": value for name, value in variables.items()}
        return run_playbook(_PLAYBOOK, named, "-i", str(self.inventory), *arguments)

    @contextmanager
    def started(self, controller: Controller) -> Iterator[str]:
        """Yield a command that starts a controller as a service does. At the end, the controller is killed."""
        pid = self.directory / "controller.pid"
        command = shlex.join(map(str, self.cluster.java_command(controller.jvm_args, self.properties(controller))))
        try:
            yield f"setsid {command} >> {controller.log_path} 2>&1 < /dev/null & echo $! > {pid}"
        finally:
            if pid.exists():
                os.kill(int(pid.read_text("utf-8")), signal.SIGKILL)

    def properties(self, node: Node) -> Path:
        hosts = json.loads(self.inventory.read_text("utf-8"))["all"]["hosts"]
        return Path(hosts[f"node{node.node_id}"]["quorum_recovery_properties"])


def lose(cluster: Cluster, lost: Sequence[int]) -> None:
    """Kill controllers, and delete their disks."""
    for node_id in lost:
        cluster.controllers[node_id].kill()
        shutil.rmtree(cluster.controllers[node_id].data_dirs[0])


def files_of(directory: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in directory.rglob("*") if path.is_file()}


def test_the_survivor_becomes_the_only_voter(cluster: Cluster, tmp_path: Path) -> None:
    first, *lost = cluster.controllers
    survivor = cluster.controllers[first]
    site = Site(cluster, tmp_path)
    lose(cluster, lost)

    look = site.run()
    assert look.returncode != 0, look.output
    assert f"quorum_recovery_lost_voters is not set. If voters {lost[0]} and {lost[1]} are lost" in look.words
    survivor.stop()
    before = files_of(cluster.work_dir / f"controller-{first}")
    plan = tmp_path / "plan.json"
    look = site.run(lost_voters=lost, manual_output_file=str(plan))
    assert look.returncode == 0, look.output
    checked = site.run("--check", "--diff", lost_voters=lost, plan_file=str(plan), automated_recovery=True)
    assert checked.returncode == 0, checked.output
    assert files_of(cluster.work_dir / f"controller-{first}") == before

    report = tmp_path / "report.json"
    with site.started(survivor) as start_command:
        run = site.run(
            lost_voters=lost,
            plan_file=str(plan),
            automated_recovery=True,
            backup_dir=str(tmp_path / "backup"),
            report_file=str(report),
            start_command=start_command,
        )
        assert run.returncode == 0, run.output
        outcome = json.loads(report.read_text("utf-8"))["outcome"]
        assert (outcome["brokers"], outcome["missingBrokers"]) == ([1], 0)
        _check_recovered(cluster, first)


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
        "org.apache.kafka.tools.DumpLogSegments" if cluster.version >= "4" else "kafka.tools.DumpLogSegments",
        *("--cluster-metadata-decoder", "--files"),
        str(max(cluster.controllers[survivor].data_dirs[0].glob("__cluster_metadata-0/*.log"))),
    )
    assert "isvalid: false" not in dumped.stdout
    assert ("KRaftVoters" in dumped.stdout) != cluster.has_static_voters, dumped.stdout + dumped.stderr
