# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Restarts cleaner threads, where that helps, and changes cleaner settings for good. Serial over brokers."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from .._changes.journal import Journal
from .._changes.record import SettingChange
from .._changes.setting_writer import SettingError, SettingWriter, change_and_restore
from .._model.run import Clock, Progress
from .._model.setting import RestartStatus
from .diagnosis import HEALTHY_CASES, Case, Diagnosis, Thresholds, diagnose
from .facts import CleanerMetrics, Edit, EditError, lasting_edits, restart_edit
from .inspection import Cleaner, ReadMetrics
from .metrics import MetricsError

_LOOK_EVERY_S = 0.3


ALTERED = frozenset(
    {
        RestartStatus.RESTARTED,
        RestartStatus.WOULD_RESTART,
        RestartStatus.CHANGED,
        RestartStatus.WOULD_CHANGE,
    }
)


@dataclass(frozen=True, slots=True)
class RestartOutcome:
    """What became of one broker's cleaner, and why."""

    broker_id: int
    status: RestartStatus
    reason: str
    edits: tuple[Edit, ...] = ()
    """What was changed: for a while by a restart, for good by settings."""
    case_before: Case | None = None
    case_after: Case | None = None
    """By metrics; None where there are none."""
    verified_by: str = ""
    """``metrics`` or ``config``; empty where nothing was done."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RestartOptions:
    """How to restart."""

    force: bool
    check_mode: bool
    verify_timeout_s: float
    thresholds: Thresholds


def restart(  # noqa: PLR0917
    cleaners: Sequence[Cleaner],
    writer: SettingWriter,
    journal: Journal | None,
    read_metrics: ReadMetrics | None,
    options: RestartOptions,
    progress: Progress,
    stop: threading.Event,
) -> tuple[RestartOutcome, ...]:
    """Restarts the cleaner threads of each broker for which the diagnosis says that it helps, or of all with force.

    The journal is None in check mode only. Setting ``stop`` ends it after the broker in hand.

    Raises JournalError before anything of a broker was changed.
    """
    outcomes = []
    for number, each in enumerate(cleaners):
        outcome = _refused(each, options) if not stop.is_set() else _stopped(each)
        if outcome is None:
            progress.step(f"restarting the cleaner threads of broker {each.broker_id}", number, len(cleaners))
            outcome = _restart_one(each, writer, journal, read_metrics, options)
        outcomes.append(outcome)
    return tuple(outcomes)


def _refused(cleaner: Cleaner, options: RestartOptions) -> RestartOutcome | None:
    diagnosis = cleaner.diagnosis
    if diagnosis.restart_helps or options.force:
        return None
    if diagnosis.case in HEALTHY_CASES:
        status = RestartStatus.NOT_NEEDED
    elif diagnosis.case is Case.UNKNOWN:
        status = RestartStatus.UNKNOWN
    else:
        status = RestartStatus.NOT_HELPED
    return RestartOutcome(cleaner.broker_id, status, diagnosis.reason, case_before=diagnosis.case)


def _stopped(cleaner: Cleaner) -> RestartOutcome:
    return RestartOutcome(
        cleaner.broker_id, RestartStatus.STOPPED, "the run was asked to stop", case_before=cleaner.diagnosis.case
    )


def _restart_one(
    cleaner: Cleaner,
    writer: SettingWriter,
    journal: Journal | None,
    read_metrics: ReadMetrics | None,
    options: RestartOptions,
) -> RestartOutcome:
    case = cleaner.diagnosis.case
    try:
        if not cleaner.facts.settings:
            raise EditError(f"its settings are unknown: {cleaner.facts.settings_error}")
        edit = restart_edit(cleaner.facts.settings)
    except EditError as fault:
        return RestartOutcome(cleaner.broker_id, RestartStatus.FAILED, str(fault), case_before=case)
    if journal is None:
        return RestartOutcome(
            cleaner.broker_id,
            RestartStatus.WOULD_RESTART,
            f"{_why(cleaner.diagnosis)}; {_shown(edit)} for a moment",
            (edit,),
            case_before=case,
        )
    change = SettingChange("broker", str(cleaner.broker_id), edit.name, edit.before, str(edit.after))
    before = writer.kafka.clock.monotonic()
    try:
        stuck = change_and_restore(writer, journal, change)
    except SettingError as fault:
        return RestartOutcome(cleaner.broker_id, RestartStatus.FAILED, str(fault), (edit,), case_before=case)
    if stuck:
        reason = f"{change.name} of {change.kind} {change.resource}: {stuck}"
        return RestartOutcome(cleaner.broker_id, RestartStatus.FAILED, reason, (edit,), case_before=case)
    if cleaner.facts.metrics is None or read_metrics is None or cleaner.facts.host is None:
        return RestartOutcome(
            cleaner.broker_id,
            RestartStatus.RESTARTED,
            f"{_shown(edit)} for a moment; {edit.name} is as it was, by its value and its source",
            (edit,),
            case_before=case,
            verified_by="config",
        )
    return _verified(cleaner, edit, read_metrics, before, options, clock=writer.kafka.clock)


def _verified(
    cleaner: Cleaner,
    edit: Edit,
    read_metrics: ReadMetrics,
    restarted_at: float,
    options: RestartOptions,
    *,
    clock: Clock,
) -> RestartOutcome:
    """Read the metrics until no thread is dead and one has run since, or the deadline has passed."""
    deadline = clock.monotonic() + options.verify_timeout_s
    found = ""
    after: Case | None = None
    while True:
        try:
            metrics = read_metrics(cleaner.broker_id, str(cleaner.facts.host))
        except MetricsError as fault:
            found = str(fault)
        else:
            after = diagnose(_with(cleaner, metrics).facts, options.thresholds).case
            if metrics.dead_threads is None:
                return RestartOutcome(
                    cleaner.broker_id,
                    RestartStatus.RESTARTED,
                    f"{_shown(edit)} for a moment; whether its threads are alive now is unknown, since the metrics "
                    "source does not have DeadThreadCount: export it, or set metrics_names",
                    (edit,),
                    cleaner.diagnosis.case,
                    after,
                    "config",
                )
            elapsed_ms = (clock.monotonic() - restarted_at) * 1000
            since = metrics.time_since_last_run_ms
            if metrics.dead_threads == 0 and since is not None and since <= elapsed_ms:
                return RestartOutcome(
                    cleaner.broker_id,
                    RestartStatus.RESTARTED,
                    f"{_shown(edit)} for a moment; no thread is dead, and the last run was {since} ms ago",
                    (edit,),
                    cleaner.diagnosis.case,
                    after,
                    "metrics",
                )
            found = f"{_number(metrics.dead_threads)} threads are dead, and the last run was {_number(since)} ms ago"
        if clock.monotonic() >= deadline:
            return RestartOutcome(
                cleaner.broker_id,
                RestartStatus.FAILED,
                f"the threads were restarted, and within {options.verify_timeout_s:g} s it did not help: {found}; look "
                "for kafka-log-cleaner-thread in the broker's log",
                (edit,),
                cleaner.diagnosis.case,
                after,
                "metrics",
            )
        clock.sleep(_LOOK_EVERY_S)


def change_settings(
    cleaners: Sequence[Cleaner], wanted: Mapping[str, str | None], writer: SettingWriter, *, check_mode: bool
) -> tuple[RestartOutcome, ...]:
    """Brings the brokers' own cleaner settings to the wanted values for good; None means "not set".

    A broker takes all of its edits or none. What Kafka would refuse is refused for all brokers before the first write.
    A broker that does not return its settings keeps no other from theirs.

    Raises EditError.
    """
    plans: dict[int, tuple[Edit, ...]] = {}
    faults = []
    for each in cleaners:
        try:
            if each.facts.settings:
                plans[each.broker_id] = lasting_edits(each.facts.settings, wanted)
        except EditError as fault:
            faults.append(f"broker {each.broker_id}: {fault}")
    if faults:
        raise EditError("; ".join(faults) + ": nothing was changed")
    return tuple(
        _changed(each.broker_id, plans[each.broker_id], writer, check_mode)
        if each.broker_id in plans
        else RestartOutcome(
            each.broker_id, RestartStatus.FAILED, f"its settings are unknown: {each.facts.settings_error}"
        )
        for each in cleaners
    )


def _changed(broker_id: int, edits: tuple[Edit, ...], writer: SettingWriter, check_mode: bool) -> RestartOutcome:
    if not edits:
        return RestartOutcome(broker_id, RestartStatus.AS_WANTED, "its own settings are as wanted")
    requested = ", ".join(map(_shown, edits))
    if check_mode:
        return RestartOutcome(broker_id, RestartStatus.WOULD_CHANGE, requested, edits)
    problem = writer.write_edits(broker_id, {each.name: each.after for each in edits})
    if problem:
        return RestartOutcome(broker_id, RestartStatus.FAILED, f"{requested} was requested: {problem}", edits)
    return RestartOutcome(broker_id, RestartStatus.CHANGED, requested, edits, verified_by="config")


def _with(cleaner: Cleaner, metrics: CleanerMetrics) -> Cleaner:
    return replace(cleaner, facts=replace(cleaner.facts, metrics=metrics, metrics_error=""))


def _why(diagnosis: Diagnosis) -> str:
    return diagnosis.reason if diagnosis.restart_helps else f"forced, although {diagnosis.case.value}"


def _shown(edit: Edit) -> str:
    names = ["not set" if each is None else each for each in (edit.before, edit.after)]
    return f"{edit.name} {names[0]} → {names[1]}"


def _number(value: int | None) -> str:
    return "an unknown number of" if value is None else str(value)
