# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The plan file: a superset of what the KIP's elect tool reads (KAFKA-20098). Standard library only."""

from __future__ import annotations

from ansible_collections.kafkaops.recovery.plugins.module_utils.documents.schemas.vocabulary import (
    BROKER_ID,
    CANDIDATE,
    CLUSTER_ID,
    EXPECTED_LOSS,
    LEADER_EPOCH,
    LEADER_ID,
    PARTITION,
    SCHEMA_VERSION,
    SILENT_REPLICA,
    TIME,
    TOPIC,
    TOPIC_ID,
    array,
    document,
    nullable,
    record,
    string,
    text,
    word,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils.recovery.plan import ElectionType, Status

ELECTION = record(
    "a planned election is an object",
    {
        "topic": TOPIC,
        "partition": PARTITION,
        "designatedLeader": BROKER_ID,
        "topicId": TOPIC_ID,
        "leaderEpoch": LEADER_EPOCH,
        "replicas": array("the replicas are a list of at least one broker id", BROKER_ID, 1),
        "isr": array("the ISR is a list of broker ids", BROKER_ID),
        "elr": nullable(array("the ELR is a list of broker ids", BROKER_ID)),
        "lastKnownElr": nullable(array("the last known ELR is a list of broker ids", BROKER_ID)),
        "reason": string("a reason"),
        "candidates": array("the candidates are a list", CANDIDATE),
        "silent": array("the silent replicas are a list", SILENT_REPLICA),
        "losses": array("the expected losses are a list", EXPECTED_LOSS),
        "electionType": word("an election type", ElectionType),
    },
)
"""The first three are the KIP's."""

LEFT_ALONE = record(
    "a partition that is left alone is an object",
    {
        "topic": TOPIC,
        "partition": PARTITION,
        "status": word("a status", Status),
        "reason": string("a reason"),
        "topicId": nullable(TOPIC_ID),
        "leaderId": nullable(LEADER_ID),
        "leaderEpoch": nullable(LEADER_EPOCH),
        "replicas": array("the replicas are a list of broker ids", BROKER_ID),
        "candidates": array("the candidates are a list", CANDIDATE),
        "silent": array("the silent replicas are a list", SILENT_REPLICA),
        "losses": array("the expected losses are a list", EXPECTED_LOSS),
    },
)

DIGEST = text("a digest is sha256: and 64 characters of 0-9 and a-f", "^sha256:[0-9a-f]{64}$")

PLAN_FILE = document(
    "plan-file",
    "What one run intends",
    record(
        "a plan file is an object",
        {
            "schemaVersion": SCHEMA_VERSION,
            "clusterId": CLUSTER_ID,
            "createdAt": TIME,
            "createdBy": string("what made the plan"),
            "partitions": array("the planned elections are a list", ELECTION),
            "leftAlone": array("what is left alone is a list", LEFT_ALONE),
            "digest": DIGEST,
        },
    ),
)
