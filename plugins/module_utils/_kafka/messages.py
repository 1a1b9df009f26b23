# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What messages are made of: partitions grouped by topic, batches, Uuids, a Fetch request, definitions of new messages.

Messages that kafka-python does not have are made from Kafka's own definitions. A definition is what a
``common/message/*.json`` of the kafka-clients jar holds, as a Python dict: AnsiballZ packs only Python files. A message
class carries it in ``definition``:

    class FrobnicateRequest(ApiMessage, metaclass=DefinedMessage):
        definition = defined(4711, "FrobnicateRequest", [field("Strength", "int32")])
"""

from __future__ import annotations

import base64
import re
import uuid
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, TypeVar

from .._model.partition import TopicPartition

with suppress(ImportError):  # a missing library is named before anything is done (_module/run.py)
    from kafka.protocol.api_data import JsonSchemaData
    from kafka.protocol.api_message import ApiMessage
    from kafka.protocol.consumer import FetchRequest
    from kafka.protocol.schemas import StructField

    class DefinedMessage(type(ApiMessage)):  # type: ignore[misc]  # kafka-python has no types for its metaclass
        """kafka-python's metaclass of messages; it takes the definition from the class, not from its resources."""

        def __new__(cls, name: str, bases: tuple[type, ...], attributes: dict[str, Any], **options: Any) -> Any:
            definition: Mapping[str, Any] | None = attributes.get("definition")
            if definition is None:  # the class of one version of a message, which inherits everything
                return super().__new__(cls, name, bases, attributes, **options)
            attributes |= {"_json": definition, "_struct": StructField(definition)}
            # JsonSchemaData.__new__ would look for a resource named like the class.
            return super(JsonSchemaData, cls).__new__(cls, name, bases, attributes, **options)


PARTITIONS_PER_REQUEST = 1000
"""KIP-966's limit. The controller takes at most 10,000 records for one user operation, which this stays well below."""
_UUID = re.compile("[A-Za-z0-9_-]{22}")
CONSUMER = -1
"""The replica id of a consumer: reads up to the high watermark. Never send an id >= 0, which is a follower's."""
FUTURE_REPLICA = -3
"""Kafka's own id of a replica that moves to another log directory.

It reads up to the log end offset, from a replica that does not lead, too. A consumer, and Kafka's debugging consumer
(-2), get nothing above the high watermark, and no error. A follower that loses its leader may not have learnt the last
one, and a broker that was killed starts with the one that it wrote down last.
"""
_BY_NAME_VERSION = 12
"""The last version that names topics."""
_BY_ID_VERSION = 13
_NO_SESSION_EPOCH = -1

Item = TypeVar("Item")


def in_batches(items: Sequence[Item], size: int = PARTITIONS_PER_REQUEST) -> Iterator[Sequence[Item]]:
    """Yield slices of at most ``size`` items, in order; nothing for no items."""
    for start in range(0, len(items), size):
        yield items[start : start + size]


def by_topic(partitions: Iterable[TopicPartition]) -> dict[str, list[int]]:
    """Group partition numbers by topic, in the order in which they came."""
    grouped: dict[str, list[int]] = defaultdict(list)
    for each in partitions:
        grouped[each.topic].append(each.partition)
    return dict(grouped)


def uuid_text(value: uuid.UUID) -> str:
    """Return Kafka's text form of a Uuid: 22 characters of URL-safe base64."""
    return base64.urlsafe_b64encode(value.bytes).decode().rstrip("=")


def parse_uuid(text: str) -> uuid.UUID:
    """Read what uuid_text writes.

    Raises ValueError.
    """
    if not _UUID.fullmatch(text):
        raise ValueError(f"{text!r} is no Uuid of Kafka's: that is 22 letters, digits, '-' and '_'")
    return uuid.UUID(bytes=base64.urlsafe_b64decode(text + "=="))


def fetch_request(  # noqa: PLR0917  # the protocol's own fields
    partition: TopicPartition,
    offset: int,
    max_bytes: int,
    replica_id: int = CONSUMER,
    isolation_level: int = 0,
    topic_id: str | None = None,
) -> Any:
    """Return a Fetch request (API key 1) without a fetch session.

    It is answered at once with batches from ``offset`` on, at most ``max_bytes`` of them.
    With ``topic_id`` (Kafka's text form) the request names the topic by its id: a re-created topic is not read.
    """
    message = FetchRequest
    version = _BY_NAME_VERSION if topic_id is None else _BY_ID_VERSION
    name = {"topic": partition.topic} if topic_id is None else {"topic_id": parse_uuid(topic_id)}
    wanted = message.FetchTopic.FetchPartition(
        partition=partition.partition,
        current_leader_epoch=-1,
        fetch_offset=offset,
        last_fetched_epoch=-1,
        log_start_offset=-1,
        partition_max_bytes=max_bytes,
    )
    return message(
        replica_id=replica_id,
        max_wait_ms=0,
        min_bytes=0,
        max_bytes=max_bytes,
        isolation_level=isolation_level,
        session_id=0,
        session_epoch=_NO_SESSION_EPOCH,
        topics=[message.FetchTopic(**name, partitions=[wanted])],
        forgotten_topics_data=[],
        rack_id="",
        min_version=version,
        max_version=version,
    )


def defined(
    api_key: int, name: str, fields: Sequence[Mapping[str, Any]], versions: str = "0", flexible_versions: str = "0+"
) -> dict[str, Any]:
    """Return the definition of a request or a response, which its name ends in."""
    return {
        "apiKey": api_key,
        "type": "request" if name.endswith("Request") else "response",
        "name": name,
        "validVersions": versions,
        "flexibleVersions": flexible_versions,
        "fields": fields,
    }


def field(name: str, kind: str, versions: str = "0+", **more: Any) -> dict[str, Any]:
    """Return the definition of one field. ``more`` is what else Kafka's definition says, by its own names."""
    return {"name": name, "type": kind, "versions": versions, **more}
