# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Implement preferred_leader_blacklist (KIP-491) on released brokers: the list, the dynamic config and the orders.

No leader changes: a reordered partition keeps its leader, and an offline partition is left alone. An original order is
remembered before the order is changed, and forgotten after it is restored.
"""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from .._changes.home import JournalHome
from .._changes.journal import Journal
from .._changes.orders import Writer, read_states, set_orders
from .._changes.record import Change, LastingOrders, OrderChange, partition_subject
from .._changes.rollback import Rollback, has_restored
from .._kafka.cluster import Cluster
from .._kafka.configs import ConfigEntry
from .._kafka.errors import BrokerCallError, RequestRefusedError
from .._kafka.messages import in_batches
from .._kafka.port import Kafka
from .._model.partition import Broker, TopicPartition
from .._model.run import KafkaOpsError, Progress, looks
from .blacklist import Blacklist, require_registered
from .blacklist import Change as ListChange
from .decide import CHANGED, DONE_STATUS, Decision, OrderOutcome, OrderStatus
from .memory import Memory, MemoryStore, list_changes, order_changes
from .memory_homes import Homes, LeadershipOptions
from .orders import RememberedOrder
from .view import CONFIG_NAME, ListRequest, View, decide_again, inspect, read_config

_WAIT_S = 0.5
_REMEMBERED_AT_ONCE = 10_000
_MAY_BE_EXECUTED = (
    "the response to a request for a replica order was lost, and the request may still be executed: a broker keeps it "
    "for 60 s. The journal and the memory have the original order, and the next run waits for the request"
)
STOPPED = "the run was asked to stop before this change; run it again"


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
    home: str
    """The topic or file that remembers the list and the original orders."""
    warnings: tuple[str, ...]
    outcomes: Mapping[TopicPartition, OrderOutcome]
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
    the lock, undoes the changes of earlier runs, and reads everything again. After a crash, the next run continues from
    the memory.

    Raises BlacklistError, JournalError, ConfigNotWrittenError, NoBrokerAnswersError, RequestRefusedError or
    BrokerCallError.
    """
    progress.step("looking at the partitions")
    cluster = kafka.describe_cluster().with_last(request.brokers)
    brokers = kafka.probe_brokers(cluster)
    request = replace(request, ignored_topics=frozenset({options.journal.topic}))
    run = _Run(kafka, cluster, brokers, request, options, progress, stop)
    homes = run.homes()
    pending = run.journal_home.read().changes
    view = run.inspect(homes.read(), pending)
    if request.change is not ListChange.ABSENT:
        # Before Kafka 4.0 a fenced broker is not listed as registered, but its replicas are.
        replicas = {each for decision in view.decisions.values() for each in decision.outcome.replicas or ()}
        registered = {each.broker_id for each in cluster.registrations}
        require_registered(request.brokers, view.before, registered | (set() if cluster.lists_fenced else replicas))
    if options.check_mode or not (view.has_work or pending):
        return _report(cluster, view, homes.home, ())
    with run.journal_home.open(progress) as journal:
        undone = run.rollback(view, journal).undo()
        with homes.open(journal) as held:
            view = run.inspect(held.memory, journal.pending)
            if view.has_work:
                # If this run dies, the next one waits until no request of this run can be executed.
                journal.begin([LastingOrders()])
                run.write_list(held.store, view, journal)
            orders = OrderRun(run.writer(view, journal), journal, held.store, progress, stop)
            outcomes = orders.carry_out(view)
    fallback = (
        (f"the list and the original orders are remembered in {held.home} on this host only, because {held.fallback}",)
        if held.fallback
        else ()
    )
    report = _report(cluster, view, held.home, (*fallback, *journal.notes, *(each.described for each in undone)))
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
    def journal_home(self) -> JournalHome:
        return JournalHome(self.kafka, self.cluster, self.options.journal, self.brokers)

    def homes(self) -> Homes:
        return Homes.of(self.kafka, self.cluster.living(self.brokers), self.options, self.cluster.cluster_id)

    def writer(self, view: View, journal: Journal) -> Writer:
        return Writer(
            self.kafka,
            view.config.answering or [*self.cluster.living(self.brokers).values()],
            self.options.attempts,
            self.options.verify_timeout_ms / 1000,
        ).with_journal(journal)

    def rollback(self, view: View, journal: Journal) -> Rollback:
        living = self.cluster.living(self.brokers)
        return Rollback.of(self.writer(view, journal), living, journal, progress=self.progress, stop=self.stop)

    def inspect(self, memory: Memory, pending: Iterable[Change]) -> View:
        unfinished = frozenset(each.topic_partition for each in pending if isinstance(each, OrderChange))
        return inspect(self.kafka, read_config(self.kafka, self.cluster), memory, self.request, unfinished)

    def write_list(self, store: MemoryStore, view: View, journal: Journal) -> None:
        """Remember the list, write the config, then remember its value, so that the next run notices a crash."""
        written = view.memory.written_value
        revision = view.memory.revision + 1
        store.write(list_changes(Memory(view.after, written, revision)))
        if view.writes_config:
            self.progress.step(f"writing {CONFIG_NAME}")
            self._write_config(self.writer(view, journal), view.after.config_value)
        if written != view.after.config_value:
            store.write(list_changes(Memory(view.after, view.after.config_value, revision)))

    def _write_config(self, writer: Writer, value: str | None) -> None:
        problem = ""
        for attempt in range(writer.attempts):
            if problem := writer.why_forbidden():
                break
            try:
                self.kafka.write_cluster_default(writer.address(attempt), CONFIG_NAME, value)
            except BrokerCallError as error:
                problem = str(error)
            except RequestRefusedError as error:
                problem = str(error)
                if not error.is_transient:
                    break
            else:
                self._wait_for_config(value, writer.verify_timeout_s)
                return
        raise ConfigNotWrittenError(f"{CONFIG_NAME} was not written, and no replica order was changed: {problem}")

    def _wait_for_config(self, value: str | None, timeout_s: float) -> None:
        """Wait until the new value is seen. Brokers that do not know the config only show whether it is set."""
        entry = None
        for _look in looks(self.kafka.clock, timeout_s):
            entry = self.kafka.cluster_default(CONFIG_NAME)
            if _is_seen(entry, value):
                return
        raise ConfigNotWrittenError(
            f"{CONFIG_NAME}={value!r} was accepted, but was not seen within {timeout_s:g} s (found: {entry}). "
            "No replica order was changed"
        )


