# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The words that the schemas share.

A schema's ``description`` says what a value must be; it is also what a person reads when the value is something else.
Only keywords that ``screen.py`` knows are used. Standard library only.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Any

from ansible_collections.kafkaops.recovery.plugins.module_utils.model.replica_log import Cause
from ansible_collections.kafkaops.recovery.plugins.module_utils.recovery.candidate import Flag

Schema = dict[str, Any]

DIALECT = "https://json-schema.org/draft/2020-12/schema"
INT32_MAX = 2**31 - 1
INT64_MAX = 2**63 - 1


def integer(what: str, minimum: int, maximum: int) -> Schema:
    """An integer between two bounds, both included. 3.0 is none, although JSON Schema says so: see validation.py."""
    description = f"{what} is an integer from {minimum} to {maximum}"
    return {"description": description, "type": "integer", "minimum": minimum, "maximum": maximum}


def string(what: str) -> Schema:
    return {"description": f"{what} is a string", "type": "string"}


def boolean(what: str) -> Schema:
    return {"description": f"{what} is true or false", "type": "boolean"}


def text(what: str, pattern: str) -> Schema:
    """A string that matches a pattern. The pattern is anchored at both ends."""
    return {"description": what, "type": "string", "pattern": pattern}


def word(what: str, words: type[StrEnum]) -> Schema:
    """One of Kafka's or our own fixed words."""
    values = [word.value for word in words]
    return {"description": f"{what} is one of {', '.join(values)}", "type": "string", "enum": values}


def array(what: str, items: Schema, min_items: int = 0) -> Schema:
    return {"description": what, "type": "array", "items": items, "minItems": min_items}


def record(what: str, properties: dict[str, Schema]) -> Schema:
    """An object in which every key is there, and no other one."""
    return {
        "description": what,
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def document(name: str, title: str, schema: Schema) -> Schema:
    """A schema as it is published in docs/schemas/."""
    return {"$schema": DIALECT, "$id": f"urn:kafkaops:recovery:{name}", "title": title, **schema}


def nullable(schema: Schema) -> Schema:
    """The same, or null where it is not known."""
    allowed = {
        **schema,
        "description": f"{schema['description']}, or null if not known",
        "type": [schema["type"], "null"],
    }
    return {**allowed, "enum": [*schema["enum"], None]} if "enum" in schema else allowed


TOPIC = text(
    'a topic name has 1 to 249 of the characters a-z, A-Z, 0-9, ".", "_" and "-", and is neither "." nor ".."',
    r"^(?!\.\.?$)[a-zA-Z0-9._-]{1,249}$",
)
"""org.apache.kafka.common.internals.Topic.validate."""
TOPIC_ID = text("a topic id is 22 characters of URL-safe base64", "^[A-Za-z0-9_-]{22}$")
CLUSTER_ID = text("a cluster id is not empty, and has no spaces", "^[!-~]+$")
TIME = text(
    "a time is UTC in ISO 8601, to the second: 2026-01-31T23:59:59Z",
    "^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z$",
)
PARTITION = integer("a partition", 0, INT32_MAX)
BROKER_ID = integer("a broker id", 0, INT32_MAX)
LEADER_ID = integer("a leader's broker id (-1: no leader)", -1, INT32_MAX)
LEADER_EPOCH = integer("a leader epoch", 0, INT32_MAX)
OFFSET = integer("an offset", 0, INT64_MAX)
SIZE_BYTES = integer("a size in bytes", 0, INT64_MAX)
SCHEMA_VERSION = {
    "description": "the schema version that this version of kafkaops.recovery reads is 1",
    "type": "integer",
    "minimum": 1,
    "maximum": 1,
}
_EPOCH_END = {
    "description": "an epoch of the log is a list of two: the leader epoch, and the offset after its last record",
    "type": "array",
    "prefixItems": [LEADER_EPOCH, OFFSET],
    "items": False,
    "minItems": 2,
}

CANDIDATE = record(
    "a candidate is an object",
    {
        "brokerId": BROKER_ID,
        "rank": integer("a rank", 1, INT32_MAX),
        "lastWrittenEpoch": nullable(LEADER_EPOCH),
        "logStartOffset": OFFSET,
        "logEndOffset": OFFSET,
        "lineage": array("a lineage is a list of leader epochs with their end offsets, oldest first", _EPOCH_END),
        "sizeBytes": nullable(SIZE_BYTES),
        "flags": array("flags are a list", word("a flag", Flag)),
        "explanation": string("an explanation"),
    },
)

SILENT_REPLICA = record(
    "a silent replica is an object",
    {"brokerId": BROKER_ID, "cause": word("a cause", Cause), "error": string("an error")},
)

_STRETCH = {
    "description": "a stretch is a list of three: the leader epoch, its first offset, and the one after its last",
    "type": "array",
    "prefixItems": [LEADER_EPOCH, OFFSET, OFFSET],
    "items": False,
    "minItems": 3,
}
_STRETCHES = array("what is lost is a list of stretches", _STRETCH)

EXPECTED_LOSS = record(
    "an expected loss is an object",
    {
        "brokerId": BROKER_ID,
        "atLeast": integer("a number of records", 0, INT64_MAX),
        "atMost": nullable(integer("a number of records", 0, INT64_MAX)),
        "moreThanFirst": nullable(integer("a difference of records", -INT64_MAX, INT64_MAX)),
        "explanation": string("an explanation"),
        "against": array(
            "the comparisons are a list",
            record(
                "a comparison is an object",
                {
                    "brokerId": BROKER_ID,
                    "answered": boolean("this"),
                    "lost": nullable(_STRETCHES),
                    "divergenceOffset": nullable(OFFSET),
                    "deleted": _STRETCHES,
                    "untold": _STRETCHES,
                    "holdsNoMoreThan": nullable(BROKER_ID),
                },
            ),
        ),
    },
)
