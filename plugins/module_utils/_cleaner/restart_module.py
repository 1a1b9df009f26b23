# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Run log_cleaner: restart threads or change settings permanently, and build the results."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from .._changes.record import AnyLeftover
from .._changes.rollback import conflict_warnings, failure_message, has_restored, leftover_results, restored_diff
from .._kafka.port import Kafka
from .._kafka.wire import Wire
from .._model.run import count_by_status
from .._model.setting import RestartStatus
from .._module.connection import connection_settings, controller_listeners
from .._module.quorum_preflight import require_quorum
from .._module.run import call_all, to_json_types
from . import inspection, restart
from .cleaner_run import CleanerRun, LockedRun
from .diagnosis import Thresholds, diagnose
from .facts import (
    BACKOFF_MS,
    DEDUPE_BUFFER_SIZE,
    IO_BUFFER_SIZE,
    IO_MAX_BYTES_PER_SECOND,
    LOAD_FACTOR,
    THREADS,
)
from .metrics_source import MetricsSource, metrics_source
from .options import CleanerOptionsError, inspect_cleaners, thresholds
from .restart import ALTERED

OPTION_NAMES = {
    "threads": THREADS,
    "dedupe_buffer_size": DEDUPE_BUFFER_SIZE,
    "io_buffer_size": IO_BUFFER_SIZE,
    "io_buffer_load_factor": LOAD_FACTOR,
    "io_max_bytes_per_second": IO_MAX_BYTES_PER_SECOND,
    "backoff_ms": BACKOFF_MS,
}
"""Kafka's names of the module's cleaner settings."""


@dataclass(frozen=True, slots=True)
class Done:
    """The results of a run of log_cleaner."""

    cluster_id: str
    cleaners: tuple[inspection.Cleaner, ...]
    outcomes: tuple[restart.RestartOutcome, ...]
    leftovers: tuple[AnyLeftover, ...]
    notes: Sequence[str]
    """Messages about the journal; complete once it is closed."""


_AHEAD = (RestartStatus.WOULD_RESTART, RestartStatus.WOULD_CHANGE)


def change(params: Mapping[str, Any], *, check_mode: bool, stop: threading.Event) -> Done:
    """Undo the changes of earlier runs, then restart threads or change settings.

    A run that finds nothing to do takes no lock and sends no write request.

    Raises KafkaOpsError. Invalid options are all refused at once, before any request.
    """
    settings, controllers, source, limits, wanted = call_all(
        lambda: connection_settings(params),
        lambda: controller_listeners(params),
        lambda: metrics_source(params),
        lambda: thresholds(params),
        lambda: wanted_settings(params),
    )
    with Wire(settings, controllers) as wire:
        run = CleanerRun.begin(Kafka(wire), params, stop)
        leftovers, notes = run.preview_leftovers()
        foreseen = replace(_Change(run, None, source, limits, wanted).carry_out(), leftovers=leftovers, notes=notes)
        has_work = foreseen.leftovers or any(each.status in _AHEAD for each in foreseen.outcomes)
        if check_mode or not has_work:
            return foreseen
        require_quorum(wire, params)
        run = CleanerRun.begin(Kafka(wire), params, stop)
        with run.locked() as locked:
            leftovers = locked.rollback.undo()
            done = _Change(locked.run, locked, source, limits, wanted).carry_out()
        return replace(done, leftovers=leftovers, notes=locked.journal.notes)


def wanted_settings(params: Mapping[str, Any]) -> dict[str, str | None]:
    """Return the wanted values by Kafka's names; None for settings to unset.

    Raises CleanerOptionsError.
    """
    settings = {name: value for name, value in (params["settings"] or {}).items() if value is not None}
    unset = params["unset"]
    errors = [f"{name} is both in settings and in unset" for name in unset if name in settings]
    if params["state"] == "configured" and not settings and not unset:
        errors.append("state is configured, but neither settings nor unset is given: set one of them")
    if params["state"] == "restarted" and (settings or unset):
        errors.append("settings and unset need state=configured: a restart restores all settings")
    if errors:
        raise CleanerOptionsError("; ".join(errors))
    return {OPTION_NAMES[name]: _text(value) for name, value in settings.items()} | {
        OPTION_NAMES[name]: None for name in unset
    }


