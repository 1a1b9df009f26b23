# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Check, before an incident, everything that a recovery needs. Changes nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from .._changes.journal_reader import JournalOptions, JournalReader
from .._changes.topic_by_name import TopicUnavailableError
from .._history.replaced_leaders import find_replaced_leaders
from .._history.unclean_elections import begin_to_count
from .._kafka.cluster import Cluster
from .._kafka.errors import BrokerCallError, NoBrokerAnswersError
from .._kafka.log_dirs import LogDirs
from .._kafka.port import Kafka
from .._kafka.settings import Address
from .._model.partition import MIN_ISR, UNCLEAN, Broker, PartitionState, TopicPartition
from .._model.reasons import agreeing, plural
from .._model.replaced_disk import brokers_to_save
from .._model.run import KafkaOpsError
from .._model.setting import Setting
from .._model.silent_leaders import silent_brokers
from .._model.stop_prediction import ClusterView
from .._model.stop_ticket import TICKET_TOPIC
from .._quorum.assessment import Assessment, assess
from .._quorum.observe import observe_quorum
from . import endpoints, host
from .check import Check, CheckName, Losses, Readiness, build_readiness, failed, passed, unknown, warning
from .controller_configs import judge_brokers, judge_controllers
from .other_parties import CONFIGS, check_other_parties
from .partitions import TopicSettings, check_losses, check_partitions, check_replaced, predict_losses
from .permissions import Access, check_permissions

_CLUSTER_CHECKS = tuple(
    name
    for name in CheckName
    if name
    not in (CheckName.BROKERS, CheckName.LIBRARIES, CheckName.JAVA, CheckName.CLASS_ARCHIVE, CheckName.MECHANISM)
)
"""The checks that cannot be made if no broker answers."""
_UNREACHABLE = "Check addresses and credentials, and start the brokers"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadinessOptions:
    """Options of the checks."""

    journal: JournalOptions
    memory_topic: str
    evidence_dir: str | None = None
    salvage_dir: str | None = None
    least_certificate_days: int = 30
    uses_local_spark: bool = True
    journal_test: tuple[Check, ...] = ()
    """What a write to our own topics showed. Empty if nobody tried."""


@dataclass(frozen=True, slots=True)
class _ClusterView:
    """The cluster, as the first requests returned it."""

    cluster: Cluster
    brokers: tuple[Broker, ...]
    states: tuple[PartitionState, ...]
    live: dict[int, Address]
    """Brokers that answer and are unfenced."""
    log_dirs: Mapping[int, LogDirs | BrokerCallError]
    replaced: Mapping[TopicPartition, str]
    """Partitions whose leader seems to have a new disk, while all other replicas are down, each with the reason."""

    @property
    def to_save(self) -> frozenset[int]:
        """The brokers whose disks must be saved before they are started."""
        return brokers_to_save(self.states, self.replaced, self.brokers)


def check_readiness(kafka: Kafka, options: ReadinessOptions) -> Readiness:
    """Make all checks. A check that cannot be made gets status UNKNOWN; no error is raised."""
    checks = [*host.check_libraries(local_spark=options.uses_local_spark)]
    checks += [endpoints.check_mechanism(kafka.settings), *options.journal_test]
    try:
        seen = _read_cluster(kafka)
    except KafkaOpsError as error:
        remedy = error.remedy if isinstance(error, NoBrokerAnswersError) else _UNREACHABLE
        checks.append(failed(CheckName.BROKERS, str(error), remedy))
        checks += [
            unknown(name, "the cluster could not be read", "See the check of brokers") for name in _CLUSTER_CHECKS
        ]
        return build_readiness(None, checks, Losses())
    inspection = _Inspection(kafka, options, seen)
    for name, check in inspection.checks():
        checks += _run_check(name, check)
    return build_readiness(seen.cluster.cluster_id, checks, inspection.losses)


def _read_cluster(kafka: Kafka) -> _ClusterView:
    cluster = kafka.describe_cluster()
    states = kafka.describe_partitions().partitions
    mentioned = frozenset(broker_id for each in states for broker_id in each.replicas)
    brokers = kafka.probe_brokers(cluster, mentioned)
    counted_brokers = begin_to_count(kafka, brokers, states, cluster.cluster_id)
    live = cluster.online(brokers)
    log_dirs = kafka.in_parallel(lambda broker_id: kafka.describe_all_log_dirs(live[broker_id]), live)
    replaced = find_replaced_leaders(kafka, states, brokers)
    return _ClusterView(cluster, counted_brokers(), states, live, log_dirs, replaced)


