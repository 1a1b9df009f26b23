# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A campaign of hours goes on where it was interrupted, and its table hides nothing that was counted."""

from __future__ import annotations

from pathlib import Path

from campaign.kept import read_verdicts, write_verdicts
from campaign.kinds import KINDS
from campaign.report import markdown
from campaign.verdict import Verdict

_FIRST, _SECOND = KINDS[0].name, KINDS[1].name


def test_trials_that_were_broken_off_are_run_again(tmp_path: Path) -> None:
    judged, broken_off = Verdict(_FIRST, 0, elections=4, notes=["any"]), Verdict(_SECOND, 0, not_judged=1)
    written = str(tmp_path / "campaign.json")
    write_verdicts(written, [judged, broken_off])
    assert read_verdicts(written, Verdict) == [judged]


def test_a_campaign_without_earlier_verdicts_begins(tmp_path: Path) -> None:
    assert read_verdicts(str(tmp_path / "campaign.json"), Verdict) == []


def test_columns_of_zeros_become_a_sentence_and_others_stay() -> None:
    verdicts = [
        Verdict(_SECOND, 3, elections=4, faults=1, commit="abc", acknowledged=9, announced=2, replays=1),
        Verdict(_FIRST, 4, elections=3, faults=1, tracebacks=2, commit="def+"),
    ]
    heading, _, *rows = markdown(verdicts, "4.3.1").splitlines()
    assert heading.startswith(
        "Kafka 4.3.1, seeds 3 to 4, commit abc or def+. Nothing was counted as wrong elections or records lost or "
    )
    assert rows == [
        "| | fault | trials | met | elections | tracebacks | unknown forecasts | acknowledged | announced | replays |",
        "|---|---|---|---|---|---|---|---|---|---|",
        f"| C | {_FIRST} | 1 | 1 | 3 | 2 | 0 | 0 | 0 | 0 |",
        f"| C | {_SECOND} | 1 | 1 | 4 | 0 | 0 | 9 | 2 | 1 |",
        "|  | all | 2 | 2 | 7 | 2 | 0 | 9 | 2 | 1 |",
    ]
