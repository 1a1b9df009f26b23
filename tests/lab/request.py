# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A request as it passed the proxy, and which requests are writes."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import kafka.protocol.admin
import kafka.protocol.consumer
import kafka.protocol.metadata
import kafka.protocol.producer
import kafka.protocol.sasl
from kafka.protocol.api_key import ApiKey
from kafka.protocol.api_message import ApiMessage

RUN_TOPIC = "_kafkaops_run"
"""The collection's default. The lab runs without the collection, too."""

READ_KEYS = frozenset(
    {
        ApiKey.Fetch,
        ApiKey.ListOffsets,
        ApiKey.Metadata,
        ApiKey.OffsetFetch,
        ApiKey.DescribeGroups,
        ApiKey.ListGroups,
        ApiKey.SaslHandshake,
        ApiKey.ApiVersions,
        ApiKey.OffsetForLeaderEpoch,
        ApiKey.DescribeAcls,
        ApiKey.DescribeConfigs,
        ApiKey.DescribeLogDirs,
        ApiKey.SaslAuthenticate,
        ApiKey.ListPartitionReassignments,
        ApiKey.DescribeClientQuotas,
        ApiKey.DescribeUserScramCredentials,
        ApiKey.DescribeQuorum,
        ApiKey.DescribeCluster,
        ApiKey.DescribeProducers,
        ApiKey.DescribeTransactions,
        ApiKey.ListTransactions,
        ApiKey.ConsumerGroupDescribe,
        ApiKey.GetTelemetrySubscriptions,
        ApiKey.ListConfigResources,
        ApiKey.DescribeTopicPartitions,
        ApiKey.ShareGroupDescribe,
        ApiKey.StreamsGroupDescribe,
        ApiKey.DescribeShareGroupOffsets,
    }
)
"""Requests that change nothing. Whatever is not named here counts as a write, unknown keys included."""


@dataclass(frozen=True)
class Request:
    """One request frame on its way to a broker."""

    time: float
    """Monotonic seconds."""
    broker: int
    api_key: int
    api_version: int
    correlation_id: int
    client_id: str | None
    payload: bytes = field(repr=False)
    """Header and body, without the length."""

    @classmethod
    def parse(cls, payload: bytes, *, broker: int, time: float) -> Request:
        """Read the header (versions 1 and 2 begin alike). Raises struct.error on a shorter frame."""
        api_key, api_version, correlation_id, client_id_length = struct.unpack_from(">hhih", payload)
        client_id = payload[10 : 10 + client_id_length].decode() if client_id_length >= 0 else None
        return cls(time, broker, api_key, api_version, correlation_id, client_id, payload)

    @property
    def name(self) -> str:
        """The API's name, or its number where kafka-python has no name for it."""
        try:
            return str(ApiKey(self.api_key).name)
        except ValueError:
            return str(self.api_key)

    @property
    def is_write(self) -> bool:
        """Return whether it can change something.

        Metadata does when it may create the topics it names, and CreateTopics unless it only has them checked.
        """
        if self.api_key == ApiKey.Metadata:
            body = self.decode()
            return bool(body.topics) and bool(body.allow_auto_topic_creation)
        if self.api_key == ApiKey.CreateTopics:
            return not self.decode().validate_only
        return self.api_key not in READ_KEYS

    @property
    def is_reassignment(self) -> bool:
        """Return whether it changes replica orders or sets, other than adding followers to a run topic.

        Every run that writes adds them, before its first change.
        """
        return self.api_key == ApiKey.AlterPartitionReassignments and RUN_TOPIC.encode() not in self.payload

    def decode(self) -> Any:
        """Return the kafka-python message. Raises KeyError for a request that it does not have."""
        return _MESSAGES[self.api_key, "request"].decode(self.payload, version=self.api_version, header=True)

    def decode_response(self, payload: bytes) -> Any:
        """Return the kafka-python message of the answer to this request."""
        return _MESSAGES[self.api_key, "response"].decode(payload, version=self.api_version, header=True)


def _messages() -> dict[tuple[int, str], Any]:
    """Return kafka-python's message classes by API key and type."""
    packages = (
        kafka.protocol.admin,
        kafka.protocol.consumer,
        kafka.protocol.metadata,
        kafka.protocol.producer,
        kafka.protocol.sasl,
    )
    exported: Iterator[Any] = (getattr(package, name) for package in packages for name in package.__all__)
    return {(value.API_KEY, value.type): value for value in exported if _is_message(value)}


def _is_message(value: object) -> bool:
    return isinstance(value, type) and issubclass(value, ApiMessage)


_MESSAGES = _messages()
