# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What a person and a scheduled job get of a quorum: the report file, the lines, the table and the exit status."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ansible_collections.kafkaops.recovery.plugins.module_utils.documents.fault import DocumentError
from ansible_collections.kafkaops.recovery.plugins.module_utils.documents.quorum_report import quorum_report_document
from ansible_collections.kafkaops.recovery.plugins.module_utils.documents.schemas.quorum_report import QUORUM_REPORT
from ansible_collections.kafkaops.recovery.plugins.module_utils.documents.validation import schema_faults
from ansible_collections.kafkaops.recovery.plugins.module_utils.glue.plain import plain
from ansible_collections.kafkaops.recovery.plugins.module_utils.glue.quorum_report import QuorumReportFile
from ansible_collections.kafkaops.recovery.plugins.module_utils.quorum.assessment import assess
from ansible_collections.kafkaops.recovery.plugins.module_utils.quorum.observation import Observation
from ansible_collections.kafkaops.recovery.plugins.plugin_utils import quorum_wording
from ansible_collections.kafkaops.recovery.plugins.plugin_utils.quorum_table import member_table
from unit.quorum.quorums import controller, down, follower, healthy, observed, state
from unit.quorum.test_findings import CASES

NOBODY = observed(None, views=[], controllers=[], silence="nobody answered", cluster_id=None, kraft_version=None)
ONE_DOWN = observed(state(follower(102), down(103)))
EVERY_CASE = pytest.mark.parametrize("observation", [case[1] for case in CASES], ids=[case[0] for case in CASES])


@EVERY_CASE
def test_every_report_meets_its_schema(observation: Observation) -> None:
    document = quorum_report_document(assess(observation), "2026-01-31T23:59:58Z", "2026-01-31T23:59:59Z")
    assert schema_faults(document, QUORUM_REPORT) == []


def test_a_report_is_written_once(tmp_path: Path) -> None:
    path = tmp_path / "quorum.json"
    QuorumReportFile(str(path)).write(assess(ONE_DOWN))
    written = json.loads(path.read_text(encoding="utf-8"))
    assert written["leaderId"] == 101
    assert {"name": "lag_records", "value": "120"} in written["findings"][0]["evidence"]
    with pytest.raises(DocumentError, match="exists already"):
        QuorumReportFile(str(path))


@EVERY_CASE
def test_everything_can_be_shown(observation: Observation) -> None:
    told = plain(assess(observation))
    assert quorum_wording.quorum_line(told).startswith("quorum: ")
    assert all(len(row) == len(quorum_wording.COLUMNS) for row in quorum_wording.member_rows(told))
    lines = [*quorum_wording.finding_lines(told, 80), *quorum_wording.verdict_lines(told)]
    assert all(line.isprintable() for line in lines)
    assert all(len(line) <= 80 for line in quorum_wording.finding_lines(told, 80))
    assert "Node" in member_table(told, 120)


def test_rows() -> None:
    told = plain(assess(observed(state(follower(102), down(103)), controllers=[controller(103)])))
    assert [*quorum_wording.member_rows(told)] == [
        ("101", "leader", "5000", "0", "0", "-", "yes", "-", "no"),
        ("102", "voter", "5000", "0", "300", "300", "yes", "-", "no"),
        ("103", "voter", "5000", "120", "60000", "60000", "no", "yes", "yes"),
        ("1", "observer", "5000", "0", "300", "300", "yes", "-", "-"),
    ]


def test_every_verdict_is_printed() -> None:
    told = plain(assess(observed(state(follower(102), down(103), observers=[follower(104), down(105)]))))
    lines = [*quorum_wording.verdict_lines(told)]
    assert lines[0] == "elections may be asked for"
    assert "controller 102 must not be restarted:" in lines
    assert "voter 102 must not be removed:" in lines
    assert "voter 103 may be removed" in lines
    assert "controller 104 may be added as voter" in lines
    refused = lines.index("controller 105 must not be added as voter:")
    assert lines[refused + 1].startswith("  controller 105 is not caught up")


def test_what_is_told_of_all_voters_is_printed_once() -> None:
    static = plain(assess(observed(healthy(), kraft_version=0)))
    elections, removal, reason = quorum_wording.verdict_lines(static)
    assert elections == "elections may be asked for"
    assert removal == "voters 101, 102, 103 must not be removed:"
    assert "kraft.version 0" in reason
    dynamic = plain(assess(observed(healthy())))
    assert [*quorum_wording.verdict_lines(dynamic)][1:] == ["voters 101, 102, 103 may be removed, one of them"]


def test_what_a_controller_says_is_printed_without_control_characters() -> None:
    told = plain(assess(NOBODY))
    told["controllers"] = [{**plain(controller(103)), "node_id": None, "address": "\x1b[31m"}]
    assert next(quorum_wording.member_rows(told))[0] == "?[31m"


@pytest.mark.parametrize(
    ("observation", "fail_on", "failure"),
    [
        (observed(healthy()), "info", ""),
        (ONE_DOWN, "critical", ""),
        (ONE_DOWN, "warning", "warning or worse: voter not fetching"),
        (observed(state(follower(102))), "warning", ""),
        (observed(state(follower(102))), "info", "info or worse: even voters"),
        (
            NOBODY,
            "critical",
            "no quorum: there is no leader that could be asked (nobody answered); critical: no leader",
        ),
    ],
)
def test_exit_status(observation: Observation, fail_on: str, failure: str) -> None:
    told = quorum_wording.failure(plain(assess(observation)), fail_on)
    assert told.startswith(failure)
    assert bool(told) == bool(failure)
