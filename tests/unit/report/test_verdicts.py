# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Without outcomes, the worst of the current answers is the verdict, whatever the names of the files are."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ansible_collections.kafkaops.recovery.plugins.module_utils._report.page import Page, build_page
from ansible_collections.kafkaops.recovery.plugins.module_utils._report.sources import read_documents
from ansible_collections.kafkaops.recovery.plugins.module_utils._salvage.finding import SalvageStatus
from unit.recovery import outages
from unit.report import salvages
from unit.report.test_incident import lossless
from unit.report.test_other_documents import OFFLINE, a_survey
from unit.report.test_page import a_report
from unit.report.test_runs import readiness_file
from unit.report.test_salvage_account import a_disk

EARLIER, NOW, LATER = "2026-01-31T01:00:00Z", "2026-01-31T02:00:00Z", "2026-01-31T03:00:00Z"
BAD = "1 partition has no leader; broker 1 should be started first."
GOOD = "No partition is offline."


def page_of(directory: Path, *documents: dict[str, Any]) -> Page:
    for number, document in enumerate(documents):
        salvages.written(directory / f"{number}.json", document)
    return build_page(read_documents([], str(directory)).sources, "An incident")


def nothing_offline(at: str) -> dict[str, Any]:
    return a_report([], startedAt=at, finishedAt=at, aftermath=[])


def survey(at: str, *, is_bad: bool) -> dict[str, Any]:
    return {**(a_survey(OFFLINE) if is_bad else a_survey()), "looked_at": at}


@pytest.mark.parametrize("at", [EARLIER, NOW])
def test_a_look_that_found_partitions_offline_is_not_hidden_by_another_file(tmp_path: Path, at: str) -> None:
    page = page_of(tmp_path, nothing_offline(at), survey(NOW, is_bad=True))
    assert (page.verdict.removeprefix(f"{GOOD} "), page.tone) == (BAD, "bad")
    steps = str(page.sections[-1].blocks)
    assert "recover_offline_partitions" in steps


@pytest.mark.parametrize("later", [nothing_offline(LATER), survey(LATER, is_bad=False)], ids=["report", "survey"])
def test_a_bad_look_is_past_after_a_good_one(tmp_path: Path, later: dict[str, Any]) -> None:
    assert page_of(tmp_path, survey(NOW, is_bad=True), later).tone == "good"


def test_documents_about_other_things_do_not_answer_each_other(tmp_path: Path) -> None:
    readiness_file(tmp_path)
    page = page_of(tmp_path, nothing_offline("2999-01-31T03:00:00Z"))
    assert page.verdict.startswith("A recovery would not work as it should")
    assert page.tone == "bad"


def test_all_that_is_bad_is_said(tmp_path: Path) -> None:
    readiness_file(tmp_path)
    page = page_of(tmp_path, survey(NOW, is_bad=True))
    assert BAD in page.verdict
    assert "A recovery would not work as it should" in page.verdict


def test_a_salvage_of_another_broker_does_not_answer_for_this_one(tmp_path: Path) -> None:
    failed = a_disk(100, 350, status=SalvageStatus.FAILED, lost=())
    other = {**a_disk(100, 350, broker_id=2), "finishedAt": "2026-02-28T00:00:00Z"}
    assert page_of(tmp_path, failed, other).tone == "bad"
    assert page_of(tmp_path, failed, {**other, "brokerId": 1}).tone == "good"


@pytest.mark.parametrize("at", [EARLIER, LATER])
def test_a_partition_that_only_a_look_names_is_not_recovered(tmp_path: Path, at: str) -> None:
    """Nobody knows whether the run looked at orders-0, because it may have been asked about orders-1 only."""
    run = a_report([lossless(1)], startedAt=NOW, finishedAt=NOW, aftermath=[])
    page = page_of(tmp_path, run, survey(at, is_bad=True))
    assert page.verdict.endswith("1 other partition had no leader in a saved look, and no later plan or run names it.")
    assert page.tone == "warning"
    assert page_of(tmp_path, run, survey(at, is_bad=True), survey("2026-02-01T00:00:00Z", is_bad=False)).tone == "good"


def test_a_run_answers_for_the_partitions_that_it_names(tmp_path: Path) -> None:
    run = a_report([outages.recovered(lossless(0))], startedAt=LATER, finishedAt=LATER, aftermath=[])
    assert page_of(tmp_path, survey(NOW, is_bad=True), run).tone == "good"
