# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Read the settings and metrics of log cleaners, and the sizes of the copies of compacted partitions. Only reads."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

from .._kafka.cluster import Cluster
from .._kafka.errors import BrokerCallError, CallError
from .._kafka.log_dirs import LogDirs
from .._kafka.port import Kafka
from .._model.partition import Broker, BrokerState, PartitionState, grouped
from .._model.reasons import join_first, plural
from .._model.retention import POLICY, is_compacted
from .._model.run import KafkaOpsError
from .._model.setting import Setting
from .diagnosis import HEALTHY_CASES, Case, CopyTrend, Diagnosis, Thresholds, diagnose, find_suspects, infer
from .facts import SHOWN, CleanerFacts, CleanerMetrics, Suspect
from .metrics import MetricsError

ReadMetrics = Callable[[int, str], CleanerMetrics]
"""Returns the metrics of a broker by its id and host. Raises MetricsError."""
Trends = Mapping[int, Sequence[CopyTrend]]


@dataclass(frozen=True, slots=True)
class Cleaner:
    """One broker's cleaner: its facts, the diagnosis, and the suspicious copies."""

    facts: CleanerFacts
    diagnosis: Diagnosis
    suspects: tuple[Suspect, ...] = ()

    @property
    def broker_id(self) -> int:
        return self.facts.broker_id


class NoSuchBrokerError(KafkaOpsError):
    """The cluster does not list a named broker."""


class NoMetricsError(KafkaOpsError):
    """No broker's metrics could be read, so the options are probably wrong."""


def select_brokers(brokers: Sequence[Broker], wanted: Collection[int]) -> tuple[Broker, ...]:
    """Return the wanted brokers, or all if none is named.

    Raises NoSuchBrokerError for a wanted broker that is not in the cluster.
    """
    unknown = sorted(set(wanted) - {each.broker_id for each in brokers})
    if unknown:
        raise NoSuchBrokerError(
            f"the cluster lists no broker {', '.join(map(str, unknown))}; it lists "
            f"{', '.join(str(each.broker_id) for each in brokers)}: nothing was done"
        )
    return tuple(each for each in brokers if not wanted or each.broker_id in wanted)


def inspect_by_metrics(
    kafka: Kafka,
    cluster: Cluster,
    brokers: Sequence[Broker],
    read_metrics: ReadMetrics,
    thresholds: Thresholds,
    *,
    name_suspects: bool = True,
) -> tuple[Cleaner, ...]:
    """Diagnose brokers by their metrics. If partitions are marked, find suspicious copies by their sizes.

    Raises NoMetricsError, with the error of each broker, if no broker's metrics could be read.
    """
    facts = read_facts(kafka, cluster, brokers, read_metrics)
    if facts and all(each.metrics is None for each in facts):
        raise NoMetricsError(
            "no broker's metrics could be read: "
            + "; ".join(f"broker {each.broker_id}: {each.metrics_error}" for each in facts)
        )
    diagnoses = {each.broker_id: diagnose(each, thresholds) for each in facts}
    suspects: Sequence[Suspect] = ()
    if name_suspects and any(each.marks for each in facts):
        suspects = find_suspects(single_look_trends(look_at_copies(kafka, cluster).copies), thresholds)
    return tuple(
        Cleaner(
            each,
            diagnoses[each.broker_id],
            tuple(
                suspect for suspect in suspects if suspect.broker_id == each.broker_id and suspect.log_dir in each.marks
            ),
        )
        for each in facts
    )


def inspect_by_sizes(  # noqa: PLR0917
    kafka: Kafka,
    cluster: Cluster,
    brokers: Sequence[Broker],
    trends: Trends,
    thresholds: Thresholds,
    unread: Sequence[str] = (),
) -> tuple[Cleaner, ...]:
    """Infer the diagnosis of brokers from the sizes of compacted copies.

    ``unread`` are the topics of which it is not known whether they are compacted: then no cleaner counts as healthy.
    """
    cleaners = []
    for broker, facts in zip(brokers, read_facts(kafka, cluster, brokers, None), strict=True):
        if broker.state is not BrokerState.ONLINE:
            cleaners.append(Cleaner(facts, Diagnosis(Case.UNKNOWN, facts.settings_error)))
            continue
        own = trends.get(broker.broker_id, ())
        suspects = find_suspects(own, thresholds)
        diagnosis = diagnose(facts, thresholds) if facts.is_switched_off else infer(own, suspects)
        if unread and diagnosis.case in HEALTHY_CASES:
            diagnosis = Diagnosis(Case.UNKNOWN, _explain_unread(unread))
        cleaners.append(Cleaner(facts, diagnosis, suspects))
    return tuple(cleaners)


