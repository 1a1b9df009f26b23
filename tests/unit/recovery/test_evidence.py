# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Evidence is read back unchanged, or refused."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from ansible_collections.kafkaops.recovery.plugins.module_utils._model.partition import Cause, ReplicaLog
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.evidence import (
    PARTITIONS_FILE,
    REPLICA_LOGS_FILE,
    Evidence,
    EvidenceError,
    read_evidence,
    write_evidence,
)
from unit.fakes.brokers import a_log, a_partition
from unit.recovery.test_ranking import to_table


@pytest.fixture
def evidence() -> Evidence:
    silent = ReplicaLog("t", 0, 2, cause=Cause.HUNG, error="no answer")
    offline = a_partition("t", 0, (1, 2))._replace(elr=(1,), last_known_elr=(), isr=())
    return Evidence(
        cluster_id="M3DsSJ5pQ1uA0gmkc3rkqg",
        gathered_at="2026-01-02T03:04:05Z",
        collection_version="1.0.0",
        replica_logs=to_table([a_log("t", 0, 1, (5, 10), (7, 20)), silent]),
        partitions=(offline, a_partition("t", 1, (2, 1))),
    )


def test_read_evidence_equals_written_evidence(evidence: Evidence, tmp_path: Path) -> None:
    write_evidence(evidence, tmp_path / "evidence")
    assert read_evidence(tmp_path / "evidence") == evidence


def test_empty_evidence_is_read_back(evidence: Evidence, tmp_path: Path) -> None:
    nothing = replace(evidence, replica_logs=evidence.replica_logs.slice(0, 0), partitions=())
    write_evidence(nothing, tmp_path / "evidence")
    assert read_evidence(tmp_path / "evidence") == nothing


@pytest.mark.parametrize("found", ["a directory", "a file"])
def test_an_existing_path_is_never_overwritten(evidence: Evidence, tmp_path: Path, found: str) -> None:
    path = tmp_path / "evidence"
    path.mkdir() if found == "a directory" else path.write_text("mine")
    with pytest.raises(EvidenceError, match="exists: evidence is never overwritten"):
        write_evidence(evidence, path)
    assert not path.is_dir() or not [*path.iterdir()]


def test_the_error_names_a_directory_that_cannot_be_created(evidence: Evidence, tmp_path: Path) -> None:
    with pytest.raises(EvidenceError, match="missing/evidence cannot be created: No such file or directory"):
        write_evidence(evidence, tmp_path / "missing" / "evidence")


@pytest.mark.parametrize("file", [REPLICA_LOGS_FILE, PARTITIONS_FILE])
def test_damaged_evidence_is_refused(evidence: Evidence, tmp_path: Path, file: str) -> None:
    write_evidence(evidence, tmp_path / "evidence")
    path = tmp_path / "evidence" / file
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(EvidenceError, match=f"{file} cannot be read"):
        read_evidence(tmp_path / "evidence")
    path.unlink()
    with pytest.raises(EvidenceError, match=f"{file} is missing"):
        read_evidence(tmp_path / "evidence")


def test_files_of_two_gathers_are_refused(evidence: Evidence, tmp_path: Path) -> None:
    write_evidence(evidence, tmp_path / "one")
    write_evidence(replace(evidence, gathered_at="2026-01-02T03:04:06Z"), tmp_path / "two")
    (tmp_path / "two" / PARTITIONS_FILE).replace(tmp_path / "one" / PARTITIONS_FILE)
    with pytest.raises(EvidenceError, match="different gathers"):
        read_evidence(tmp_path / "one")


@pytest.mark.parametrize(
    ("metadata", "complaint"),
    [
        (None, "not written by this collection"),
        ({"kafkaops.recovery": "[]"}, "not written by this collection"),
        ({"kafkaops.recovery": '{"format": 2}'}, "has format 2; this version of the collection reads format 1"),
    ],
)
def test_a_foreign_stamp_is_refused(
    evidence: Evidence, tmp_path: Path, metadata: dict[str, str] | None, complaint: str
) -> None:
    write_evidence(evidence, tmp_path / "evidence")
    pq.write_table(evidence.replica_logs.replace_schema_metadata(metadata), tmp_path / "evidence" / REPLICA_LOGS_FILE)
    with pytest.raises(EvidenceError, match=complaint):
        read_evidence(tmp_path / "evidence")


def test_other_columns_are_refused(evidence: Evidence, tmp_path: Path) -> None:
    write_evidence(evidence, tmp_path / "evidence")
    file = tmp_path / "evidence" / REPLICA_LOGS_FILE
    pq.write_table(pq.read_table(file).drop_columns(["cause"]), file)
    with pytest.raises(EvidenceError, match="not those of a gather"):
        read_evidence(tmp_path / "evidence")
