# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The report of a quorum: its state, findings and verdicts. Standard library only."""

from __future__ import annotations

from ansible_collections.kafkaops.recovery.plugins.module_utils.documents.schemas.vocabulary import (
    CLUSTER_ID,
    INT32_MAX,
    INT64_MAX,
    LEADER_EPOCH,
    OFFSET,
    SCHEMA_VERSION,
    TIME,
    array,
    boolean,
    document,
    integer,
    nullable,
    record,
    string,
    text,
    word,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils.model.replica_log import Cause
from ansible_collections.kafkaops.recovery.plugins.module_utils.quorum.finding import Kind, Severity

_NODE_ID = integer("a node id", 0, INT32_MAX)
_MILLISECONDS = integer("a number of milliseconds", 0, INT64_MAX)
_FEATURE_LEVEL = integer("a feature level", 0, 32767)
_REASONS = array("the reasons are a list", string("a reason"))

_MEMBER = record(
    "a voter or observer is an object",
    {
        "replicaId": _NODE_ID,
        "directoryId": nullable(text("a directory id is 22 characters of URL-safe base64", "^[A-Za-z0-9_-]{22}$")),
        "endpoints": array(
            "the endpoints are a list",
            record(
                "an endpoint is an object",
                {"name": string("a listener"), "host": string("a host"), "port": integer("a port", 0, 65535)},
            ),
        ),
        "logEndOffset": nullable(OFFSET),
        "lagRecords": nullable(OFFSET),
        "lagMs": nullable(_MILLISECONDS),
        "sinceFetchMs": nullable(_MILLISECONDS),
        "isCaughtUp": boolean("this"),
    },
)

_CONTROLLER = record(
    "a controller is an object",
    {
        "address": string("an address"),
        "nodeId": nullable(_NODE_ID),
        "supportsPreVote": nullable(boolean("this")),
        "fetchTimeoutMs": nullable(_MILLISECONDS),
        "electionTimeoutMs": nullable(_MILLISECONDS),
        "autoJoin": nullable(boolean("this")),
        "cause": nullable(word("a cause", Cause)),
        "error": string("an error"),
    },
)

_FINDING = record(
    "a finding is an object",
    {
        "kind": word("a kind", Kind),
        "severity": word("a severity", Severity),
        "nodeIds": array("the node ids are a list", _NODE_ID),
        "evidence": array(
            "the evidence is a list",
            record("a piece of evidence is an object", {"name": string("a name"), "value": string("a value")}),
        ),
        "meaning": string("a meaning"),
        "remedy": string("a remedy"),
    },
)

_VERDICT = record("a verdict is an object", {"allowed": boolean("this"), "reasons": _REASONS})
_NODE_VERDICTS = array(
    "the verdicts are a list",
    record("a verdict is an object", {"nodeId": _NODE_ID, "allowed": boolean("this"), "reasons": _REASONS}),
)

QUORUM_REPORT = document(
    "quorum-report",
    "What was found out about the quorum of the controllers",
    record(
        "a report of a quorum is an object",
        {
            "schemaVersion": SCHEMA_VERSION,
            "startedAt": TIME,
            "finishedAt": TIME,
            "windowMs": _MILLISECONDS,
            "clusterId": nullable(CLUSTER_ID),
            "leaderId": nullable(_NODE_ID),
            "leaderEpoch": nullable(LEADER_EPOCH),
            "highWatermark": nullable(OFFSET),
            "kraftVersion": nullable(_FEATURE_LEVEL),
            "metadataVersion": nullable(_FEATURE_LEVEL),
            "fetchTimeoutMs": nullable(_MILLISECONDS),
            "electionTimeoutMs": nullable(_MILLISECONDS),
            "voters": array("the voters are a list", _MEMBER),
            "observers": array("the observers are a list", _MEMBER),
            "controllers": array("the controllers that were asked are a list", _CONTROLLER),
            "findings": array("the findings are a list", _FINDING),
            "verdicts": record(
                "the verdicts are an object",
                {
                    "elections": _VERDICT,
                    "restart": _NODE_VERDICTS,
                    "removal": _NODE_VERDICTS,
                    "addition": _NODE_VERDICTS,
                },
            ),
        },
    ),
)
