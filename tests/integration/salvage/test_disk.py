# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A salvage saves every record that only a dead broker's disks hold, and nothing else."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.kafkaops.recovery.plugins.module_utils._salvage.finding import SalvageStatus
from ansible_collections.kafkaops.recovery.plugins.module_utils._salvage.from_disk import DiskSalvage
from ansible_collections.kafkaops.recovery.plugins.module_utils._salvage.group_offsets import NewerCommit
from ansible_collections.kafkaops.recovery.plugins.module_utils._salvage.manifest import (
    find_file_problems,
    read_manifest,
)
from integration.salvage.disks import by_status, read_rows, records, salvage
from integration.salvage.oracle import Oracle, in_short
from integration.salvage.wreck import COMMITTED, COMMITTED_BEFORE, GROUP, LAST_LEADER, LEDGER, STEADY, TOPICS
from lab.module_process import run_module, small_disk_prefix, start_module


@pytest.fixture(scope="module")
def saved(oracle: Oracle, tmp_path_factory: pytest.TempPathFactory) -> tuple[DiskSalvage, Path]:
    directory = tmp_path_factory.mktemp("salvage") / "saved"
    return salvage(oracle.cluster, directory), directory


def test_every_lost_record_is_saved_and_no_other(oracle: Oracle, saved: tuple[DiskSalvage, Path]) -> None:
    done, directory = saved
    rows = [row for row in read_rows(directory) if row["topic"] in TOPICS]
    assert in_short(records(rows)) == in_short(oracle.of("lost"))
    assert {each.topic for each in by_status(done)[SalvageStatus.NOTHING_LACKING]} >= {STEADY}
    assert by_status(done).keys() == {SalvageStatus.SAVED, SalvageStatus.NOTHING_LACKING}
    assert {row["origin_broker"] for row in rows} == {LAST_LEADER}
    assert done.newer_commits == (NewerCommit(GROUP, LEDGER, 0, COMMITTED, COMMITTED_BEFORE),)
    assert {row["cluster_id"] for row in rows} == {oracle.cluster.cluster_id}


def test_only_this_user_can_read_what_was_saved(saved: tuple[DiskSalvage, Path]) -> None:
    _done, directory = saved
    modes = {path.stat().st_mode & 0o777 for path in directory.rglob("*") if path.is_file()}
    assert modes == {0o600}
    assert directory.stat().st_mode & 0o777 == 0o700


def test_the_manifest_matches_the_files(oracle: Oracle, saved: tuple[DiskSalvage, Path]) -> None:
    done, directory = saved
    manifest = read_manifest(str(directory))
    assert (manifest.salvage_id, manifest.cluster_id) == (done.salvage_id, oracle.cluster.cluster_id)
    assert not find_file_problems(str(directory), manifest.files)
    (ledger,) = (each for each in manifest.partitions if each.topic == "ledger")
    lost = oracle.of("lost", "ledger")
    assert ledger.records == len(lost)
    assert (ledger.committed, ledger.aborted, ledger.unknown) == (60, 20, 20)
    assert (ledger.committed_transactions, ledger.aborted_transactions, ledger.open_transactions) == (3, 1, 1)
    assert ledger.bytes == sum(len(each.key or b"") + len(each.value or b"") for each in lost)
    assert ledger.last_timestamp_ms == max(each.timestamp_ms for each in lost)


def test_a_second_run_finds_all_records_saved(oracle: Oracle, saved: tuple[DiskSalvage, Path]) -> None:
    first, directory = saved
    before = {path: path.stat().st_mtime_ns for path in directory.rglob("*")}
    second = salvage(oracle.cluster, directory)
    assert by_status(second).keys() == {SalvageStatus.ALREADY_SAVED, SalvageStatus.NOTHING_LACKING}
    assert second.salvage_id == first.salvage_id
    assert {path: path.stat().st_mtime_ns for path in directory.rglob("*")} == before


def test_check_mode_writes_nothing(oracle: Oracle, tmp_path: Path) -> None:
    done = salvage(oracle.cluster, tmp_path / "none", check_mode=True)
    assert by_status(done).keys() == {SalvageStatus.WOULD_BE_SAVED, SalvageStatus.NOTHING_LACKING}
    assert list(tmp_path.iterdir()) == []


@pytest.mark.wide
def test_a_full_disk_keeps_no_files_and_is_reported(oracle: Oracle, tmp_path: Path) -> None:
    disk = tmp_path / "small"
    disk.mkdir()
    options: dict[str, Any] = {
        "bootstrap_servers": [oracle.cluster.bootstrap()],
        "log_dirs": [str(each) for each in oracle.cluster.brokers[LAST_LEADER].data_dirs],
        "salvage_dir": str(disk / "saved"),
    }
    process = start_module("replica_log_salvage", options, prefix=small_disk_prefix(disk, "64k"))
    output, left = process.communicate()
    assert "No space left on device. Nothing was saved" in json.loads(output)["msg"]
    assert left == ""
    assert [each["status"] for each in run_module("replica_log_salvage", options)["partitions"]].count("saved") > 1
