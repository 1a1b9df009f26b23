# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A repair that is killed before or after one of its requests, and the next run of another user."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
from kafka.protocol.api_key import ApiKey

from ansible_collections.kafkaops.recovery.plugins.module_utils._changes.run_topic import RUN_TOPIC
from lab.boundary import Boundary
from lab.changes import pending_changes
from lab.cleaner import CleanerCluster, CleanerOperator, own_settings
from lab.faults import After, Before
from lab.module_process import Account
from lab.waiting import wait_until

pytestmark = [pytest.mark.wide, pytest.mark.timeout(400)]


# The run creates the topic, claims it, throttles the broker and the topic (a record before each), records the replica,
# drops it, re-creates it, settles it, takes the throttle off (a record after each), and deletes the topic.
_BOUNDARIES = [
    Boundary("the-topic-is-created", After, ApiKey.CreateTopics),
    Boundary("the-rate-is-recorded", After, ApiKey.Produce, 2),
    Boundary("the-rate-is-set", After, ApiKey.IncrementalAlterConfigs),
    Boundary("the-list-is-set", After, ApiKey.IncrementalAlterConfigs, 2),
    Boundary("before-the-drop", Before, ApiKey.AlterPartitionReassignments),
    Boundary("after-the-drop", After, ApiKey.AlterPartitionReassignments),
    Boundary("it-is-re-created", After, ApiKey.AlterPartitionReassignments, 2),
    Boundary("the-list-is-reset", After, ApiKey.IncrementalAlterConfigs, 3),
    Boundary("the-rate-is-reset", After, ApiKey.IncrementalAlterConfigs, 4),
    Boundary("before-the-topic-is-deleted", Before, ApiKey.DeleteTopics),
]


@pytest.mark.parametrize("boundary", _BOUNDARIES, ids=lambda each: each.name)
def test_the_next_run_restores_every_replica_and_setting(
    lab: CleanerCluster, tmp_path: Path, boundary: Boundary
) -> None:
    topic = f"killed-{boundary.name}"
    lab.damaged(topic, (1, 2, 3), 3)
    homes = [tmp_path / "home", tmp_path / "another-home"]
    first, second = (
        CleanerOperator(lab, Account(user_id, home)) for home, user_id in zip(homes, (2001, 2002), strict=True)
    )
    for home in homes:
        home.mkdir()
    options: dict[str, Any] = {
        "brokers": [3],
        "partitions": [{"topic": topic, "partition": 0}],
        "request_timeout_ms": 5000,
        "throttle_bytes_per_second": 50_000_000,
    }
    boundary.kill(lab.proxy, lambda: first.start("log_cleaner_repair", check_mode=False, **options))
    shutil.rmtree(homes[0])

    reported = second.run("log_cleaner_repair", check_mode=False, **options)
    assert {each["undoing"] for each in reported["leftovers"]} <= {"restored", "already_back"}, reported
    assert [each["status"] for each in reported["outcomes"]] in (["repaired"], ["not_needed"]), reported
    lab.assert_in_sync(topic, (1, 2, 3), leader=1)
    second.assert_healthy(3)
    assert all("throttled" not in name for broker in lab.cluster.brokers for name in own_settings(lab.admin, broker))
    assert pending_changes(lab.cluster) == ()
    wait_until(lambda: not lab.cluster.client.describe(RUN_TOPIC), 10, what="the run topic is gone")
