# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A broker that was shut down properly comes back with an older image of its disk: the proof names its condition."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from integration.history.alone import loss_at_only_survivor, produce
from lab import Cluster, scenarios

_TOPIC = "imaged"


@pytest.mark.wide
def test_the_proof_after_a_clean_restart_says_on_what_it_rests(cluster: Cluster, tmp_path: Path) -> None:
    restored, last_leader = cluster.brokers[3], cluster.brokers[1]
    cluster.client.create_topic(_TOPIC, {0: [1, 2, 3]}, {"min.insync.replicas": 2})
    produce(cluster, _TOPIC, 10, "all")
    restored.stop()
    image = shutil.copytree(restored.data_dirs[0], tmp_path / "image")
    restored.start()
    scenarios.wait_isr(cluster, _TOPIC, {1, 2, 3}, seen_by=1)
    # A broker that leads nothing shuts down without a record of it.
    cluster.client.create_topic("led", {0: [3, 1]})
    produce(cluster, _TOPIC, 100, "all")
    cluster.brokers[2].freeze()
    scenarios.wait_isr(cluster, _TOPIC, {1, 3}, seen_by=1)
    produce(cluster, _TOPIC, 50, "all")
    restored.stop()
    scenarios.wait_isr(cluster, _TOPIC, {1}, seen_by=1)
    last_leader.kill()
    shutil.rmtree(restored.data_dirs[0])
    shutil.copytree(image, restored.data_dirs[0])
    restored.start()
    scenarios.wait_offline(cluster, _TOPIC, away={1, 2}, seen_by=3)
    assert cluster.client.log_end_offset(_TOPIC, 0, 3) == 10, "150 records are gone that were acknowledged by all"

    loss = loss_at_only_survivor(cluster, _TOPIC)
    assert loss["assumptions"] == ["shutdown_completed", "disk_not_older"]
    assert loss["proof"].endswith(
        "broker 3 was shut down and started since: this holds unless a host lost power before its broker had stopped, "
        "or a disk was restored from an older image then"
    )
