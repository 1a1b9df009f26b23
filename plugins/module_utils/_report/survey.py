# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Define which fields a report uses of a result of offline_partition_info, saved as JSON. Standard library only."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Annotated, Any, TypeAlias

from .._documents.dataclass_json import Schema, codec, document
from .._model.fields import INT32_MAX, BrokerId, ClusterId, LeaderEpoch, Meta, PartitionIndex, Time
from .._model.partition import Broker

_Brokers: TypeAlias = Annotated[tuple[BrokerId, ...], Meta(description="the brokers are a list of broker ids")]
_Partitions: TypeAlias = Annotated[int, Meta("a number of partitions", minimum=0, maximum=INT32_MAX)]


@dataclass(frozen=True, slots=True)
class _Partition:
    topic: str
    partition: PartitionIndex
    leader_epoch: LeaderEpoch
    replicas: _Brokers
    isr: _Brokers
    elr: _Brokers | None
    last_known_elr: _Brokers | None
    offline_replicas: _Brokers


@dataclass(frozen=True, slots=True)
class _Advice:
    broker_id: BrokerId
    explanation: str
    last_leader_of: _Partitions
    eligible_for: _Partitions
    replica_of: _Partitions
    always_back: _Partitions
    back_after_clean_stop: _Partitions
    doubtful_leaders: _Brokers
    is_running: bool


@dataclass(frozen=True, slots=True)
class _Survey:
    cluster_id: ClusterId
    looked_at: Time
    brokers: tuple[Broker, ...]
    partitions: tuple[Annotated[_Partition, Meta(description="a partition is an object")], ...]
    led_by_silent: _Partitions
    led_by_replaced: _Partitions
    start_order: Annotated[
        tuple[Annotated[_Advice, Meta(description="an advice is an object")], ...],
        Meta(description="the brokers to start are a list"),
    ]


def to_snake_case(schema: Schema) -> Schema:
    """Return the schema with keys in snake_case, as modules return them."""
    result = dict(schema)
    if "properties" in schema:
        result["properties"] = {_snake_case(key): to_snake_case(each) for key, each in schema["properties"].items()}
        result["required"] = [*result["properties"]]
    if schema.get("items"):
        result["items"] = to_snake_case(schema["items"])
    return result


def _snake_case(key: str) -> str:
    return re.sub("[A-Z]", lambda match: f"_{match.group().lower()}", key)


SURVEY = document(
    "survey",
    "Result of offline_partition_info",
    to_snake_case(codec(_Survey, "a result of offline_partition_info is an object").schema),
)


def keep_known_fields(value: Any, schema: Schema) -> Any:
    """Remove all fields that the schema does not name: Ansible adds fields to a result."""
    if isinstance(value, dict) and "properties" in schema:
        known = schema["properties"]
        return {name: keep_known_fields(each, known[name]) for name, each in value.items() if name in known}
    if isinstance(value, list) and schema.get("items"):
        return [keep_known_fields(each, schema["items"]) for each in value]
    return value