def read_facts(
    kafka: Kafka, cluster: Cluster, brokers: Sequence[Broker], read_metrics: ReadMetrics | None
) -> tuple[CleanerFacts, ...]:
    """Read the settings and metrics of brokers, in parallel. Facts have the error text of what could not be read."""
    online = cluster.online(brokers)
    settings = kafka.read_broker_configs(online, SHOWN)

    def read(broker: Broker) -> CleanerFacts:
        found = settings.get(broker.broker_id)
        known: Mapping[str, Setting] = {}
        settings_error = ""
        if found is None:
            settings_error = f"broker {broker.broker_id} is {broker.state.value}: {broker.cause}"
        elif isinstance(found, CallError):
            settings_error = str(found)
        else:
            known = found
        metrics, metrics_error = None, ""
        if read_metrics is not None and broker.host is not None:
            try:
                metrics = read_metrics(broker.broker_id, broker.host)
            except MetricsError as error:
                metrics_error = str(error)
        elif broker.host is None:
            metrics_error = settings_error
        return CleanerFacts(broker.broker_id, broker.host, metrics, metrics_error, known, settings_error)

    found = kafka.in_parallel(read, brokers)
    return tuple(each for each in found.values() if isinstance(each, CleanerFacts))


def single_look_trends(copies: Collection[CopySize]) -> tuple[CopyTrend, ...]:
    """Return the trends of a single look. It can only compare the copies of a partition with each other."""
    sizes: dict[tuple[str, int], dict[int, int]] = {}
    for each in copies:
        sizes.setdefault((each.topic, each.partition), {})[each.broker_id] = each.size_bytes
    return tuple(
        CopyTrend(
            each.broker_id,
            each.log_dir,
            each.topic,
            each.partition,
            looks=1,
            span_ms=0,
            first_bytes=each.size_bytes,
            last_bytes=each.size_bytes,
            has_shrunk=False,
            others_shrank=False,
            smallest_copy_bytes=min(
                (size for broker_id, size in sizes[each.topic, each.partition].items() if broker_id != each.broker_id),
                default=None,
            ),
        )
        for each in copies
    )


@dataclass(frozen=True, slots=True)
class CopySize:
    """One copy of a compacted partition, from DescribeLogDirs (API key 35)."""

    broker_id: int
    log_dir: str
    topic: str
    partition: int
    size_bytes: int


@dataclass(frozen=True, slots=True)
class CopyLook:
    """All copies of compacted partitions on the brokers that answer, without future copies (log-dir moves)."""

    copies: tuple[CopySize, ...]
    unread: tuple[str, ...]
    """Topics of which our principal may not read cleanup.policy: they may be compacted, too."""


def look_at_copies(kafka: Kafka, cluster: Cluster) -> CopyLook:
    """Look at the copies of the compacted topics that our principal may describe.

    Raises NoBrokerAnswersError, RequestRefusedError or BrokerCallError.
    """
    partitions, unread = _find_compacted_partitions(kafka)
    held = grouped((broker_id, state.topic_partition) for state in partitions for broker_id in state.replicas)
    addresses = cluster.addresses
    found = kafka.in_parallel(
        lambda broker_id: kafka.describe_log_dirs(addresses[broker_id], held[broker_id]),
        [each for each in held if each in addresses],
    )
    copies = (copy for broker_id, answer in found.items() for copy in _copies(broker_id, answer))
    return CopyLook(tuple(copies), unread)


def _find_compacted_partitions(kafka: Kafka) -> tuple[tuple[PartitionState, ...], tuple[str, ...]]:
    """Return the partitions of all compacted topics, and the topics of which this is not known."""
    partitions = kafka.describe_partitions().partitions
    topics = sorted({each.topic for each in partitions})
    policies = kafka.topic_configs(topics, POLICY)
    compacted = {topic for topic, policy in policies.items() if is_compacted(policy.value or "")}
    unread = tuple(each for each in topics if each not in policies)
    return tuple(each for each in partitions if each.topic in compacted), unread


def _explain_unread(topics: Sequence[str]) -> str:
    """Say what is not known of topics whose cleanup.policy could not be read."""
    return (
        f"whether {plural(len(topics), 'topic', 'are')} compacted is not known: {join_first(topics)}: grant "
        "DESCRIBE_CONFIGS on the topics"
    )


def _copies(broker_id: int, answer: LogDirs | BrokerCallError) -> tuple[CopySize, ...]:
    if isinstance(answer, BrokerCallError):
        return ()
    return tuple(
        CopySize(broker_id, copy.log_dir, partition.topic, partition.partition, copy.size_bytes)
        for partition, on_disk in answer.replicas.items()
        for copy in on_disk
        if not copy.is_future
    )
