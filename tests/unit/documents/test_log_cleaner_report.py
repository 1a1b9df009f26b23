# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The report of log cleaners: joined from results, and checked before it is written."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.kafkaops.recovery.plugins.module_utils._cleaner.report import (
    LOG_CLEANER_REPORT,
    log_cleaner_report_document,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._documents.errors import DocumentError
from ansible_collections.kafkaops.recovery.plugins.module_utils._documents.report_file import write_document

BROKER: dict[str, Any] = {
    "broker_id": 1,
    "diagnosis": "unknown",
    "reason": "there are no metrics of it",
    "is_inferred": False,
    "threads": None,
    "dead_threads": None,
    "time_since_last_run_ms": None,
    "log_dirs": [{"log_dir": "/d", "uncleanable_partitions": None, "uncleanable_bytes": None}],
    "suspects": [{"topic": "t", "partition": 0, "size_bytes": 5, "reason": "large"}],
}
INFO = {"cluster_id": "c", "brokers": [BROKER]}
RESTART = {
    "outcomes": [{"broker_id": 1, "status": "unknown", "reason": "no metrics", "verified_by": ""}],
    "leftovers": [{"change": "a", "undoing": "restored", "reason": "b"}],
}


def _document(**others: Any) -> dict[str, Any]:
    given = {"before": INFO, "restart": RESTART, "repair": {"skipped": True}, "after": INFO, **others}
    return log_cleaner_report_document(**given, written_at="2026-01-31T23:59:59Z", is_check=False)


def test_what_is_written_is_read_back(tmp_path: Path) -> None:
    path = tmp_path / "report.json"
    write_document(str(path), _document(), LOG_CLEANER_REPORT)
    assert json.loads(path.read_text(encoding="utf-8")) == _document()
    assert _document()["before"][0]["deadThreads"] is None
    assert path.stat().st_mode & 0o777 == 0o600
    with pytest.raises(DocumentError, match="never overwritten"):
        write_document(str(path), _document(), LOG_CLEANER_REPORT)


def test_invalid_results_are_refused(tmp_path: Path) -> None:
    with pytest.raises(DocumentError, match="registered"):
        _document(before={"brokers": [{}]})
    with pytest.raises(DocumentError, match="tired"):
        _document(after={"cluster_id": "c", "brokers": [BROKER | {"diagnosis": "tired"}]})
    wrong = _document(after={"cluster_id": "c", "brokers": [BROKER | {"threads": -1}]})
    with pytest.raises(DocumentError, match="/after/0/threads: -1 is not allowed"):
        write_document(str(tmp_path / "report.json"), wrong, LOG_CLEANER_REPORT)
    assert not (tmp_path / "report.json").exists()
