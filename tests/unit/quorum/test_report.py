# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The output about a quorum: the report file, the printed lines, the table and the exit status."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path

import pytest

from ansible_collections.kafkaops.recovery.plugins.module_utils._documents.errors import DocumentError
from ansible_collections.kafkaops.recovery.plugins.module_utils._documents.report_file import ReportFile
from ansible_collections.kafkaops.recovery.plugins.module_utils._documents.validation import schema_problems
from ansible_collections.kafkaops.recovery.plugins.module_utils._module.run import to_json_types
from ansible_collections.kafkaops.recovery.plugins.module_utils._quorum.assessment import (
    QUORUM_REPORT,
    assess,
    encode_quorum_report,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._quorum.observation import Observation
from ansible_collections.kafkaops.recovery.plugins.plugin_utils import quorum_page
from ansible_collections.kafkaops.recovery.plugins.plugin_utils.page import Entries
from ansible_collections.kafkaops.recovery.plugins.plugin_utils.rendering import rendered
from ansible_collections.kafkaops.recovery.plugins.plugin_utils.words import Result
from unit.quorum.quorums import controller, down, follower, healthy, observed, state
from unit.quorum.test_findings import CASES

NOBODY = observed(None, views=[], controllers=[], silence="nobody answered", cluster_id=None, kraft_version=None)
ONE_DOWN = observed(state(follower(102), down(103)))
EVERY_CASE = pytest.mark.parametrize("observation", [case[1] for case in CASES], ids=[case[0] for case in CASES])


@EVERY_CASE
def test_every_report_meets_its_schema(observation: Observation) -> None:
    document = encode_quorum_report(assess(observation), "2026-01-31T23:59:58Z", "2026-01-31T23:59:59Z")
    assert schema_problems(document, QUORUM_REPORT) == []


def test_a_report_is_written_once(tmp_path: Path) -> None:
    path = tmp_path / "quorum.json"
    ReportFile(str(path)).write(partial(encode_quorum_report, assess(ONE_DOWN)), QUORUM_REPORT)
    written = json.loads(path.read_text(encoding="utf-8"))
    assert written["leaderId"] == 101
    assert {"name": "lag_records", "value": "120"} in written["findings"][0]["evidence"]
    with pytest.raises(DocumentError, match="exists already"):
        ReportFile(str(path))


def verdicts(result: Result) -> str:
    """Return the verdicts in one line."""
    return " ".join(rendered([Entries(tuple(quorum_page.verdict_entries(result)))], 500, color=False).split())


@EVERY_CASE
@pytest.mark.parametrize("width", [80, 120, 200])
def test_every_report_can_be_printed(observation: Observation, width: int) -> None:
    lines = rendered(quorum_page.blocks(to_json_types(assess(observation))), width, color=False).splitlines()
    assert lines[0].startswith("Elections ")
    assert max(map(len, lines)) <= width
    assert all(line.isprintable() for line in lines)


def test_rows() -> None:
    result = to_json_types(assess(observed(state(follower(102), down(103)), controllers=[controller(103)])))
    assert [each.cells for each in quorum_page.member_rows(result)] == [
        ("101", "leader", "5000", "0", "0", "-", "yes", "-", "no"),
        ("102", "voter", "5000", "0", "300", "300", "yes", "-", "no"),
        ("103", "voter", "5000", "120", "60000", "60000", "no", "yes", "yes"),
        ("1", "observer", "5000", "0", "300", "300", "yes", "-", "-"),
    ]


def test_every_verdict_is_printed() -> None:
    text = verdicts(
        to_json_types(assess(observed(state(follower(102), down(103), observers=[follower(104), down(105)]))))
    )
    assert text.startswith("elections may be requested")
    assert "controller 102 must not be restarted" in text
    assert "voter 102 must not be removed" in text
    assert "voter 103 may be removed" in text
    assert "controller 104 may be added as voter" in text
    assert "controller 105 must not be added as voter controller 105 is not caught up" in text


def test_a_reason_about_all_voters_is_printed_once() -> None:
    static = verdicts(to_json_types(assess(observed(healthy(), kraft_version=0))))
    assert static.startswith("elections may be requested voters 101, 102, 103 must not be removed ")
    assert static.count("kraft.version 0") == 1
    dynamic = verdicts(to_json_types(assess(observed(healthy()))))
    assert dynamic == "elections may be requested voters 101, 102, 103 may be removed, one of them"


def test_control_characters_are_not_printed() -> None:
    result = to_json_types(assess(NOBODY))
    result["controllers"] = [{**to_json_types(controller(103)), "node_id": None, "address": "\x1b[31m"}]
    assert "?[31m" in rendered(quorum_page.blocks(result), 80, color=False)


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
            "no quorum: there is no leader that could be asked (nobody answered). No controller could be asked on",
        ),
    ],
)
def test_exit_status(observation: Observation, fail_on: str, failure: str) -> None:
    message = quorum_page.failure(to_json_types(assess(observation)), fail_on)
    assert message.startswith(failure)
    assert bool(message) == bool(failure)
