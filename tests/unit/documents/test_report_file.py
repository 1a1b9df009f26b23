# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The report of a run."""

from __future__ import annotations

import json
import os
import stat
from dataclasses import replace
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from ansible_collections.kafkaops.recovery.plugins.module_utils._documents.errors import DocumentError
from ansible_collections.kafkaops.recovery.plugins.module_utils._documents.report_file import write_document
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.partition import Broker, BrokerState
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.run import RunMode
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.outcome import (
    REPORT_FILE,
    Outcome,
    Report,
    report_document,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.plan import Status
from unit.documents.examples import CLUSTER_ID, TOPIC_ID, an_election

REPORT = Report(
    cluster_id=CLUSTER_ID,
    started_at="2026-01-31T23:59:59Z",
    finished_at="2026-02-01T00:00:07Z",
    mode=RunMode.APPLY,
    brokers=(
        Broker(1, None, None, None, True, BrokerState.FENCED, "the controller fences it"),
        Broker(3, "kafka3.example.com", 9092, "c", False, BrokerState.ONLINE),
    ),
    outcomes=(
        Outcome("bar", 0, Status.UNKNOWN, "no such partition"),
        Outcome(
            topic="foo",
            partition=1,
            status=Status.RECOVERED,
            reason="broker 3 leads it",
            topic_id=TOPIC_ID,
            designated_leader=3,
            leader_before=-1,
            leader_after=3,
            leader_epoch_before=7,
            leader_epoch_after=8,
            replicas=(1, 2, 3),
            replicas_after=(1, 2, 3),
            candidates=an_election().candidates,
            silent=an_election().silent,
        ),
    ),
)


def test_report(tmp_path: Path) -> None:
    path = tmp_path / "report.json"
    document = report_document(REPORT)
    write_document(str(path), document, REPORT_FILE)
    read = json.loads(path.read_text())
    assert read == document
    Draft202012Validator(REPORT_FILE).validate(read)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert (read["clusterId"], read["mode"]) == (CLUSTER_ID, "apply")
    assert read["summary"] == {status: int(status in {"recovered", "unknown"}) for status in Status}
    assert read["brokers"][0] == {
        "brokerId": 1,
        "host": None,
        "port": None,
        "rack": None,
        "isFenced": True,
        "state": "fenced",
        "cause": "the controller fences it",
        "offlineLogDirs": [],
        "uncleanElections": None,
        "uncleanElectionsMissing": "",
    }
    unknown, recovered = read["partitions"]
    assert unknown["leaderAfter"] is None, "what was not found out is null, never 0"
    assert unknown["replicasAfter"] is None
    assert [recovered[key] for key in ("leaderBefore", "leaderAfter", "leaderEpochBefore", "leaderEpochAfter")] == [
        -1,
        3,
        7,
        8,
    ]
    assert recovered["replicasAfter"] == [1, 2, 3]
    assert recovered["candidates"][0] == {
        "brokerId": 3,
        "rank": 1,
        "lastWrittenEpoch": 6,
        "logStartOffset": 10,
        "logEndOffset": 150,
        "lineage": [[2, 100], [6, 150]],
        "sizeBytes": 4096,
        "flags": [],
        "explanation": "rank 1",
        "localLogStartOffset": None,
        "lastTieredOffset": None,
        "reusedEpochs": [],
    }
    assert recovered["silent"] == [
        {"brokerId": 1, "cause": "hung", "error": "it accepts connections and answers nothing"}
    ]


def test_report_is_never_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "report.json"
    path.write_text("mine")
    with pytest.raises(DocumentError, match="exists already"):
        write_document(str(path), report_document(REPORT), REPORT_FILE)
    assert path.read_text() == "mine"


def test_report_that_does_not_meet_its_schema_is_not_written(tmp_path: Path) -> None:
    wrong = replace(REPORT, started_at="yesterday")
    with pytest.raises(DocumentError, match='/startedAt: "yesterday" is not allowed; a time is UTC'):
        write_document(str(tmp_path / "report.json"), report_document(wrong), REPORT_FILE)
    assert os.listdir(tmp_path) == []
