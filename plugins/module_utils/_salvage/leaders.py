# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Ask the current leaders of partitions what they hold.

Right after a broker has died, the cluster still names it as leader for some seconds. So if a leader does not answer,
the cluster's metadata is read again and the leader that it names then is asked, until the time is up.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TypeAlias

from .._kafka.cluster import Cluster, describe_cluster
from .._kafka.partitions import Description, describe_partitions
from .._kafka.replica_logs import probe_replicas
from .._kafka.settings import Address
from .._kafka.wire import Wire
from .._model.partition import Broker, Cause, PartitionState, ReplicaLog, TopicPartition, grouped
from .._model.reasons import plural
from .._model.run import Clock, KafkaOpsError, Progress
from .comparable import compare_with_metadata
from .finding import Comparable, DiskFinding, DiskReplica

_MOST_THREADS = 32
_PAUSE_S = 1.0
_MAY_PASS = frozenset(
    {Cause.UNREACHABLE, Cause.HUNG, Cause.DISCONNECTED, Cause.FENCED, Cause.MISSING, Cause.WRONG_BROKER}
)
"""Causes that may pass: the partition soon gets another leader, this leader comes back, or a proxy finds it."""

Look: TypeAlias = Callable[[], "tuple[Cluster, Description]"]
"""Describes the cluster's brokers and partitions. Raises KafkaOpsError."""
Probe: TypeAlias = Callable[[Broker, Sequence[TopicPartition], float], list[ReplicaLog]]
"""Asks a broker once what it holds of some partitions, until a deadline."""


@dataclass(slots=True)
class Leaders:
    """The answers of the leaders of all partitions on the disks."""

    comparable: list[Comparable] = field(default_factory=list)
    """Partitions with a leader, in the state when the leader answered or, without an answer, in the last state seen."""
    findings: list[DiskFinding] = field(default_factory=list)
    """Partitions that cannot be compared."""
    logs: dict[TopicPartition, ReplicaLog] = field(default_factory=dict)
    """If a leader did not answer, its entry has the cause."""
    addresses: dict[int, Address] = field(default_factory=dict)
    """By broker id, the newest. Before Kafka 4.0, a fenced broker has none until it leads."""
    described: tuple[PartitionState, ...] = ()
    """All partitions of the topics that were asked for, as the cluster described them first."""


def read_leader_logs(wire: Wire, replicas: Sequence[DiskReplica], duration_ms: int, progress: Progress) -> Leaders:
    """Ask the leaders of the replicas' partitions what they hold, for at most ``duration_ms`` in total.

    Raises KafkaOpsError: the cluster does not describe its partitions.
    """
    topics = {each.directory.topic for each in replicas}

    def look() -> tuple[Cluster, Description]:
        return describe_cluster(wire), describe_partitions(wire, topics)

    def probe(broker: Broker, partitions: Sequence[TopicPartition], deadline: float) -> list[ReplicaLog]:
        # A leader that lost its epoch checkpoint has the epoch of its election in a new one, which looks complete.
        return probe_replicas(
            wire.settings,
            broker,
            partitions,
            deadline,
            checked=frozenset(partitions),
            is_retried=False,
            cluster_id=wire.own_cluster.cluster_id,
        )

    return ask_leaders(look, probe, replicas, duration_ms / 1000, progress)


def ask_leaders(
    look: Look,
    probe: Probe,
    replicas: Sequence[DiskReplica],
    limit_s: float,
    progress: Progress,
    *,
    clock: Clock = time,
) -> Leaders:
    """Ask until each partition has an answer or no leader, or until the time is up.

    Raises KafkaOpsError: the first description of the cluster failed.
    """
    deadline = clock.monotonic() + limit_s
    cluster, description = look()
    found, pending = Leaders(described=description.partitions), list(replicas)
    progress.step(f"asking the leaders of {len({each.topic_partition for each in pending})} partitions")
    while True:
        comparable, findings = compare_with_metadata(pending, description)
        logs = _ask(probe, cluster, comparable, deadline)
        waiting = [each for each in comparable if _is_transient(logs.get(each.state.topic_partition))]
        names = {each.state.topic_partition for each in waiting}
        found.findings += findings
        found.comparable += [each for each in comparable if each.state.topic_partition not in names]
        found.logs |= logs
        found.addresses |= cluster.addresses
        if waiting:
            progress.step(f"waiting for {_describe_leaders(waiting, logs)} to answer, or for other leaders")
            clock.sleep(max(0.0, min(_PAUSE_S, deadline - clock.monotonic())))
        if not waiting or clock.monotonic() >= deadline:
            found.comparable = sorted([*found.comparable, *waiting], key=lambda each: each.state.topic_partition)
            return found
        pending = [replica for each in waiting for replica in each.replicas]
        # If a broker fails while it describes the cluster, the leaders of the last description are asked again.
        with suppress(KafkaOpsError):
            cluster, description = look()


def _ask(
    probe: Probe, cluster: Cluster, comparable: Sequence[Comparable], deadline: float
) -> dict[TopicPartition, ReplicaLog]:
    """Ask all leaders in parallel."""
    led = grouped((each.state.leader_id, each.state.topic_partition) for each in comparable)
    brokers = [each.as_broker() for each in cluster.registrations if each.broker_id in led]
    if not brokers:
        return {}
    with ThreadPoolExecutor(max_workers=min(len(brokers), _MOST_THREADS)) as threads:
        answers = threads.map(lambda broker: probe(broker, led[broker.broker_id], deadline), brokers)
        return {row.topic_partition: row for rows in answers for row in rows}


def _is_transient(log: ReplicaLog | None) -> bool:
    """Return whether the partition may soon have a leader that answers. None means: its leader is not registered."""
    return log is None or log.cause in _MAY_PASS


def _describe_leaders(waiting: Sequence[Comparable], logs: Mapping[TopicPartition, ReplicaLog]) -> str:
    """Describe the leaders, for example "broker 1 (unreachable; leader of 3 partitions)"."""
    counts = Counter(each.state.leader_id for each in waiting)
    causes = {each.state.leader_id: logs.get(each.state.topic_partition) for each in waiting}
    return ", ".join(
        f"broker {each} ({'not registered' if log is None else log.cause}; leader of "
        f"{plural(counts[each], 'partition')})"
        for each, log in sorted(causes.items())
    )