def _text(value: object) -> str:
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


@dataclass(frozen=True, slots=True)
class _Change:
    run: CleanerRun
    locked: LockedRun | None
    """None in check mode."""
    source: MetricsSource | None
    limits: Thresholds
    wanted: Mapping[str, str | None]

    def carry_out(self) -> Done:
        configures = self.run.params["state"] == "configured"
        cleaners, outcomes = self._configure() if configures else self._restart()
        return Done(self.run.cluster.cluster_id, cleaners, outcomes, (), ())

    def _configure(self) -> tuple[tuple[inspection.Cleaner, ...], tuple[restart.RestartOutcome, ...]]:
        run = self.run
        facts = inspection.read_facts(run.kafka, run.cluster, run.wanted, None)
        cleaners = tuple(inspection.Cleaner(each, diagnose(each, self.limits)) for each in facts)
        check_mode = self.locked is None
        return cleaners, restart.change_settings(cleaners, self.wanted, run.settings, check_mode=check_mode)

    def _restart(self) -> tuple[tuple[inspection.Cleaner, ...], tuple[restart.RestartOutcome, ...]]:
        run = self.run
        cleaners = inspect_cleaners(
            run.kafka, run.cluster, run.wanted, self.source, self.limits, run.params, run.progress
        )
        outcomes = restart.Restarter(
            writer=run.settings,
            journal=self.locked.journal if self.locked is not None else None,
            read_metrics=self.source,
            thresholds=self.limits,
            force=run.params["force"],
            verify_timeout_s=run.params["verify_timeout_ms"] / 1000,
            progress=run.progress,
            stop=run.stop,
        ).restart(cleaners)
        if self.locked is not None:
            self.locked.rollback.settle_doubt()
        return cleaners, outcomes


def warnings(done: Done) -> list[str]:
    """Return warnings, which are no failures."""
    return [
        f"broker {each.broker_id}: {each.case_before.value if each.case_before else 'unknown'}: {each.reason}"
        for each in done.outcomes
        if each.status in (RestartStatus.NOT_HELPED, RestartStatus.UNKNOWN)
    ] + conflict_warnings(done.notes, done.leftovers)


def results_of(done: Done) -> dict[str, Any]:
    """Return the module's results."""
    failure = _failure(done)
    return {
        "changed": has_restored(done.leftovers) or any(each.status in ALTERED for each in done.outcomes),
        "cluster_id": done.cluster_id,
        "summary": count_by_status((each.status for each in done.outcomes), RestartStatus),
        "outcomes": to_json_types(done.outcomes),
        "leftovers": leftover_results(done.leftovers),
        "diff": _diff(done),
        **({"msg": failure} if failure else {}),
    }


_LASTING = (RestartStatus.CHANGED, RestartStatus.WOULD_CHANGE)


def _diff(done: Done) -> dict[str, Any]:
    """Return the diff: the brokers' own settings if they were changed, or else the restart of their threads."""
    before: dict[str, Any] = {}
    after: dict[str, Any] = {}
    for each in done.outcomes:
        name = f"broker {each.broker_id}"
        if each.status in _LASTING:
            before[name] = {edit.name: edit.before for edit in each.edits}
            after[name] = {edit.name: edit.after for edit in each.edits}
        elif each.status in ALTERED:
            before[name] = {"cleaner threads": each.case_before.value if each.case_before else None}
            after[name] = {"cleaner threads": "restarted"}
    return {
        "before": before | restored_diff(done.leftovers, "changed"),
        "after": after | restored_diff(done.leftovers, "restored"),
    }


def _failure(done: Done) -> str:
    errors = [
        f"broker {each.broker_id}: {each.status.value}: {each.reason}"
        for each in done.outcomes
        if each.status in (RestartStatus.FAILED, RestartStatus.STOPPED)
    ]
    return failure_message(errors, done.leftovers)