def _run_check(name: CheckName, check: Callable[[], Iterable[Check]]) -> list[Check]:
    try:
        return [*check()]
    except KafkaOpsError as error:
        return [unknown(name, str(error), "Make the request that failed possible, and check again")]


class _Inspection:
    """The checks of one cluster. Each one is a method, and may raise KafkaOpsError."""

    def __init__(self, kafka: Kafka, options: ReadinessOptions, seen: _ClusterView) -> None:
        self._kafka = kafka
        self._options = options
        self._seen = seen
        self._assessment: Assessment | None = None
        self.losses = Losses()

    def checks(self) -> Iterator[tuple[CheckName, Callable[[], Iterable[Check]]]]:
        """Yield the methods, each with the name to report if it raises an error."""
        kafka, brokers, live = self._kafka, self._seen.brokers, self._seen.live
        holders = {each for state in self._seen.states for each in state.replicas}
        log_dirs, to_save = self._seen.log_dirs, self._seen.to_save
        yield CheckName.BROKERS, lambda: endpoints.check_brokers(kafka, brokers, live, holders, to_save)
        yield CheckName.BROKERS, lambda: endpoints.check_log_dirs(log_dirs, brokers, to_save)
        yield CheckName.CONTROLLERS, self._check_controllers
        yield CheckName.CERTIFICATES, self._check_certificates
        yield CheckName.VERSIONS, lambda: endpoints.check_versions(kafka, live)
        yield CheckName.CLOCKS, lambda: [endpoints.check_clocks(kafka)]
        yield CheckName.PERMISSIONS, self._check_permissions
        yield CheckName.JOURNAL, self._check_journal
        yield CheckName.LEFTOVERS, self._check_leftovers
        yield CheckName.PARTITIONS, self._check_partitions
        yield CheckName.DISK_SPACE, self._check_disk_space
        yield CheckName.OTHER_PARTIES, self._check_other_parties

    def _check_controllers(self) -> Iterator[Check]:
        self._assessment = assess(observe_quorum(self._kafka.wire, finds_controllers=True))
        yield from endpoints.check_controllers(self._assessment)

    def _check_certificates(self) -> Iterator[Check]:
        controllers = endpoints.controller_addresses(self._assessment) if self._assessment else []
        return endpoints.check_certificates(
            self._kafka, self._seen.live.values(), controllers, self._options.least_certificate_days
        )

    def _check_permissions(self) -> Iterator[Check]:
        options = self._options
        cluster = self._kafka.cluster_operations()
        topics = {topic: each.operations for topic, each in self._kafka.topic_operations().items()}
        ours = self._kafka.topic_operations([options.journal.topic, options.memory_topic, TICKET_TOPIC])
        access = Access(
            cluster,
            topics,
            self._find_hidden_topics(topics),
            ours[options.journal.topic].operations,
            ours[options.memory_topic].operations,
            ours[TICKET_TOPIC].operations,
            self._group_operations(),
        )
        return check_permissions(access, options.journal.topic, options.memory_topic, self._kafka.settings)

    def _find_hidden_topics(self, visible: Iterable[str]) -> list[str]:
        """Return topics on disks that our principal may not see. Needs DESCRIBE on the cluster."""
        on_disk = {
            partition.topic
            for found in self._seen.log_dirs.values()
            if isinstance(found, LogDirs)
            for partition in found.replicas
        }
        return sorted(on_disk - {*visible} - {each.topic for each in self._seen.states})

    def _group_operations(self) -> dict[str, frozenset[str]]:
        def ask(broker_id: int) -> dict[str, frozenset[str]]:
            address = self._seen.live[broker_id]
            groups = [*self._kafka.group_states(address), *self._kafka.share_group_states(address)]
            return self._kafka.group_operations(address, groups)

        found: dict[str, frozenset[str]] = {}
        for each in self._kafka.in_parallel(ask, self._seen.live).values():
            if isinstance(each, BrokerCallError):
                raise each
            found |= each
        return dict(sorted(found.items()))

    def _check_journal(self) -> Iterator[Check]:
        try:
            is_new = self._journal.topics.check_creation()
        except TopicUnavailableError as error:
            yield failed(
                CheckName.JOURNAL,
                f"{error}. No run writes without its lock and journal",
                "Make the topic usable, or name another one (kafka_journal_topic)",
            )
            return
        state = "can be created" if is_new else "exists"
        untried = "" if self._options.journal_test else ". No record was written to it"
        yield passed(CheckName.JOURNAL, f"topic {self._options.journal.topic} {state}{untried}")

    @property
    def _journal(self) -> JournalReader:
        return JournalReader(self._kafka, self._seen.cluster, self._options.journal, self._seen.brokers)

    def _check_leftovers(self) -> Iterator[Check]:
        seen = self._seen
        pending = self._journal.read()
        if pending.changes:
            yield failed(
                CheckName.LEFTOVERS,
                f"a dead run left {plural(len(pending.changes), 'change')} that are not undone",
                "Run its playbook again: it undoes them first",
            )
        for note in pending.notes:
            if pending.is_unknown:
                yield unknown(CheckName.LEFTOVERS, note, f"Make topic {self._options.journal.topic} readable")
            else:
                yield warning(CheckName.LEFTOVERS, note, "Wait for this run, or start it again if it died")
        running = self._kafka.running_reassignments([each.topic_partition for each in seen.states])
        led = {each.topic_partition for each in seen.states if not each.is_offline}.intersection(running)
        if led:
            yield warning(
                CheckName.LEFTOVERS,
                f"{plural(len(led), 'partition')} with a leader {agreeing('are', len(led))} being reassigned: "
                "until this ends, no drain and no repair changes them",
                "Wait for the reassignments (kafka-reassign-partitions.sh --list). One whose target has a dead broker "
                "does not end: start that broker, or cancel it (kafka-reassign-partitions.sh --cancel)",
            )
        if len(led) < len(running):
            yield failed(
                CheckName.LEFTOVERS,
                f"{plural(len(running) - len(led), 'partition')} without a leader are being reassigned, which "
                "cannot complete",
                "Recover them (playbook kafkaops.recovery.recover_offline_partitions): the reassignment then goes on. "
                "A cancellation deletes the replicas that were added",
            )
        if not pending.changes and not pending.notes and not running:
            yield passed(CheckName.LEFTOVERS, "no changes of earlier runs are pending, and nothing is being reassigned")

    def _check_partitions(self) -> Iterator[Check]:
        states = self._seen.states
        names = sorted({each.topic for each in states})
        min_isrs = self._kafka.read_min_isrs(names, self._seen.live)
        unclean = self._kafka.topic_configs(names, UNCLEAN)
        settings = TopicSettings(
            min_isrs.by_topic,
            {topic: each.value == "true" for topic, each in unclean.items() if each.value is not None},
            frozenset({self._options.journal.topic, self._options.memory_topic}),
        )
        self.losses = predict_losses(
            ClusterView(states=states, brokers=self._seen.brokers, min_isr=settings.min_isr, unclean=settings.unclean)
        )
        yield from check_replaced(self._seen.replaced, self._seen.to_save)
        yield from check_partitions(states, settings, self._seen.to_save, silent_brokers(self._seen.brokers))
        yield from judge_brokers(min_isrs.inherited, min_isrs.by_broker)
        yield from self._check_controllers_own({UNCLEAN: unclean, MIN_ISR: min_isrs.configs})
        yield from check_losses(self.losses)

    def _check_other_parties(self) -> Iterator[Check]:
        seen = self._seen
        configs: dict[str, str | None] = {}
        for broker_id, address in sorted(seen.live.items())[:1]:
            for name in CONFIGS:
                entry = self._kafka.broker_config(address, broker_id, name)
                configs[name] = entry.value if entry else None
        yield from check_other_parties({each.topic for each in seen.states}, seen.brokers, configs)

    def _check_controllers_own(self, found: Mapping[str, Mapping[str, Setting]]) -> Iterator[Check]:
        for name, configs in found.items():
            inherited = {topic: each.value for topic, each in configs.items() if not each.is_own}
            if inherited:
                own = self._kafka.controller_configs(name)
                yield from judge_controllers(name, inherited, own.values, own.unknown)

    def _check_disk_space(self) -> Iterator[Check]:
        replicas = sum(len(each.replicas) for each in self._seen.states)
        sizes = [
            each.size_bytes
            for found in self._seen.log_dirs.values()
            if isinstance(found, LogDirs)
            for copies in found.replicas.values()
            for each in copies
        ]
        if self._options.evidence_dir:
            yield host.check_disk_space(self._options.evidence_dir, "evidence", host.estimate_evidence_bytes(replicas))
        if self._options.salvage_dir:
            # A salvage saves records that only one disk holds: at most a whole replica, and mostly only its end.
            yield host.check_disk_space(self._options.salvage_dir, "salvage", max(sizes, default=0))
        if not self._options.evidence_dir and not self._options.salvage_dir:
            yield passed(CheckName.DISK_SPACE, "not checked: neither evidence_dir nor salvage_dir is given")
