# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Make the report and the module's results of a run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from .._model.reasons import join_first
from .._model.run import RunMode, count_by_status
from .._module.run import diff_of, list_lines, select_most_important, to_json_types
from .plan import (
    DONE,
    DONE_OR_FORESEEN,
    ENDED,
    ENDED_OR_FORESEEN,
    MOST_NAMED,
    WOULD_END,
    CommitOutcome,
    CommitStatus,
    EndOutcome,
    GroupPlan,
    GroupReport,
    TransactionStatus,
)
from .plan_file import GROUP_PLAN_FILE

_NEEDED = WOULD_END | {TransactionStatus.HANGING}


@dataclass(frozen=True, slots=True, kw_only=True)
class RestoredGroups:
    """The results of a run."""

    plan: GroupPlan
    outcomes: tuple[CommitOutcome, ...]
    transactions: tuple[EndOutcome, ...]
    undo_file: str | None = None
    share_undo_file: str | None = None
    transactions_file: str | None = None
    run_notes: Sequence[str] = ()
    """What concerns this run, and not its plan."""
    report_error: str = ""
    is_digest_final: bool = False
    """Whether the plan was read or written, so that its digest can be approved."""


def report_of(done: RestoredGroups, *, writes: bool) -> GroupReport:
    """Return the report."""
    return GroupReport(
        cluster_id=done.plan.cluster_id,
        salvage_ids=done.plan.salvage_ids,
        mode=RunMode.APPLY if writes else RunMode.CHECK,
        undo_file=done.undo_file,
        share_undo_file=done.share_undo_file,
        summary=Counter(each.status for each in done.outcomes),
        commits=done.outcomes,
        transactions=done.transactions,
        transaction_summary=Counter(each.status for each in done.transactions),
        transactions_file=done.transactions_file,
        unknown=done.plan.unknown,
        notes=(*done.plan.notes, *done.run_notes),
    )


def results_of(done: RestoredGroups, max_rows: int, *, is_look: bool) -> dict[str, Any]:
    """Return the module's results. ``msg`` says what is not done; in a look, a need is no failure."""
    failure = "\n".join(filter(None, [*_problems(done, is_look=is_look), done.report_error]))
    changed = [each for each in done.outcomes if each.status in (CommitStatus.GIVEN_BACK, CommitStatus.WOULD_GIVE_BACK)]
    committed = {TransactionStatus.COMMITTED, TransactionStatus.WOULD_COMMIT}
    ended = [
        (each, "committed" if each.status in committed else "aborted")
        for each in done.transactions
        if each.status in ENDED_OR_FORESEEN - {TransactionStatus.DONE_BEFORE}
    ]
    shown = select_most_important(done.outcomes, max_rows, DONE, {CommitStatus.WOULD_GIVE_BACK})
    transactions = select_most_important(done.transactions, max_rows, ENDED, _NEEDED)
    changes: list[tuple[str, object, object]] = [
        (f"group {each.group}, {each.topic_partition}", each.committed, each.target) for each in changed
    ]
    changes += [(_name(each), "open", end) for each, end in ended]
    return {
        "changed": bool(changes),
        "cluster_id": done.plan.cluster_id,
        "salvage_ids": done.plan.salvage_ids,
        "plan_digest": GROUP_PLAN_FILE.document(done.plan)["digest"] if done.is_digest_final else None,
        "commits": to_json_types(shown),
        "transactions": to_json_types(transactions),
        "truncated": len(shown) + len(transactions) < len(done.outcomes) + len(done.transactions),
        "summary": count_by_status((each.status for each in done.outcomes), CommitStatus),
        "transaction_summary": count_by_status((each.status for each in done.transactions), TransactionStatus),
        "unknown": to_json_types(done.plan.unknown),
        "undo_file": done.undo_file,
        "share_undo_file": done.share_undo_file,
        "transactions_file": done.transactions_file,
        "notes": [*done.plan.notes, *done.run_notes],
        "diff": diff_of("committed offsets and transactions", changes, max_rows),
        **({"msg": failure} if failure else {}),
    }


def _problems(done: RestoredGroups, *, is_look: bool) -> Iterator[str]:
    bad = [each for each in done.outcomes if each.status not in DONE_OR_FORESEEN]
    if bad:
        lines = [f"group {each.group}, {each.topic_partition}: {each.status.value}: {each.reason}" for each in bad]
        yield list_lines(f"{len(bad)} committed offsets are not given back", lines)
    still = [each for each in done.transactions if each.status not in ENDED_OR_FORESEEN]
    if still and not is_look:
        lines = [f"{_name(each)}: {each.status.value}: {each.reason}" for each in still]
        yield list_lines(f"{len(still)} open transactions that no coordinator has are not ended", lines)
    if done.plan.unknown:
        lines = [
            f"{join_first(each.groups, MOST_NAMED)}: {each.reason}".removeprefix(": ") for each in done.plan.unknown
        ]
        yield list_lines("not all groups and transactions could be looked at", lines)


def _name(each: EndOutcome) -> str:
    return f"producer {each.producer_id}, {each.topic_partition} from offset {each.start_offset} on"
