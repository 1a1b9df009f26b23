# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The leadership report as a file. It holds no secret.

Schema: docs/schemas/leadership-report.schema.json.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any

from ansible_collections.kafkaops.recovery.plugins.module_utils.documents.fault import Fault, refuse_if_any
from ansible_collections.kafkaops.recovery.plugins.module_utils.documents.files import write_new_file
from ansible_collections.kafkaops.recovery.plugins.module_utils.documents.json_text import readable
from ansible_collections.kafkaops.recovery.plugins.module_utils.documents.schemas.leadership_report import (
    LEADERSHIP_REPORT,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils.documents.strict_json import read_json
from ansible_collections.kafkaops.recovery.plugins.module_utils.documents.validation import schema_faults
from ansible_collections.kafkaops.recovery.plugins.module_utils.leadership.blacklist import Blacklist
from ansible_collections.kafkaops.recovery.plugins.module_utils.leadership.moves import Move
from ansible_collections.kafkaops.recovery.plugins.module_utils.leadership.outcome import OrderOutcome
from ansible_collections.kafkaops.recovery.plugins.module_utils.leadership.report import LeadershipReport

SCHEMA_VERSION = 1


def write_leadership_report(report: LeadershipReport, path: str) -> None:
    """Write a report, mode 0600.

    Raises DocumentError when something has that name already, or when it cannot be written.
    """
    document = report_document(report)
    refuse_if_any(path, schema_faults(document, LEADERSHIP_REPORT))
    write_new_file(path, readable(document))


def read_leadership_report(path: str, cluster_id: str | None = None) -> dict[str, Any]:
    """A report that was written before any election.

    Raises DocumentError when it is no report, is of another cluster than the one given, or has elections already.
    """
    document: dict[str, Any] = read_json(path, partial(_faults, cluster_id))
    return document


def add_leaders(path: str, cluster_id: str, moves: Iterable[Move], finished_at: str) -> None:
    """Put elections into the report that was written before them.

    Raises DocumentError.
    """
    document = read_leadership_report(path, cluster_id)
    document |= {"finishedAt": finished_at, "leaders": [_move_to_json(each) for each in moves]}
    refuse_if_any(path, schema_faults(document, LEADERSHIP_REPORT))
    temporary = f"{path}.{os.getpid()}"
    write_new_file(temporary, readable(document))
    os.replace(temporary, path)


def report_document(report: LeadershipReport) -> dict[str, Any]:
    """The report as it stands in a file."""
    return {
        "schemaVersion": SCHEMA_VERSION,
        "clusterId": report.cluster_id,
        "startedAt": report.started_at,
        "finishedAt": report.finished_at,
        "mode": report.mode.value,
        "before": _list_to_json(report.before),
        "after": _list_to_json(report.after),
        "isNative": report.is_native,
        "rememberedIn": report.remembered_in,
        "orders": [_order_to_json(each) for each in report.orders],
        "leaders": None if report.leaders is None else [_move_to_json(each) for each in report.leaders],
    }


def _faults(cluster_id: str | None, value: Any) -> Iterator[Fault]:
    faults = schema_faults(value, LEADERSHIP_REPORT)
    yield from faults
    if faults:
        return
    if value["leaders"] is not None:
        yield Fault("/leaders", "there are elections in it already", "Give the report of this run's orders")
    if cluster_id is not None and value["clusterId"] != cluster_id:
        problem = f"is {value['clusterId']}, and this is cluster {cluster_id}"
        yield Fault("/clusterId", problem, "Give the report of this cluster")


def _list_to_json(blacklist: Blacklist) -> dict[str, Any]:
    by_topic = [{"pattern": pattern, "brokers": list(brokers)} for pattern, brokers in blacklist.by_topic.items()]
    return {"brokers": list(blacklist.brokers), "byTopic": by_topic}


def _order_to_json(outcome: OrderOutcome) -> dict[str, Any]:
    return {
        "topic": outcome.topic,
        "partition": outcome.partition,
        "status": outcome.status.value,
        "reason": outcome.reason,
        "topicId": outcome.topic_id,
        "drift": outcome.drift.value,
        "replicas": _listed(outcome.replicas),
        "replicasAfter": _listed(outcome.replicas_after),
        "original": _listed(outcome.original),
    }


def _move_to_json(move: Move) -> dict[str, Any]:
    return {
        "topic": move.topic,
        "partition": move.partition,
        "status": move.status.value,
        "reason": move.reason,
        "leaderBefore": move.leader_before,
        "leaderAfter": move.leader_after,
        "target": move.target,
        "topicId": move.topic_id,
        "replicas": list(move.replicas),
        "isr": list(move.isr),
    }


def _listed(order: tuple[int, ...] | None) -> list[int] | None:
    return None if order is None else list(order)
