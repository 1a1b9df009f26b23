# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Write what became of a broker's disks, or of a replay, into a file without keys, values or secrets.

Schemas: docs/schemas/salvage-report.schema.json and docs/schemas/replay-report.schema.json.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any

from .._documents.dataclass_json import codec, document
from .._model.fields import SCHEMA_VERSION, BrokerId, ClusterId, Meta, SchemaVersion, SizeBytes, Time
from .._model.run import counted
from .account import Accounts
from .finding import DiskFinding, Status
from .group_offsets import NewerCommit
from .replayed import CountsLeftOut, LeftOut, Replayed, ReplayStatus, Target
from .saved import Number

_BY_STATUS = "partitions by status are an object"


@dataclass(frozen=True, slots=True)
class DiskSummary:
    """What all replicas on the disks have in common."""

    partitions: Number
    statuses: Annotated[Mapping[str, Number], Meta(description=_BY_STATUS, keys=Status)]
    lost_offsets: Number
    """What the cluster lacks; counts transaction markers and what compaction removed."""
    unreadable_offsets: Number
    saved_records: Number
    saved_bytes: SizeBytes
    damages: Number


@dataclass(frozen=True, slots=True)
class ReplaySummary:
    """What all partitions that were to be given back have in common, in records."""

    partitions: Number
    statuses: Annotated[Mapping[str, Number], Meta(description=_BY_STATUS, keys=ReplayStatus)]
    saved: Number
    to_give: Number
    given: Number
    given_bytes: SizeBytes
    given_before: Number
    left_out: CountsLeftOut


@dataclass(frozen=True, slots=True, kw_only=True)
class DiskReport:
    """What the disks of a stopped broker hold that the cluster lacks, and what was saved of it."""

    schema_version: SchemaVersion = field(default=SCHEMA_VERSION, init=False)
    cluster_id: ClusterId
    broker_id: BrokerId
    log_dirs: tuple[str, ...]
    salvage_dir: str
    salvage_id: str | None
    """None where nothing was saved."""
    started_at: Time
    finished_at: Time
    summary: DiskSummary
    account: Accounts
    partitions: tuple[DiskFinding, ...]
    newer_commits: tuple[NewerCommit, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayReport:
    """What was given back of a salvage."""

    schema_version: SchemaVersion = field(default=SCHEMA_VERSION, init=False)
    cluster_id: ClusterId
    salvage_id: str
    salvage_dir: str
    target: Annotated[Target, Meta("the target")]
    started_at: Time
    finished_at: Time
    summary: ReplaySummary
    account: Accounts
    partitions: tuple[Replayed, ...]


_DISKS, _REPLAY = codec(DiskReport), codec(ReplayReport)
DISK_REPORT = document("salvage-report", "What became of the replicas on the disks of a stopped broker", _DISKS.schema)
REPLAY_REPORT = document("replay-report", "What became of saved records that were to be given back", _REPLAY.schema)


def disk_report_document(report: DiskReport) -> dict[str, Any]:
    """Return the report as it stands in a file."""
    document: dict[str, Any] = _DISKS.encode(report)
    return document


def replay_report_document(report: ReplayReport) -> dict[str, Any]:
    """Return the report as it stands in a file."""
    document: dict[str, Any] = _REPLAY.encode(report)
    return document


def disk_summary(findings: Sequence[DiskFinding]) -> DiskSummary:
    """Add up what became of the replicas on the disks."""
    saved = [each.saved for each in findings if each.saved is not None]
    return DiskSummary(
        len(findings),
        counted((each.status for each in findings), Status),
        sum(each.lost_records for each in findings),
        sum(each.unreadable_records for each in findings),
        sum(each.records for each in saved),
        sum(each.bytes for each in saved),
        sum(len(each.damages) for each in findings),
    )


def replay_summary(rows: Sequence[Replayed]) -> ReplaySummary:
    """Add up what was given back."""
    return ReplaySummary(
        len(rows),
        counted((each.status for each in rows), ReplayStatus),
        sum(each.saved for each in rows),
        sum(each.to_give for each in rows),
        sum(each.given for each in rows),
        sum(each.given_bytes for each in rows),
        sum(each.given_before for each in rows),
        {why: count for why in LeftOut if (count := sum(each.left_out.get(why, 0) for each in rows))},
    )
