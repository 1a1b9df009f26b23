# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Reads the world of planned elections again, just before anything is written. Needs no Spark: one batch is small."""

from __future__ import annotations

import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from ansible_collections.kafkaops.recovery.plugins.module_utils.kafka.cluster import Cluster
from ansible_collections.kafkaops.recovery.plugins.module_utils.kafka.reassignments import running_reassignments
from ansible_collections.kafkaops.recovery.plugins.module_utils.kafka.replica_logs import probe_replicas
from ansible_collections.kafkaops.recovery.plugins.module_utils.kafka.wire import Wire
from ansible_collections.kafkaops.recovery.plugins.module_utils.model.broker import Broker, BrokerState
from ansible_collections.kafkaops.recovery.plugins.module_utils.model.partition import TopicPartition
from ansible_collections.kafkaops.recovery.plugins.module_utils.model.replica_log import ReplicaLog
from ansible_collections.kafkaops.recovery.plugins.module_utils.operations.replica_orders import read_states
from ansible_collections.kafkaops.recovery.plugins.module_utils.recovery.plan import PlannedElection
from ansible_collections.kafkaops.recovery.plugins.module_utils.recovery.preconditions import Observation

_MOST_THREADS = 64


def observe(wire: Wire, cluster: Cluster, elections: Sequence[PlannedElection]) -> dict[TopicPartition, Observation]:
    """The metadata, the running reassignments and every registered replica's log, as they are now.

    Brokers are asked at once and have one request_timeout_ms each.

    Raises NoBrokerAnswersError, RequestRefusedError or BrokerCallError.
    """
    partitions = [each.topic_partition for each in elections]
    states = read_states(wire, partitions)
    reassigning = running_reassignments(wire, partitions)
    logs = _probe(wire, cluster, {each.topic_partition: each.replicas for each in elections})
    return {
        each: Observation(states.get(each), logs.get(each, {}), is_reassigning=each in reassigning)
        for each in partitions
    }


def _probe(
    wire: Wire, cluster: Cluster, replicas: dict[TopicPartition, tuple[int, ...]]
) -> dict[TopicPartition, dict[int, ReplicaLog]]:
    held: dict[int, list[TopicPartition]] = {}
    for partition, broker_ids in replicas.items():
        for broker_id in broker_ids:
            held.setdefault(broker_id, []).append(partition)
    brokers = [
        Broker(
            each.broker_id,
            each.address.host,
            each.address.port,
            each.rack,
            is_fenced=each.is_fenced,
            state=BrokerState.ONLINE,
        )
        for each in cluster.registrations
        if each.broker_id in held
    ]
    deadline = time.monotonic() + wire.settings.request_timeout_ms / 1000
    logs: dict[TopicPartition, dict[int, ReplicaLog]] = {}
    if not brokers:
        return logs
    with ThreadPoolExecutor(max_workers=min(len(brokers), _MOST_THREADS)) as executor:
        answers = executor.map(
            lambda broker: probe_replicas(wire.settings, broker, held[broker.broker_id], deadline), brokers
        )
        for rows in answers:
            for row in rows:
                logs.setdefault(TopicPartition(row.topic, row.partition), {})[row.broker_id] = row
    return logs
