# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Ask the current leaders of partitions what they hold.

Right after a broker has died, the cluster still names it as leader for some seconds. So if a leader does not answer,
the cluster's metadata is read again and the leader that it names then is asked, until the time is up.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field

from .._kafka.cluster import Cluster
from .._kafka.port import Kafka
from .._kafka.settings import Address
from .._model.partition import Broker, Cause, PartitionState, ReplicaLog, TopicPartition, grouped
from .._model.reasons import plural
from .._model.run import KafkaOpsError, Progress
from .comparable import compare_with_metadata
from .finding import Comparable, DiskFinding, DiskReplica

_MOST_THREADS = 32
_PAUSE_S = 1.0
_MAY_PASS = frozenset(
    {Cause.UNREACHABLE, Cause.HUNG, Cause.DISCONNECTED, Cause.FENCED, Cause.MISSING, Cause.WRONG_BROKER}
)
"""Causes that may pass: the partition soon gets another leader, this leader comes back, or a proxy finds it."""


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


def read_leader_logs(kafka: Kafka, replicas: Sequence[DiskReplica], limit_s: float, progress: Progress) -> Leaders:
    """Ask the leaders of the replicas' partitions until each has an answer or no leader, or until the time is up.

    Raises KafkaOpsError: the first description of the cluster failed.
    """
    topics = {each.directory.topic for each in replicas}
    deadline = kafka.clock.monotonic() + limit_s
    cluster, description = kafka.describe_cluster(), kafka.describe_partitions(topics)
    found, pending = Leaders(described=description.partitions), list(replicas)
    progress.step(f"asking the leaders of {len({each.topic_partition for each in pending})} partitions")
    while True:
        comparable, findings = compare_with_metadata(pending, description)
        logs = probe_leaders(kafka, cluster, [each.state for each in comparable], deadline, is_retried=False)
        waiting = [each for each in comparable if _is_transient(logs.get(each.state.topic_partition))]
        names = {each.state.topic_partition for each in waiting}
        found.findings += findings
        found.comparable += [each for each in comparable if each.state.topic_partition not in names]
        found.logs |= logs
        found.addresses |= cluster.addresses
        if waiting:
            progress.step(f"waiting for {_describe_leaders(waiting, logs)} to answer, or for other leaders")
            kafka.clock.sleep(max(0.0, min(_PAUSE_S, deadline - kafka.clock.monotonic())))
        if not waiting or kafka.clock.monotonic() >= deadline:
            found.comparable = sorted([*found.comparable, *waiting], key=lambda each: each.state.topic_partition)
            return found
        pending = [replica for each in waiting for replica in each.replicas]
        # If a broker fails while it describes the cluster, the leaders of the last description are asked again.
        with suppress(KafkaOpsError):
            cluster, description = kafka.describe_cluster(), kafka.describe_partitions(topics)


def probe_leaders(
    kafka: Kafka, cluster: Cluster, states: Iterable[PartitionState], deadline: float, *, is_retried: bool = True
) -> dict[TopicPartition, ReplicaLog]:
    """Ask all leaders in parallel what they hold. The partitions of one that is not registered are left out."""
    led = grouped((each.leader_id, each.topic_partition) for each in states)
    brokers = [each.as_broker() for each in cluster.registrations if each.broker_id in led]
    if not brokers:
        return {}

    def probe(broker: Broker) -> list[ReplicaLog]:
        partitions = led[broker.broker_id]
        # A leader that lost its epoch checkpoint has the epoch of its election in a new one, which looks complete.
        return kafka.probe_replicas(broker, partitions, deadline, checked=frozenset(partitions), is_retried=is_retried)

    with ThreadPoolExecutor(max_workers=min(len(brokers), _MOST_THREADS)) as threads:
        return {row.topic_partition: row for rows in threads.map(probe, brokers) for row in rows}


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
