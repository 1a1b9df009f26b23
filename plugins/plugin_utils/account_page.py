# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Print the account of an incident's records. Standard library only."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import fields

from ansible_collections.kafkaops.recovery.plugins.module_utils._model.reasons import plural
from ansible_collections.kafkaops.recovery.plugins.module_utils._salvage.account import (
    Balance,
    Total,
    describe_still_lost,
    sum_balances,
)

from .alike import fold_rows, name_partitions
from .page import Block, Heading, Paragraph, Row, Table
from .words import Result, number, printable

_MOST_ROWS = 10
_COLUMNS = ("Partition", "Found", "Saved", "Given back", "Still lost")


def account_blocks(account: Result) -> Iterator[Block]:
    """Return the blocks of a module's account, partitions with the most lost records first."""
    if account["partitions"]:
        yield from _blocks(account["partitions"], Total(**account["total"]), "")


def losers_blocks(salvage: Result) -> Iterator[Block]:
    """Return the account of records that only live, not elected replicas held; partitions not saved come first."""
    partitions = salvage.get("partitions", [])
    if partitions:
        names = [each.name for each in fields(Balance)]
        total = sum_balances(Balance(**{name: each[name] for name in names}) for each in partitions)
        yield from _blocks(partitions, total, salvage["salvage_dir"] or "")


def _blocks(partitions: Sequence[Result], total: Total, where: str) -> Iterator[Block]:
    yield Heading("Records that only other replicas or disks held")
    yield Paragraph(describe_still_lost(total) + (f" Saved in {where}." if where else ""), indent=2)
    worst_first = sorted(partitions, key=lambda each: (not each.get("reason"), -_lost(each)))
    folded = fold_rows(((each, [_row(each)]) for each in worst_first), name_partitions)
    rows = [*folded[:_MOST_ROWS]]
    if total.partitions > 1:
        sums = (
            _sum(total.held_by_losers, total.held_by_losers_unknown),
            _sum(total.saved, 0),
            _sum(total.given_back, total.given_back_unknown),
            _sum(total.still_lost, total.unknown),
        )
        rows.append(Row(("all", *sums), "", "bold"))
    has_reasons = any(each.prose for each in rows)
    yield Table(_COLUMNS, tuple(rows), "Not saved" if has_reasons else "", texts=("Partition",))
    more_rows, more = len(folded) - _MOST_ROWS, total.partitions - len(partitions)
    if more_rows > 0:
        yield Paragraph(f"{plural(more_rows, 'more row')} with fewer lost records not shown", indent=2)
    if more > 0:
        yield Paragraph(f"{plural(more, 'more partition')} not shown", indent=2)


def _sum(known: int, unknown: int) -> str:
    """Return the cell of a sum. ``unknown`` is the number of partitions that are not in it."""
    if not unknown:
        return str(known)
    return f"at least {known}" if known else number(None)


def _lost(each: Result) -> float:
    """Return the sort key of a row. An unknown number is the worst."""
    return float("inf") if each["still_lost"] is None else float(each["still_lost"])


def _row(each: Result) -> Row:
    numbers = (each[name] for name in ("held_by_losers", "saved", "given_back", "still_lost"))
    reason = printable(each.get("reason", ""))
    return Row(tuple(map(number, numbers)), reason, "bold red" if reason else "")
