# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Print which groups get their committed offsets back, and which transactions hang. Standard library only."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ansible_collections.kafkaops.recovery.plugins.module_utils._groups.plan import (
    DONE,
    DONE_OR_FORESEEN,
    ENDED,
    ENDED_OR_FORESEEN,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.partition import grouped
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.reasons import agreeing, join_first, plural

from .alike import entries_by_reason, which_partitions
from .command_words import carry_out, option_words, plan_file, playbook_words
from .page import Block, Command, Entries, Entry, Heading, Paragraph, Row, Table, not_shown
from .words import Result, partition_name, span, words

_COLUMNS = ("Group", "Partitions", "Need", "Status", "Committed", "Saved", "Target")
_END_COLUMNS = ("Partition", "Status", "Producer", "From offset")
_NAMED = 8
_MOST_ROWS = 30
_COMMITS = {
    "given_back": "given back",
    "done_before": "given back before",
    "would_give_back": "would be given back",
    "left_alone": "left alone",
}
_ENDS = {
    "committed": "committed",
    "would_commit": "would be committed",
    "aborted": "aborted",
    "would_abort": "would be aborted",
}
_ABORT = "group_recovery_abort_hanging_transactions"
_OF_A_LOOK = (
    "group_recovery_salvage_dir",
    "group_recovery_groups",
    "group_recovery_beyond_end_time",
    "group_recovery_overwrite_groups",
)


def blocks(result: Result, variables: Result, *, rows: bool = False) -> Iterator[Block]:
    """Return all blocks: the verdict, what is not as it should be, the committed offsets, and the next command."""
    yield Paragraph(verdict(result), "bold")
    for note in result["notes"]:
        yield Paragraph(note, "bold yellow", indent=2)
    if result["unknown"]:
        yield Heading("Not known")
        yield Entries(tuple(_unknown(result["unknown"])))
    bad = [each for each in result["commits"] if each["status"] not in DONE_OR_FORESEEN]
    if bad:
        yield Heading("Not given back")
        yield Entries(tuple(entries_by_reason(bad, _names)))
    good = [each for each in result["commits"] if each["status"] in DONE_OR_FORESEEN]
    if good:
        yield Heading("Committed offsets")
        alike = [[each] for each in good] if rows else _alike(good)[:_MOST_ROWS]
        yield Table(_COLUMNS, tuple(map(_row, alike)), prose_column="Why", texts=_COLUMNS[:4])
        yield from not_shown(sum(map(len, alike)), sum(result["summary"][each] for each in DONE_OR_FORESEEN))
    if result["transactions"]:
        yield Heading("Open transactions that no coordinator has")
        shown = result["transactions"] if rows else result["transactions"][:_MOST_ROWS]
        yield Table(_END_COLUMNS, tuple(map(_end_row, shown)), prose_column="Why", texts=_END_COLUMNS[:2])
        yield from not_shown(len(shown), sum(result["transaction_summary"].values()))
    if result["transactions_file"]:
        yield Paragraph(f"The transactions that were to be ended are in {result['transactions_file']}.")
    if result["undo_file"]:
        yield Paragraph(f"The committed offsets before the change are in {result['undo_file']}.")
    if result["share_undo_file"]:
        yield Paragraph(f"The start offsets of share groups before the change are in {result['share_undo_file']}.")
    yield from _next(result, variables)


def verdict(result: Result) -> str:
    """Return in one sentence how many committed offsets were or would be given back."""
    counts = result["summary"]
    clauses = [
        f"{plural(counts[status], 'committed offset')} {done}" for status, done in _COMMITS.items() if counts[status]
    ]
    if bad := sum(count for status, count in counts.items() if status not in DONE_OR_FORESEEN):
        clauses.append(f"{plural(bad, 'committed offset')} not given back")
    clauses += _end_clauses(result["transaction_summary"])
    if result["unknown"]:
        clauses.append("not everything could be looked at")
    return f"{'; '.join(clauses) or 'No group needs its committed offsets back, and no transaction hangs'}."


