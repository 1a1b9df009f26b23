# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A campaign of hours goes on where it was interrupted, and its table hides nothing that was counted."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

from campaign.kept import read_verdicts, write_verdicts
from campaign.kinds import KINDS
from campaign.outages.judging import Verdict as OutageVerdict
from campaign.published import merged, to_markdown
from campaign.report import markdown
from campaign.stops.judging import Verdict as StopVerdict
from campaign.verdict import Verdict
from lab.playbook import PROJECT

_FIRST, _SECOND = KINDS[0].name, KINDS[1].name


def test_trials_that_were_broken_off_are_run_again(tmp_path: Path) -> None:
    judged, broken_off = Verdict(_FIRST, 0, elections=4, notes=["any"]), Verdict(_SECOND, 0, not_judged=1)
    written = str(tmp_path / "campaign.json")
    write_verdicts(written, [judged, broken_off])
    assert read_verdicts(written, Verdict) == [replace(judged, notes=[])]


def test_a_campaign_without_earlier_verdicts_begins(tmp_path: Path) -> None:
    assert read_verdicts(str(tmp_path / "campaign.json"), Verdict) == []


def test_only_what_went_wrong_keeps_its_notes(tmp_path: Path) -> None:
    clean, wrong = Verdict(_FIRST, 0, notes=["any"]), Verdict(_FIRST, 1, tracebacks=1, notes=["a traceback"])
    written = tmp_path / "campaign.json"
    write_verdicts(str(written), [clean, wrong])
    assert len(written.read_text("utf-8").splitlines()) == 4
    assert read_verdicts(str(written), Verdict) == [replace(clean, notes=[]), wrong]


def test_the_page_has_all_three_campaigns() -> None:
    page = to_markdown(
        [Verdict(_FIRST, 0, elections=4, faults=1, commit="abc")],
        [OutageVerdict(7, "4.3.1, without ELR", elections=30, claims=55, none_said=20, commit="abc")],
        [StopVerdict(3, "3.9.2", sets=4, yes=1, commit="def")],
    )
    assert f"| C | {_FIRST} | 1 | 1 | 4 |" in page
    assert "| 4.3.1, without ELR | 1 | 30 | 55 | 20 | 0 |" in page
    assert "Commits: def." in page


def test_several_versions_of_kafka_share_one_section() -> None:
    page = to_markdown([Verdict(_FIRST, 0, kafka_version=each) for each in ("4.3.1", "4.4.0")], [], [])
    assert page.count("## Faults") == 1
    assert page.index("## Faults") < page.index("Kafka 4.3.1, seeds") < page.index("Kafka 4.4.0, seeds")


def test_make_finds_the_campaigns_without_a_path_of_the_caller() -> None:
    """They are packages in tests/, where Python does not look by itself."""
    makefile = (PROJECT / "Makefile").read_text("utf-8")
    (exported,) = re.findall(r"^(.*): export PYTHONPATH :=", makefile, re.MULTILINE)
    campaigns = re.findall(r"^([\w-]+): .*\n(?:\t.*\n)*?\t.*-m campaign\b", makefile, re.MULTILINE)
    assert len(campaigns) == 4
    assert {*campaigns} <= {*exported.split()}


def test_the_last_file_that_has_a_trial_counts() -> None:
    first, second = ([Verdict(_FIRST, 0, elections=each)] for each in (1, 2))
    other = [Verdict(_FIRST, 5)]
    assert merged(other, first, second, key=lambda each: (each.kind, each.seed)) == [*second, *other]


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
        "| | fault | trials | met | elections | tracebacks | unknown forecasts | acknowledged | announced | hidden "
        "| replays |",
        "|---|---|---|---|---|---|---|---|---|---|---|",
        f"| C | {_FIRST} | 1 | 1 | 3 | 2 | 0 | 0 | 0 | 0 | 0 |",
        f"| C | {_SECOND} | 1 | 1 | 4 | 0 | 0 | 9 | 2 | 0 | 1 |",
        "|  | all | 2 | 2 | 7 | 2 | 0 | 9 | 2 | 0 | 1 |",
    ]
