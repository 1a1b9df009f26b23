# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Carries out what log_cleaner and log_cleaner_repair are asked for."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from .._changes.home import JournalHome
from .._changes.journal import Journal
from .._changes.late_requests import AnyLeftover
from .._changes.orders import Writer
from .._changes.rollback import Rollback, look_at_leftovers
from .._changes.setting_writer import SettingWriter
from .._kafka.addresses import Address
from .._kafka.cluster import Cluster
from .._kafka.port import Kafka
from .._kafka.wire import Wire
from .._model.partition import Broker, TopicPartition
from .._model.run import Progress
from .._model.setting import RepairStatus, RestartStatus
from .._module.connection import connection_settings
from .._module.messages import all_of
from .._module.options import journal_options, progress_to, wanted_partitions
from .._module.quorum_preflight import require_quorum
from . import inspection as log_cleaner
from . import marks as log_cleaner_marks
from . import options as shared
from . import repair as log_cleaner_repair
from . import repair_plan as log_cleaner_repair_plan
from . import restart as log_cleaner_restart
from .diagnosis import Thresholds, diagnose
from .facts import (
    BACKOFF_MS,
    DEDUPE_BUFFER_SIZE,
    IO_BUFFER_SIZE,
    IO_MAX_BYTES_PER_SECOND,
    LOAD_FACTOR,
    THREADS,
    CleanerFacts,
)
from .metrics_source import MetricsSource, metrics_source
from .replica import ReplicaMaker
from .safeguard import Safeguard
from .safety import Overrides

OPTION_NAMES = {
    "threads": THREADS,
    "dedupe_buffer_size": DEDUPE_BUFFER_SIZE,
    "io_buffer_size": IO_BUFFER_SIZE,
    "io_buffer_load_factor": LOAD_FACTOR,
    "io_max_bytes_per_second": IO_MAX_BYTES_PER_SECOND,
    "backoff_ms": BACKOFF_MS,
}
"""The module's names of cleaner settings, and Kafka's."""


@dataclass(frozen=True, slots=True)
class Done:
    """How a run of log_cleaner ended."""

    cluster_id: str
    cleaners: tuple[log_cleaner.Cleaner, ...]
    outcomes: tuple[log_cleaner_restart.RestartOutcome, ...]
    leftovers: tuple[AnyLeftover, ...]
    notes: Sequence[str]
    """What the person on call should know of the journal; complete once it is closed."""


@dataclass(frozen=True, slots=True)
class Repaired:
    """How a run of log_cleaner_repair ended."""

    cluster_id: str
    outcomes: tuple[log_cleaner_repair_plan.RepairOutcome, ...]
    unidentified_marks: tuple[str, ...]
    """Marks whose partitions could not be found, in words."""
    leftovers: tuple[AnyLeftover, ...]
    notes: Sequence[str]
    """What the person on call should know of the journal; complete once it is closed."""


_AHEAD = (RestartStatus.WOULD_RESTART, RestartStatus.WOULD_CHANGE, RepairStatus.WOULD_REPAIR)


@dataclass(frozen=True, slots=True)
class _Run:
    """What a run works with once the brokers were seen."""

    kafka: Kafka
    cluster: Cluster
    wanted: tuple[Broker, ...]
    living: dict[int, Address]
    everyone: tuple[Broker, ...]
    settings: SettingWriter
    progress: Progress

    def home(self, params: Mapping[str, Any]) -> JournalHome:
        """Return where the journal of this cluster is kept."""
        return JournalHome(self.kafka, self.cluster, journal_options(params), self.everyone)

    @property
    def writer(self) -> Writer:
        """Return the writer of replica orders and sets; it heeds the lock as the one of settings does."""
        return Writer(
            self.kafka,
            [*self.living.values()],
            self.settings.attempts,
            self.settings.verify_timeout_s,
            self.settings.require_lock,
            self.settings.note_unanswered,
        )

    def maker(self, journal: Journal, timeout_s: float, stop: threading.Event) -> ReplicaMaker:
        """Return what drops and re-creates replicas, in the run that has this journal."""
        return ReplicaMaker(self.writer, self.living, journal, timeout_s, stop, self.progress)

    @contextmanager
    def locked(self, params: Mapping[str, Any], *, check_mode: bool) -> Iterator[tuple[_Run, Journal | None]]:
        """Hold the lock, and yield the run that writes under it, with its journal; in check mode, neither is opened.

        Raises JournalError.
        """
        if check_mode:
            yield self, None
            return
        with self.home(params).open(self.progress) as journal:
            yield replace(self, settings=self.settings.under(journal)), journal


