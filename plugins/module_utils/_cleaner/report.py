# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Write the report file of log cleaners: their state before, the restarts and repairs, and their state after.

The report consists of the modules' results and has no secrets. Schema: docs/schemas/log-cleaner-report.schema.json.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, TypeAlias

from .._documents.dataclass_json import codec, document, in_camel_case
from .._documents.errors import DocumentError, Problem
from .._model.fields import (
    SCHEMA_VERSION,
    BrokerId,
    ClusterId,
    Count,
    Meta,
    Milliseconds,
    PartitionIndex,
    SchemaVersion,
    SizeBytes,
    Time,
    TopicName,
)
from .._model.setting import RepairStatus, RestartStatus
from .diagnosis import Case
from .facts import LogDirMetrics


@dataclass(frozen=True, slots=True)
class SuspiciousCopy:
    """A copy of a compacted partition that seems not to be compacted."""

    topic: TopicName
    partition: PartitionIndex
    size_bytes: SizeBytes
    reason: str


@dataclass(frozen=True, slots=True)
class BrokerReport:
    """The log cleaner of one broker, as log_cleaner_info returns it. An unknown value is None."""

    broker_id: BrokerId
    diagnosis: Annotated[Case, Meta("a case")]
    reason: str
    is_inferred: bool
    threads: Count | None
    dead_threads: Count | None
    time_since_last_run_ms: Milliseconds | None
    log_dirs: Annotated[
        tuple[Annotated[LogDirMetrics, Meta(description="a log directory is an object")], ...],
        Meta(description="the log directories are a list"),
    ]
    suspects: tuple[SuspiciousCopy, ...]


@dataclass(frozen=True, slots=True)
class Restart:
    """The result of log_cleaner for one broker."""

    broker_id: BrokerId
    status: RestartStatus
    reason: str
    verified_by: Annotated[str, Meta("what it was verified by")]


@dataclass(frozen=True, slots=True)
class Repair:
    """The result of log_cleaner_repair for one replica."""

    topic: TopicName
    partition: PartitionIndex
    broker_id: BrokerId
    status: RepairStatus
    reason: str
    size_before: SizeBytes | None
    size_after: SizeBytes | None


@dataclass(frozen=True, slots=True)
class LeftoverRow:
    """A change that an earlier run left, with the result of its undo."""

    change: str
    undoing: Annotated[str, Meta("what became of it")]
    reason: str


_Brokers: TypeAlias = Annotated[tuple[BrokerReport, ...], Meta(description="the brokers are a list")]


@dataclass(frozen=True, slots=True, kw_only=True)
class CleanerReport:
    """The whole report."""

    schema_version: SchemaVersion = field(default=SCHEMA_VERSION, init=False)
    written_at: Time
    cluster_id: ClusterId
    is_check: bool
    before: _Brokers
    restarts: tuple[Restart, ...]
    repairs: tuple[Repair, ...]
    leftovers: tuple[LeftoverRow, ...]
    after: _Brokers


_REPORT = codec(CleanerReport, "a report of log cleaners is an object")
LOG_CLEANER_REPORT = document(
    "log-cleaner-report", "How log cleaners were, what was done about it, and how they are", _REPORT.schema
)

Result = Mapping[str, Any]


def log_cleaner_report_document(
    before: Result, restart: Result, repair: Result, after: Result, written_at: str, *, is_check: bool
) -> dict[str, Any]:
    """Return the report from the modules' results. The result of a skipped module is empty.

    Raises DocumentError if a result is not one of these modules.
    """
    try:
        results = {
            "written_at": written_at,
            "cluster_id": before["cluster_id"],
            "is_check": is_check,
            "before": before["brokers"],
            "restarts": restart.get("outcomes", []),
            "repairs": repair.get("outcomes", []),
            "leftovers": [*restart.get("leftovers", []), *repair.get("leftovers", [])],
            "after": after["brokers"],
        }
        return _REPORT.encode(_REPORT.decode(in_camel_case(results)))
    except (KeyError, TypeError) as error:
        what = Problem("", f"is to be made of what no module returns ({error})", "Give the registered results")
        raise DocumentError("the report", [what]) from None
