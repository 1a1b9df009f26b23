# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""With ELR, brokers that stopped uncleanly, or that have an older image of their disk, do not cost promised records."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import ElectionType
from confluent_kafka import TopicPartition as Wanted
from confluent_kafka.admin import AdminClient

from integration.history.alone import controllers_at, produce
from lab import Cluster, scenarios, settings, wait_until
from lab.module_process import run_module

pytestmark = [pytest.mark.wide, pytest.mark.needs_elr]

_TOPIC = "doubtful"
_OLD, _PROMISED = 50, 150
_LAST_LEADER, _ELIGIBLE = 1, 3


@pytest.fixture
def cluster(kafka_version: str) -> Iterator[Cluster]:
    with Cluster(kafka_version, features={"eligible.leader.replicas.version": 1}) as started:
        yield started


def _let_records_be_promised(cluster: Cluster, image_of: int, directory: Path) -> Path:
    """Write _OLD records, take an image of a broker's disk, and write the rest with _LAST_LEADER as the leader."""
    cluster.client.create_topic(_TOPIC, {0: [1, 2, 3]}, {"min.insync.replicas": 2})
    produce(cluster, _TOPIC, _OLD, "all")
    broker = cluster.brokers[image_of]
    broker.stop()
    image = shutil.copytree(broker.data_dirs[0], directory / "image")
    broker.start()
    scenarios.wait_isr(cluster, _TOPIC, {1, 2, 3}, seen_by=2)
    produce(cluster, _TOPIC, _PROMISED - _OLD, "all")
    if cluster.client.leader(_TOPIC) != _LAST_LEADER:
        admin = AdminClient({"bootstrap.servers": cluster.bootstrap(settings.INTERNAL)})
        admin.elect_leaders(ElectionType.PREFERRED, [Wanted(_TOPIC, 0)]).result()
        wait_until(lambda: cluster.client.leader(_TOPIC) == _LAST_LEADER, 30, what="the first broker leads")
    cluster.brokers[2].kill()
    scenarios.wait_isr(cluster, _TOPIC, {1, 3}, seen_by=1)
    return image


def _restore(cluster: Cluster, broker_id: int, image: Path) -> None:
    (disk,) = cluster.brokers[broker_id].data_dirs
    shutil.rmtree(disk)
    shutil.copytree(image, disk)
    cluster.brokers[broker_id].start()


def _steps(cluster: Cluster) -> list[str]:
    found = run_module("offline_partition_info", {"bootstrap_servers": [cluster.bootstrap()]})
    return [each["explanation"] for each in found["start_order"]]


def test_a_last_leader_with_an_older_disk_is_stopped_before_a_killed_eligible_one_starts(
    cluster: Cluster, tmp_path: Path
) -> None:
    client, last, eligible = cluster.client, cluster.brokers[_LAST_LEADER], cluster.brokers[_ELIGIBLE]
    image = _let_records_be_promised(cluster, _LAST_LEADER, tmp_path)
    eligible.kill()
    scenarios.wait_isr(cluster, _TOPIC, {1}, seen_by=1)
    last.kill()
    _restore(cluster, _LAST_LEADER, image)
    wait_until(lambda: client.describe(_TOPIC, broker=1)[0].elr == (_ELIGIBLE,), 30, what="Kafka trusts it no more")
    assert client.log_end_offset(_TOPIC, 0, _LAST_LEADER) == _OLD
    first = _steps(cluster)[0]
    assert "if broker 3 was not stopped cleanly either, the controller elects broker 1" in first
    assert "stop it before broker 3 starts" in first

    last.stop()
    eligible.start()
    scenarios.wait_offline(cluster, _TOPIC, away={1, 2}, seen_by=3)
    first = _steps(cluster)[0]
    assert first.startswith("broker 1: last leader of 1")
    assert "if another replica holds more than it did then, leave it down" in first
    elected = run_module(
        "unclean_recovery",
        {
            "bootstrap_servers": [cluster.bootstrap()],
            "partitions": [{"topic": _TOPIC, "partitions": [0]}],
            "lost_brokers": [_LAST_LEADER, 2],
        },
    )
    assert "msg" not in elected, elected["msg"]
    last.start()
    scenarios.wait_isr(cluster, _TOPIC, {1, 3}, seen_by=3)
    assert client.leader(_TOPIC) == _ELIGIBLE
    assert len(client.consume_all(_TOPIC, 0)) == _PROMISED


def test_no_proof_for_a_replica_that_left_the_elr_when_it_came_back(cluster: Cluster, tmp_path: Path) -> None:
    """Broker 3 is shut down properly, and started with an older image of its disk. Kafka notices that."""
    image = _let_records_be_promised(cluster, _ELIGIBLE, tmp_path)
    cluster.client.create_topic("led", {0: [3, 1]})  # A broker that leads nothing shuts down without a record of it.
    cluster.brokers[_ELIGIBLE].stop()
    scenarios.wait_isr(cluster, _TOPIC, {1}, seen_by=1)
    cluster.brokers[_LAST_LEADER].kill()
    _restore(cluster, _ELIGIBLE, image)
    scenarios.wait_offline(cluster, _TOPIC, away={1, 2}, seen_by=3)
    assert cluster.client.log_end_offset(_TOPIC, 0, _ELIGIBLE) == _OLD
    asked: dict[str, Any] = {
        "bootstrap_servers": [cluster.bootstrap()],
        "bootstrap_controllers": [controllers_at(cluster)],
        "partitions": [{"topic": _TOPIC, "partitions": [0]}],
        "recovery_duration_ms": 2_000,
        "proof": "accept",
        "max_lost_records": 0,
    }
    (row,) = run_module("unclean_recovery", asked)["partitions"]
    assert row["status"] == "refused", row["reason"]
    (loss,) = row["losses"]
    assert (loss["acks_all_lost"], loss["lacks_seconds"]) == (None, None)
    assert loss["proof"].startswith("Kafka took broker 3 out of the ELR when it came back")
    assert cluster.client.leader(_TOPIC) is None
