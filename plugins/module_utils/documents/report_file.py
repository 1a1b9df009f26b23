# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The report file: how every requested partition ended. It holds no secret.

Schema: docs/schemas/report-file.schema.json.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ansible_collections.kafkaops.recovery.plugins.module_utils.documents.fault import refuse_if_any
from ansible_collections.kafkaops.recovery.plugins.module_utils.documents.files import write_new_file
from ansible_collections.kafkaops.recovery.plugins.module_utils.documents.json_text import readable
from ansible_collections.kafkaops.recovery.plugins.module_utils.documents.loss_json import loss_to_json
from ansible_collections.kafkaops.recovery.plugins.module_utils.documents.replica_json import (
    candidate_to_json,
    silent_to_json,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils.documents.schemas.report_file import REPORT_FILE
from ansible_collections.kafkaops.recovery.plugins.module_utils.documents.validation import schema_faults
from ansible_collections.kafkaops.recovery.plugins.module_utils.model.broker import Broker
from ansible_collections.kafkaops.recovery.plugins.module_utils.recovery.aftermath import Finding
from ansible_collections.kafkaops.recovery.plugins.module_utils.recovery.outcome import Outcome, Report

SCHEMA_VERSION = 1


def write_report(report: Report, path: str, aftermath: Sequence[Finding] = ()) -> dict[str, Any]:
    """Write a report file, mode 0600, and return what is in it.

    Raises DocumentError when something has that name already (``files.refuse_existing`` tells beforehand), when it
    cannot be written, and when the report does not meet its own schema.
    """
    document = report_document(report, aftermath)
    refuse_if_any(path, schema_faults(document, REPORT_FILE))
    write_new_file(path, readable(document))
    return document


def report_document(report: Report, aftermath: Sequence[Finding] = ()) -> dict[str, Any]:
    """The report as it stands in a file."""
    return {
        "schemaVersion": SCHEMA_VERSION,
        "clusterId": report.cluster_id,
        "startedAt": report.started_at,
        "finishedAt": report.finished_at,
        "mode": report.mode.value,
        "summary": report.summary,
        "brokers": [_broker_to_json(broker) for broker in report.brokers],
        "partitions": [_outcome_to_json(outcome) for outcome in report.outcomes],
        "aftermath": [_finding_to_json(finding) for finding in aftermath],
    }


def _broker_to_json(broker: Broker) -> dict[str, Any]:
    return {
        "brokerId": broker.broker_id,
        "host": broker.host,
        "port": broker.port,
        "rack": broker.rack,
        "isFenced": broker.is_fenced,
        "state": broker.state.value,
        "cause": broker.cause,
    }


def _finding_to_json(finding: Finding) -> dict[str, Any]:
    return {
        "kind": finding.kind.value,
        "topic": finding.topic,
        "partition": finding.partition,
        "explanation": finding.explanation,
    }


def _outcome_to_json(outcome: Outcome) -> dict[str, Any]:
    return {
        "topic": outcome.topic,
        "partition": outcome.partition,
        "status": outcome.status.value,
        "reason": outcome.reason,
        "topicId": outcome.topic_id,
        "designatedLeader": outcome.designated_leader,
        "leaderBefore": outcome.leader_before,
        "leaderAfter": outcome.leader_after,
        "leaderEpochBefore": outcome.leader_epoch_before,
        "leaderEpochAfter": outcome.leader_epoch_after,
        "replicas": list(outcome.replicas),
        "replicasAfter": None if outcome.replicas_after is None else list(outcome.replicas_after),
        "candidates": [candidate_to_json(candidate) for candidate in outcome.candidates],
        "silent": [silent_to_json(silent) for silent in outcome.silent],
        "losses": [loss_to_json(loss) for loss in outcome.losses],
    }
