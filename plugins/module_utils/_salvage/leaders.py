# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What the current leaders of partitions hold, asked of the leaders themselves."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from .._kafka.cluster import Cluster
from .._kafka.replica_logs import probe_replicas
from .._kafka.settings import ConnectionSettings
from .._model.partition import Broker, BrokerState, PartitionState, ReplicaLog, TopicPartition

_MOST_THREADS = 32


def logs_of_leaders(
    settings: ConnectionSettings, cluster: Cluster, states: Sequence[PartitionState], duration_ms: int
) -> dict[TopicPartition, ReplicaLog]:
    """Ask the leader of every partition that has one. A leader that does not answer is named, with its cause.

    Brokers are asked at the same time, within ``duration_ms`` in total.
    """
    led: dict[int, list[TopicPartition]] = defaultdict(list)
    for state in states:
        if not state.is_offline:
            led[state.leader_id].append(state.topic_partition)
    brokers = [
        Broker(
            each.broker_id, each.address.host, each.address.port, each.rack, each.is_fenced, state=BrokerState.ONLINE
        )
        for each in cluster.registrations
        if each.broker_id in led
    ]
    if not brokers:
        return {}
    deadline = time.monotonic() + duration_ms / 1000
    with ThreadPoolExecutor(max_workers=min(len(brokers), _MOST_THREADS)) as threads:
        answers = threads.map(lambda broker: probe_replicas(settings, broker, led[broker.broker_id], deadline), brokers)
        return {TopicPartition(row.topic, row.partition): row for rows in answers for row in rows}
