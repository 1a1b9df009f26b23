# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Implement preferred_leader_blacklist (KIP-491) on released brokers: the list, the dynamic config and the orders.

No leader changes: a reordered partition keeps its leader, and an offline partition is left alone. An original order is
remembered before the order is changed, and forgotten after it is restored.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from .._changes.cluster_journal import ClusterJournal
from .._changes.journal import Journal
from .._changes.keyed_topic import OpenKeyedTopic
from .._changes.record import Change, LastingOrders, partitions_of
from .._changes.rollback import Rollback, has_restored
from .._changes.sender import Seen, Writer, until_seen
from .._kafka.cluster import Cluster
from .._kafka.port import Kafka
from .._kafka.settings import Address
from .._model.partition import Broker, TopicPartition
from .._model.run import FRESH_S, KafkaOpsError, Progress
from .._model.setting import Setting
from .blacklist import Blacklist, require_registered, warn_of_unknown
from .blacklist import Change as ListChange
from .decide import CHANGED, OrderOutcome
from .history import keep_history
from .memory import Changes, Memory, list_changes
from .memory_topic import LeadershipOptions, MemoryTopic
from .order_run import OrderRun
from .view import CONFIG_NAME, LeadershipView, ListRequest, inspect, leave_unregistered, read_config


class ConfigNotWrittenError(KafkaOpsError):
    """preferred_leader_blacklist was not seen to change. No order was changed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LeadershipResult:
    """The results of a run; in check mode, the changes that a run would make."""

    cluster_id: str
    before: Blacklist
    after: Blacklist
    writes_config: bool
    is_native: bool
    """Whether all brokers know the config, so that no order has to change."""
    remembered_in: str
    """The topic that remembers the list and the original orders."""
    warnings: tuple[str, ...]
    outcomes: Mapping[TopicPartition, OrderOutcome]
    returning: tuple[int, ...] = ()
    """The brokers that are off the list, and do not lead all of their preferred replicas yet."""
    has_restored: bool = False
    """Whether changes of an earlier run were undone."""
    report_error: str = ""
    """Why the requested report file was not written."""

    @property
    def is_changed(self) -> bool:
        return (
            self.has_restored
            or self.writes_config
            or self.before != self.after
            or any(each.status in CHANGED for each in self.outcomes.values())
        )


def run_leadership(
    kafka: Kafka, request: ListRequest, options: LeadershipOptions, progress: Progress, stop: threading.Event
) -> LeadershipResult:
    """Change the list, and change the replica orders to match it.

    In check mode, or if there is nothing to do, the run takes no lock and sends no write request. Otherwise it takes
    the lock and undoes the changes of earlier runs. If there were such changes, if another run has changed the memory,
    or if this took longer than ``FRESH_S``, everything is read again. Each batch of partitions is always read again
    before its orders are set. After a crash, the next run continues from the memory.

    Raises BlacklistError, JournalError, ConfigNotWrittenError or CallError.
    """
    progress.step("looking at the partitions")
    cluster = kafka.describe_cluster().with_last(request.brokers)
    brokers = kafka.probe_brokers(cluster)
    request = replace(request, ignored_topics=frozenset({options.journal.topic}))
    run = _Run(kafka, cluster, brokers, request, options, progress, stop)
    topic = MemoryTopic(kafka, cluster.living(brokers), options.memory_topic)
    journalled = run.cluster_journal.read()
    pending = journalled.changes
    looked_at = kafka.clock.monotonic()
    view = run.inspect(topic.read(), pending)
    # Before Kafka 4.0 a fenced broker is not listed as registered, but its replicas are.
    replicas = {each for decision in view.decisions.values() for each in decision.outcome.replicas or ()}
    registered = {each.broker_id for each in cluster.registrations} | (set() if cluster.lists_fenced else replicas)
    mistyped: tuple[str, ...] = ()
    if request.change is ListChange.ABSENT:
        mistyped = warn_of_unknown(request.brokers, view.before, registered)
    else:
        require_registered(request.brokers, view.before, registered)
    if options.check_mode or not (view.has_work or pending):
        return _report(cluster, view, topic.name, (*mistyped, *journalled.notes))
    with run.cluster_journal.open(progress) as journal:
        undone = run.rollback(view, journal).undo()
        store, memory = topic.open(journal)
        is_old = kafka.clock.monotonic() - looked_at > FRESH_S
        if is_old or pending or undone or memory != view.memory:
            view = run.inspect(memory, journal.pending)
        unwritten: Changes = {}
        if view.has_work:
            # If this run dies, the next one waits until no request of this run can be executed.
            journal.begin([LastingOrders()])
            unwritten = run.write_list(store, view, journal)
        orders = OrderRun(run.writer(view, journal), journal, store, progress, stop, unwritten)
        outcomes = orders.carry_out(view)
    report = _report(cluster, view, topic.name, (*mistyped, *journal.notes, *(each.described for each in undone)))
    return replace(report, outcomes=outcomes, has_restored=has_restored(undone))


@dataclass(frozen=True, slots=True)
class _Run:
    kafka: Kafka
    cluster: Cluster
    brokers: tuple[Broker, ...]
    request: ListRequest
    options: LeadershipOptions
    progress: Progress
    stop: threading.Event

    @property
    def cluster_journal(self) -> ClusterJournal:
        return ClusterJournal(self.kafka, self.cluster, self.options.journal, self.brokers)

    def writer(self, view: LeadershipView, journal: Journal) -> Writer:
        addresses = view.config.answering or [*self.cluster.living(self.brokers).values()]
        return self.options.writer(self.kafka, addresses, journal)

    def rollback(self, view: LeadershipView, journal: Journal) -> Rollback:
        living = self.cluster.living(self.brokers)
        return Rollback.of(self.writer(view, journal), living, journal, progress=self.progress, stop=self.stop)

    def inspect(self, memory: Memory, pending: Iterable[Change]) -> LeadershipView:
        config = read_config(self.kafka, self.cluster)
        view = inspect(self.kafka, config, memory, self.request, partitions_of(pending))
        view = leave_unregistered(view, self.cluster)
        return keep_history(self.kafka, view, self.cluster.living(self.brokers))

    def write_list(self, store: OpenKeyedTopic, view: LeadershipView, journal: Journal) -> Changes:
        """Remember the list, and write the config. Return the changes that remember the config's value.

        They may be written with later changes: if this run dies before that, the next one writes the config again.
        """
        written = view.memory.written_value
        revision = view.memory.revision + 1
        store.write(list_changes(Memory(view.after, written, revision, returning=view.returning)))
        if view.writes_config:
            self.progress.step(f"writing {CONFIG_NAME}")
            write_config(self.writer(view, journal), view.after.config_value, view.config.entry)
        if written == view.after.config_value:
            return {}
        return list_changes(Memory(view.after, view.after.config_value, revision, returning=view.returning))


def write_config(writer: Writer, value: str | None, before: Setting | None = None) -> None:
    """Set the config, or delete it (None), and wait until it is seen. ``before`` is the present one.

    Brokers that do not know the config only show whether it is set. So if it was set before, only the answer to a
    request shows whether it was executed.

    Raises ConfigNotWrittenError.
    """
    kafka, accepted = writer.kafka, set[str]()

    def send(address: Address, names: Sequence[str]) -> Mapping[str, None]:
        kafka.write_cluster_default(address, CONFIG_NAME, value)
        accepted.update(names)
        return dict.fromkeys(names)

    def look(names: Sequence[str]) -> Mapping[str, Seen]:
        entry = kafka.cluster_default(CONFIG_NAME)
        is_conclusive = before is None or entry is None or not entry.is_sensitive or bool(accepted)
        return dict.fromkeys(names, Seen(_is_seen(entry, value) and is_conclusive, f"found: {entry}"))

    for unseen in until_seen(writer, [CONFIG_NAME], send, look, name="broker//{}".format).values():
        raise ConfigNotWrittenError(
            f"{CONFIG_NAME} was not seen to be {value!r}, and no replica order was changed: {unseen.reason}"
        )


def _is_seen(entry: Setting | None, value: str | None) -> bool:
    if entry is None or value is None:
        return entry is None and value is None
    return entry.is_sensitive or entry.value == value


def _report(cluster: Cluster, view: LeadershipView, remembered_in: str, warnings: tuple[str, ...]) -> LeadershipResult:
    return LeadershipResult(
        cluster_id=cluster.cluster_id,
        before=view.before,
        after=view.after,
        writes_config=view.writes_config,
        is_native=view.config.is_native,
        remembered_in=remembered_in,
        warnings=view.warnings + warnings,
        outcomes={partition: each.outcome for partition, each in view.decisions.items()},
        returning=view.returning,
    )
