# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Print the readiness for a recovery. Standard library only."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from ansible_collections.kafkaops.recovery.plugins.module_utils._model.partition import grouped
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.reasons import join_first, plural

from .alike import fold_rows, name_brokers
from .page import Block, Entries, Entry, Heading, Paragraph, Row, Table
from .words import Result, broker_ids, number, words

_RED = ("failed", "unknown")
_STYLES = {"failed": "bold red", "unknown": "bold red", "warning": "bold yellow"}
_MOST_SUBJECTS = 8
_COLUMNS = ("No leader", "Unrecoverable", "Below min ISR")


def blocks(result: Result) -> Iterator[Block]:
    """Return all blocks: red checks first, then warnings, then one line for each passed check."""
    yield Paragraph(verdict(result), "bold")
    for heading, statuses in (("Red", _RED), ("Warnings", ("warning",))):
        found = [each for each in result["checks"] if each["status"] in statuses]
        if found:
            yield Heading(heading)
            yield Entries(tuple(_entries(found)))
    fine = [each for each in result["checks"] if each["status"] == "ok"]
    if fine:
        yield Heading("Fine")
        yield Entries(tuple(_fine(fine)))
    if result["broker_losses"]:
        yield Heading("If one broker died now, this many partitions would have no leader")
        rows = fold_rows(((each["broker_id"], [_loss(each)]) for each in result["broker_losses"]), name_brokers)
        yield Table(("Broker", *_COLUMNS), rows, prose_column="Which", texts=("Broker",))
    if result["rack_losses"]:
        yield Heading("If all brokers of a rack died now")
        racks = ((f"{each['rack']} ({broker_ids(each['brokers'])})", [_loss(each)]) for each in result["rack_losses"])
        rows = fold_rows(racks, ", ".join)
        yield Table(("Rack", *_COLUMNS), rows, prose_column="Which", texts=("Rack",))


def verdict(result: Result) -> str:
    """Say whether a recovery would work, and how many checks failed, could not be made, or warn."""
    failed, unknown, warnings = (
        sum(each["status"] == status for each in result["checks"]) for status in ("failed", "unknown", "warning")
    )
    not_made = f"{plural(unknown, 'check')} could not be made" if unknown else ""
    red = [f"{plural(failed, 'check')} failed" if failed else "", not_made]
    head = "GREEN: a recovery would work" if result["is_ready"] else f"RED: {', '.join(filter(None, red))}"
    return f"{head}; {plural(warnings, 'warning') if warnings else 'no warnings'}."


def failure(result: Result, fail_on: str) -> str:
    """Return why a scheduled job should fail, in one sentence; empty if it should not.

    It names the checks. If no broker answers, nearly all checks are red for the same cause: it names that cause, and
    what to do.
    """
    if result["cluster_id"] is None:
        brokers = next(each for each in result["checks"] if each["name"] == "brokers")
        return f"not ready for a recovery: {brokers['found']}. {brokers['remedy']}"
    statuses = _RED if fail_on == "failed" else (*_RED, "warning")
    names = dict.fromkeys(words(each["name"]) for each in result["checks"] if each["status"] in statuses)
    return f"not ready for a recovery: {', '.join(names)}" if names else ""


def _entries(checks: Iterable[Result]) -> Iterator[Entry]:
    """Join checks with the same finding and remedy: several brokers often lack the same, and one cause stops many."""
    key = ("status", "found", "remedy")
    alike = grouped(
        (("" if each["status"] == "unknown" else each["name"], *(each[name] for name in key)), each) for each in checks
    )
    for (_name, status, found, remedy), members in alike.items():
        name, *others = dict.fromkeys(words(each["name"]) for each in members)
        about = ", ".join([name, *others]) if others else _about([each["subject"] for each in members])
        state = "could not be found out" if status == "unknown" and not others else ""
        lines = (": ".join(filter(None, [about, state, found])), *([f"do: {remedy}"] if remedy else []))
        yield Entry("not checked" if others else name, lines, _STYLES[status])


def _fine(checks: Sequence[Result]) -> Iterator[Entry]:
    for name, some in grouped((each["name"], each) for each in checks).items():
        first = _about([some[0]["subject"]])
        text = f"{first}{': ' if first else ''}{some[0]['found']}"
        yield Entry(words(name), (text + (f"; {len(some) - 1} more are fine" if len(some) > 1 else ""),))


def _about(subjects: Sequence[str]) -> str:
    return join_first(filter(None, subjects), _MOST_SUBJECTS)


def _loss(loss: Result) -> Row:
    cells = (
        number(loss["offline_partitions"]),
        number(loss["unrecoverable_partitions"]),
        number(loss["below_min_isr_partitions"]),
    )
    return Row(cells, loss["offline"], "bold yellow" if loss["offline_partitions"] else "")
