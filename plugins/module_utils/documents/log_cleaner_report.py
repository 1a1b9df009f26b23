# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The report of a recovery of log cleaners, made of what the modules returned. It holds no secret.

Schema: docs/schemas/log-cleaner-report.schema.json.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ansible_collections.kafkaops.recovery.plugins.module_utils.documents.fault import DocumentError, Fault
from ansible_collections.kafkaops.recovery.plugins.module_utils.documents.files import write_new_file
from ansible_collections.kafkaops.recovery.plugins.module_utils.documents.json_text import readable
from ansible_collections.kafkaops.recovery.plugins.module_utils.documents.schemas.log_cleaner_report import (
    LOG_CLEANER_REPORT,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils.documents.validation import schema_faults

SCHEMA_VERSION = 1

Result = Mapping[str, Any]


def write_log_cleaner_report(document: dict[str, Any], path: str) -> None:
    """Writes the report, mode 0600.

    Raises DocumentError when something has that name already (``files.refuse_existing`` tells beforehand), when it
    cannot be written, and when what it was made of does not meet the schema.
    """
    faults = schema_faults(document, LOG_CLEANER_REPORT)
    if faults:
        raise DocumentError(path, faults)
    write_new_file(path, readable(document))


def log_cleaner_report_document(
    before: Result, restart: Result, repair: Result, after: Result, written_at: str, *, is_check: bool
) -> dict[str, Any]:
    """The report as it stands in a file, of what the modules returned; what was skipped returned nothing.

    Raises DocumentError when it is none of what they return.
    """
    try:
        return {
            "schemaVersion": SCHEMA_VERSION,
            "writtenAt": written_at,
            "clusterId": before["cluster_id"],
            "isCheck": is_check,
            "before": _brokers(before["brokers"]),
            "restarts": [_restart(each) for each in restart.get("outcomes", [])],
            "repairs": [_repair(each) for each in repair.get("outcomes", [])],
            "leftovers": [
                {name: each[name] for name in ("change", "undoing", "reason")}
                for each in (*restart.get("leftovers", []), *repair.get("leftovers", []))
            ],
            "after": _brokers(after["brokers"]),
        }
    except (KeyError, TypeError) as fault:
        what = Fault("", f"is to be made of what no module returns ({fault})", "Give the registered results")
        raise DocumentError("the report", [what]) from None


def _brokers(brokers: Sequence[Result]) -> list[dict[str, Any]]:
    return [
        {
            "brokerId": each["broker_id"],
            "diagnosis": each["diagnosis"],
            "reason": each["reason"],
            "isInferred": each["is_inferred"],
            "threads": each["threads"],
            "deadThreads": each["dead_threads"],
            "timeSinceLastRunMs": each["time_since_last_run_ms"],
            "logDirs": [
                {
                    "logDir": log_dir["log_dir"],
                    "uncleanablePartitions": log_dir["uncleanable_partitions"],
                    "uncleanableBytes": log_dir["uncleanable_bytes"],
                }
                for log_dir in each["log_dirs"]
            ],
            "suspects": [
                {
                    "topic": suspect["topic"],
                    "partition": suspect["partition"],
                    "sizeBytes": suspect["size_bytes"],
                    "reason": suspect["reason"],
                }
                for suspect in each["suspects"]
            ],
        }
        for each in brokers
    ]


def _restart(outcome: Result) -> dict[str, Any]:
    return {
        "brokerId": outcome["broker_id"],
        "status": outcome["status"],
        "reason": outcome["reason"],
        "verifiedBy": outcome["verified_by"],
    }


def _repair(outcome: Result) -> dict[str, Any]:
    return {
        "topic": outcome["topic"],
        "partition": outcome["partition"],
        "brokerId": outcome["broker_id"],
        "status": outcome["status"],
        "reason": outcome["reason"],
        "sizeBefore": outcome["size_before"],
        "sizeAfter": outcome["size_after"],
    }
