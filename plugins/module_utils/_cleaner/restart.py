# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Restart cleaner threads if that helps, or change cleaner settings permanently, one broker after another."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from .._changes.journal import Journal
from .._changes.record import NOT_RESTORED, SettingChange
from .._changes.sender import Seen, until_seen
from .._changes.setting_writer import SettingError, SettingWriter, begin_change, restore_setting, text_of
from .._kafka.errors import CallError
from .._kafka.settings import Address
from .._model.run import Progress
from .._model.setting import BROKER_RESOURCE, RestartStatus, Setting, same_value
from .diagnosis import HEALTHY_CASES, Case, Diagnosis, Thresholds, diagnose
from .facts import CleanerFacts, CleanerMetrics, Edit, EditError, lasting_edits, restart_edit
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
    """The result for one broker's cleaner."""

    broker_id: int
    status: RestartStatus
    reason: str
    edits: tuple[Edit, ...] = ()
    """The changed settings. A restart restores them, a change of settings does not."""
    case_before: Case | None = None
    case_after: Case | None = None
    """From metrics; None without metrics."""
    verified_by: str = ""
    """``metrics`` or ``config``; empty if nothing was done."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Restarter:
    """Restarts the cleaner threads of brokers."""

    writer: SettingWriter
    journal: Journal | None
    """None in check mode."""
    read_metrics: ReadMetrics | None
    thresholds: Thresholds
    force: bool
    verify_timeout_s: float
    progress: Progress
    stop: threading.Event

    def restart(self, cleaners: Sequence[Cleaner]) -> tuple[RestartOutcome, ...]:
        """Restart the cleaner threads of each broker where a restart helps, or of all brokers with ``force``.

        Setting ``stop`` ends the restarts after the current broker.

        Raises JournalError before a broker is changed.
        """
        outcomes = []
        for number, each in enumerate(cleaners):
            outcome = _stopped(each) if self.stop.is_set() else self._refused(each)
            if outcome is None:
                self.progress.step(f"restarting the cleaner threads of broker {each.broker_id}", number, len(cleaners))
                outcome = self._restart_one(each)
            outcomes.append(outcome)
        return tuple(outcomes)

    def _refused(self, cleaner: Cleaner) -> RestartOutcome | None:
        diagnosis = cleaner.diagnosis
        if diagnosis.restart_helps or self.force:
            return None
        if diagnosis.case in HEALTHY_CASES:
            status = RestartStatus.NOT_NEEDED
        elif diagnosis.case is Case.UNKNOWN:
            status = RestartStatus.UNKNOWN
        else:
            status = RestartStatus.NOT_HELPED
        return RestartOutcome(cleaner.broker_id, status, diagnosis.reason, case_before=diagnosis.case)

    def _restart_one(self, cleaner: Cleaner) -> RestartOutcome:
        result = partial(RestartOutcome, cleaner.broker_id, case_before=cleaner.diagnosis.case)
        try:
            if not cleaner.facts.settings:
                raise EditError(f"its settings are unknown: {cleaner.facts.settings_error}")
            edit = restart_edit(self._read_again(cleaner))
        except (EditError, SettingError, CallError) as error:
            return result(RestartStatus.FAILED, str(error))
        result = partial(result, edits=(edit,))
        changed = f"{_edit_text(edit)} for a moment"
        if self.journal is None:
            return result(RestartStatus.WOULD_RESTART, f"{_why_restart(cleaner.diagnosis)}; {changed}")
        change = SettingChange("broker", str(cleaner.broker_id), edit.name, edit.before, str(edit.after))
        restarted_at = self.writer.kafka.clock.monotonic()
        try:
            begun = begin_change(self.writer, self.journal, change)
            restored = restore_setting(self.writer, self.journal, begun)
            self.journal.end_undone([restored])
        except SettingError as error:
            return result(RestartStatus.FAILED, str(error))
        if restored.undoing in NOT_RESTORED:
            return result(RestartStatus.FAILED, f"{change}: {restored.reason}")
        if cleaner.facts.metrics is None or self.read_metrics is None or cleaner.facts.host is None:
            reason = f"{changed}; the value and the source of {edit.name} are restored"
            return result(RestartStatus.RESTARTED, reason, verified_by="config")
        read = partial(self.read_metrics, cleaner.broker_id, cleaner.facts.host)
        return self._verify(cleaner.facts, read, partial(result, verified_by="metrics"), changed, restarted_at)

    def _read_again(self, cleaner: Cleaner) -> Mapping[str, Setting]:
        """Return the settings right before a change: other brokers may have taken minutes since the look at this one.

        Raises SettingError or CallError.
        """
        if self.journal is None:
            return cleaner.facts.settings
        if cleaner.broker_id not in self.writer.living:
            raise SettingError(f"broker {cleaner.broker_id} does not answer")
        address = self.writer.living[cleaner.broker_id]
        return self.writer.kafka.read_configs(
            address, BROKER_RESOURCE, str(cleaner.broker_id), [*cleaner.facts.settings]
        )

    def _verify(
        self,
        facts: CleanerFacts,
        read: Callable[[], CleanerMetrics],
        result: Callable[..., RestartOutcome],
        changed: str,
        restarted_at: float,
    ) -> RestartOutcome:
        """Read the metrics until no thread is dead and one has run since the restart, or until the deadline."""
        clock = self.writer.kafka.clock
        deadline = clock.monotonic() + self.verify_timeout_s
        found = ""
        after: Case | None = None
        while True:
            try:
                metrics = read()
            except MetricsError as error:
                found = str(error)
            else:
                after = diagnose(replace(facts, metrics=metrics, metrics_error=""), self.thresholds).case
                if metrics.dead_threads is None:
                    return result(
                        RestartStatus.RESTARTED,
                        f"{changed}; whether its threads are alive now is unknown, because the metrics source does not "
                        "have DeadThreadCount: export it, or set metrics_names",
                        case_after=after,
                        verified_by="config",
                    )
                elapsed_ms = (clock.monotonic() - restarted_at) * 1000
                since = metrics.time_since_last_run_ms
                if metrics.dead_threads == 0 and since is not None and since <= elapsed_ms:
                    reason = f"{changed}; no thread is dead, and the last run was {since} ms ago"
                    return result(RestartStatus.RESTARTED, reason, case_after=after)
                ago = "an unknown number of" if since is None else since
                found = f"{metrics.dead_threads} threads are dead, and the last run was {ago} ms ago"
            if clock.monotonic() >= deadline:
                return result(
                    RestartStatus.FAILED,
                    f"the threads were restarted, but that did not help within {self.verify_timeout_s:g} s: {found}. "
                    "Look for kafka-log-cleaner-thread in the broker's log",
                    case_after=after,
                )
            clock.sleep(_LOOK_EVERY_S)


def _stopped(cleaner: Cleaner) -> RestartOutcome:
    return RestartOutcome(
        cleaner.broker_id, RestartStatus.STOPPED, "the run was asked to stop", case_before=cleaner.diagnosis.case
    )


def change_settings(
    cleaners: Sequence[Cleaner], wanted: Mapping[str, str | None], writer: SettingWriter, *, check_mode: bool
) -> tuple[RestartOutcome, ...]:
    """Change the brokers' own cleaner settings permanently; None means "not set".

    A broker gets all of its edits or none. If Kafka would refuse an edit, no broker is changed. A broker whose settings
    are unknown is skipped.

    Raises EditError.
    """
    plans: dict[int, tuple[Edit, ...]] = {}
    errors = []
    for each in cleaners:
        try:
            if each.facts.settings:
                plans[each.broker_id] = lasting_edits(each.facts.settings, wanted)
        except EditError as error:
            errors.append(f"broker {each.broker_id}: {error}")
    if errors:
        raise EditError("; ".join(errors) + ": nothing was changed")
    return tuple(
        _change_broker(each.broker_id, plans[each.broker_id], writer, check_mode)
        if each.broker_id in plans
        else RestartOutcome(
            each.broker_id, RestartStatus.FAILED, f"its settings are unknown: {each.facts.settings_error}"
        )
        for each in cleaners
    )


def _change_broker(broker_id: int, edits: tuple[Edit, ...], writer: SettingWriter, check_mode: bool) -> RestartOutcome:
    if not edits:
        return RestartOutcome(broker_id, RestartStatus.AS_WANTED, "its own settings are as wanted")
    requested = ", ".join(map(_edit_text, edits))
    if check_mode:
        return RestartOutcome(broker_id, RestartStatus.WOULD_CHANGE, requested, edits)
    problem = write_edits(writer, broker_id, {each.name: each.after for each in edits})
    if problem:
        return RestartOutcome(broker_id, RestartStatus.FAILED, f"{requested} was requested: {problem}", edits)
    return RestartOutcome(broker_id, RestartStatus.CHANGED, requested, edits, verified_by="config")


def write_edits(writer: SettingWriter, broker_id: int, edits: Mapping[str, str | None]) -> str:
    """Set a broker's own settings permanently, all or none, and return why they are not set; empty if they are."""
    kafka, address, broker = writer.kafka, writer.living.get(broker_id), str(broker_id)
    if address is None:
        return "the broker does not answer"

    def send(to: Address, names: Sequence[str]) -> Mapping[str, None]:
        kafka.write_configs(to, BROKER_RESOURCE, broker, {each: edits[each] for each in names})
        return dict.fromkeys(names)

    def look(names: Sequence[str]) -> Mapping[str, Seen]:
        found = kafka.read_configs(address, BROKER_RESOURCE, broker, names)
        own = {each: found[each].own if each in found else None for each in names}
        return {
            each: Seen(same_value(edits[each], value), f"{each} is {text_of(value)}") for each, value in own.items()
        }

    to_broker = replace(writer.writer, addresses=[address])
    unseen = until_seen(to_broker, [*edits], send, look, name=partial("{}/{}/{}".format, "broker", broker))
    return "; ".join(dict.fromkeys(each.reason for each in unseen.values()))


def _why_restart(diagnosis: Diagnosis) -> str:
    return diagnosis.reason if diagnosis.restart_helps else f"forced, although {diagnosis.case.value}"


def _edit_text(edit: Edit) -> str:
    return f"{edit.name} {text_of(edit.before)} → {text_of(edit.after)}"
