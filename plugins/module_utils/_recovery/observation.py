# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Reads the state of planned elections again, just before anything is written. Needs no Spark: one batch is small."""

from __future__ import annotations

import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from .._changes.orders import read_states
from .._kafka.cluster import Cluster
from .._kafka.port import Kafka
from .._model.partition import Broker, BrokerState, TopicPartition
from .._model.replica_log import ReplicaLog
from .plan import PlannedElection
from .preconditions import PartitionObservation

_MOST_THREADS = 64


def observe(
    kafka: Kafka, cluster: Cluster, elections: Sequence[PlannedElection]
) -> dict[TopicPartition, PartitionObservation]:
    """Return the metadata, the running reassignments and every registered replica's log, as they are now.

    Brokers are asked at once and have one request_timeout_ms each.

    Raises NoBrokerAnswersError, RequestRefusedError or BrokerCallError.
    """
    partitions = [each.topic_partition for each in elections]
    states = read_states(kafka, partitions)
    reassigning = kafka.running_reassignments(partitions)
    logs = _probe(kafka, cluster, {each.topic_partition: each.replicas for each in elections})
    registered = {each.broker_id for each in cluster.registrations}
    mentioned = {broker_id for state in states.values() for broker_id in state.replicas}
    unregistered = frozenset(mentioned - registered) if cluster.lists_fenced else frozenset()
    return {
        each: PartitionObservation(
            states.get(each), logs.get(each, {}), is_reassigning=each in reassigning, unregistered=unregistered
        )
        for each in partitions
    }


def _probe(
    kafka: Kafka, cluster: Cluster, replicas: dict[TopicPartition, tuple[int, ...]]
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
    deadline = time.monotonic() + kafka.settings.request_timeout_ms / 1000
    logs: dict[TopicPartition, dict[int, ReplicaLog]] = {}
    if not brokers:
        return logs
    with ThreadPoolExecutor(max_workers=min(len(brokers), _MOST_THREADS)) as executor:
        answers = executor.map(lambda broker: kafka.probe_replicas(broker, held[broker.broker_id], deadline), brokers)
        for rows in answers:
            for row in rows:
                logs.setdefault(TopicPartition(row.topic, row.partition), {})[row.broker_id] = row
    return logs
