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
    """Return the same for docs/reliability.md."""
    groups = {each.name: each.group for each in KINDS}
    seeds = sorted({each.seed for each in verdicts})
    lines = [
        f"Kafka {kafka_version}, seeds {seeds[0]} to {seeds[-1]}:",
        "",
        "| | fault | " + " | ".join(name.replace("_", " ") for name in _COLUMNS) + " |",
        "|---|---|" + "---|" * len(_COLUMNS),
    ]
    lines += [
        f"| {groups.get(name, '')} | {name} | " + " | ".join(map(str, counts)) + " |"
        for name, counts in _rows(verdicts)
    ]
    return "\n".join(lines) + "\n"


def _rows(verdicts: Sequence[Verdict]) -> list[tuple[str, list[int]]]:
    by_kind: dict[str, list[Verdict]] = defaultdict(list)
    for each in verdicts:
        by_kind[each.kind].append(each)
    rows = [(kind, _counts(some)) for kind, some in by_kind.items()]
    return [*rows, ("all", _counts(verdicts))]


def _counts(verdicts: Sequence[Verdict]) -> list[int]:
    counted = ("elections", *COUNTED, "unknown_forecasts")
    met = sum(each.faults > 0 for each in verdicts)
    return [len(verdicts), met, *(sum(getattr(each, name) for each in verdicts) for name in counted)]