def _end_clauses(counts: Result) -> Iterator[str]:
    for status, done in _ENDS.items():
        if counts[status]:
            yield f"{plural(counts[status], 'hanging transaction')} {done}"
    rest = sum(count for status, count in counts.items() if status not in ENDED_OR_FORESEEN)
    if rest:
        yield f"{plural(rest, 'transaction')} that no coordinator has {agreeing('are', rest)} open"


def failure(result: Result, *, is_need_bad: bool) -> str:
    """Return why the play fails, in one sentence; empty if it does not.

    ``is_need_bad`` says that what would be changed is a failure too: a look then shows by its exit status that a
    change is needed.
    """
    passing, ended = (DONE, ENDED) if is_need_bad else (DONE_OR_FORESEEN, ENDED_OR_FORESEEN)
    found = [
        f"{count} {words(status)}" for status, count in result["summary"].items() if count and status not in passing
    ]
    found += [
        f"{plural(count, 'transaction')} {words(status)}"
        for status, count in result["transaction_summary"].items()
        if count and status not in ended
    ]
    problems = [f"groups or transactions need a change: {', '.join(found)}"] if found else []
    problems += ["not everything could be looked at"] if result["unknown"] else []
    return f"{'; '.join(problems)}; the reasons are above" if problems else ""


def _unknown(unknown: Sequence[Result]) -> Iterator[Entry]:
    for each in unknown:
        yield Entry(join_first(each["groups"], _NAMED) or "any group", (each["reason"],), "bold yellow")


def _names(commits: Sequence[Result]) -> str:
    return join_first([f"{each['group']} at {partition_name(each)}" for each in commits], _NAMED)


def _alike(commits: Sequence[Result]) -> list[list[Result]]:
    """Return the commits of each group and topic that have the same need, status and reason."""
    same = ("group", "topic", "need", "status", "reason")
    return [*grouped((tuple(each[name] for name in same), each) for each in commits).values()]


def _row(alike: Sequence[Result]) -> Row:
    first = alike[0]
    offsets = (span([each[name] for each in alike]) for name in ("committed", "saved", "target"))
    cells = (first["group"], which_partitions(alike), words(first["need"]), words(first["status"]), *offsets)
    return Row(cells, first["reason"])


def _end_row(transaction: Result) -> Row:
    cells = (
        partition_name(transaction),
        words(transaction["status"]),
        str(transaction["producer_id"]),
        str(transaction["start_offset"]),
    )
    return Row(cells, transaction["reason"])


def _next(result: Result, variables: Result) -> Iterator[Block]:
    hanging = result["transaction_summary"]["hanging"]
    of_transactions = result["transaction_summary"]
    would_change = (
        result["summary"]["would_give_back"] or of_transactions["would_abort"] or of_transactions["would_commit"]
    )
    if not variables or not (would_change or hanging):
        return
    yield Heading("Next")
    plan = plan_file(variables, "group_recovery")
    if would_change or plan:
        yield carry_out(plan, result["plan_digest"])
        yield Command(tuple(command(variables)))
    if hanging:
        yield Paragraph(
            f"{'The same, and abort' if would_change else 'Abort'} the hanging transactions, which cannot be undone. "
            "If an election lost the COMMIT marker of one, this takes its records away: first look with the salvage "
            "of the former leader's disks. To abort:"
        )
        yield Command(tuple(command({**variables, _ABORT: True})))


def command(variables: Result) -> Iterator[str]:
    """Yield the words of the command that carries out what was planned."""
    plan = plan_file(variables, "group_recovery")
    given = {**variables, "group_recovery_plan_file": plan}
    yield from playbook_words("restore_groups", "group_recovery", given)
    yield from option_words(given, ["group_recovery_plan_file"] if plan else _OF_A_LOOK)
    yield from option_words(given, [_ABORT])
    yield from ("-e", "group_recovery_automated_recovery=true")
