# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Restarts cleaner threads, where that helps, and changes cleaner settings for good. Serial over brokers."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from ansible_collections.kafkaops.recovery.plugins.module_utils.cleaner.diagnosis import (
    WELL,
    Case,
    Diagnosis,
    Thresholds,
    diagnose,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils.cleaner.edits import (
    Edit,
    EditError,
    lasting_edits,
    restart_edit,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils.cleaner.facts import CleanerMetrics
from ansible_collections.kafkaops.recovery.plugins.module_utils.journal.cleaner_journal import (
    CleanerJournal,
    SettingChange,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils.kafka.errors import BrokerCallError, RequestRefusedError
from ansible_collections.kafkaops.recovery.plugins.module_utils.kafka.own_configs import BROKER, read_own, write_own
from ansible_collections.kafkaops.recovery.plugins.module_utils.metrics.errors import MetricsError
from ansible_collections.kafkaops.recovery.plugins.module_utils.model.cleaner_status import RestartStatus
from ansible_collections.kafkaops.recovery.plugins.module_utils.model.errors import KafkaOpsError
from ansible_collections.kafkaops.recovery.plugins.module_utils.model.progress import Progress
from ansible_collections.kafkaops.recovery.plugins.module_utils.model.setting import same_value
from ansible_collections.kafkaops.recovery.plugins.module_utils.operations.log_cleaner import Cleaner, ReadMetrics
from ansible_collections.kafkaops.recovery.plugins.module_utils.operations.log_cleaner_settings import (
    SettingError,
    SettingWriter,
    changed_for_a_moment,
    own_of,
)

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
    journal: CleanerJournal | None,
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
    if diagnosis.case in WELL:
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
    journal: CleanerJournal | None,
    read_metrics: ReadMetrics | None,
    options: RestartOptions,
) -> RestartOutcome:
    case = cleaner.diagnosis.case
    try:
        if not cleaner.facts.settings:
            raise EditError(f"its settings are not told: {cleaner.facts.settings_error}")
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
    before = time.monotonic()
    try:
        stuck = changed_for_a_moment(writer, journal, change)
    except SettingError as fault:
        return RestartOutcome(cleaner.broker_id, RestartStatus.FAILED, str(fault), (edit,), case_before=case)
    if stuck:
        told = f"{change.name} of {change.kind} {change.resource}: {stuck}"
        return RestartOutcome(cleaner.broker_id, RestartStatus.FAILED, told, (edit,), case_before=case)
    if cleaner.facts.metrics is None or read_metrics is None or cleaner.facts.host is None:
        return RestartOutcome(
            cleaner.broker_id,
            RestartStatus.RESTARTED,
            f"{_shown(edit)} for a moment; {edit.name} is as it was, by its value and its source",
            (edit,),
            case_before=case,
            verified_by="config",
        )
    return _verified(cleaner, edit, read_metrics, before, options)


def _verified(
    cleaner: Cleaner, edit: Edit, read_metrics: ReadMetrics, restarted_at: float, options: RestartOptions
) -> RestartOutcome:
    """Reads the metrics until no thread is dead and one has run since, or the deadline has passed."""
    deadline = time.monotonic() + options.verify_timeout_s
    found = ""
    after: Case | None = None
    while True:
        try:
            metrics = read_metrics(cleaner.broker_id, str(cleaner.facts.host))
        except MetricsError as fault:
            found = str(fault)
        else:
            after = diagnose(_with(cleaner, metrics).facts, options.thresholds).case
            elapsed_ms = (time.monotonic() - restarted_at) * 1000
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
        if time.monotonic() >= deadline:
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
        time.sleep(_LOOK_EVERY_S)


def change_settings(
    cleaners: Sequence[Cleaner], wanted: Mapping[str, str | None], writer: SettingWriter, *, check_mode: bool
) -> tuple[RestartOutcome, ...]:
    """Brings the brokers' own cleaner settings to the wanted values for good; None means "not set".

    A broker takes all of its edits or none. What Kafka would refuse is refused for all brokers before the first write.
    A broker that does not tell its settings keeps no other from theirs.

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
            each.broker_id, RestartStatus.FAILED, f"its settings are not told: {each.facts.settings_error}"
        )
        for each in cleaners
    )


def _changed(broker_id: int, edits: tuple[Edit, ...], writer: SettingWriter, check_mode: bool) -> RestartOutcome:
    if not edits:
        return RestartOutcome(broker_id, RestartStatus.AS_WANTED, "its own settings are as wanted")
    told = ", ".join(map(_shown, edits))
    if check_mode:
        return RestartOutcome(broker_id, RestartStatus.WOULD_CHANGE, told, edits)
    address = writer.addresses.get(broker_id)
    if address is None:
        return RestartOutcome(broker_id, RestartStatus.FAILED, "it does not answer", edits)
    try:
        write_own(writer.wire, address, BROKER, str(broker_id), {each.name: each.after for each in edits})
    except RequestRefusedError as fault:
        return RestartOutcome(broker_id, RestartStatus.FAILED, str(fault), edits)
    except BrokerCallError:
        # It may have been carried out: reading back tells.
        pass
    deadline = time.monotonic() + writer.verify_timeout_s
    while True:
        try:
            found = read_own(writer.wire, address, BROKER, str(broker_id), [each.name for each in edits])
        except KafkaOpsError as fault:
            missing = str(fault)
        else:
            wrong = [each for each in edits if not same_value(own_of(found, each.name), each.after)]
            if not wrong:
                return RestartOutcome(broker_id, RestartStatus.CHANGED, told, edits, verified_by="config")
            missing = ", ".join(f"{each.name} is {own_of(found, each.name)}" for each in wrong)
        if time.monotonic() >= deadline:
            return RestartOutcome(broker_id, RestartStatus.FAILED, f"asked for {told}, and found: {missing}", edits)
        time.sleep(_LOOK_EVERY_S)


def _with(cleaner: Cleaner, metrics: CleanerMetrics) -> Cleaner:
    return replace(cleaner, facts=replace(cleaner.facts, metrics=metrics, metrics_error=""))


def _why(diagnosis: Diagnosis) -> str:
    return diagnosis.reason if diagnosis.restart_helps else f"forced, although {diagnosis.case.value}"


def _shown(edit: Edit) -> str:
    names = ["not set" if each is None else each for each in (edit.before, edit.after)]
    return f"{edit.name} {names[0]} → {names[1]}"


def _number(value: int | None) -> str:
    return "an unknown number of" if value is None else str(value)
