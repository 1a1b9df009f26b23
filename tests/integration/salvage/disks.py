# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Helpers to copy a broker's log directories, run a salvage, and read its files."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.settings import settings_from
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.wire import Wire
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.run import NullProgress, Progress
from ansible_collections.kafkaops.recovery.plugins.module_utils._salvage.finding import DiskFinding, SalvageStatus
from ansible_collections.kafkaops.recovery.plugins.module_utils._salvage.from_disk import (
    DiskRequest,
    DiskSalvage,
    salvage_disk,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._spark.options import SparkOptions
from integration.salvage.oracle import Known
from integration.salvage.wreck import LAST_LEADER
from lab import Cluster

_SILENT = NullProgress()


def salvage(
    cluster: Cluster,
    destination: Path,
    *,
    log_dirs: Sequence[Path] | None = None,
    topics: set[str] | None = None,
    check_mode: bool = False,
    on_spark: bool = False,
    leaders_timeout_ms: int = 30_000,
    include_absent_topics: bool = False,
    progress: Progress = _SILENT,
) -> DiskSalvage:
    dirs = log_dirs or cluster.brokers[LAST_LEADER].data_dirs
    wanted = frozenset(topics) if topics is not None else None
    request = DiskRequest(tuple(map(str, dirs)), str(destination), wanted, leaders_timeout_ms)
    request = replace(request, include_absent_topics=include_absent_topics)
    if on_spark:
        request = replace(request, most_bytes_here=0, spark=SparkOptions(driver_memory="1g"))
    with Wire(settings_from({"bootstrap_servers": cluster.bootstrap(), "request_timeout_ms": 10_000})) as wire:
        return salvage_disk(wire, request, progress, check_mode=check_mode)


def read_rows(directory: Path) -> list[dict[str, Any]]:
    """Read the rows of a salvage with PyArrow, in order of topic, partition and offset."""
    rows: list[dict[str, Any]] = pq.read_table(directory / "records").to_pylist()
    return sorted(rows, key=lambda row: (row["topic"], row["partition"], row["offset"]))


def records(rows: list[dict[str, Any]]) -> list[Known]:
    """Return the data records in the form of the oracle."""
    return [
        Known(
            row["topic"],
            row["partition"],
            row["offset"],
            row["timestamp_ms"],
            row["key"],
            row["value"],
            tuple((each["key"], each["value"]) for each in row["headers"]),
            row["transaction"],
        )
        for row in rows
        if row["control_type"] is None
    ]


def by_status(done: DiskSalvage) -> dict[SalvageStatus, list[DiskFinding]]:
    found: dict[SalvageStatus, list[DiskFinding]] = {}
    for each in done.findings:
        found.setdefault(each.status, []).append(each)
    return found


def copy_of_disks(cluster: Cluster, target: Path) -> list[Path]:
    """Return a copy of the dead broker's log directories, without any index."""
    copies = []
    for directory in cluster.brokers[LAST_LEADER].data_dirs:
        copies.append(target / directory.name)
        shutil.copytree(directory, copies[-1], ignore=shutil.ignore_patterns("*.index", "*.timeindex", "*.txnindex"))
    return copies


def segments(disks: Sequence[Path], topic: str, partition: int = 0) -> list[Path]:
    """Return the segment files of a replica, in order."""
    (directory,) = (each / f"{topic}-{partition}" for each in disks if (each / f"{topic}-{partition}").is_dir())
    return sorted(directory.glob("*.log"))
