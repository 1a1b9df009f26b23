# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Three of five controllers lose their disks. The two that are left end differently, and the longer log is torn.

The broker has read the batch that is torn. It may not give up what was committed, so it ends itself.
"""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, AlterConfigOpType, ConfigEntry, ConfigResource

from integration.quorum_recovery.site import Site, files_of, lose
from lab import settings, wait_until
from lab.cluster import Cluster
from lab.node import Controller, Node
from lab.playbook import run_playbook

pytestmark = [pytest.mark.timeout(1200), pytest.mark.wide]


@pytest.fixture(params=[True, False], ids=["dynamic", "static"])
def cluster(kafka_version: str, request: pytest.FixtureRequest) -> Iterator[Cluster]:
    with Cluster(kafka_version, brokers=1, controllers=5, dynamic_quorum=request.param) as cluster:
        cluster.client.create_topic("both", {0: [1]})
        yield cluster


@pytest.mark.parametrize("torn", ["several records", "one record"])
def test_the_longer_log_goes_on_without_its_torn_batch(cluster: Cluster, tmp_path: Path, torn: str) -> None:
    ahead, behind, *lost = cluster.controllers
    if cluster.active_controller().node_id == behind:
        ahead, behind = behind, ahead
    # It has what the others wrote until then.
    cluster.controllers[behind].stop()
    for number in range(3):
        cluster.client.create_topic(f"ahead-{number}", {0: [1]})
    if torn == "one record":
        # A broker that is ahead by one record must not take the VotersRecord at the same offset for its own.
        _set_retention(cluster, "ahead-1")
    site = Site(cluster, tmp_path)
    lose(cluster, lost)
    cluster.controllers[ahead].kill()
    size = _tear(cluster.controllers[ahead], b"ahead-2" if torn == "several records" else b"retention.ms")
    disks = {each: cluster.controllers[each].data_dirs[0] for each in (ahead, behind)}
    before = {each: files_of(path) for each, path in disks.items()}

    plan = tmp_path / "plan.json"
    look = site.run(lost_voters=lost, manual_output_file=str(plan), hosts="all")
    assert look.returncode == 0, look.output
    planned = json.loads(plan.read_text("utf-8"))
    assert planned["nodeId"] == ahead, look.output
    assert "are no whole batch, and are cut off" in look.words, look.output
    assert planned["segmentBytes"] + planned["tornBytes"] == size
    assert re.search(r"records? that only broker 1 on node1 holds", look.words), look.output
    assert "stop broker 1, remove its directory __cluster_metadata-0, and start it" in look.words, look.output
    assert {each: files_of(path) for each, path in disks.items()} == before, "a look writes nothing"

    with site.started(cluster.controllers[ahead]) as start_command:
        run = site.carry_out(plan, tmp_path / "report.json", lost, start_command, hosts="all")
        broker = cluster.brokers[1]
        if run.returncode == 0:
            # A broker that did not know yet that its last record is committed cuts it off.
            assert torn == "one record", run.output
            wait_until(lambda: _has_the_same_log(broker, cluster.controllers[ahead]), 30, what="the broker follows")
            broker.stop()
        else:
            assert "1 of the brokers that its log knows do not follow it yet. Start these brokers" in run.words
            wait_until(lambda: not broker.running, 30, what="the broker ends itself")
            assert "which is below the current high watermark" in broker.log_path.read_text(encoding="utf-8")
        assert files_of(disks[behind]) == before[behind], "the copy that is behind stays as it is"
        assert f"Add {behind} in the same way, with the old disk: it is whole." in run.words, run.output
        shutil.rmtree(broker.data_dirs[0] / "__cluster_metadata-0")
        broker.start()
        known = Producer({"bootstrap.servers": cluster.bootstrap(settings.INTERNAL)}).list_topics(timeout=10).topics
        assert ("ahead-2" in known) is (torn == "one record"), "what was torn is forgotten"
        for topic in ("both", "ahead-0", "ahead-1"):
            assert cluster.client.describe(topic, broker=1)[0].leader == 1
        cluster.client.create_topic("after", {0: [1]})
        if not cluster.has_static_voters:
            _follow(cluster, ahead, cluster.controllers[behind])
        assert cluster.active_controller().node_id == ahead


def _set_retention(cluster: Cluster, topic: str) -> None:
    entry = ConfigEntry("retention.ms", "12345", incremental_operation=AlterConfigOpType.SET)
    resource = ConfigResource(ConfigResource.Type.TOPIC, topic, incremental_configs=[entry])
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap(settings.INTERNAL)})
    admin.incremental_alter_configs([resource])[resource].result(30)


def _has_the_same_log(*nodes: Node) -> bool:
    """Return whether the logs are equal as far as both go. A node appends batches as it gets them."""
    one, other = (max(each.data_dirs[0].glob("__cluster_metadata-0/*.log")).read_bytes() for each in nodes)
    length = min(len(one), len(other))
    return one[:length] == other[:length]


def _tear(controller: Controller, within: bytes) -> int:
    """Cut the log within a batch that the broker has read, as a crash of the host does. Return what is left."""
    segment = max(controller.data_dirs[0].glob("__cluster_metadata-0/*.log"))
    os.truncate(segment, segment.read_bytes().rindex(within))
    return segment.stat().st_size


def _follow(cluster: Cluster, leader: int, behind: Controller) -> None:
    """Start the other survivor with its old disk, and add it, as the run says."""
    behind.start()
    asked = ",".join(f"{each.host}:{each.port}" for each in (cluster.controllers[leader], behind))
    added = run_playbook(
        "kafkaops.recovery.replace_controller",
        {
            "kafka_bootstrap_servers": cluster.bootstrap(),
            "kafka_bootstrap_controllers": asked,
            "controller_replacement_voter_id": behind.node_id,
            "controller_replacement_endpoints": [{"name": "CONTROLLER", "host": behind.host, "port": behind.port}],
        },
    )
    assert added.returncode == 0, added.output
    wait_until(lambda: _voters(cluster) == {leader, behind.node_id}, 60, what="both are voters")


def _voters(cluster: Cluster) -> set[int]:
    described = cluster.client.run_tool(
        "org.apache.kafka.tools.MetadataQuorumCommand",
        *("--bootstrap-server", cluster.bootstrap("INTERNAL"), "describe", "--replication"),
    )
    rows = [line.split() for line in described.stdout.splitlines()]
    return {int(row[0]) for row in rows if row and row[-1] in ("Leader", "Follower")}
