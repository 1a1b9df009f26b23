# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Reads the state of planned elections again, just before anything is written. Needs no Spark: one batch is small."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from .._changes.orders import read_states
from .._kafka.cluster import Cluster
from .._kafka.port import Kafka
from .._model.partition import Broker, BrokerState, TopicPartition
from .._model.replica_log import ReplicaLog
from .plan import PlannedElection
from .preconditions import PartitionObservation
from .unregistered import look_up

_MOST_THREADS = 64
_PARTITIONS_PER_LIMIT = 250


def observe(
    kafka: Kafka, cluster: Cluster, elections: Sequence[PlannedElection], *, asks_controller: bool = False
) -> dict[TopicPartition, PartitionObservation]:
    """Return the metadata, the running reassignments and every registered replica's log, as they are now.

    ``asks_controller`` has it asked which brokers are registered, where the cluster does not list them. A run does
    not need that: its first order is refused.

    Brokers are asked at once. Each has one request_timeout_ms, and as much again for every 250 partitions of the batch.
    Of a replica whose lineage the plan has, only the newest epoch is asked: the judgement compares nothing else.

    Raises NoBrokerAnswersError, RequestRefusedError or BrokerCallError.
    """
    partitions = [each.topic_partition for each in elections]
    states = read_states(kafka, partitions)
    reassigning = kafka.running_reassignments(partitions)
    logs = _probe(kafka, cluster, elections)
    mentioned = {broker_id for state in states.values() for broker_id in state.replicas}
    unregistered = (
        look_up(kafka, cluster, mentioned).unregistered if cluster.lists_fenced or asks_controller else frozenset()
    )
    return {
        each: PartitionObservation(
            states.get(each),
            logs.get(each, {}),
            is_reassigning=each in reassigning,
            unregistered=unregistered,
            removing=reassigning[each].dropping if each in reassigning else (),
        )
        for each in partitions
    }


def _probe(
    kafka: Kafka, cluster: Cluster, elections: Sequence[PlannedElection]
) -> dict[TopicPartition, dict[int, ReplicaLog]]:
    held: dict[int, list[TopicPartition]] = {}
    known: dict[int, set[TopicPartition]] = {}
    for election in elections:
        for broker_id in election.replicas:
            held.setdefault(broker_id, []).append(election.topic_partition)
        for candidate in election.candidates:
            known.setdefault(candidate.broker_id, set()).add(election.topic_partition)
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
    limit_s = kafka.settings.request_timeout_ms / 1000 * (1 + len(elections) / _PARTITIONS_PER_LIMIT)
    deadline = kafka.clock.monotonic() + limit_s
    logs: dict[TopicPartition, dict[int, ReplicaLog]] = {}
    if not brokers:
        return logs

    def ask(broker: Broker) -> list[ReplicaLog]:
        only_newest = known.get(broker.broker_id, set())
        return kafka.probe_replicas(broker, held[broker.broker_id], deadline, only_newest=only_newest)

    with ThreadPoolExecutor(max_workers=min(len(brokers), _MOST_THREADS)) as executor:
        for rows in executor.map(ask, brokers):
            for row in rows:
                logs.setdefault(TopicPartition(row.topic, row.partition), {})[row.broker_id] = row
    return logs
