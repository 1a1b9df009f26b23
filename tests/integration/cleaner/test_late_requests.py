# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A drop or a throttle of a killed run, which is executed after the next run has begun."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from kafka.protocol.api_key import ApiKey

from lab.changes import pending_changes
from lab.cleaner import CleanerCluster, CleanerOperator, own_settings
from lab.held import held, kill_when_held
from lab.module_process import results
from lab.waiting import wait_until

pytestmark = pytest.mark.wide


@pytest.mark.parametrize(
    ("api_key", "change"),
    [
        (ApiKey.AlterPartitionReassignments, "replica of late-45-0 on broker 3"),
        (ApiKey.IncrementalAlterConfigs, "follower.replication.throttled.rate of broker 3"),
    ],
    ids=["drop", "throttle"],
)
def test_a_late_request_of_a_killed_repair(
    lab: CleanerCluster, operator: CleanerOperator, tmp_path: Path, api_key: ApiKey, change: str
) -> None:
    topic, progress = f"late-{api_key.value}", tmp_path / "progress"
    lab.damaged(topic, (1, 2, 3), 3)
    options: dict[str, Any] = {"brokers": [3], "request_timeout_ms": 5000, "throttle_bytes_per_second": 50_000_000}
    lab.proxy.clear()
    process = operator.start("log_cleaner_repair", **options)
    with held(lab.proxy, api_key) as (rule, let_go):
        kill_when_held(rule, process)
        assert lab.cluster.client.describe(topic)[0].replicas == (1, 2, 3), "the replica is not dropped yet"
        assert change in map(str, pending_changes(lab.cluster)), "the journal has the requested change"
        next_one = operator.start("log_cleaner_repair", progress_file=str(progress), **options)
        wait_until(
            lambda: progress.exists() and "may still be executed" in progress.read_text(encoding="utf-8"),
            60,
            what="the next run waits for late requests",
        )
        let_go.set()
        reported = results(next_one)
    late = [each for each in reported["leftovers"] if "executed late" in each["reason"]]
    assert [(each["change"], each["undoing"]) for each in late] == [(change, "restored")], reported
    # If the replica was dropped late, its mark is cleared, or its new copy can be cleaned.
    assert {each["status"] for each in reported["outcomes"]} <= {"repaired"}, reported
    lab.assert_in_sync(topic, (1, 2, 3), leader=1)
    assert all("throttled" not in name for broker in lab.cluster.brokers for name in own_settings(lab.admin, broker))
    assert pending_changes(lab.cluster) == ()
