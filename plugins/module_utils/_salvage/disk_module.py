# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Options and results of module replica_log_salvage. Decides nothing."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from .._documents.report_file import ReportFile
from .._model.partition import TopicPartition, grouped
from .._model.reasons import join_first
from .._model.run import KafkaOpsError
from .._module.connection import Arguments
from .._module.run import to_json_types
from .._spark.options import local_spark_options, parse_spark_options
from .account import Account, Balance, add_balances, build_account_result, build_accounts
from .finding import DiskFinding, SalvageStatus, describe_tail
from .from_disk import DiskRequest, DiskSalvage
from .options import DRIVER_MEMORY, resolve_place
from .report import DISK_REPORT, DiskReport, describe_failures, encode_disk_report, summarize_disks

DISK_SALVAGE = Arguments(
    argument_spec={
        "log_dirs": {"type": "list", "elements": "path", "required": True},
        "salvage_dir": {"type": "path", "required": True},
        "topics": {"type": "list", "elements": "str"},
        "leaders_timeout_ms": {"type": "int", "default": 30000},
        "spark": {
            "type": "dict",
            "options": {"driver_memory": {"type": "str"}, "conf": {"type": "dict"}},
        },
        "include_absent_topics": {"type": "bool", "default": False},
        "report_file": {"type": "path"},
        "max_rows": {"type": "int", "default": 1000},
    }
)
_MOST_WARNINGS = 20


class DiskOptionsError(KafkaOpsError):
    """An option of the salvage is invalid."""


def parse_disk_request(params: Mapping[str, Any]) -> DiskRequest:
    """Convert the module's options. Raises DiskOptionsError, SalvageDirectoryError or SparkOptionsError."""
    if not params["log_dirs"]:
        raise DiskOptionsError("log_dirs is empty: name every directory of the broker's log.dirs")
    if params["topics"] is not None and not params["topics"]:
        raise DiskOptionsError("topics is empty: leave it out to salvage every topic")
    return DiskRequest(
        tuple(map(os.path.normpath, params["log_dirs"])),
        resolve_place(params["salvage_dir"]),
        None if params["topics"] is None else frozenset(params["topics"]),
        params["leaders_timeout_ms"],
        local_spark_options(params["spark"], DRIVER_MEMORY) if parse_spark_options(params["spark"]) else None,
        include_absent_topics=params["include_absent_topics"],
    )


def results_of(done: DiskSalvage, params: Mapping[str, Any], report_file: ReportFile) -> dict[str, Any]:
    """Write the report file and return the module's results. If something failed, ``msg`` says what."""
    summary = summarize_disks(done.findings)
    accounts = build_accounts(_balances(done.findings))
    report = DiskReport(
        cluster_id=done.cluster_id,
        broker_id=done.broker_id,
        log_dirs=done.log_dirs,
        salvage_dir=params["salvage_dir"],
        salvage_id=done.salvage_id,
        summary=summary,
        account=accounts,
        partitions=done.findings,
        newer_commits=done.newer_commits,
    )
    report_error = report_file.write_or_explain(partial(encode_disk_report, report), DISK_REPORT)
    shown = done.findings[: params["max_rows"]]
    results = {
        "changed": any(each.status in (SalvageStatus.SAVED, SalvageStatus.WOULD_BE_SAVED) for each in done.findings),
        "cluster_id": done.cluster_id,
        "broker_id": done.broker_id,
        "log_dirs": list(done.log_dirs),
        "salvage_dir": params["salvage_dir"],
        "salvage_id": done.salvage_id,
        "summary": to_json_types(summary),
        "account": build_account_result(accounts, params["max_rows"]),
        "partitions": to_json_types(shown),
        "truncated": len(shown) < len(done.findings),
        "newer_commits": to_json_types(done.newer_commits[: params["max_rows"]]),
        "newer_commits_total": len(done.newer_commits),
    }
    failed = [each for each in done.findings if each.status is SalvageStatus.FAILED]
    return results | describe_failures(failed, len(done.findings), "salvaged", report_error)


def warnings_of(done: DiskSalvage) -> list[str]:
    """Return the warnings of a run: what could not be read, and records of unknown outcome."""
    unreadable = [
        f"{each.topic_partition}: {each.unreadable_records} of the offsets that the cluster lacks are in no batch that "
        f"could be read ({join_first([one.offsets for one in each.unreadable])})"
        for each in done.findings
        if each.unreadable and each.damages and each.status is not SalvageStatus.FAILED
    ]
    tails = [
        f"{each.topic_partition}: {describe_tail(damage)}, and it is unknown whether the cluster has what they held"
        for each in done.findings
        if each.status is not SalvageStatus.LEFT_ALONE
        for damage in each.damages
        if damage.is_tail
    ]
    unknown = [
        f"{each.topic_partition}: {each.saved.unknown} of {each.saved.records} saved records are of transactions whose "
        "outcome is unknown. A replay leaves them out, unless include_unknown is set"
        for each in done.findings
        if each.saved is not None and each.saved.unknown
    ]
    return [*done.notes, *(each for some in (unreadable, tails, unknown) for each in _first(some))]


def _first(warnings: Sequence[str]) -> list[str]:
    """Return the first warnings of one kind, and say how many more there are."""
    more = len(warnings) - _MOST_WARNINGS
    return [
        *warnings[:_MOST_WARNINGS],
        *([f"{more:,} more warnings like this: the report has all"] if more > 0 else []),
    ]


def _balances(findings: Sequence[DiskFinding]) -> dict[TopicPartition, Balance]:
    """Count the records of each partition for which the disks hold, or may hold, what the cluster lacks."""
    # A broker may have kept the directories of several topics of one name.
    by_name = grouped(
        (
            each.topic_partition,
            Account(
                held=list(each.lost),
                salvages=[each.saved] if each.saved is not None else [],
                given=None if each.status is SalvageStatus.ALREADY_SAVED else 0,
                is_compared=bool(each.lost) or each.status is not SalvageStatus.FAILED,
            ).balance(),
        )
        for each in findings
        if each.lost or each.status is SalvageStatus.FAILED
    )
    return {name: add_balances(each) for name, each in by_name.items()}
