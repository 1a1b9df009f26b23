# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The verdicts of a campaign as tables."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from rich.table import Table

from campaign.kinds import KINDS
from campaign.verdict import COUNTED, Verdict

_OF_CLIENTS = ("acknowledged", "announced", "hidden", "replays")
_SUMS = ("elections", *COUNTED, "unknown_forecasts", *_OF_CLIENTS)
_COLUMNS = ("trials", "met", *_SUMS)


def table(verdicts: Sequence[Verdict]) -> Table:
    """Return one row for each kind of fault, for a terminal."""
    rows = _rows(verdicts)
    zeros, shown = _zeros_and_others(rows)
    result = Table(title="Fault campaign", caption=f"Nothing was counted as {_listed(zeros)}." if zeros else None)
    for name in ("fault", *(_COLUMNS[at] for at in shown)):
        result.add_column(name.replace("_", " "))
    for name, counts in rows:
        result.add_row(name, *(str(counts[at]) for at in shown))
    return result


def markdown(verdicts: Sequence[Verdict], kafka_version: str) -> str:
    """Return the same for docs/reliability.md."""
    groups = {each.name: each.group for each in KINDS}
    seeds = sorted({each.seed for each in verdicts})
    rows = _rows(verdicts)
    zeros, shown = _zeros_and_others(rows)
    commits = sorted({each.commit or "unknown" for each in verdicts})
    lines = [
        f"Kafka {kafka_version}, seeds {seeds[0]} to {seeds[-1]}, commit {_listed(commits)}. Nothing was counted as "
        f"{_listed(zeros)}.",
        "",
        "| | fault | " + " | ".join(_COLUMNS[at].replace("_", " ") for at in shown) + " |",
        "|---|---|" + "---|" * len(shown),
    ]
    lines += [
        f"| {groups.get(name, '')} | {name} | " + " | ".join(str(counts[at]) for at in shown) + " |"
        for name, counts in rows
    ]
    return "\n".join(lines) + "\n"


def _zeros_and_others(rows: Sequence[tuple[str, list[int]]]) -> tuple[list[str], list[int]]:
    """Return the names of the columns that are 0 as expected, which are not printed, and the indexes of the others."""
    _all, sums = rows[-1]
    zeros = [name for name, count in zip(_COLUMNS, sums, strict=True) if name in COUNTED and not count]
    return zeros, [at for at, name in enumerate(_COLUMNS) if name not in zeros]


def _listed(names: Sequence[str]) -> str:
    return " or ".join(each.replace("_", " ") for each in names)


def _rows(verdicts: Sequence[Verdict]) -> list[tuple[str, list[int]]]:
    by_kind: dict[str, list[Verdict]] = defaultdict(list)
    for each in verdicts:
        by_kind[each.kind].append(each)
    rows = [(each.name, _counts(by_kind[each.name])) for each in KINDS if each.name in by_kind]
    return [*rows, ("all", _counts(verdicts))]


def _counts(verdicts: Sequence[Verdict]) -> list[int]:
    met = sum(each.faults > 0 for each in verdicts)
    return [len(verdicts), met, *(sum(getattr(each, name) for each in verdicts) for name in _SUMS)]
