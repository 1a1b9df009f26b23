# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A plan, to JSON and back. Standard library only.

Keys are those of the KIP (KAFKA-20098), and in its style where it has none. Values that come from JSON have met their
schema before they get here.
"""

from __future__ import annotations

from typing import Any

from ansible_collections.kafkaops.recovery.plugins.module_utils.documents.loss_json import loss_from_json, loss_to_json
from ansible_collections.kafkaops.recovery.plugins.module_utils.documents.replica_json import (
    candidate_from_json,
    candidate_to_json,
    silent_from_json,
    silent_to_json,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils.recovery.plan import (
    ElectionType,
    LeftAlone,
    Plan,
    PlannedElection,
    Status,
)

SCHEMA_VERSION = 1
CREATED_BY = "kafkaops.recovery"


def plan_to_json(plan: Plan) -> dict[str, Any]:
    """Everything but the digest."""
    return {
        "schemaVersion": SCHEMA_VERSION,
        "clusterId": plan.cluster_id,
        "createdAt": plan.created_at,
        "createdBy": CREATED_BY,
        "partitions": [_election_to_json(election) for election in plan.elections],
        "leftAlone": [_left_alone_to_json(left) for left in plan.left_alone],
    }


def plan_from_json(value: dict[str, Any]) -> Plan:
    return Plan(
        cluster_id=value["clusterId"],
        created_at=value["createdAt"],
        elections=tuple(_election_from_json(entry) for entry in value["partitions"]),
        left_alone=tuple(_left_alone_from_json(entry) for entry in value["leftAlone"]),
    )


def _election_to_json(election: PlannedElection) -> dict[str, Any]:
    return {
        "topic": election.topic,
        "partition": election.partition,
        "designatedLeader": election.designated_leader,
        "topicId": election.topic_id,
        "leaderEpoch": election.leader_epoch,
        "replicas": list(election.replicas),
        "isr": list(election.isr),
        "elr": _list_or_none(election.elr),
        "lastKnownElr": _list_or_none(election.last_known_elr),
        "reason": election.reason,
        "candidates": [candidate_to_json(candidate) for candidate in election.candidates],
        "silent": [silent_to_json(silent) for silent in election.silent],
        "losses": [loss_to_json(loss) for loss in election.losses],
        "electionType": election.election_type.value,
    }


def _election_from_json(value: dict[str, Any]) -> PlannedElection:
    return PlannedElection(
        topic=value["topic"],
        partition=value["partition"],
        topic_id=value["topicId"],
        leader_epoch=value["leaderEpoch"],
        replicas=tuple(value["replicas"]),
        isr=tuple(value["isr"]),
        elr=_tuple_or_none(value["elr"]),
        last_known_elr=_tuple_or_none(value["lastKnownElr"]),
        designated_leader=value["designatedLeader"],
        reason=value["reason"],
        candidates=tuple(candidate_from_json(candidate) for candidate in value["candidates"]),
        silent=tuple(silent_from_json(silent) for silent in value["silent"]),
        losses=tuple(loss_from_json(loss) for loss in value["losses"]),
        election_type=ElectionType(value["electionType"]),
    )


def _left_alone_to_json(left: LeftAlone) -> dict[str, Any]:
    return {
        "topic": left.topic,
        "partition": left.partition,
        "status": left.status.value,
        "reason": left.reason,
        "topicId": left.topic_id,
        "leaderId": left.leader_id,
        "leaderEpoch": left.leader_epoch,
        "replicas": list(left.replicas),
        "candidates": [candidate_to_json(candidate) for candidate in left.candidates],
        "silent": [silent_to_json(silent) for silent in left.silent],
        "losses": [loss_to_json(loss) for loss in left.losses],
    }


def _left_alone_from_json(value: dict[str, Any]) -> LeftAlone:
    return LeftAlone(
        topic=value["topic"],
        partition=value["partition"],
        status=Status(value["status"]),
        reason=value["reason"],
        topic_id=value["topicId"],
        leader_id=value["leaderId"],
        leader_epoch=value["leaderEpoch"],
        replicas=tuple(value["replicas"]),
        candidates=tuple(candidate_from_json(candidate) for candidate in value["candidates"]),
        silent=tuple(silent_from_json(silent) for silent in value["silent"]),
        losses=tuple(loss_from_json(loss) for loss in value["losses"]),
    )


def _list_or_none(brokers: tuple[int, ...] | None) -> list[int] | None:
    return None if brokers is None else list(brokers)


def _tuple_or_none(brokers: list[int] | None) -> tuple[int, ...] | None:
    return None if brokers is None else tuple(brokers)
