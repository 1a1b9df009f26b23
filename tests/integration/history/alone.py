# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""An outage in which one broker took records alone, and a cluster for it."""

from __future__ import annotations

import time
from typing import Any

from confluent_kafka import Producer

from lab import Cluster, scenarios, versions
from lab.health import heal
from lab.module_process import run_module
from lab.pool import Specification


def without_elr(version: str) -> dict[str, int]:
    """Return the features of a cluster without eligible leader replicas (KIP-966)."""
    return {"eligible.leader.replicas.version": 0} if versions.has_elr(version) else {}


def _create(version: str) -> Cluster:
    return Cluster(version, features=without_elr(version))


WITHOUT_ELR: Specification[Cluster] = Specification("without ELR", _create, heal)
"""With ELR the controller elects the survivor itself that holds all: such a partition does not stay offline."""


def controllers_at(cluster: Cluster) -> str:
    return ",".join(f"{each.host}:{port}" for each in cluster.controllers.values() for port in each.ports.values())


def produce(cluster: Cluster, topic: str, count: int, acks: str) -> None:
    """Write records, and see each of them acknowledged."""
    errors: list[object] = []
    producer = Producer({"bootstrap.servers": cluster.bootstrap("INTERNAL"), "acks": acks, "log_level": 0})
    for number in range(count):
        producer.produce(
            topic, f"{acks}-{number}", partition=0, on_delivery=lambda error, _message: errors.append(error)
        )
    producer.flush(30)
    assert errors == [None] * count


def options_of(cluster: Cluster, topic: str, **more: Any) -> dict[str, Any]:
    """Return the options of a module that plans for a topic's only partition, or recovers it."""
    return {
        "bootstrap_servers": [cluster.bootstrap()],
        "bootstrap_controllers": [controllers_at(cluster)],
        "partitions": [{"topic": topic, "partition": 0}],
        "recovery_duration_ms": 2_000,
        **more,
    }


def loss_at_only_survivor(cluster: Cluster, topic: str, **more: Any) -> dict[str, Any]:
    """Return what electing the only survivor of a topic's partition loses, with its proof, as a plan has it."""
    (row,) = run_module("leader_candidate_info", options_of(cluster, topic, proof="accept", **more))["partitions"]
    loss: dict[str, Any]
    (loss,) = row["losses"]
    return loss


def break_down(cluster: Cluster, topic: str, min_isr: int) -> tuple[float, float]:
    """2 leaves the ISR, then 3 does, then 1 takes records alone until it is killed. Returns when 3 left and 1 died."""
    cluster.client.create_topic(topic, {0: [1, 2, 3]}, {"min.insync.replicas": min_isr})
    produce(cluster, topic, 10, "all")
    cluster.brokers[2].freeze()
    scenarios.wait_isr(cluster, topic, {1, 3}, seen_by=1)
    produce(cluster, topic, 5, "all")
    cluster.brokers[3].freeze()
    scenarios.wait_isr(cluster, topic, {1}, seen_by=1)
    left = time.time() * 1000
    produce(cluster, topic, 3, "1")
    cluster.brokers[1].kill()
    lost = time.time() * 1000
    for broker in (2, 3):
        cluster.brokers[broker].thaw()
    for broker in (2, 3):
        scenarios.wait_offline(cluster, topic, away={1}, seen_by=broker)
    return left, lost
