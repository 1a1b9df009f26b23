# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A survivor that was killed holds what it held, if its host ran on. The operator knows that, and no log of Kafka."""

from __future__ import annotations

import json
import time
from datetime import UTC, datetime
from pathlib import Path

import pytest

from integration.history.alone import controllers_at, loss_at_only_survivor, produce
from lab import Cluster, scenarios
from lab.playbook import RECOVER, run_playbook

_TOPIC = "killed"


@pytest.mark.wide
def test_the_boot_time_of_its_host_proves_that_a_killed_replica_holds_all(cluster: Cluster, tmp_path: Path) -> None:
    survivor, last_leader = cluster.brokers[3], cluster.brokers[1]
    cluster.client.create_topic(_TOPIC, {0: [1, 2, 3]}, {"min.insync.replicas": 2})
    cluster.brokers[2].kill()
    scenarios.wait_isr(cluster, _TOPIC, {1, 3}, seen_by=1)
    produce(cluster, _TOPIC, 50, "all")
    survivor.kill()
    killed = datetime.fromtimestamp(time.time(), UTC).isoformat()
    scenarios.wait_isr(cluster, _TOPIC, {1}, seen_by=1)
    produce(cluster, _TOPIC, 5, "1")
    last_leader.kill()
    survivor.start()
    scenarios.wait_offline(cluster, _TOPIC, away={1, 2}, seen_by=3)

    unproven = loss_at_only_survivor(cluster, _TOPIC)
    assert (unproven["acks_all_lost"], unproven["lacks_seconds"]) == (None, None)
    assert "host_boot_times can prove that it lost nothing" in unproven["proof"]
    crashed = loss_at_only_survivor(cluster, _TOPIC, host_boot_times={"3": killed})
    assert (crashed["acks_all_lost"], crashed["proof"]) == (None, unproven["proof"])

    # The rest is typed as documented: the balanced strategy elects on the proof, and on nothing else.
    typed = [
        *("-e", f"kafka_bootstrap_controllers={controllers_at(cluster)}"),
        *("-e", "unclean_recovery_all_offline_partitions=true", "-e", "unclean_recovery_automated_recovery=true"),
        *("-e", "unclean_recovery_strategy=balanced", "-e", "unclean_recovery_proof=accept"),
        *("-e", "unclean_recovery_duration_ms=2000"),
    ]
    connection = {"kafka_bootstrap_servers": cluster.bootstrap()}
    report = tmp_path / "report.json"
    left = run_playbook(RECOVER, connection, *typed)
    assert left.returncode == 2, left.output
    assert (
        "not proven that an election now loses no record that was acknowledged with acks=all: broker 3 " in left.words
    )
    assert "its host ran on, unclean_recovery_host_boot_times can prove that it lost nothing" in left.words
    assert cluster.client.leader(_TOPIC) is None
    typed += [
        "-e",
        "unclean_recovery_host_boot_times=3=2026-01-31T02:00:00Z",
        "-e",
        f"unclean_recovery_report_file={report}",
    ]
    done = run_playbook(RECOVER, connection, *typed)
    assert done.returncode == 0, done.output
    assert cluster.client.leader(_TOPIC) == 3
    assert cluster.client.log_end_offset(_TOPIC, 0, 3) == 50, "all that was acknowledged with acks=all is there"
    assert "the host ran on, by the boot times that were given" in report.read_text(encoding="utf-8")
    (loss,) = json.loads(report.read_text(encoding="utf-8"))["partitions"][0]["losses"]
    assert loss["assumptions"] == ["boot_times_right", "disk_not_older"]
    assert (
        "none of them was acknowledged with acks=all, provided that the given boot times are right and no disk was "
        "restored from an older image" in done.words
    )
