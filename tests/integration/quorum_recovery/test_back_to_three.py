# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""After the recovery: every object is there, and docs/quorum.md leads back to three controllers, word for word.

The survivor has just taken a snapshot, and a transaction of the metadata has no end in its log.
"""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.kafkaops.recovery.plugins.module_utils._quorum_recovery.scan import read_copy
from integration.quorum_recovery import objects
from integration.quorum_recovery.site import Site, cluster_with_snapshots, lose
from lab import wait_until
from lab.cluster import Cluster
from lab.node import Controller
from lab.playbook import PROJECT, run_playbook
from unit.quorum_recovery.disks import BEGIN_TRANSACTION, topic_record
from unit.salvage.batches import batch

pytestmark = [pytest.mark.timeout(1200), pytest.mark.wide]

_CHECK = "kafkaops.recovery.check_quorum"
_NO_OP = b"\x01\x14\x00\x00"
"""Frame version, type and version of the record, and no tagged fields. It comes before the transaction, because Kafka
4.3.1 ends itself if a transaction begins where a snapshot ends."""
SHOWS_ABORTED = ("3.9.2", "4.0.2")
"""Brokers of these releases show the topics of an aborted transaction (tried on them without a recovery)."""


@pytest.fixture(params=[True, False], ids=["dynamic", "static"])
def cluster(kafka_version: str, request: pytest.FixtureRequest) -> Iterator[Cluster]:
    with cluster_with_snapshots(kafka_version, dynamic_quorum=request.param, super_users=[]) as cluster:
        objects.create(cluster)
        yield cluster


def test_every_object_is_kept_and_three_controllers_are_back(cluster: Cluster, tmp_path: Path) -> None:
    first, *lost = cluster.controllers
    survivor = cluster.controllers[first]
    before = objects.read(cluster)
    site = Site(cluster, tmp_path)
    lose(cluster, lost)
    survivor.stop()
    report = tmp_path / "report.json"
    with site.started(survivor) as command:
        has_open = cluster.version not in SHOWS_ABORTED
        end = append(survivor, [_NO_OP, *([BEGIN_TRANSACTION, topic_record("unfinished")] if has_open else [])])
        variables = {"lost_voters": lost, "automated_recovery": True, "report_file": str(report)}
        if cluster.has_static_voters:
            run = site.run_without_start_command(command, **variables)
        else:
            run = site.run(**variables, start_command=command)
        assert run.returncode == 0, run.output
        assert ("a metadata transaction has no end in the log" in run.words) is has_open, run.output
        assert objects.read(cluster) == before
        found = json.loads(report.read_text("utf-8"))
        assert found["plan"]["endOffset"] == end
        assert [0 < each["snapshot"]["endOffset"] < end for each in found["copies"] if each["state"] == "whole"] == [
            True
        ]
        _assert_forecast(found["plan"]["contents"], before)
        if not cluster.has_static_voters:
            for node_id in lost:
                follow_the_documentation(cluster, cluster.controllers[node_id], survivor=first)
            _check_quorum(cluster)
    # The survivor was killed just now.
    if cluster.has_static_voters:
        for node_id in lost:
            _append_the_voter(cluster, cluster.controllers[node_id], survivor)
        _check_quorum(cluster)
        survivor.kill()
    # The new controllers have all that it had.
    wait_until(lambda: cluster.active_controller().node_id in lost, 60, what="one of the new controllers leads")
    assert objects.read(cluster) == before
    cluster.client.create_topic("after", {0: [1]})


def append(controller: Controller, records: list[bytes]) -> int:
    """Append records to the log of a controller, as one that dies leaves them. Return the end of the log."""
    copy = read_copy("", str(controller.data_dirs[0]), None).copy
    assert copy.segment is not None
    assert copy.log_end_offset is not None
    end = copy.log_end_offset
    with Path(copy.segment).open("ab") as segment:
        for record in records:
            # Kafka does not start with a batch whose records have different times.
            segment.write(batch(end, [record], epoch=copy.last_epoch))
            end += 1
    return end


def _check_quorum(cluster: Cluster) -> None:
    asked = ",".join(f"{each.host}:{each.port}" for each in cluster.controllers.values())
    servers = {"kafka_bootstrap_servers": cluster.bootstrap(), "kafka_bootstrap_controllers": asked}
    checked = run_playbook(_CHECK, servers)
    assert checked.returncode == 0, checked.output
    assert "Elections may be requested" in checked.words


def _append_the_voter(cluster: Cluster, new: Controller, survivor: Controller) -> None:
    """Do what the chapter says about static voters. The brokers keep running."""
    voters = [survivor, *(each for each in cluster.controllers.values() if each.running and each is not survivor), new]
    for node in cluster.nodes:
        node.properties["controller.quorum.voters"] = ",".join(f"{x.node_id}@{x.host}:{x.port}" for x in voters)
        node.write_properties()
    for each in voters[:-1]:
        if each.running:
            each.stop()
        each.start(wait=False)
    new.format()
    new.start()
    wait_until(cluster.has_whole_quorum, 60, what=f"controller {new.node_id} has caught up")


def _assert_forecast(contents: dict[str, Any], seen: objects.Objects) -> None:
    """Compare the counts that the plan named with what Kafka's tools list."""
    topics = [each for each in seen.topics if "PartitionCount:" in each]
    assert contents["topics"] == len(topics)
    assert contents["partitions"] == len(seen.topics) - len(topics)
    assert contents["acls"] == sum("principal=" in each or "(principal=" in each for each in seen.acls)
    assert contents["scramCredentials"] == sum("SCRAM-SHA-256=" in each for each in seen.users)
    assert contents["quotas"] == sum("producer_byte_rate=" in each for each in seen.users)
    levels = {
        match[1]: match[2]
        for each in seen.features
        if (match := re.search(r"Feature: (\S+)\s.*FinalizedVersionLevel: (\S+)", each)) and match[2] != "0"
    }
    features = dict(each.split("=") for each in contents["features"])
    levels.pop("kraft.version", None)  # It is in a control record, and not among the features of the log.
    assert features.keys() == levels.keys()
    # Kafka's tool prints a release instead of the level of metadata.version.
    assert {**features, "metadata.version": ""} == {**levels, "metadata.version": ""}


