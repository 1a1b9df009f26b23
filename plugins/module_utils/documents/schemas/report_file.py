# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The report file: how every requested partition ended. Standard library only."""

from __future__ import annotations

from ansible_collections.kafkaops.recovery.plugins.module_utils.documents.schemas.vocabulary import (
    BROKER_ID,
    CANDIDATE,
    CLUSTER_ID,
    EXPECTED_LOSS,
    INT32_MAX,
    LEADER_EPOCH,
    LEADER_ID,
    PARTITION,
    SCHEMA_VERSION,
    SILENT_REPLICA,
    TIME,
    TOPIC,
    TOPIC_ID,
    array,
    boolean,
    document,
    integer,
    nullable,
    record,
    string,
    word,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils.model.broker import BrokerState
from ansible_collections.kafkaops.recovery.plugins.module_utils.recovery.aftermath import Kind
from ansible_collections.kafkaops.recovery.plugins.module_utils.recovery.outcome import Mode
from ansible_collections.kafkaops.recovery.plugins.module_utils.recovery.plan import Status

BROKER = record(
    "a broker is an object",
    {
        "brokerId": BROKER_ID,
        "host": nullable(string("a host")),
        "port": nullable(integer("a port", 0, 65535)),
        "rack": nullable(string("a rack")),
        "isFenced": boolean("this"),
        "state": word("a broker's state", BrokerState),
        "cause": string("a cause"),
    },
)

OUTCOME = record(
    "an outcome is an object",
    {
        "topic": TOPIC,
        "partition": PARTITION,
        "status": word("a status", Status),
        "reason": string("a reason"),
        "topicId": nullable(TOPIC_ID),
        "designatedLeader": nullable(BROKER_ID),
        "leaderBefore": nullable(LEADER_ID),
        "leaderAfter": nullable(LEADER_ID),
        "leaderEpochBefore": nullable(LEADER_EPOCH),
        "leaderEpochAfter": nullable(LEADER_EPOCH),
        "replicas": array("the replicas are a list of broker ids", BROKER_ID),
        "replicasAfter": nullable(array("the replicas are a list of broker ids", BROKER_ID)),
        "candidates": array("the candidates are a list", CANDIDATE),
        "silent": array("the silent replicas are a list", SILENT_REPLICA),
        "losses": array("the expected losses are a list", EXPECTED_LOSS),
    },
)

FINDING = record(
    "a finding is an object",
    {
        "kind": word("a kind of finding", Kind),
        "topic": nullable(TOPIC),
        "partition": nullable(PARTITION),
        "explanation": string("an explanation"),
    },
)

REPORT_FILE = document(
    "report-file",
    "How every requested partition ended",
    record(
        "a report file is an object",
        {
            "schemaVersion": SCHEMA_VERSION,
            "clusterId": CLUSTER_ID,
            "startedAt": TIME,
            "finishedAt": TIME,
            "mode": word("a mode", Mode),
            "summary": record(
                "the summary is an object",
                {status.value: integer("a number of partitions", 0, INT32_MAX) for status in Status},
            ),
            "brokers": array("the brokers are a list", BROKER),
            "partitions": array("the outcomes are a list", OUTCOME),
            "aftermath": array("what is left behind is a list", FINDING),
        },
    ),
)
