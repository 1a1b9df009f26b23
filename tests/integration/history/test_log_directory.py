# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The history from the log directory of a node: of a running one, of a dead one, and of copies that must not be used.

The oracle is the history that the active controller returns.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from integration.history.alone import break_down, controllers_at
from lab import Cluster, scenarios
from lab.module_process import run_module
from lab.waiting import wait_until


def history(cluster: Cluster, topic: str, **options: Any) -> dict[str, Any]:
    asked = {"bootstrap_servers": [cluster.bootstrap()], "partitions": [{"topic": topic, "partition": 0}]}
    return run_module("partition_history_info", asked | options)


def kept(found: dict[str, Any]) -> list[tuple[int, bool | None]]:
    (row,) = found["partitions"]
    return [(each["broker_id"], each["keeps_acks_all"]) for each in row["survivors"]]


@pytest.mark.wide
def test_a_log_directory_says_what_the_controllers_say(cluster: Cluster, tmp_path: Path) -> None:
    break_down(cluster, "copied", min_isr=2)
    asked = history(cluster, "copied", bootstrap_controllers=[controllers_at(cluster)])
    controller = next(iter(cluster.controllers.values())).data_dirs[0]
    for log_dir in (controller, cluster.brokers[2].data_dirs[0]):
        found = history(cluster, "copied", metadata_log_dir=str(log_dir))
        assert found["source"] == f"the metadata log in {log_dir}/__cluster_metadata-0"
        assert found["missing"] == ""
        assert kept(found) == kept(asked) == [(2, None), (3, True)]
        times = ("last_leader_id", "alone_since", "leader_lost_at", "isr_changes")
        assert {each: found["partitions"][0][each] for each in times} == {
            each: asked["partitions"][0][each] for each in times
        }

    # The dead leader's own copy ends before its death.
    dead = history(cluster, "copied", metadata_log_dir=str(cluster.brokers[1].data_dirs[0]))
    assert "does not have the last change of 1 partition" in dead["missing"]
    assert kept(dead) == [(2, None), (3, None)]

    copy = tmp_path / "copy"
    shutil.copytree(controller, copy)
    meta = copy / "meta.properties"
    meta.write_text(meta.read_text("utf-8").replace(cluster.cluster_id, "AAAAAAAAAAAAAAAAAAAAAA"), "utf-8")
    other = history(cluster, "copied", metadata_log_dir=str(copy))
    assert f"is of cluster AAAAAAAAAAAAAAAAAAAAAA, and not of {cluster.cluster_id}" in other["missing"]
    assert (other["source"], kept(other)) == ("", [(2, None), (3, None)])

    loss = run_module(
        "leader_candidate_info",
        {
            "bootstrap_servers": [cluster.bootstrap()],
            "partitions": [{"topic": "copied", "partition": 0}],
            "recovery_duration_ms": 2000,
            "metadata_log_dir": str(controller),
        },
    )["partitions"][0]
    proven = {each["broker_id"]: each["acks_all_lost"] for each in loss["losses"]}
    assert proven[3] == 0


@pytest.mark.wide
def test_an_old_copy_does_not_date_a_later_outage(cluster: Cluster, tmp_path: Path) -> None:
    """The leader returns, leads alone again, and dies again: leader and ISR are as in the copy, but not the epoch."""
    break_down(cluster, "again", min_isr=2)
    controller = next(iter(cluster.controllers.values())).data_dirs[0]
    old = tmp_path / "old"
    shutil.copytree(controller, old)
    (first,) = history(cluster, "again", metadata_log_dir=str(old))["partitions"]
    assert first["last_leader_id"] == 1

    for broker in (2, 3):
        cluster.brokers[broker].freeze()
    cluster.brokers[1].start()
    scenarios.wait_isr(cluster, "again", {1}, seen_by=1)
    cluster.brokers[1].kill()
    for broker in (2, 3):
        cluster.brokers[broker].thaw()

    def lost_again() -> bool:
        found = history(cluster, "again", metadata_log_dir=str(controller))["partitions"]
        return any(each["leader_lost_at"] and each["leader_lost_at"] > first["leader_lost_at"] for each in found)

    # The survivors' own metadata is that of the first outage for a moment.
    wait_until(lost_again, 60, what="the partition is offline again, seen by the brokers")
    found = history(cluster, "again", metadata_log_dir=str(old))
    assert "does not have the last change of 1 partition" in found["missing"]
    assert found["partitions"][0]["leader_lost_at"] is None
    assert kept(found) == [(2, None), (3, None)]
