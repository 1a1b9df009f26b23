# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Carries out what log_cleaner and log_cleaner_repair are asked for."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ansible_collections.kafkaops.recovery.plugins.module_utils.cleaner.diagnosis import Thresholds, diagnose
from ansible_collections.kafkaops.recovery.plugins.module_utils.cleaner.facts import CleanerFacts
from ansible_collections.kafkaops.recovery.plugins.module_utils.cleaner.safety import Overrides
from ansible_collections.kafkaops.recovery.plugins.module_utils.cleaner.settings import (
    BACKOFF_MS,
    DEDUPE_BUFFER_SIZE,
    IO_BUFFER_SIZE,
    IO_MAX_BYTES_PER_SECOND,
    LOAD_FACTOR,
    THREADS,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils.glue import log_cleaner as shared
from ansible_collections.kafkaops.recovery.plugins.module_utils.glue.connection import connection_settings
from ansible_collections.kafkaops.recovery.plugins.module_utils.glue.journal import journal_directory
from ansible_collections.kafkaops.recovery.plugins.module_utils.glue.metrics_source import (
    MetricsSource,
    metrics_source,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils.glue.progress import progress_to
from ansible_collections.kafkaops.recovery.plugins.module_utils.glue.quorum_preflight import require_quorum
from ansible_collections.kafkaops.recovery.plugins.module_utils.glue.refusals import all_of
from ansible_collections.kafkaops.recovery.plugins.module_utils.glue.selection import wanted_partitions
from ansible_collections.kafkaops.recovery.plugins.module_utils.journal.cleaner_journal import (
    CleanerJournal,
    read_unfinished,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils.kafka.addresses import Address
from ansible_collections.kafkaops.recovery.plugins.module_utils.kafka.cluster import Cluster
from ansible_collections.kafkaops.recovery.plugins.module_utils.kafka.wire import Wire
from ansible_collections.kafkaops.recovery.plugins.module_utils.model.broker import Broker
from ansible_collections.kafkaops.recovery.plugins.module_utils.model.cleaner_status import RepairStatus
from ansible_collections.kafkaops.recovery.plugins.module_utils.model.partition import TopicPartition
from ansible_collections.kafkaops.recovery.plugins.module_utils.model.progress import Progress
from ansible_collections.kafkaops.recovery.plugins.module_utils.operations import (
    log_cleaner,
    log_cleaner_leftovers,
    log_cleaner_marks,
    log_cleaner_repair,
    log_cleaner_repair_plan,
    log_cleaner_restart,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils.operations.log_cleaner_replica import ReplicaMaker
from ansible_collections.kafkaops.recovery.plugins.module_utils.operations.log_cleaner_safeguard import Safeguard
from ansible_collections.kafkaops.recovery.plugins.module_utils.operations.log_cleaner_settings import SettingWriter
from ansible_collections.kafkaops.recovery.plugins.module_utils.operations.replica_orders import Writer

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
    leftovers: tuple[log_cleaner_leftovers.CleanerLeftover, ...]


@dataclass(frozen=True, slots=True)
class Repaired:
    """How a run of log_cleaner_repair ended."""

    cluster_id: str
    outcomes: tuple[log_cleaner_repair_plan.RepairOutcome, ...]
    untold: tuple[str, ...]
    """Marks whose partitions could not be found, in words."""
    leftovers: tuple[log_cleaner_leftovers.CleanerLeftover, ...]


@dataclass(frozen=True, slots=True)
class _Run:
    """What a run works with once the brokers were seen."""

    wire: Wire
    cluster: Cluster
    wanted: tuple[Broker, ...]
    living: dict[int, Address]
    settings: SettingWriter
    progress: Progress

    def maker(self, journal: CleanerJournal, timeout_s: float, stop: threading.Event) -> ReplicaMaker:
        writer = Writer(self.wire, [*self.living.values()], self.settings.attempts, self.settings.verify_timeout_s)
        return ReplicaMaker(writer, self.living, journal, timeout_s, stop, self.progress)


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
    """Restarts threads or changes settings, after putting back what an earlier run left.

    Raises KafkaOpsError; what can be refused without looking at the cluster is refused before that, all at once.
    """
    settings, source, limits, wanted = all_of(
        lambda: connection_settings(params),
        lambda: metrics_source(params),
        lambda: shared.thresholds(params),
        lambda: wanted_settings(params),
    )
    with Wire(settings) as wire:
        run = _begun(wire, params)
        with shared.journal_unless(check_mode, journal_directory(params), run.cluster.cluster_id) as journal:
            leftovers = _leftovers(run, params, journal, stop)
            if params["state"] == "configured":
                facts = wire.in_parallel(lambda each: log_cleaner.facts_of(wire, run.cluster, each, None), run.wanted)
                cleaners = tuple(
                    log_cleaner.Cleaner(each, diagnose(each, limits))
                    for each in facts.values()
                    if isinstance(each, CleanerFacts)
                )
                if not check_mode:
                    require_quorum(wire, params)
                outcomes = log_cleaner_restart.change_settings(cleaners, wanted, run.settings, check_mode=check_mode)
                return Done(run.cluster.cluster_id, cleaners, outcomes, leftovers)
            cleaners = shared.look(wire, run.cluster, run.wanted, source, limits, params, run.progress)
            options = log_cleaner_restart.RestartOptions(
                force=params["force"],
                check_mode=check_mode,
                verify_timeout_s=params["verify_timeout_ms"] / 1000,
                thresholds=limits,
            )
            if not check_mode and (params["force"] or any(each.diagnosis.restart_helps for each in cleaners)):
                require_quorum(wire, params)
            outcomes = log_cleaner_restart.restart(cleaners, run.settings, journal, source, options, run.progress, stop)
    return Done(run.cluster.cluster_id, cleaners, outcomes, leftovers)


def repair(params: Mapping[str, Any], *, check_mode: bool, stop: threading.Event) -> Repaired:
    """Re-creates the marked or named replicas, after putting back what an earlier run left.

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
        run = _begun(wire, params)
        with shared.journal_unless(check_mode, journal_directory(params), run.cluster.cluster_id) as journal:
            leftovers = _leftovers(run, params, journal, stop)
            cleaners = _looked_at(run, source, limits)
            targets, untold = _targets(run, cleaners, named, params, stop)
            by_broker = {each.broker_id: each for each in cleaners}
            terms = log_cleaner_repair_plan.RepairTerms(
                overrides=Overrides(
                    allow_below_min_isr=params["allow_below_min_isr"], allow_single_copy=params["allow_single_copy"]
                ),
                force=params["force"],
                max_read_bytes=params["max_read_bytes"],
            )
            planner = log_cleaner_repair_plan.RepairPlanner(wire, run.living, by_broker, terms, run.progress, stop)
            repairs, outcomes = planner.plan(targets)
            if repairs and not check_mode:
                require_quorum(wire, params)
            if journal is None:
                outcomes += [each.outcome(RepairStatus.WOULD_REPAIR, each.reason) for each in repairs]
            else:
                pace = log_cleaner_repair.RepairPace(
                    max_concurrent=params["max_concurrent"],
                    throttle_bytes_per_second=params["throttle_bytes_per_second"] or None,
                    verify_timeout_s=params["verify_timeout_ms"] / 1000,
                )
                safeguard = Safeguard(wire, terms.overrides)
                repairer = log_cleaner_repair.Repairer(by_broker, source, pace, safeguard)
                maker = run.maker(journal, params["repair_timeout_ms"] / 1000, stop)
                outcomes += repairer.carry_out(repairs, maker, run.settings, journal)
    outcomes.sort(key=lambda each: (each.topic, each.partition, each.broker_id))
    return Repaired(run.cluster.cluster_id, tuple(outcomes), untold, leftovers)


def _check_repair(params: Mapping[str, Any]) -> None:
    faults = [
        f"{name} is {params[name]}, which is not above 0"
        for name in ("max_concurrent", "repair_timeout_ms", "max_read_bytes", "attempts")
        if params[name] < 1
    ]
    if (params["partitions"] or params["partitions_file"]) and not params["brokers"]:
        faults.append("partitions are named, and brokers has to say whose replicas of them are meant")
    if not params["partitions"] and not params["partitions_file"] and params["metrics_source"] == "none":
        faults.append("without metrics nothing tells which replicas are marked: name partitions and brokers")
    if faults:
        raise shared.CleanerOptionsError("; ".join(faults))


def _begun(wire: Wire, params: Mapping[str, Any]) -> _Run:
    progress = progress_to(params["progress_file"])
    progress.step("looking at the brokers")
    cluster, everyone = log_cleaner.living_brokers(wire, ())
    named = set(params["brokers"])
    if named:
        log_cleaner.refuse_unknown(everyone, named)
    alive = shared.living(cluster, everyone)
    writer = SettingWriter(wire, alive, params["attempts"], params["verify_timeout_ms"] / 1000)
    wanted = tuple(each for each in everyone if not named or each.broker_id in named)
    return _Run(wire, cluster, wanted, alive, writer, progress)


def _leftovers(
    run: _Run, params: Mapping[str, Any], journal: Any, stop: threading.Event
) -> tuple[log_cleaner_leftovers.CleanerLeftover, ...]:
    timeout_s = params.get("repair_timeout_ms", params["verify_timeout_ms"]) / 1000
    maker = run.maker(journal, timeout_s, stop)
    if journal is not None:
        return log_cleaner_leftovers.undo_leftovers(run.settings, journal, maker.take_back)
    changes = read_unfinished(journal_directory(params), run.cluster.cluster_id)
    return log_cleaner_leftovers.look_at_leftovers(run.settings, changes, maker.look_at)


def _looked_at(run: _Run, source: MetricsSource | None, limits: Thresholds) -> tuple[log_cleaner.Cleaner, ...]:
    if source is not None:
        return log_cleaner.look_by_metrics(run.wire, run.cluster, run.wanted, source, limits, name_suspects=False)
    facts = (log_cleaner.facts_of(run.wire, run.cluster, each, None) for each in run.wanted)
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
            run.wire, run.cluster, cleaners, params["max_read_bytes"], run.progress, stop
        )
    return [
        log_cleaner_marks.Target(each.topic, each.partition, broker_id)
        for each in named
        for broker_id in params["brokers"]
    ], ()


def _text(value: object) -> str:
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)
