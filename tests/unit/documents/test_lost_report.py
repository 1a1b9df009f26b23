# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""If a report cannot be written after a change, all outcomes are returned, with one more failure."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.kafkaops.recovery.plugins.module_utils._documents.dataclass_json import codec
from ansible_collections.kafkaops.recovery.plugins.module_utils._documents.report_file import ReportFile
from ansible_collections.kafkaops.recovery.plugins.module_utils._leadership import blacklist_module, election_module
from ansible_collections.kafkaops.recovery.plugins.module_utils._leadership.blacklist import Blacklist
from ansible_collections.kafkaops.recovery.plugins.module_utils._leadership.deprioritize import LeadershipResult
from ansible_collections.kafkaops.recovery.plugins.module_utils._leadership.election import MoveReport
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.fields import Time
from unit.report import salvages

LIST = Blacklist((), {})


@dataclass(frozen=True)
class TimedPage:
    """A report without content."""

    start: Time
    end: Time


def taken(tmp_path: Path) -> ReportFile:
    """Return a report file whose path another program creates during the run."""
    path = tmp_path / "report.json"
    file = ReportFile(str(path))
    path.write_text("somebody else's")
    return file


def test_written_report_gives_no_error_text(tmp_path: Path) -> None:
    schema = codec(TimedPage).schema
    assert not ReportFile(str(tmp_path / "report.json")).write_or_explain(
        lambda start, end: {"start": start, "end": end}, schema
    )
    assert not ReportFile(None).write_or_explain(lambda start, end: {"start": start, "end": end}, schema)


@pytest.mark.parametrize("what", ["disk", "replay"])
def test_salvages_and_replays_are_reported(tmp_path: Path, what: str) -> None:
    file = taken(tmp_path)
    result: dict[str, Any] = (
        salvages.disk_result(salvages.a_disk_salvage(), file)
        if what == "disk"
        else salvages.replay_result(salvages.a_replay(), file)
    )
    assert result["changed"]
    assert result["summary"]["partitions"] == (5 if what == "disk" else 2)
    undone, report = result["msg"].split("\n", 1)
    assert "1 of" in undone
    assert report.startswith("the report is not written: ")
    assert "exists already" in report


def test_outcomes_of_orders_and_leaders_are_reported() -> None:
    result = LeadershipResult(
        cluster_id="c",
        before=LIST,
        after=LIST,
        writes_config=False,
        is_native=False,
        remembered_in="topic",
        warnings=(),
        outcomes={},
        report_error="disk full",
    )
    assert blacklist_module.failure_message(result) == "disk full"
    assert election_module.failure_message(MoveReport("c", {}, report_error="disk full")) == "disk full"
    assert election_module.failure_message(MoveReport("c", {})) is None