def wanted_settings(params: Mapping[str, Any]) -> dict[str, str | None]:
    """Kafka's names and the values that are to last; None for what is to be unset.

    Raises CleanerOptionsError.
    """
    settings = {name: value for name, value in (params["settings"] or {}).items() if value is not None}
    unset = params["unset"]
    faults = [f"{name} is both in settings and in unset" for name in unset if name in settings]
    if params["state"] == "configured" and not settings and not unset:
        faults.append("state is configured, and neither settings nor unset says what is to last")
    if params["state"] == "restarted" and (settings or unset):
        faults.append("settings and unset last, and go with state=configured; a restart puts everything back")
    if faults:
        raise shared.CleanerOptionsError("; ".join(faults))
    return {OPTION_NAMES[name]: _text(value) for name, value in settings.items()} | {
        OPTION_NAMES[name]: None for name in unset
    }


def change(params: Mapping[str, Any], *, check_mode: bool, stop: threading.Event) -> Done:
    """Restart threads or change settings, after restoring what an earlier run left.

    A run that finds nothing to do takes no lock and sends no write request.

    Raises KafkaOpsError; what can be refused without looking at the cluster is refused before that, all at once.
    """
    foreseen = _change(params, check_mode=True, stop=stop)
    return foreseen if check_mode or not _has_work(foreseen) else _change(params, check_mode=False, stop=stop)


def _has_work(foreseen: Done | Repaired) -> bool:
    """Return whether a run without check mode would write anything."""
    return bool(foreseen.leftovers) or any(each.status in _AHEAD for each in foreseen.outcomes)


def _change(params: Mapping[str, Any], *, check_mode: bool, stop: threading.Event) -> Done:
    settings, source, limits, wanted = all_of(
        lambda: connection_settings(params),
        lambda: metrics_source(params),
        lambda: shared.thresholds(params),
        lambda: wanted_settings(params),
    )
    with Wire(settings) as wire:
        kafka = Kafka(wire)
        run = _begun(kafka, params)
        if not check_mode:
            # What an earlier run left is taken back first, and that is a write, too.
            require_quorum(wire, params)
        with run.locked(params, check_mode=check_mode) as (run, journal):
            leftovers = _leftovers(run, params, journal, stop)
            if params["state"] == "configured":
                facts = kafka.in_parallel(lambda each: log_cleaner.facts_of(kafka, run.cluster, each, None), run.wanted)
                cleaners = tuple(
                    log_cleaner.Cleaner(each, diagnose(each, limits))
                    for each in facts.values()
                    if isinstance(each, CleanerFacts)
                )
                outcomes = log_cleaner_restart.change_settings(cleaners, wanted, run.settings, check_mode=check_mode)
                return Done(run.cluster.cluster_id, cleaners, outcomes, leftovers, _notes(journal))
            cleaners = shared.look(kafka, run.cluster, run.wanted, source, limits, params, run.progress)
            options = log_cleaner_restart.RestartOptions(
                force=params["force"],
                check_mode=check_mode,
                verify_timeout_s=params["verify_timeout_ms"] / 1000,
                thresholds=limits,
            )
            outcomes = log_cleaner_restart.restart(cleaners, run.settings, journal, source, options, run.progress, stop)
            if journal is not None:
                _rollback(run, params, journal, stop).late.settle()
    return Done(run.cluster.cluster_id, cleaners, outcomes, leftovers, _notes(journal))


