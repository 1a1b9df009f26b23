# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Publish what campaigns judged: ``python -m campaign.published``.

Campaigns take hours, and are run in pieces on several machines. This adds the verdicts of the JSON files in the
project's root to those in ``tests/campaign/results``, and writes docs/campaigns.md from all of them. Of two verdicts
about the same trial, the newer file's counts.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any, TypeAlias

from campaign.kept import markdown, read_verdicts, write_verdicts
from campaign.outages.judging import Verdict as OutageVerdict
from campaign.report import markdown as markdown_of_faults
from campaign.stops.judging import Verdict as StopVerdict
from campaign.verdict import Verdict as FaultVerdict
from lab.playbook import PROJECT

_RESULTS = PROJECT / "tests" / "campaign" / "results"
_PAGE = PROJECT / "docs" / "campaigns.md"
_Key: TypeAlias = Callable[[Any], tuple[Any, ...]]
_KINDS: dict[str, tuple[type, _Key]] = {
    "campaign.json": (FaultVerdict, lambda each: (each.kafka_version, each.kind, each.seed)),
    "outages.json": (OutageVerdict, lambda each: (each.setting, each.seed)),
    "stops.json": (StopVerdict, lambda each: (each.kafka_version, each.seed)),
}
_HEAD = """\
# The last results of the campaigns

`make campaign-results` writes this page from `tests/campaign/results`. [reliability.md](reliability.md) says what
the campaigns do, and what each column counts. They take hours and run in pieces, so there may be several commits. A
plus sign means that the directory had other files, too.
"""


def main(roots: Sequence[str] = (str(PROJECT),)) -> int:
    """Add what the files in these directories have, and write the page."""
    kept = []
    for name, (kind, key) in _KINDS.items():
        found: list[list[Any]] = [read_verdicts(str(place / name), kind) for place in (_RESULTS, *map(Path, roots))]
        kept.append(merged(*found, key=key))
        _RESULTS.mkdir(exist_ok=True)
        write_verdicts(str(_RESULTS / name), kept[-1])
    _PAGE.write_text(to_markdown(*kept), encoding="utf-8")
    return 0


def merged(*files: Sequence[Any], key: _Key) -> list[Any]:
    """Return one verdict about each trial, that of the last file that has one, in the order of their keys."""
    verdicts = {key(each): each for verdicts in files for each in verdicts}
    return [verdicts[each] for each in sorted(verdicts)]


def to_markdown(faults: Sequence[FaultVerdict], outages: Sequence[OutageVerdict], stops: Sequence[StopVerdict]) -> str:
    """Return the page. A campaign without verdicts has no section."""
    sections = [_HEAD]
    if faults:
        by_version = groupby(faults, key=lambda each: each.kafka_version)
        sections.append("\n".join(["## Faults\n", *(markdown_of_faults([*of], version) for version, of in by_version)]))
    if outages:
        sections.append(f"## Outages\n\n{_commits(outages)}\n\n{_outages(outages)}")
    if stops:
        sections.append(
            f"## Stops\n\n{_commits(stops)}\n\n{markdown(stops, StopVerdict, 'kafka_version', 'Kafka | seeds')}"
        )
    return "\n".join(sections)


def _commits(verdicts: Sequence[OutageVerdict | StopVerdict]) -> str:
    return f"Commits: {', '.join(sorted({each.commit or 'unknown' for each in verdicts}))}."


def _outages(verdicts: Sequence[OutageVerdict]) -> str:
    columns = (
        "outages",
        "elections",
        "claims",
        "`acksAllLost: none`",
        "of these wrong",
        "none said where true, min ISR 2",
        "the same, with the boot times",
        "*time alone right*",
        "*leader lost at right*",
        "*estimate within a factor of two*",
    )
    lines = [f"| | {' | '.join(columns)} |", "|---|" + "---|" * len(columns)]
    for setting in [*sorted({each.setting for each in verdicts}), "all"]:
        of = [each for each in verdicts if setting in {each.setting, "all"}]
        lines.append(f"| {setting} | {len(of)} | {' | '.join(_cells(of))} |")
    return "\n".join(lines) + "\n"


def _cells(verdicts: Sequence[OutageVerdict]) -> list[str]:
    def total(name: str) -> int:
        return sum(getattr(each, name) for each in verdicts)

    return [
        str(total("elections")),
        str(total("claims")),
        str(total("none_said")),
        str(total("broken_promises")),
        f"{total('none_said_min_2')} of {total('none_true_min_2')} ({total('killed_min_2')} killed)",
        f"{total('none_said_min_2_booted')} of {total('none_true_min_2_booted')}",
        f"{total('times_judged') - total('times_wrong')} of {total('times_judged')}",
        f"{total('lost_at_judged') - total('lost_at_wrong')} of {total('lost_at_judged')}",
        f"{total('estimates_right')} of {total('estimates')}",
    ]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:] or (str(PROJECT),)))
