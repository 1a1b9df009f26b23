# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The controller was restored from an older disk: it gives leader epochs that other leaders have used already.

Then the same epoch and offset are other records on two disks, and Kafka itself does not notice.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from ansible_collections.kafkaops.recovery.plugins.module_utils._salvage.finding import SalvageStatus
from integration.salvage.disks import salvage
from integration.salvage.test_replay import give_back, of_partition
from integration.strategies.outages import wait_isr
from lab import Cluster, wait_until

_TOPIC, _COMMON, _EPOCHS, _PER_EPOCH, _NEW = "orders", 100, 5, 10, 120


@pytest.mark.wide
def test_records_of_an_epoch_that_two_leaders_had_are_saved_and_given_back(kafka_version: str, tmp_path: Path) -> None:
    with Cluster(kafka_version, brokers=3, controllers=1) as cluster:
        (controller,) = cluster.controllers.values()
        cluster.client.create_topic(_TOPIC, {0: [1, 2, 3]}, {"min.insync.replicas": 1})
        cluster.client.produce(_TOPIC, [0], _COMMON)
        wait_isr(cluster, [_TOPIC], {1, 2, 3}, seen_by=1)
        controller.stop()
        shutil.copytree(controller.data_dirs[0], tmp_path / "snapshot")
        controller.start()
        cluster.brokers[1].stop()
        leader, other = 2, 3
        for epoch in range(1, _EPOCHS + 1):
            _wait_for_leader(cluster, leader, epoch)
            cluster.client.produce(_TOPIC, [0], _PER_EPOCH)
            if epoch < _EPOCHS:
                wait_isr(cluster, [_TOPIC], {2, 3}, seen_by=other)
                cluster.brokers[leader].stop()
                cluster.brokers[leader].start()
                leader, other = other, leader
        lost = _EPOCHS * _PER_EPOCH

        restore_controller(cluster, tmp_path / "snapshot")
        cluster.brokers[1].start()
        wait_until(
            lambda: cluster.client.describe(_TOPIC, broker=1)[0].leader in (1, None), 60, what="the others are fenced"
        )
        if cluster.client.describe(_TOPIC, broker=1)[0].leader is None:
            cluster.client.elect_unclean(_TOPIC, [0])
        wait_until(lambda: cluster.client.describe(_TOPIC, broker=1)[0].leader == 1, 60, what="broker 1 leads")
        again = cluster.client.describe(_TOPIC, broker=1)[0].leader_epoch
        assert 1 < again <= _EPOCHS, "an epoch that the disk has, too, and not from the same offset on"
        cluster.client.produce(_TOPIC, [0], _NEW)
        saved = salvage(cluster, tmp_path / "saved", log_dirs=cluster.brokers[leader].data_dirs)
        (found,) = (each for each in saved.findings if each.topic == _TOPIC)
        assert (found.status, found.lost_records) == (SalvageStatus.SAVED, lost), found
        given = give_back(cluster, tmp_path / "saved", topics=[_TOPIC], target="original")
        assert of_partition(given, _TOPIC)["given"] == lost


def _wait_for_leader(cluster: Cluster, leader: int, epoch: int) -> None:
    def is_led() -> bool:
        state = cluster.client.describe(_TOPIC, broker=leader)[0]
        return (state.leader, state.leader_epoch) == (leader, epoch)

    wait_until(is_led, 60, what=f"broker {leader} leads in epoch {epoch}")


def restore_controller(cluster: Cluster, snapshot: Path) -> None:
    """Stop all brokers, and let the controller go on with the snapshot of its disk."""
    (controller,) = cluster.controllers.values()
    for each in (2, 3):
        cluster.brokers[each].kill()
    controller.kill()
    shutil.rmtree(controller.data_dirs[0])
    shutil.copytree(snapshot, controller.data_dirs[0])
    for broker in cluster.brokers.values():
        # It would not go back before what it knows to be committed.
        shutil.rmtree(broker.data_dirs[0] / "__cluster_metadata-0")
    controller.start()
