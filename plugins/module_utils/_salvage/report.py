# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Build the reports of a disk salvage and of a replay. They have no keys, values or secrets.

Schemas: docs/schemas/salvage-report.schema.json and docs/schemas/replay-report.schema.json.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated

from .._documents.dataclass_json import timed_report
from .._model.fields import BrokerId, ClusterId, Meta, SizeBytes
from .._model.log_contents import records_in
from .._model.reasons import agreeing, plural
from .._model.run import count_by_status
from .account import Accounts
from .finding import Absence, DiskFinding, SalvageStatus
from .group_offsets import NewerCommit
from .replayed import CountsLeftOut, LeftOut, Replayed, ReplayStatus, Target
from .saved import Number

_BY_STATUS = "partitions by status are an object"
_BY_ABSENCE = "offsets left alone by cause are an object"
_MOST_NAMED = 20


@dataclass(frozen=True, slots=True)
class DiskSummary:
    """Sums over all replicas on the disks."""

    partitions: Number
    statuses: Annotated[Mapping[str, Number], Meta(description=_BY_STATUS, keys=SalvageStatus)]
    lost_offsets: Number
    """Offsets that the cluster lacks, those of transaction markers and of records that compaction removed included."""
    unreadable_offsets: Number
    left_alone: Annotated[Mapping[str, Number], Meta(description=_BY_ABSENCE, keys=Absence)]
    """Offsets of topics that the cluster does not have with their ids, by cause. Not in ``lost_offsets``."""
    saved_records: Number
    saved_bytes: SizeBytes
    damages: Number


@dataclass(frozen=True, slots=True)
class ReplaySummary:
    """Sums over all partitions of a replay. Counts are records."""

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
    """The records that only the disks of a stopped broker hold, and which of them were saved."""

    cluster_id: ClusterId
    broker_id: BrokerId
    log_dirs: tuple[str, ...]
    salvage_dir: str
    salvage_id: str | None
    """None if nothing was saved."""
    summary: DiskSummary
    account: Accounts
    partitions: tuple[DiskFinding, ...]
    newer_commits: tuple[NewerCommit, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayReport:
    """The result of giving the records of a salvage back."""

    cluster_id: ClusterId
    salvage_id: str
    salvage_dir: str
    target: Annotated[Target, Meta("the target")]
    summary: ReplaySummary
    account: Accounts
    partitions: tuple[Replayed, ...]


DISK_REPORT, encode_disk_report = timed_report(
    "salvage-report",
    "What became of the replicas on the disks of a stopped broker",
    DiskReport,
    "a disk report is an object",
)
REPLAY_REPORT, encode_replay_report = timed_report(
    "replay-report",
    "What became of saved records that were to be given back",
    ReplayReport,
    "a replay report is an object",
)


def summarize_disks(findings: Sequence[DiskFinding]) -> DiskSummary:
    """Add up the findings of all replicas on the disks."""
    saved = [each.saved for each in findings if each.saved is not None]
    return DiskSummary(
        len(findings),
        count_by_status((each.status for each in findings), SalvageStatus),
        sum(each.lost_records for each in findings),
        sum(each.unreadable_records for each in findings),
        {
            why: sum(
                records_in(each.held)
                for each in findings
                if each.absence is why and each.status is SalvageStatus.LEFT_ALONE
            )
            for why in Absence
        },
        sum(each.records for each in saved),
        sum(each.bytes for each in saved),
        sum(len(each.damages) for each in findings),
    )


def describe_failures(
    failed: Sequence[DiskFinding] | Sequence[Replayed], total: int, what: str, report_error: str
) -> dict[str, str]:
    """Return a module's ``msg``: failed partitions, what was not done to them, and why there is no report file.

    Empty if nothing failed.
    """
    lines = [report_error] if report_error else []
    if failed:
        named = "; ".join(f"{each.topic_partition}: {each.reason}" for each in failed[:_MOST_NAMED])
        lines.insert(
            0, f"{len(failed)} of {plural(total, 'partition')} {agreeing('were', len(failed))} not {what}: {named}"
        )
    return {"msg": "\n".join(lines)} if lines else {}


def summarize_replay(rows: Sequence[Replayed]) -> ReplaySummary:
    """Add up the results of all partitions."""
    return ReplaySummary(
        len(rows),
        count_by_status((each.status for each in rows), ReplayStatus),
        sum(each.saved for each in rows),
        sum(each.to_give for each in rows),
        sum(each.given for each in rows),
        sum(each.given_bytes for each in rows),
        sum(each.given_before for each in rows),
        {why: count for why in LeftOut if (count := sum(each.left_out.get(why, 0) for each in rows))},
    )
