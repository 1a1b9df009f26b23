# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Print the state of log cleaners and the changes. Standard library only."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from ansible_collections.kafkaops.recovery.plugins.module_utils._cleaner.diagnosis import HEALTHY_CASES, Case
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.reasons import agreeing, plural

from .alike import fold_entries, fold_rows, name_brokers
from .page import Block, Entries, Entry, Heading, Paragraph, Row, Table
from .words import Result, brokers, change, number, partition_name, size, words

_COLUMNS = ("Broker", "Diagnosis", "Threads", "Dead", "ms since run", "Uncleanable")
_FAILED = ("failed", "stopped")
_QUIET = ("not_needed", "as_wanted")
_NOT_TRIED = {
    "not_helped": "not restarted, because a restart does not help",
    "unknown": "not restarted, because the state is unknown",
}
"""How a restart that was not tried is said: "1 restart not helped" would mean that one was."""


def blocks(before: Result, restart: Result, repair: Result, after: Result) -> Iterator[Block]:
    """Return all blocks: the state before, the changes, and the state after."""
    yield Paragraph(verdict(restart, repair, after), "bold")
    yield from _actions(restart, repair)
    marked = any(each["diagnosis"] == "uncleanable_partitions" for each in after["brokers"])
    if marked and "outcomes" not in repair:
        yield Heading("Next")
        yield Paragraph(
            "To see what a repair of the uncleanable replicas would do, add to the same command: "
            "--check -e log_cleaner_recovery_repair_uncleanable=true",
            indent=2,
        )
    if after["brokers"]:
        yield Heading("Log cleaners")
        yield _broker_table(before, after)


def verdict(restart: Result, repair: Result, after: Result) -> str:
    """Say how many cleaners are healthy, and what was done."""
    found = after["brokers"]
    sick = [each for each in found if each["diagnosis"] not in HEALTHY_CASES]
    sentence = (
        f"Log cleaners: {len(found) - len(sick)} of {len(found)} healthy or idle"
        if found
        else "The log cleaners could not be inspected after the changes"
    )
    kinds = Counter(_diagnosis(each) for each in sick)
    clauses = [sentence, *(f"{count} {kind}" for kind, count in kinds.items())]
    for name, result in (("restart", restart), ("repair", repair)):
        counts = Counter(each["status"] for each in result.get("outcomes", []) if each["status"] not in _QUIET)
        for status, count in counts.items():
            untried = _NOT_TRIED.get(status) if name == "restart" else None
            said = f"{plural(count, 'broker')} {untried}" if untried else f"{plural(count, name)} {words(status)}"
            clauses.append(said)
    return "; ".join(clauses) + "."


def failure(restart: Result, repair: Result, after: Result, *, fail_on_unhealthy: bool) -> str:
    """Return why the play fails, in one sentence; empty if it does not fail."""
    sentences = []
    results = (restart, repair)
    failed = [each for result in results for each in result.get("outcomes", []) if each["status"] in _FAILED]
    stuck = [each for result in results for each in result.get("leftovers", []) if each["undoing"] == "failed"]
    if failed:
        sentences.append(f"of the restarts and repairs, {len(failed)} failed")
    if stuck:
        sentences.append(f"{plural(len(stuck), 'change')} of an earlier run {agreeing('are', len(stuck))} not restored")
    sick = [each for each in after["brokers"] if each["diagnosis"] not in HEALTHY_CASES]
    if sick and fail_on_unhealthy:
        named = ", ".join(f"broker {each['broker_id']} ({_diagnosis(each)})" for each in sick)
        sentences.append(f"not healthy: {named}")
    return "; ".join([*sentences, "the reasons are above"]) if sentences else ""


def _broker_table(before: Result, after: Result) -> Table:
    """Return the numbers of the last inspection, and the reason if a broker is not healthy, a row for all alike."""
    earlier = {each["broker_id"]: each for each in before["brokers"]}
    rows = []
    for each in after["brokers"]:
        first = earlier.get(each["broker_id"], each)
        is_well = each["diagnosis"] in HEALTHY_CASES
        cells = (
            change(_diagnosis(first), _diagnosis(each)),
            number(each["threads"]),
            number(each["dead_threads"]),
            number(each["time_since_last_run_ms"]),
            _uncleanable(each["log_dirs"]),
        )
        prose = [] if is_well else [each["reason"]]
        prose += map(suspicious_copy, each["suspects"])
        rows.append((each["broker_id"], [Row(cells, "; ".join(prose), "" if is_well else "bold yellow")]))
    return Table(_COLUMNS, fold_rows(rows, name_brokers), "Reason", texts=("Broker", "Diagnosis"))


def suspicious_copy(copy: Result) -> str:
    """Say why a copy is suspicious."""
    return f"suspicious: {partition_name(copy)} with {size(copy['size_bytes'])}: {copy['reason']}"


def _actions(restart: Result, repair: Result) -> Iterator[Block]:
    entries = [
        Entry(f"earlier run's {each['change']}", (f"{words(each['undoing'])}: {each['reason']}",))
        for each in (*restart.get("leftovers", []), *repair.get("leftovers", []))
    ]
    restarts = (
        (each["broker_id"], [f"{_NOT_TRIED.get(each['status'], words(each['status']))}: {each['reason']}"], "")
        for each in restart.get("outcomes", [])
        if each["status"] not in _QUIET
    )
    entries += fold_entries(restarts, lambda ids: f"restart {brokers(ids)}")
    for each in repair.get("outcomes", []):
        sizes = f" ({size(each['size_before'])} → {size(each['size_after'])})" if each["size_after"] is not None else ""
        label = f"repair {partition_name(each)} on broker {each['broker_id']}"
        entries.append(Entry(label, (f"{words(each['status'])}{sizes}: {each['reason']}",)))
    if entries:
        yield Heading("Changes")
        yield Entries(tuple(entries))
    yield from (Paragraph(text, indent=2) for text in repair.get("unidentified_marks", []))


def _diagnosis(broker: Result) -> str:
    """Return the diagnosis, with a question mark if it was inferred. What is unknown was not inferred from anything."""
    is_doubtful = broker["is_inferred"] and broker["diagnosis"] != Case.UNKNOWN
    return words(broker["diagnosis"]) + ("?" if is_doubtful else "")


def _uncleanable(log_dirs: Sequence[Result]) -> str:
    counts = [each["uncleanable_partitions"] for each in log_dirs]
    return "-" if not counts or None in counts else str(sum(counts))
