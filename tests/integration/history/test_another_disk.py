# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A broker is shut down properly, and comes back with a part of its log: another disk, or one that had failed."""

from __future__ import annotations

from pathlib import Path

import pytest

from integration.history.alone import loss_at_only_survivor, produce, without_elr
from lab import Cluster, scenarios

_METADATA_VERSION_3_6 = 14
"""3.6-IV2, the last one without KIP-858."""


@pytest.mark.wide
def test_there_is_no_proof_after_a_log_directory_failed(kafka_version: str) -> None:
    with Cluster(kafka_version, log_dirs=2, features=without_elr(kafka_version)) as cluster:
        damaged, last_leader = cluster.brokers[3], cluster.brokers[1]
        disk = damaged.data_dirs[-1]  # without the first one, which has the metadata log, a broker halts
        topic = _create_on(cluster, disk)
        # A broker that leads nothing shuts down without a record of it.
        cluster.client.create_topic("led", {0: [3, 1], 1: [3, 1]})
        _write(cluster, topic)
        repaired = disk.rename(disk.with_name(f"{disk.name}-in-repair"))
        scenarios.wait_isr(cluster, topic, {1}, seen_by=1)
        damaged.stop()
        last_leader.kill()
        _cut(repaired / f"{topic}-0")
        repaired.rename(disk)
        why = _return_without_proof(cluster, topic)
        assert "a log directory of broker 3 was offline before the broker restarted" in why


@pytest.mark.wide
def test_there_is_no_proof_after_a_restart_if_no_record_names_the_disks(kafka_version: str) -> None:
    """Brokers register without their log directories while metadata.version is below 3.7."""
    features = {"metadata.version": _METADATA_VERSION_3_6}
    with Cluster(kafka_version, features=features) as cluster:
        replaced, last_leader = cluster.brokers[3], cluster.brokers[1]
        topic = _create_on(cluster, replaced.data_dirs[0])
        cluster.client.create_topic("led", {0: [3, 1]})
        _write(cluster, topic)
        replaced.stop()
        scenarios.wait_isr(cluster, topic, {1}, seen_by=1)
        last_leader.kill()
        # The part that another disk had got until the leader died.
        part = replaced.data_dirs[0] / f"{topic}-0"
        _cut(part)
        kept = part.rename(replaced.data_dirs[0].parent / part.name)
        replaced.wipe()
        kept.rename(part)
        why = _return_without_proof(cluster, topic)
        assert "does not name its log directories before and after that" in why


def _write(cluster: Cluster, topic: str) -> None:
    """Write 150 records that brokers 1 and 3 hold. Broker 2 is left behind."""
    produce(cluster, topic, 100, "all")
    cluster.brokers[2].freeze()
    scenarios.wait_isr(cluster, topic, {1, 3}, seen_by=1)
    produce(cluster, topic, 50, "all")


def _return_without_proof(cluster: Cluster, topic: str) -> str:
    """Start broker 3, the only survivor, which holds a part of the records, and return why nothing is proven of it."""
    cluster.brokers[3].start()
    scenarios.wait_offline(cluster, topic, away={1, 2}, seen_by=3)
    held = cluster.client.log_end_offset(topic, 0, 3)
    assert held is not None
    assert 0 < held < 150, "records are gone that were acknowledged by all"
    loss = loss_at_only_survivor(cluster, topic)
    assert loss["acks_all_lost"] is None, loss
    proof: str = loss["proof"]
    return proof


def _create_on(cluster: Cluster, disk: Path) -> str:
    """Create topics until broker 3 has chosen this directory for one, and return its name."""
    for number in range(4):
        topic = f"on_disk_{number}"
        cluster.client.create_topic(topic, {0: [1, 2, 3]}, {"min.insync.replicas": 2})
        scenarios.wait_isr(cluster, topic, {1, 2, 3}, seen_by=1)
        if (disk / f"{topic}-0").exists():
            return topic
    raise AssertionError(f"no topic is on {disk}")


def _cut(log: Path) -> None:
    """Remove the end of a log, as if it had never been written to the disk."""
    segment = log / f"{0:020}.log"
    with segment.open("r+b") as file:
        file.truncate(segment.stat().st_size * 3 // 4)
