# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""SIGTERM and SIGHUP for ansible-playbook, its worker and the module, during a request.

docs/journal.md describes how ansible-core handles them. The module always ends by itself: it completes the current
request, restores the orders, ends all pending changes, and writes the report.
"""

from __future__ import annotations

import signal
from pathlib import Path

import pytest
from kafka.protocol.api_key import ApiKey

from ansible_collections.kafkaops.recovery.plugins.module_utils._changes.run_topic import RUN_TOPIC
from lab import Cluster, scenarios
from lab.changes import pending_changes
from lab.leadership import Operator, leaders, orders
from lab.playbook import Part, read_report, statuses
from lab.signals import output_of_signalled
from lab.waiting import wait_until

_PLAYBOOK = Path(__file__).with_name("elect.yml")


@pytest.mark.on_any_version
@pytest.mark.parametrize(
    ("who", "number"),
    [
        (Part.PLAYBOOK, signal.SIGTERM),
        pytest.param(Part.PLAYBOOK, signal.SIGHUP, marks=pytest.mark.wide),
        pytest.param(Part.WORKER, signal.SIGTERM, marks=pytest.mark.wide),
        pytest.param(Part.WORKER, signal.SIGHUP, marks=pytest.mark.wide),
        pytest.param(Part.MODULE, signal.SIGTERM, marks=pytest.mark.wide),
        pytest.param(Part.MODULE, signal.SIGHUP, marks=pytest.mark.wide),
    ],
)
def test_the_module_ends_in_order(cluster: Cluster, tmp_path: Path, who: Part, number: signal.Signals) -> None:
    offline = scenarios.diverged(cluster, "killed", partitions=2)
    report = tmp_path / "report.json"
    designations = [
        {"topic": "killed", "partition": each, "designated_leader": offline.best} for each in offline.partitions
    ]
    variables = {
        "bootstrap_servers": cluster.bootstrap(),
        "designations": designations,
        "report_file": str(report),
    }
    output = output_of_signalled(cluster, str(_PLAYBOOK), variables, who, number, ApiKey.ElectLeaders)
    wait_until(report.exists, 60, what="the module has written its report")
    wait_until(lambda: not cluster.client.describe(RUN_TOPIC), 30, what="the module has released the lock")
    assert orders(cluster, "killed") == dict.fromkeys(offline.partitions, offline.replicas)
    assert pending_changes(cluster) == ()
    reported = statuses(read_report(report))
    assert len(reported) == len(offline.partitions)
    for _topic, partition, status in reported:
        assert leaders(cluster, "killed")[partition] == (offline.best if status == "recovered" else None)
    assert ("this would be the table" in output) is (who is Part.MODULE and "fatal" not in output)


@pytest.mark.wide
@pytest.mark.on_any_version
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize("who", Part)
def test_a_drain_ends_in_order(cluster: Cluster, tmp_path: Path, who: Part, number: signal.Signals) -> None:
    """The requested orders are set and remembered, and the next run restores the original ones."""
    original = {0: (1, 2, 3), 1: (2, 1, 3)}
    cluster.client.create_topic("killed", original)
    report = tmp_path / "report.json"
    variables = {
        "kafka_bootstrap_servers": cluster.bootstrap(),
        "leadership_drain_brokers": [1],
        "leadership_drain_report_file": str(report),
    }
    playbook = "kafkaops.recovery.drain_leadership"
    output = output_of_signalled(cluster, playbook, variables, who, number, ApiKey.AlterPartitionReassignments)
    wait_until(report.exists, 60, what="the module has written its report")
    wait_until(lambda: not cluster.client.describe(RUN_TOPIC), 30, what="the module has released the lock")
    assert orders(cluster, "killed") == {0: (2, 3, 1), 1: (2, 3, 1)}
    assert pending_changes(cluster) == ()
    assert ("Print the summary" in output) is (who is Part.MODULE), output
    Operator(cluster).restore()
    assert orders(cluster, "killed") == original
