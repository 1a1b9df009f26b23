# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What log_cleaner and log_cleaner_repair return: whether something changed, diffs, warnings and failures."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from .._changes.late_requests import AnyLeftover
from .._changes.record import PUT_BACK, Undoing
from .._changes.rollback import has_put_back
from .._model.run import counted
from .._model.setting import RepairStatus, RestartStatus
from .repair_module import Repaired
from .restart import ALTERED
from .restart_module import Done

_LASTING = (RestartStatus.CHANGED, RestartStatus.WOULD_CHANGE)
_BAD_REPAIRS = (RepairStatus.REFUSED, RepairStatus.STOPPED, RepairStatus.FAILED)


def is_changed(done: Done) -> bool:
    return has_put_back(done.leftovers) or any(each.status in ALTERED for each in done.outcomes)


def change_summary(done: Done) -> dict[str, int]:
    return counted((each.status for each in done.outcomes), RestartStatus)


def change_diff(done: Done) -> dict[str, Any]:
    """Return the brokers' own settings for what lasts; that threads are restarted, for what does not."""
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
    return {"before": before | _left(done.leftovers, "changed"), "after": after | _left(done.leftovers, "put back")}


def warnings(done: Done) -> list[str]:
    """Return what a person should know although nothing failed."""
    return [
        f"broker {each.broker_id}: {each.case_before.value if each.case_before else 'unknown'}: {each.reason}"
        for each in done.outcomes
        if each.status in (RestartStatus.NOT_HELPED, RestartStatus.UNKNOWN)
    ] + conflicts(done)


def change_failure(done: Done) -> str:
    """Why the module fails; empty when it does not."""
    faults = [
        f"broker {each.broker_id}: {each.status.value}: {each.reason}"
        for each in done.outcomes
        if each.status in (RestartStatus.FAILED, RestartStatus.STOPPED)
    ]
    return _failure(faults, done.leftovers)


def is_repaired(done: Repaired) -> bool:
    return has_put_back(done.leftovers) or any(
        each.status in (RepairStatus.REPAIRED, RepairStatus.WOULD_REPAIR) or _was_begun(each) for each in done.outcomes
    )


def _was_begun(outcome: Any) -> bool:
    return outcome.status is RepairStatus.FAILED and outcome.size_before is not None


def repair_summary(done: Repaired) -> dict[str, int]:
    return counted((each.status for each in done.outcomes), RepairStatus)


def repair_diff(done: Repaired) -> dict[str, Any]:
    """Return the replicas that are re-created."""
    sources = {
        f"{each.topic}-{each.partition} on broker {each.broker_id}": each.source
        for each in done.outcomes
        if each.status in (RepairStatus.REPAIRED, RepairStatus.WOULD_REPAIR)
    }
    return {
        "before": dict.fromkeys(sources, "uncleanable") | _left(done.leftovers, "changed"),
        "after": {name: f"re-created from broker {source}" for name, source in sources.items()}
        | _left(done.leftovers, "put back"),
    }


def repair_failure(done: Repaired) -> str:
    """Why the module fails; empty when it does not."""
    faults = [
        f"{each.topic}-{each.partition} on broker {each.broker_id}: {each.status.value}: {each.reason}"
        for each in done.outcomes
        if each.status in _BAD_REPAIRS
    ]
    return _failure([*faults, *done.unidentified_marks], done.leftovers)


def leftover_results(leftovers: Iterable[AnyLeftover]) -> list[dict[str, str]]:
    """Return what earlier runs left, as modules return it."""
    return [{"change": str(each.change), "undoing": each.undoing.value, "reason": each.reason} for each in leftovers]


def _failure(faults: Sequence[str], leftovers: Iterable[AnyLeftover]) -> str:
    stuck = [
        f"an earlier run left {each.change}: {each.reason}" for each in leftovers if each.undoing is Undoing.FAILED
    ]
    return "\n".join([*faults, *stuck])


def conflicts(done: Done | Repaired) -> list[str]:
    """Return what a person should know of the journal, and of changes that nobody undoes any more."""
    return [*done.notes] + [
        f"{each.change}: {each.reason}" for each in done.leftovers if each.undoing is Undoing.CONFLICT
    ]


def _left(leftovers: Iterable[AnyLeftover], word: str) -> dict[str, str]:
    return {str(each.change): word for each in leftovers if each.undoing in PUT_BACK}
