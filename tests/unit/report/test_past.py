# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The timeline of an incident begins before the run: who was in sync, who led alone, and when leaders were lost."""

from __future__ import annotations

import html
import re
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from ansible_collections.kafkaops.recovery.plugins.module_utils._model.outage import IsrChange, OutageHistory
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.outcome import Outcome
from unit.recovery import outages
from unit.report.test_page import Reader, a_report, html_of

_HOUR = "2026-01-31T02:"


def at(minute: int, second: int) -> str:
    return f"{_HOUR}{minute:02}:{second:02}.185Z"


def with_past(partition: int, *, seconds: int = 0) -> Outcome:
    """Return an outcome of a partition that broker 1 led alone for 24 minutes, until it was lost."""
    outcome = outages.recovered(outages.losing(partition, lost=5))
    first, *others = outcome.replicas
    changes = (
        IsrChange(at(1, seconds), first, outcome.replicas),
        IsrChange(at(31, seconds), first, (first,)),
        IsrChange(at(55, seconds), -1, (first,)),
    )
    assert others
    return replace(outcome, history=OutageHistory(first, at(31, seconds), at(55, seconds), changes, ("log",), ()))


def test_the_timeline_begins_before_the_run(tmp_path: Path) -> None:
    page = html_of(tmp_path, a_report([with_past(0), with_past(1, seconds=9)]))
    rows = Reader(page).tables["Times are UTC"]
    leader = with_past(0).replicas[0]
    assert rows[:3] == [
        [at(31, 0), f"broker {leader} leads 2 partitions alone (the last one at {at(31, 9)})", rows[0][2]],
        [at(55, 0), f"2 partitions lost the last leader, broker {leader} (the last one at {at(55, 9)})", rows[0][2]],
        ["2026-01-31T02:59:59Z", "recovery began", "unclean_recovery"],
    ]
    assert "No document says" not in page
    (title,) = [each for each in re.findall(r"<figure><h3>([^<]*)", page) if "partitions:" in each]
    assert title == "2 partitions: orders-0, orders-1"
    assert f"{leader} from 02:31:00.185, led by {leader}; no leader from 02:55:00.185" in page


def test_a_document_without_the_changes_of_the_isr_has_no_picture_of_them(tmp_path: Path) -> None:
    known = with_past(0)
    assert known.history is not None
    page = html_of(tmp_path, a_report([replace(known, history=replace(known.history, isr_changes=()))]))
    assert "lost the last leader" in page
    assert "in sync; no leader from" not in page


def test_what_is_not_known_is_said(tmp_path: Path) -> None:
    unknown = outages.recovered(outages.losing(2, lost=5))
    assert "No document says when the leaders were lost" in html_of(tmp_path, a_report([unknown]))
    page = html_of(tmp_path, a_report([with_past(0), unknown]))
    assert "When 1 partition lost the leader is not known." in page


def test_each_missing_source_is_named_once(tmp_path: Path) -> None:
    why = "no controller's address is known: set kafka_bootstrap_controllers"
    nothing = OutageHistory(None, None, None, (), (), (why,))
    unknown = [replace(outages.recovered(outages.losing(each, lost=5)), history=nothing) for each in range(2, 14)]
    page = html.unescape(html_of(tmp_path, a_report(unknown)))
    assert f"When the leaders were lost is not known: {why}. See the logs of the brokers and controllers." in page
    assert page.count(f": {why}") == 1  # and in the embedded report
    page = html.unescape(html_of(tmp_path, a_report([with_past(0), *unknown])))
    assert f"When 12 partitions lost the leader is not known: {why}." in page
    assert page.count(f": {why}") == 1  # and in the embedded report


def test_a_few_pictures_show_the_largest_groups(tmp_path: Path) -> None:
    outcomes = []
    for number in range(9):
        outcome = with_past(number)
        assert outcome.history is not None
        more = tuple(IsrChange(at(2, each), 1, outcome.replicas[: 1 + each % 2]) for each in range(number))
        changes = (outcome.history.isr_changes[0], *more, *outcome.history.isr_changes[1:])
        outcomes.append(replace(outcome, history=replace(outcome.history, isr_changes=changes)))
    page = html_of(tmp_path, a_report(outcomes))
    assert len([each for each in re.findall(r"<figure><h3>([^<]*)", page) if "partition" in each]) == 6
    assert "3 partitions in 3 more groups are not drawn." in page


def test_without_vl_convert_the_times_are_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "vl_convert", None)  # Python's way to make an import fail
    page = html_of(tmp_path, a_report([with_past(0)]))
    assert "<figure>" not in page
    assert at(31, 0) in page