def _is_seen(entry: ConfigEntry | None, value: str | None) -> bool:
    if entry is None or value is None:
        return entry is None and value is None
    return entry.is_sensitive or entry.value == value


def _report(cluster: Cluster, view: View, home: str, warnings: tuple[str, ...]) -> LeadershipResult:
    return LeadershipResult(
        cluster_id=cluster.cluster_id,
        before=view.before,
        after=view.after,
        writes_config=view.writes_config,
        is_native=view.config.is_native,
        home=home,
        warnings=view.warnings + warnings,
        outcomes={partition: each.outcome for partition, each in view.decisions.items()},
    )


@dataclass(slots=True)
class OrderRun:
    """Carry out the decisions, at most PARTITIONS_PER_REQUEST in one request."""

    writer: Writer
    journal: Journal
    store: MemoryStore
    progress: Progress
    stop: threading.Event
    _requested: dict[TopicPartition, Decision] = field(default_factory=dict)
    """The partitions whose order was requested."""
    _remembered: dict[TopicPartition, RememberedOrder] = field(default_factory=dict)
    """The present contents of the memory."""
    _to_remember_at_end: dict[TopicPartition, RememberedOrder | None] = field(default_factory=dict)
    """The contents that the memory should have at the end; None to forget the partition."""

    def carry_out(self, view: View) -> dict[TopicPartition, OrderOutcome]:
        """Carry out the decisions, and return the outcomes. Setting ``stop`` ends the run after the current batch.

        Raises JournalError if the memory or the journal cannot be written: then no further order is changed.
        Raises NoBrokerAnswersError, BrokerCallError or RequestRefusedError if no broker could be read.
        """
        self._remembered = dict(view.memory.orders)
        outcomes = {partition: each.outcome for partition, each in view.decisions.items()}
        work = [partition for partition, each in view.decisions.items() if each.has_work]
        done = 0
        for several in in_batches(work, _REMEMBERED_AT_ONCE):
            if not self.stop.is_set():
                # In few large writes, because brokers replicate slowly while they process changed orders.
                self._remember(view.decisions[each] for each in several)
            for batch in in_batches(several):
                self.progress.step("setting replica orders", done, len(work))
                outcomes |= self._leave_alone(view, batch) if self.stop.is_set() else self._set_batch(view, batch)
                done += len(batch)
            if not self._late_requests_until(self._requested):
                self._forget_restored()
        if self._wait_for_late_orders():
            self._forget_restored()
            self.journal.end([LastingOrders()], "set")
        else:
            self.journal.notes.append(_MAY_BE_EXECUTED)
        return outcomes

    def _remember(self, decisions: Iterable[Decision]) -> None:
        """Remember the original orders of partitions whose orders will change."""
        wanted = ((each.topic_partition, each.remember) for each in decisions)
        new = {each: order for each, order in wanted if order is not None and order != self._remembered.get(each)}
        self.store.write(order_changes(new.values()))
        self._remembered |= new

    def _forget_restored(self) -> None:
        """Forget the orders that are restored, and those of partitions that were not changed after all."""
        changes = {
            each: order for each, order in self._to_remember_at_end.items() if order != self._remembered.get(each)
        }
        kept = {each: order for each, order in changes.items() if order is not None}
        self.store.write(order_changes(kept.values(), changes.keys() - kept.keys()))
        for each in changes.keys() - kept.keys():
            del self._remembered[each]
        self._remembered |= kept
        self._to_remember_at_end.clear()

    def _late_requests_until(self, asked: Collection[TopicPartition]) -> float:
        return self.journal.late_requests_until(partition_subject(each) for each in asked)

    def _wait_for_late_orders(self) -> bool:
        """Wait until no request with a lost response can be executed any more, then request those orders again.

        Return whether this succeeded. If not, the original orders must stay remembered: after they are forgotten, no
        run would restore an order that is set late.
        """
        until = self._late_requests_until(self._requested)
        if not until:
            return True
        unanswered = {each: how for each, how in self._requested.items() if self._late_requests_until([each])}
        clock = self.writer.kafka.clock
        while clock.monotonic() < until:
            if self.stop.is_set():
                return False
            self.progress.step("waiting for orders whose responses were lost", 0, len(unanswered))
            clock.sleep(_WAIT_S)
        return not self._request_again(unanswered) and self._late_requests_until(unanswered) <= until

    def _request_again(self, asked: Mapping[TopicPartition, Decision]) -> dict[TopicPartition, str]:
        """Request orders again, also if they seem to be set, and return why the others are not set.

        Orders that another party has set are left out.
        """
        orders, before = {}, {}
        for partition, state in read_states(self.writer.kafka, asked).items():
            decision = asked[partition]
            order, known = decision.outcome.replicas_after, decision.remember or decision.remembered
            is_same = known is not None and known.topic_id == state.topic_id and not state.is_offline
            if order and known and is_same and state.replicas in (order, *known.known_orders):
                orders[partition], before[partition] = order, decision.possible_orders
        return set_orders(self.writer, orders, before) if orders else {}

    def _leave_alone(self, view: View, batch: Sequence[TopicPartition]) -> dict[TopicPartition, OrderOutcome]:
        self._to_remember_at_end |= {each: view.decisions[each].remembered for each in batch}
        return {each: view.decisions[each].leave_alone(STOPPED).outcome for each in batch}

    def _set_batch(self, view: View, batch: Sequence[TopicPartition]) -> dict[TopicPartition, OrderOutcome]:
        stateless = [each for each in batch if view.decisions[each].outcome.replicas is None]
        states = read_states(self.writer.kafka, [each for each in batch if each not in stateless])
        decisions = {each: view.decisions[each] for each in stateless} | decide_again(
            self.writer.kafka, view, states, batch
        )
        missing = {each: _missing_outcome(view.decisions[each]) for each in batch if each not in decisions}
        self._remember(decisions.values())
        wanted = {
            partition: each.outcome.replicas_after for partition, each in decisions.items() if each.requests_order
        }
        failures = set_orders(
            self.writer,
            {partition: order for partition, order in wanted.items() if order is not None},
            {partition: decisions[partition].possible_orders for partition in wanted},
        )
        self._requested |= {partition: decisions[partition] for partition in wanted}
        self._to_remember_at_end |= {each: view.decisions[each].remembered for each in missing}
        self._to_remember_at_end |= {
            partition: each.remembered if each.forgets and partition in failures else each.remember
            for partition, each in decisions.items()
        }
        return {partition: _result(each, failures.get(partition)) for partition, each in decisions.items()} | missing


def _result(decision: Decision, failure: str | None) -> OrderOutcome:
    outcome = decision.outcome
    if failure:
        reason = f"{failure}; the original order stays remembered, and a later run tries again"
        return replace(outcome, status=OrderStatus.FAILED, reason=reason, replicas_after=None)
    return replace(outcome, status=DONE_STATUS.get(outcome.status, outcome.status))


def _missing_outcome(decision: Decision) -> OrderOutcome:
    why = "it has just disappeared from the metadata: run again"
    return replace(decision.leave_alone(why).outcome, replicas_after=None)
