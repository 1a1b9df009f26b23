# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A replay ends under a producer quota that lets no large transaction pass within its time limit."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from integration.salvage.disks import salvage
from integration.salvage.oracle import Oracle, read_all
from integration.salvage.test_held_again import elect
from integration.salvage.test_replay import give_back, of_partition
from integration.salvage.wreck import PATIENT, PROPERTIES
from integration.strategies.outages import wait_isr
from lab import Cluster, settings

TOPIC, RECORDS, BYTES = "slow", 80, 50_000
QUOTA = 20_000
"""Bytes a second: all records together take 200 s, less what Kafka lets pass at first (quota.window.num seconds), which
is longer than a transaction may take (60 s)."""


@contextmanager
def quota(cluster: Cluster) -> Iterator[None]:
    def alter(*how: str) -> None:
        entity = ("--entity-type", "clients", "--entity-default")
        where = ("--bootstrap-server", cluster.bootstrap(settings.INTERNAL), "--alter")
        done = cluster.client.run_tool("kafka.admin.ConfigCommand", *where, *entity, *how)
        assert done.returncode == 0, done.stderr

    alter("--add-config", f"producer_byte_rate={QUOTA}")
    try:
        yield
    finally:
        alter("--delete-config", "producer_byte_rate")


@pytest.mark.wide
def test_a_slow_replay_ends(kafka_version: str, tmp_path: Path) -> None:
    with Cluster(kafka_version, properties=PROPERTIES, controller_properties=PATIENT) as cluster:
        oracle = Oracle(cluster)
        cluster.client.create_topic(TOPIC, {0: (1, 2)}, {"min.insync.replicas": 1, "retention.ms": -1})
        oracle.write_keys("common", TOPIC, 0, [b"common"])
        wait_isr(cluster, [TOPIC], {1, 2}, seen_by=1)
        cluster.brokers[2].kill()
        wait_isr(cluster, [TOPIC], {1}, seen_by=1)
        oracle.write_keys("lost", TOPIC, 0, [random.Random(number).randbytes(BYTES) for number in range(RECORDS)])
        cluster.brokers[1].kill()
        cluster.brokers[2].start()
        elect(cluster, TOPIC, 2)
        salvage(cluster, tmp_path / "saved", log_dirs=cluster.brokers[1].data_dirs, topics={TOPIC})
        with quota(cluster):
            result = give_back(cluster, tmp_path / "saved", topics=[TOPIC])
        assert "msg" not in result, result["msg"]
        assert of_partition(result, TOPIC)["given"] == RECORDS
        lost = [each.key for each in oracle.of("lost", TOPIC)]
        assert [each.key for each in read_all(cluster, f"{TOPIC}.salvaged", [0])] == lost
