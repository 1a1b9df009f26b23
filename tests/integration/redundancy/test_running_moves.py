# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A log directory keeps the space that a running move between the log directories of a broker still needs."""

from __future__ import annotations

from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient, AlterConfigOpType, ConfigEntry, ConfigResource, ResourceType
from kafka import KafkaAdminClient
from kafka.structs import TopicPartitionReplica

from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.port import Kafka
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.wire import Wire
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.partition import TopicPartition
from ansible_collections.kafkaops.recovery.plugins.module_utils._redundancy.cluster_now import ClusterNow
from ansible_collections.kafkaops.recovery.plugins.module_utils._redundancy.looking import look
from integration.on_call import OnCall
from lab import Cluster, wait_until

_TOPIC = "moved"
_THROTTLE = ConfigEntry(
    "replica.alter.log.dirs.io.max.bytes.per.second", "20000", incremental_operation=AlterConfigOpType.SET
)
"""Brokers take it as a dynamic config only."""
_MB = 1_000_000


@pytest.mark.wide
def test_a_running_move_keeps_the_space_that_it_still_needs(kafka_version: str, tmp_path: Path) -> None:
    with Cluster(kafka_version, brokers=1, log_dirs=2, properties={"replica.fetch.max.bytes": 100_000}) as cluster:
        cluster.client.create_topic(_TOPIC, {0: [1]}, {"min.insync.replicas": 1})
        for _batch in range(16):
            cluster.client.produce(_TOPIC, 0, 100, record_bytes=5_000)
        first, second = map(str, cluster.brokers[1].data_dirs)
        to = second if Path(first, f"{_TOPIC}-0").exists() else first
        slow = ConfigResource(ResourceType.BROKER, "1", incremental_configs=[_THROTTLE])
        configs = AdminClient({"bootstrap.servers": cluster.bootstrap()})
        configs.incremental_alter_configs([slow])[slow].result()
        admin = KafkaAdminClient(bootstrap_servers=cluster.bootstrap())
        admin.alter_replica_log_dirs({TopicPartitionReplica(_TOPIC, 0, 1): to})
        admin.close()

        def found() -> ClusterNow:
            with Wire(OnCall(cluster, tmp_path).settings) as wire:
                kafka = Kafka(wire)
                described = kafka.describe_cluster()
                return look(kafka, described, kafka.probe_brokers(described))

        def reserved() -> int:
            now = found()
            assert now.sizes[TopicPartition(_TOPIC, 0)] > 7 * _MB
            by_path = {each.path: each for each in now.log_dirs[1]}
            other = by_path[first if to == second else second]
            # Both directories are on one volume, so that they have the same space.
            return other.usable_bytes - by_path[to].usable_bytes

        wait_until(lambda: 3 * _MB < reserved() < 9 * _MB, 20, what="the move is counted", interval=0.1)