def repair(params: Mapping[str, Any], *, check_mode: bool, stop: threading.Event) -> Repaired:
    """Re-create the marked or named replicas, after restoring what an earlier run left.

    A run that finds nothing to do takes no lock and sends no write request. Copies are read in search of marks before
    the lock is taken: that may take long.

    Raises KafkaOpsError; what can be refused without looking at the cluster is refused before that, all at once.
    """
    settings, source, limits, named, _options = all_of(
        lambda: connection_settings(params),
        lambda: metrics_source(params),
        lambda: shared.thresholds(params),
        lambda: wanted_partitions(params),
        lambda: _check_repair(params),
    )
    with Wire(settings) as wire:
        work = _RepairWork(Kafka(wire), source, limits, named, params, stop)
        foreseen = work.foresee(reads_copies=not check_mode or params["search_in_check_mode"])
        if check_mode or not _has_work(foreseen):
            return foreseen
        require_quorum(wire, params)
        leftovers: tuple[AnyLeftover, ...] = ()
        if foreseen.leftovers:
            leftovers = work.roll_back()
            # A replica that was dropped then is there again.
            foreseen = work.foresee(reads_copies=True)
        done = work.carry_out(foreseen) if _has_work(foreseen) else foreseen
        return replace(done, leftovers=(*leftovers, *done.leftovers))


@dataclass(frozen=True, slots=True)
class _RepairWork:
    kafka: Kafka
    source: MetricsSource | None
    limits: Thresholds
    named: Sequence[TopicPartition] | None
    params: Mapping[str, Any]
    stop: threading.Event

    def foresee(self, *, reads_copies: bool) -> Repaired:
        """Look for what is to be repaired, without the lock. Writes nothing."""
        run = _begun(self.kafka, self.params)
        leftovers = _leftovers(run, self.params, None, self.stop)
        cleaners = _looked_at(run, self.source, self.limits)
        if self.named is None and not reads_copies:
            targets: Sequence[log_cleaner_marks.Target] = ()
            unidentified = log_cleaner_marks.unread_marks(cleaners)
        else:
            targets, unidentified = _targets(run, cleaners, self.named, self.params, self.stop)
        repairs, outcomes = self._planner(run, cleaners).plan(targets)
        outcomes += [each.outcome(RepairStatus.WOULD_REPAIR, each.reason) for each in repairs]
        return _repaired(run, outcomes, unidentified, leftovers, ())

    def roll_back(self) -> tuple[AnyLeftover, ...]:
        """Take back what an earlier run left, under the lock."""
        run = _begun(self.kafka, self.params)
        with run.locked(self.params, check_mode=False) as (run, journal):
            return _leftovers(run, self.params, journal, self.stop)

    def carry_out(self, foreseen: Repaired) -> Repaired:
        """Repair what was foreseen, under the lock. What it was judged by is looked at again, but for the marks."""
        params = self.params
        run = _begun(self.kafka, params)
        with run.locked(params, check_mode=False) as (run, journal):
            if journal is None:
                raise AssertionError("only check mode has no journal")
            rollback = _rollback(run, params, journal, self.stop)
            leftovers = rollback.undo()
            cleaners = _looked_at(run, self.source, self.limits)
            targets = [
                log_cleaner_marks.Target(each.topic, each.partition, each.broker_id)
                for each in foreseen.outcomes
                if each.status is RepairStatus.WOULD_REPAIR
            ]
            outcomes = [each for each in foreseen.outcomes if each.status is not RepairStatus.WOULD_REPAIR]
            planner = self._planner(run, cleaners, frozenset(targets))
            repairs, refused = planner.plan(targets)
            pace = log_cleaner_repair.RepairPace(
                max_concurrent=params["max_concurrent"],
                throttle_bytes_per_second=params["throttle_bytes_per_second"] or None,
                verify_timeout_s=params["verify_timeout_ms"] / 1000,
            )
            safeguard = Safeguard(self.kafka, planner.terms.overrides)
            repairer = log_cleaner_repair.Repairer(dict(planner.cleaners), self.source, pace, safeguard)
            maker = run.maker(journal, params["repair_timeout_ms"] / 1000, self.stop)
            outcomes += [*refused, *repairer.carry_out(repairs, maker, run.settings, rollback.late)]
        return _repaired(run, outcomes, foreseen.unidentified_marks, leftovers, _notes(journal))

    def _planner(
        self,
        run: _Run,
        cleaners: Sequence[log_cleaner.Cleaner],
        proven: frozenset[log_cleaner_marks.Target] = frozenset(),
    ) -> log_cleaner_repair_plan.RepairPlanner:
        terms = log_cleaner_repair_plan.RepairTerms(
            overrides=Overrides(
                allow_below_min_isr=self.params["allow_below_min_isr"],
                allow_single_copy=self.params["allow_single_copy"],
            ),
            force=self.params["force"],
            max_read_bytes=self.params["max_read_bytes"],
            proven=proven,
        )
        by_broker = {each.broker_id: each for each in cleaners}
        return log_cleaner_repair_plan.RepairPlanner(self.kafka, run.living, by_broker, terms, run.progress, self.stop)


