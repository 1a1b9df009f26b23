# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The verdicts of a campaign: printed, summed, and in a file, so that one of hours goes on where it was interrupted."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Sequence
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Any, TypeVar

Kept = TypeVar("Kept")


def read_verdicts(path: str | None, kind: type[Kept]) -> list[Kept]:
    """Return the verdicts of an earlier campaign, without the aborted ones: these are run again."""
    try:
        written = json.loads(Path(path).read_text(encoding="utf-8")) if path else []
    except FileNotFoundError:
        return []
    return [kind(**fields) for fields in written if not fields.get("not_judged")]


def write_verdicts(path: str | None, verdicts: Iterable[Any]) -> None:
    """Write all verdicts, a line for each, if a file is named."""
    if path:
        lines = ",\n".join(json.dumps(_without_defaults(each)) for each in verdicts)
        Path(path).write_text(f"[\n{lines}\n]\n", encoding="utf-8")


def _without_defaults(verdict: Any) -> dict[str, Any]:
    """Return the fields that tell something. Nobody reads notes and events of what went well."""
    told = {each.name: getattr(verdict, each.name) for each in fields(verdict)}
    if verdict.is_clean:
        told = {name: value for name, value in told.items() if not isinstance(value, list)}
    kept = {each.name for each in fields(verdict) if each.default is MISSING}
    return {name: value for name, value in told.items() if value or name in kept}


def print_verdict(verdict: Any, *, is_verbose: bool) -> None:
    """Print one line, and what happened if that is not clean or wanted."""
    sys.stdout.write(f"{verdict}: {'clean' if verdict.is_clean else 'NOT CLEAN'}, {verdict.seconds:.0f} s\n")
    for line in (*verdict.events, *verdict.notes) if is_verbose or not verdict.is_clean else ():
        sys.stdout.write(f"    {line}\n")
    sys.stdout.flush()


def markdown(verdicts: Sequence[Any], kind: type, group: str, heading: str) -> str:
    """Return the sums of all counts for docs/reliability.md: one row for each value of the field ``group``."""
    columns = [each.name for each in fields(kind) if each.type == "int" and each.name != "seed"]
    lines = [f"| {heading} | " + " | ".join(each.replace("_", " ") for each in columns) + " |"]
    lines.append("|---|---|" + "---|" * len(columns))
    for value in [*sorted({getattr(each, group) for each in verdicts}), "all"]:
        of = [each for each in verdicts if value in (getattr(each, group), "all")]
        counts = [sum(getattr(each, name) for each in of) for name in columns]
        lines.append(f"| {value} | {len(of)} | " + " | ".join(map(str, counts)) + " |")
    return "\n".join(lines) + "\n"
