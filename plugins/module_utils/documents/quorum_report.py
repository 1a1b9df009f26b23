# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The report of a quorum: its state, findings and verdicts. It holds no secret.

Schema: docs/schemas/quorum-report.schema.json.
"""

from __future__ import annotations

import json
from typing import Any

from ansible_collections.kafkaops.recovery.plugins.module_utils.documents.fault import DocumentError
from ansible_collections.kafkaops.recovery.plugins.module_utils.documents.files import write_new_file
from ansible_collections.kafkaops.recovery.plugins.module_utils.documents.json_text import readable
from ansible_collections.kafkaops.recovery.plugins.module_utils.documents.schemas.quorum_report import QUORUM_REPORT
from ansible_collections.kafkaops.recovery.plugins.module_utils.documents.validation import schema_faults
from ansible_collections.kafkaops.recovery.plugins.module_utils.quorum.assessment import (
    Assessment,
    Member,
    NodeVerdict,
    Verdicts,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils.quorum.finding import Finding
from ansible_collections.kafkaops.recovery.plugins.module_utils.quorum.observation import Controller

SCHEMA_VERSION = 1


def write_quorum_report(assessment: Assessment, started_at: str, finished_at: str, path: str) -> None:
    """Writes the report, mode 0600.

    Raises DocumentError when something has that name already (``files.refuse_existing`` tells beforehand), when it
    cannot be written, and when the report does not meet its own schema.
    """
    document = quorum_report_document(assessment, started_at, finished_at)
    faults = schema_faults(document, QUORUM_REPORT)
    if faults:
        raise DocumentError(path, faults)
    write_new_file(path, readable(document))


def quorum_report_document(assessment: Assessment, started_at: str, finished_at: str) -> dict[str, Any]:
    """The report as it stands in a file."""
    return {
        "schemaVersion": SCHEMA_VERSION,
        "startedAt": started_at,
        "finishedAt": finished_at,
        "windowMs": assessment.window_ms,
        "clusterId": assessment.cluster_id,
        "leaderId": assessment.leader_id,
        "leaderEpoch": assessment.leader_epoch,
        "highWatermark": assessment.high_watermark,
        "kraftVersion": assessment.kraft_version,
        "metadataVersion": assessment.metadata_version,
        "fetchTimeoutMs": assessment.fetch_timeout_ms,
        "electionTimeoutMs": assessment.election_timeout_ms,
        "voters": [_member_to_json(each) for each in assessment.voters],
        "observers": [_member_to_json(each) for each in assessment.observers],
        "controllers": [_controller_to_json(each) for each in assessment.controllers],
        "findings": [_finding_to_json(each) for each in assessment.findings],
        "verdicts": _verdicts_to_json(assessment.verdicts),
    }


def _member_to_json(member: Member) -> dict[str, Any]:
    return {
        "replicaId": member.replica_id,
        "directoryId": member.directory_id,
        "endpoints": [{"name": each.name, "host": each.host, "port": each.port} for each in member.endpoints],
        "logEndOffset": member.log_end_offset,
        "lagRecords": member.lag_records,
        "lagMs": member.lag_ms,
        "sinceFetchMs": member.since_fetch_ms,
        "isCaughtUp": member.is_caught_up,
    }


def _controller_to_json(controller: Controller) -> dict[str, Any]:
    return {
        "address": controller.address,
        "nodeId": controller.node_id,
        "supportsPreVote": controller.supports_pre_vote,
        "fetchTimeoutMs": controller.fetch_timeout_ms,
        "electionTimeoutMs": controller.election_timeout_ms,
        "autoJoin": controller.auto_join,
        "cause": None if controller.cause is None else controller.cause.value,
        "error": controller.error,
    }


def _finding_to_json(finding: Finding) -> dict[str, Any]:
    return {
        "kind": finding.kind.value,
        "severity": finding.severity.value,
        "nodeIds": list(finding.node_ids),
        "evidence": [{"name": name, "value": _shown(value)} for name, value in finding.evidence.items()],
        "meaning": finding.meaning,
        "remedy": finding.remedy,
    }


def _shown(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _verdicts_to_json(verdicts: Verdicts) -> dict[str, Any]:
    return {
        "elections": {"allowed": verdicts.elections.allowed, "reasons": list(verdicts.elections.reasons)},
        "restart": [_verdict_to_json(each) for each in verdicts.restart],
        "removal": [_verdict_to_json(each) for each in verdicts.removal],
        "addition": [_verdict_to_json(each) for each in verdicts.addition],
    }


def _verdict_to_json(verdict: NodeVerdict) -> dict[str, Any]:
    return {"nodeId": verdict.node_id, "allowed": verdict.allowed, "reasons": list(verdict.reasons)}
