# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The report of a recovery of log cleaners: how it was, what was done, how it is. Standard library only."""

from __future__ import annotations

from ansible_collections.kafkaops.recovery.plugins.module_utils.cleaner.diagnosis import Case
from ansible_collections.kafkaops.recovery.plugins.module_utils.documents.schemas.vocabulary import (
    BROKER_ID,
    CLUSTER_ID,
    INT32_MAX,
    INT64_MAX,
    PARTITION,
    SCHEMA_VERSION,
    SIZE_BYTES,
    TIME,
    TOPIC,
    array,
    boolean,
    document,
    integer,
    nullable,
    record,
    string,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils.documents.schemas.vocabulary import word as word_of
from ansible_collections.kafkaops.recovery.plugins.module_utils.model.cleaner_status import (
    RepairStatus,
    RestartStatus,
)

_COUNT = integer("a count", 0, INT32_MAX)
_MILLISECONDS = integer("a number of milliseconds", 0, INT64_MAX)
_CASE = word_of("a case", Case)

_BROKERS = array(
    "the brokers are a list",
    record(
        "a broker is an object",
        {
            "brokerId": BROKER_ID,
            "diagnosis": _CASE,
            "reason": string("a reason"),
            "isInferred": boolean("this"),
            "threads": nullable(_COUNT),
            "deadThreads": nullable(_COUNT),
            "timeSinceLastRunMs": nullable(_MILLISECONDS),
            "logDirs": array(
                "the log directories are a list",
                record(
                    "a log directory is an object",
                    {
                        "logDir": string("a log directory"),
                        "uncleanablePartitions": nullable(_COUNT),
                        "uncleanableBytes": nullable(SIZE_BYTES),
                    },
                ),
            ),
            "suspects": array(
                "the suspicious copies are a list",
                record(
                    "a suspicious copy is an object",
                    {
                        "topic": TOPIC,
                        "partition": PARTITION,
                        "sizeBytes": SIZE_BYTES,
                        "reason": string("a reason"),
                    },
                ),
            ),
        },
    ),
)

LOG_CLEANER_REPORT = document(
    "log-cleaner-report",
    "How log cleaners were, what was done about it, and how they are",
    record(
        "a report of log cleaners is an object",
        {
            "schemaVersion": SCHEMA_VERSION,
            "writtenAt": TIME,
            "clusterId": CLUSTER_ID,
            "isCheck": boolean("this"),
            "before": _BROKERS,
            "restarts": array(
                "the restarts are a list",
                record(
                    "a restart is an object",
                    {
                        "brokerId": BROKER_ID,
                        "status": word_of("a status", RestartStatus),
                        "reason": string("a reason"),
                        "verifiedBy": string("what it was verified by"),
                    },
                ),
            ),
            "repairs": array(
                "the repairs are a list",
                record(
                    "a repair is an object",
                    {
                        "topic": TOPIC,
                        "partition": PARTITION,
                        "brokerId": BROKER_ID,
                        "status": word_of("a status", RepairStatus),
                        "reason": string("a reason"),
                        "sizeBefore": nullable(SIZE_BYTES),
                        "sizeAfter": nullable(SIZE_BYTES),
                    },
                ),
            ),
            "leftovers": array(
                "what an earlier run left is a list",
                record(
                    "what an earlier run left is an object",
                    {
                        "change": string("a change"),
                        "undoing": string("what became of it"),
                        "reason": string("a reason"),
                    },
                ),
            ),
            "after": _BROKERS,
        },
    ),
)
