# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The verdicts of a campaign as tables."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from rich.table import Table

from campaign.kinds import KINDS
from campaign.trial import COUNTED, Verdict

_COLUMNS = ("trials", "met", "elections", *COUNTED, "unknown_forecasts")


def table(verdicts: Sequence[Verdict]) -> Table:
    """Return one row for each kind of fault, for a terminal."""
    shown = Table(title="Fault campaign")
    for name in ("fault", *_COLUMNS):
        shown.add_column(name.replace("_", " "))
    for name, counts in _rows(verdicts):
        shown.add_row(name, *map(str, counts))
    return shown


def markdown(verdicts: Sequence[Verdict], kafka_version: str) -> str:
    """Return the same for docs/reliability.md, where columns of zeros are a sentence."""
    groups = {each.name: each.group for each in KINDS}
    seeds = sorted({each.seed for each in verdicts})
    rows = _rows(verdicts)
    zeros = [name for at, name in enumerate(_COLUMNS) if name in COUNTED and not rows[-1][1][at]]
    shown = [at for at, name in enumerate(_COLUMNS) if name not in zeros]
    lines = [
        f"Kafka {kafka_version}, seeds {seeds[0]} to {seeds[-1]}. Nothing was counted as {_listed(zeros)}.",
        "",
        "| | fault | " + " | ".join(_COLUMNS[at].replace("_", " ") for at in shown) + " |",
        "|---|---|" + "---|" * len(shown),
    ]
    lines += [
        f"| {groups.get(name, '')} | {name} | " + " | ".join(str(counts[at]) for at in shown) + " |"
        for name, counts in rows
    ]
    return "\n".join(lines) + "\n"


def _listed(names: Sequence[str]) -> str:
    return " or ".join(each.replace("_", " ") for each in names)


def _rows(verdicts: Sequence[Verdict]) -> list[tuple[str, list[int]]]:
    by_kind: dict[str, list[Verdict]] = defaultdict(list)
    for each in verdicts:
        by_kind[each.kind].append(each)
    rows = [(each.name, _counts(by_kind[each.name])) for each in KINDS if each.name in by_kind]
    return [*rows, ("all", _counts(verdicts))]


def _counts(verdicts: Sequence[Verdict]) -> list[int]:
    counted = ("elections", *COUNTED, "unknown_forecasts")
    met = sum(each.faults > 0 for each in verdicts)
    return [len(verdicts), met, *(sum(getattr(each, name) for each in verdicts) for name in counted)]
