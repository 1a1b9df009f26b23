# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The leadership report: the list, replica orders and leaders, before and after. Standard library only."""

from __future__ import annotations

from ansible_collections.kafkaops.recovery.plugins.module_utils.documents.schemas.vocabulary import (
    BROKER_ID,
    CLUSTER_ID,
    LEADER_ID,
    PARTITION,
    SCHEMA_VERSION,
    TIME,
    TOPIC,
    TOPIC_ID,
    array,
    boolean,
    document,
    nullable,
    record,
    string,
    word,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils.leadership.drift import Drift
from ansible_collections.kafkaops.recovery.plugins.module_utils.leadership.moves import MoveStatus
from ansible_collections.kafkaops.recovery.plugins.module_utils.leadership.outcome import OrderStatus
from ansible_collections.kafkaops.recovery.plugins.module_utils.leadership.report import Mode

_ORDER = array("an order is a list of broker ids, the preferred leader first", BROKER_ID)
_BROKERS = array("listed brokers are a list of broker ids", BROKER_ID)

BLACKLIST = record(
    "the list is an object",
    {
        "brokers": _BROKERS,
        "byTopic": array(
            "the lists of topics are a list",
            record("a list of topics is an object", {"pattern": string("a pattern"), "brokers": _BROKERS}),
        ),
    },
)

ORDER_OUTCOME = record(
    "an order's outcome is an object",
    {
        "topic": TOPIC,
        "partition": PARTITION,
        "status": word("an order's status", OrderStatus),
        "reason": string("a reason"),
        "topicId": nullable(TOPIC_ID),
        "drift": word("a drift", Drift),
        "replicas": nullable(_ORDER),
        "replicasAfter": nullable(_ORDER),
        "original": nullable(_ORDER),
    },
)

MOVE = record(
    "a leader's outcome is an object",
    {
        "topic": TOPIC,
        "partition": PARTITION,
        "status": word("a leader's status", MoveStatus),
        "reason": string("a reason"),
        "leaderBefore": LEADER_ID,
        "leaderAfter": nullable(LEADER_ID),
        "target": BROKER_ID,
        "topicId": TOPIC_ID,
        "replicas": _ORDER,
        "isr": array("an ISR is a list of broker ids", BROKER_ID),
    },
)

LEADERSHIP_REPORT = document(
    "leadership-report",
    "What became of the list of deprioritised brokers, of replica orders, and of leaders",
    record(
        "a leadership report is an object",
        {
            "schemaVersion": SCHEMA_VERSION,
            "clusterId": CLUSTER_ID,
            "startedAt": TIME,
            "finishedAt": TIME,
            "mode": word("a mode", Mode),
            "before": BLACKLIST,
            "after": BLACKLIST,
            "isNative": boolean("this"),
            "rememberedIn": string("a place"),
            "orders": array("the orders are a list", ORDER_OUTCOME),
            "leaders": nullable(array("the leaders are a list", MOVE)),
        },
    ),
)