def _repaired(
    run: _Run,
    outcomes: Sequence[log_cleaner_repair_plan.RepairOutcome],
    unidentified_marks: tuple[str, ...],
    leftovers: tuple[AnyLeftover, ...],
    notes: Sequence[str],
) -> Repaired:
    in_order = sorted(outcomes, key=lambda each: (each.topic, each.partition, each.broker_id))
    return Repaired(run.cluster.cluster_id, tuple(in_order), unidentified_marks, leftovers, notes)


def _check_repair(params: Mapping[str, Any]) -> None:
    faults = [
        f"{name} is {params[name]}, which is not above 0"
        for name in ("max_concurrent", "repair_timeout_ms", "max_read_bytes", "max_total_read_bytes", "attempts")
        if params[name] < 1
    ]
    if (params["partitions"] or params["partitions_file"]) and not params["brokers"]:
        faults.append("partitions are named, and brokers has to say whose replicas of them are meant")
    if not params["partitions"] and not params["partitions_file"] and params["metrics_source"] == "none":
        faults.append("without metrics it is unknown which replicas are marked: name partitions and brokers")
    if faults:
        raise shared.CleanerOptionsError("; ".join(faults))


def _begun(kafka: Kafka, params: Mapping[str, Any]) -> _Run:
    progress = progress_to(params["progress_file"])
    progress.step("looking at the brokers")
    cluster, everyone = log_cleaner.living_brokers(kafka, ())
    named = set(params["brokers"])
    if named:
        log_cleaner.refuse_unknown(everyone, named)
    alive = shared.living(cluster, everyone)
    writer = SettingWriter(kafka, alive, params["attempts"], params["verify_timeout_ms"] / 1000)
    wanted = tuple(each for each in everyone if not named or each.broker_id in named)
    return _Run(kafka, cluster, wanted, alive, tuple(everyone), writer, progress)


def _leftovers(
    run: _Run, params: Mapping[str, Any], journal: Journal | None, stop: threading.Event
) -> tuple[AnyLeftover, ...]:
    if journal is None:
        return look_at_leftovers(run.writer.kafka, run.settings, run.home(params).read().changes)
    return _rollback(run, params, journal, stop).undo()


def _rollback(run: _Run, params: Mapping[str, Any], journal: Journal, stop: threading.Event) -> Rollback:
    timeout_s = params.get("repair_timeout_ms", params["verify_timeout_ms"]) / 1000
    return Rollback.of(run.writer, run.living, journal, progress=run.progress, stop=stop, timeout_s=timeout_s)


def _notes(journal: Journal | None) -> Sequence[str]:
    return journal.notes if journal is not None else ()


def _looked_at(run: _Run, source: MetricsSource | None, limits: Thresholds) -> tuple[log_cleaner.Cleaner, ...]:
    if source is not None:
        return log_cleaner.look_by_metrics(run.kafka, run.cluster, run.wanted, source, limits, name_suspects=False)
    facts = (log_cleaner.facts_of(run.kafka, run.cluster, each, None) for each in run.wanted)
    return tuple(log_cleaner.Cleaner(each, diagnose(each, limits)) for each in facts)


def _targets(
    run: _Run,
    cleaners: Sequence[log_cleaner.Cleaner],
    named: Sequence[TopicPartition] | None,
    params: Mapping[str, Any],
    stop: threading.Event,
) -> tuple[Sequence[log_cleaner_marks.Target], tuple[str, ...]]:
    if named is None:
        return log_cleaner_marks.marked_replicas(
            run.kafka,
            run.cluster,
            cleaners,
            log_cleaner_marks.ReadLimits(params["max_read_bytes"], params["max_total_read_bytes"]),
            run.progress,
            stop,
        )
    return [
        log_cleaner_marks.Target(each.topic, each.partition, broker_id)
        for each in named
        for broker_id in params["brokers"]
    ], ()


def _text(value: object) -> str:
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)
