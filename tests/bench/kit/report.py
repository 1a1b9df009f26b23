# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Print rows as a table, and write them as JSON."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from bench.kit.row import Row, Timing

Results = Mapping[str, Sequence[Row]]
"""Rows by benchmark."""
Load = tuple[float, float]
"""Load average of one minute, before and after."""


def print_table(console: Console, results: Results, load: Load) -> None:
    """Return medians, ratios and goals, and below them the time of each phase."""
    table = Table(title="Seconds are medians. Ratio: measured / baseline", caption=_machine(load), show_lines=True)
    table.add_column("benchmark")
    table.add_column("baseline")
    table.add_column("s", justify="right")
    table.add_column("measured")
    table.add_column("s", justify="right")
    table.add_column("ratio", justify="right")
    table.add_column("goal", justify="right")
    for name, rows in results.items():
        for row in rows:
            table.add_row(
                name,
                row.baseline.what,
                f"{row.baseline.median:.2f}",
                row.measured.what,
                f"{row.measured.median:.2f}",
                f"{row.ratio:.2f}",
                _goal(row),
            )
    console.print(table)
    for timing in _measured(results):
        if timing.phases:
            console.print(_phases(timing))


def write_json(path: Path, results: Results, load: Load) -> None:
    """Write all single times, not only the medians. Raises OSError."""
    document = {
        "version": 1,
        "machine": {
            "cpus": os.cpu_count(),
            "platform": platform.platform(),
            "python": platform.python_version(),
            "load_average": {"before": load[0], "after": load[1]},
        },
        "rows": [{"benchmark": name, **_row(row)} for name, rows in results.items() for row in rows],
    }
    path.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")


def _measured(results: Results) -> list[Timing]:
    """Return each measurement once, although it may be compared with several baselines."""
    return list({row.measured.what: row.measured for rows in results.values() for row in rows}.values())


def _phases(timing: Timing) -> Table:
    table = Table(title=f"{timing.what}: where the time goes", show_header=False)
    for phase, seconds in timing.phases.items():
        table.add_row(phase, f"{seconds:.2f}")
    return table


def _row(row: Row) -> dict[str, Any]:
    return {
        "baseline": _timing(row.baseline),
        "measured": _timing(row.measured),
        "ratio": round(row.ratio, 3),
        "goal": row.goal,
        "is_met": row.is_met,
    }


def _timing(timing: Timing) -> dict[str, Any]:
    return {
        "what": timing.what,
        "seconds": [round(run.seconds, 4) for run in timing.runs],
        "median": round(timing.median, 4),
        "phases": {phase: round(seconds, 4) for phase, seconds in timing.phases.items()},
    }


def _goal(row: Row) -> str:
    if row.goal is None:
        return ""
    return f"[green]<= {row.goal:g}, met" if row.is_met else f"[red]<= {row.goal:g}, missed"


def _machine(load: Load) -> str:
    return f"{os.cpu_count()} CPUs, load average {load[0]:.1f} before and {load[1]:.1f} after"
