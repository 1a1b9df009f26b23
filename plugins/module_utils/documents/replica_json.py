# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Candidates and silent replicas, to JSON and back: plans and reports both hold them. Standard library only.

Values that come from JSON have met their schema before they get here.
"""

from __future__ import annotations

from typing import Any

from ansible_collections.kafkaops.recovery.plugins.module_utils.model.replica_log import Cause, EpochEnd
from ansible_collections.kafkaops.recovery.plugins.module_utils.recovery.candidate import Candidate, Flag, SilentReplica


def candidate_to_json(candidate: Candidate) -> dict[str, Any]:
    return {
        "brokerId": candidate.broker_id,
        "rank": candidate.rank,
        "lastWrittenEpoch": candidate.last_written_epoch,
        "logStartOffset": candidate.log_start_offset,
        "logEndOffset": candidate.log_end_offset,
        "lineage": [[end.epoch, end.end_offset] for end in candidate.lineage],
        "sizeBytes": candidate.size_bytes,
        "flags": [flag.value for flag in candidate.flags],
        "explanation": candidate.explanation,
    }


def candidate_from_json(value: dict[str, Any]) -> Candidate:
    return Candidate(
        broker_id=value["brokerId"],
        rank=value["rank"],
        last_written_epoch=value["lastWrittenEpoch"],
        log_start_offset=value["logStartOffset"],
        log_end_offset=value["logEndOffset"],
        lineage=tuple(EpochEnd(epoch, end_offset) for epoch, end_offset in value["lineage"]),
        size_bytes=value["sizeBytes"],
        flags=tuple(Flag(flag) for flag in value["flags"]),
        explanation=value["explanation"],
    )


def silent_to_json(silent: SilentReplica) -> dict[str, Any]:
    return {"brokerId": silent.broker_id, "cause": silent.cause.value, "error": silent.error}


def silent_from_json(value: dict[str, Any]) -> SilentReplica:
    return SilentReplica(broker_id=value["brokerId"], cause=Cause(value["cause"]), error=value["error"])
