# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Clusters with tiered storage (KIP-405), in Kafka's own implementation for tests: a directory that brokers share."""

from __future__ import annotations

from pathlib import Path

from confluent_kafka.admin import (
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    ResourceType,
)

from lab import jars, settings, versions
from lab.cluster import Cluster
from lab.waiting import wait_until

_STORAGE = "org.apache.kafka.server.log.remote.storage.LocalTieredStorage"
_TIMEOUT_S = 90.0
_FOREVER, _AT_ONCE = "-2", "1"


def tiered_cluster(version: str, tier: Path) -> Cluster:
    """Return a cluster, not started, whose tier is a directory."""
    properties = {
        "remote.log.storage.system.enable": "true",
        "remote.log.storage.manager.class.name": _STORAGE,
        "remote.log.storage.manager.class.path": _class_path(version),
        "remote.log.storage.manager.impl.prefix": "rsm.config.",
        "rsm.config.dir": tier,
        "remote.log.metadata.manager.listener.name": settings.INTERNAL,
        "remote.log.metadata.manager.impl.prefix": "rlmm.config.",
        "rlmm.config.remote.log.metadata.topic.num.partitions": 1,
        "rlmm.config.remote.log.metadata.initialization.retry.interval.ms": 500,
        "remote.log.manager.task.interval.ms": 500,
        "log.retention.check.interval.ms": 500,
        "log.initial.task.delay.ms": 500,
    }
    enabled = {"remote.log.storage.system.enable": "true"}
    return Cluster(version, proxied=True, properties=properties, controller_properties=enabled)


def _class_path(version: str) -> str:
    built_for = versions.tiered_storage(version)
    paths = [jars.artifact(f"org.apache.kafka:kafka-storage:{built_for}:test")]
    if built_for != version:
        # Kafka 4.4 has moved LogContext, by which this storage logs.
        clients = jars.artifact(f"org.apache.kafka:kafka-clients:{built_for}")
        paths.append(jars.part(clients, "org/apache/kafka/common/utils/LogContext"))
    return ":".join(map(str, paths))


def create_topic(cluster: Cluster, topic: str) -> None:
    """Create a tiered topic of one partition on all brokers. Each batch begins a segment; none is deleted."""
    config = {
        "remote.storage.enable": "true",
        "segment.ms": "1",
        "retention.ms": "-1",
        "local.retention.ms": _FOREVER,
        "file.delete.delay.ms": "100",
    }
    cluster.client.create_topic(topic, {0: sorted(cluster.brokers)}, config)


def wait_for_tier(tier: Path, segments: int) -> None:
    """Wait until this number of segments is in the tier."""
    wait_until(lambda: len([*tier.rglob("*.log")]) >= segments, _TIMEOUT_S, what=f"{segments} segments are in the tier")


def local_start(cluster: Cluster, topic: str, broker: int) -> int:
    """Return the first offset on a broker's own disk, by its files."""
    files = [each for data_dir in cluster.brokers[broker].data_dirs for each in data_dir.glob(f"{topic}-0/*.log")]
    return min(int(each.stem) for each in files)


def delete_tiered_segments(cluster: Cluster, topic: str) -> None:
    """Let every live broker delete segments from its own disk that are in the tier, and stop the deletion then."""
    _set(cluster, topic, _AT_ONCE)
    for broker in cluster.live_brokers:
        wait_until(
            lambda each=broker.node_id: local_start(cluster, topic, each) > 0,  # type: ignore[misc]
            _TIMEOUT_S,
            what=f"broker {broker.node_id} has deleted what is in the tier",
        )
    _set(cluster, topic, _FOREVER)


def _set(cluster: Cluster, topic: str, milliseconds: str) -> None:
    entry = ConfigEntry("local.retention.ms", milliseconds, incremental_operation=AlterConfigOpType.SET)
    resource = ConfigResource(ResourceType.TOPIC, topic, incremental_configs=[entry])
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap(settings.INTERNAL), "log_level": 0})
    admin.incremental_alter_configs([resource])[resource].result(30)
