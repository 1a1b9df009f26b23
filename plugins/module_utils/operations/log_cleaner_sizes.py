# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""How large each copy of each compacted partition is, on every broker that answers. Only reads."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from ansible_collections.kafkaops.recovery.plugins.module_utils.kafka.cluster import Cluster
from ansible_collections.kafkaops.recovery.plugins.module_utils.kafka.configs import topic_configs
from ansible_collections.kafkaops.recovery.plugins.module_utils.kafka.errors import BrokerCallError
from ansible_collections.kafkaops.recovery.plugins.module_utils.kafka.log_dirs import LogDirs, describe_log_dirs
from ansible_collections.kafkaops.recovery.plugins.module_utils.kafka.partitions import describe_partitions
from ansible_collections.kafkaops.recovery.plugins.module_utils.kafka.wire import Wire
from ansible_collections.kafkaops.recovery.plugins.module_utils.model.partition import PartitionState, TopicPartition

_POLICY = "cleanup.policy"
_COMPACT = "compact"


@dataclass(frozen=True, slots=True)
class CopySize:
    """One copy of a compacted partition, as DescribeLogDirs (API key 35) tells it."""

    broker_id: int
    log_dir: str
    topic: str
    partition: int
    size_bytes: int


def compacted_partitions(wire: Wire) -> tuple[PartitionState, ...]:
    """All partitions of topics whose cleanup.policy has ``compact`` in it and that our principal may see.

    Raises NoBrokerAnswersError, RequestRefusedError or BrokerCallError.
    """
    partitions = describe_partitions(wire).partitions
    policies = topic_configs(wire, sorted({each.topic for each in partitions}), _POLICY)
    compacted = {topic for topic, policy in policies.items() if _COMPACT in (policy.value or "").split(",")}
    return tuple(each for each in partitions if each.topic in compacted)


def one_look(wire: Wire, cluster: Cluster) -> tuple[CopySize, ...]:
    """Every copy on every broker that tells. A future copy (a log-dir move) does not count.

    Raises NoBrokerAnswersError, RequestRefusedError or BrokerCallError.
    """
    partitions = compacted_partitions(wire)
    held: dict[int, list[TopicPartition]] = {}
    for state in partitions:
        for broker_id in state.replicas:
            held.setdefault(broker_id, []).append(state.topic_partition)
    addresses = {each.broker_id: each.address for each in cluster.registrations}
    found = wire.in_parallel(
        lambda broker_id: describe_log_dirs(wire.connection(addresses[broker_id]), held[broker_id]),
        [each for each in held if each in addresses],
    )
    return tuple(copy for broker_id, told in found.items() for copy in _copies(broker_id, told))


def copies_in(copies: Collection[CopySize], broker_id: int, log_dirs: Collection[str]) -> tuple[CopySize, ...]:
    """Those of one broker's copies that are in these directories."""
    return tuple(each for each in copies if each.broker_id == broker_id and each.log_dir in log_dirs)


def _copies(broker_id: int, told: LogDirs | BrokerCallError) -> tuple[CopySize, ...]:
    if isinstance(told, BrokerCallError):
        return ()
    return tuple(
        CopySize(broker_id, copy.log_dir, partition.topic, partition.partition, copy.size_bytes)
        for partition, on_disk in told.replicas.items()
        for copy in on_disk
        if not copy.is_future
    )