def follow_the_documentation(cluster: Cluster, controller: Controller, *, survivor: int) -> None:
    """Do what the chapter says, with this cluster's names, ids and paths."""
    text = (PROJECT / "docs" / "quorum.md").read_text("utf-8")
    (block,) = re.findall(r"### Back to three controllers\n.*?```console\n(.*?)```", text, re.DOTALL)
    named = {
        "CLUSTER_ID": cluster.cluster_id,
        "/etc/kafka/controller.properties": str(controller.write_properties()),
        "kafka1:9092,kafka2:9092": cluster.bootstrap(),
        "controller1:9093": f"{cluster.host}:{cluster.controllers[survivor].port}",
        "voter_id=102": f"voter_id={controller.node_id}",
        '"controller2", "port": 9093': f'"{controller.host}", "port": {controller.port}',
    }
    for name, here in named.items():
        assert name in block
        block = block.replace(name, here)
    commands = [shlex.split(each) for each in block.replace("\\\n", "").removeprefix("$ ").split("\n$ ")]
    (storage, *format_it), (systemctl, *_start), (ansible, *replace) = commands
    assert (storage, systemctl, ansible) == ("kafka-storage.sh", "systemctl", "ansible-playbook")
    formatted = cluster.client.run_tool("kafka.tools.StorageTool", *format_it)
    assert formatted.returncode == 0, formatted.stdout + formatted.stderr
    controller.start()
    program = str(Path(sys.executable).with_name(ansible))
    run = subprocess.run([program, *replace], cwd=PROJECT, capture_output=True, text=True, check=False, timeout=300)
    assert run.returncode == 0, run.stdout + run.stderr
