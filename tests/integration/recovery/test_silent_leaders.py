# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Leaders that do not answer: no run says that nothing is offline while the metadata still names one."""

from __future__ import annotations

import pytest

from lab import Cluster
from lab.faults import DropBeforeRequest
from lab.module_process import run_module
from lab.playbook import statuses
from lab.recovery import Recovery


def test_a_leader_at_a_dead_address_is_not_taken_for_online(cluster: Cluster, recovery: Recovery) -> None:
    """Only this host cannot reach it: the broker goes on to heartbeat, so that the controller never fences it."""
    cluster.client.create_topic("unheard", {0: [1], 1: [2], 2: [1]})
    with cluster.proxy.inject(DropBeforeRequest(), broker=1):
        check = recovery.recover("--check")
    assert check.returncode != 0, check.output
    assert "the metadata names broker 1 as leader, and it does not answer" in check.words
    assert "partitions are led by brokers that do not answer" in check.words
    assert "No partition is offline" not in check.words
    unknown = {(topic, number) for topic, number, status in statuses(recovery.report) if status == "unknown"}
    assert {("unheard", 0), ("unheard", 2)} <= unknown
    assert ("unheard", 1) not in unknown
    assert cluster.proxy.write_requests() == []


@pytest.mark.wide
@pytest.mark.parametrize("fault", ["kill", "freeze"])
def test_a_run_waits_until_the_dead_leader_is_fenced(cluster: Cluster, fault: str) -> None:
    cluster.client.create_topic("just-dead", {0: [1], 1: [2]})
    options = {"bootstrap_servers": [cluster.bootstrap()], "request_timeout_ms": 1000}
    getattr(cluster.brokers[1], fault)()
    looked = run_module("offline_partition_info", options)
    done = run_module("offline_partition_info", {**options, "fencing_wait_ms": 20_000})
    assert looked["summary"]["unknown"] + looked["summary"]["offline"] >= 1
    assert [(each["topic"], each["partition"]) for each in done["partitions"]] == [("just-dead", 0)]
    assert done["summary"]["unknown"] == 0
