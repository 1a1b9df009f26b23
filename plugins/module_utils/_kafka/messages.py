# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Make parts of messages: partitions by topic, Uuids, requests of several files, and definitions of new messages.

Messages that kafka-python lacks are made from Kafka's own definitions, the ``common/message/*.json`` in the
kafka-clients jar. They are written here in a shorter notation (``parse_fields``), as Python texts, because AnsiballZ
packs only Python files.
"""

from __future__ import annotations

import base64
import re
import uuid
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any

from .._model.partition import TopicPartition, grouped

with suppress(ImportError):  # a missing library is reported before the module starts (_module/run.py)
    from kafka.protocol.admin import DescribeConfigsRequest
    from kafka.protocol.api_data import JsonSchemaData
    from kafka.protocol.api_message import ApiMessage
    from kafka.protocol.consumer import FetchRequest
    from kafka.protocol.schemas import StructField

    class _DefinedMessage(type(ApiMessage)):  # type: ignore[misc]  # kafka-python has no types for its metaclass
        """kafka-python's metaclass of messages, with the definition from the class, not from kafka-python's files."""

        def __new__(cls, name: str, bases: tuple[type, ...], attributes: dict[str, Any], **options: Any) -> Any:
            definition: Mapping[str, Any] | None = attributes.get("definition")
            if definition is None:  # a class for one version of a message inherits its definition
                return super().__new__(cls, name, bases, attributes, **options)
            attributes |= {"_json": definition, "_struct": StructField(definition)}
            # JsonSchemaData.__new__ would look for a file named like the class.
            return super(JsonSchemaData, cls).__new__(cls, name, bases, attributes, **options)

    def define_message(api_key: int, name: str, fields: str, versions: str = "0", flexible_versions: str = "0+") -> Any:
        """Return a message's class. Its name ends in Request or Response. ``parse_fields`` reads the fields.

        kafka-python finds the class of a response by its API key, as long as it is referenced.
        """
        definition = {
            "apiKey": api_key,
            "type": "request" if name.endswith("Request") else "response",
            "name": name,
            "validVersions": versions,
            "flexibleVersions": flexible_versions,
            "fields": parse_fields(fields),
        }
        return _DefinedMessage(name, (ApiMessage,), {"definition": definition})


_UUID = re.compile("[A-Za-z0-9_-]{22}")
CONSUMER = -1
"""The replica id of a consumer: it reads up to the high watermark. An id >= 0 would be a follower's: never send one."""
FUTURE_REPLICA = -3
"""Kafka's own id of a replica that moves to another log directory.

With it a broker returns records up to the log end offset, also if it is not the leader. A consumer, and Kafka's
debugging consumer (-2), get no records above the high watermark, and no error. The high watermark of a follower
without a leader may be too low, and after a crash a broker starts with the last one that it saved.
"""
_BY_NAME_VERSION = 12
"""The last version that identifies topics by name."""
_BY_ID_VERSION = 13
"""The first version that identifies topics by id. Controllers accept no older one."""
_NO_SESSION_EPOCH = -1


def by_topic(partitions: Iterable[TopicPartition]) -> dict[str, list[int]]:
    """Group partition numbers by topic, in the given order."""
    return grouped((each.topic, each.partition) for each in partitions)


def uuid_text(value: uuid.UUID) -> str:
    """Return Kafka's text form of a Uuid: 22 characters of URL-safe base64."""
    return base64.urlsafe_b64encode(value.bytes).decode().rstrip("=")


def parse_uuid(text: str) -> uuid.UUID:
    """Parse Kafka's text form of a Uuid.

    Raises ValueError.
    """
    if not _UUID.fullmatch(text):
        raise ValueError(f"{text!r} is not a Uuid of Kafka's: that is 22 letters, digits, '-' and '_'")
    return uuid.UUID(bytes=base64.urlsafe_b64decode(text + "=="))


def fetch_request(  # noqa: PLR0917  # the protocol's own fields
    partition: TopicPartition,
    offset: int,
    max_bytes: int,
    replica_id: int = CONSUMER,
    isolation_level: int = 0,
    topic_id: str | None = None,
    *,
    current_leader_epoch: int = -1,
    last_fetched_epoch: int = -1,
    cluster_id: str | None = None,
) -> Any:
    """Return a Fetch request (API key 1) without a fetch session.

    The broker answers at once, with batches from ``offset`` on, at most ``max_bytes`` of them. With ``topic_id``
    (Kafka's text form) the request identifies the topic by its id, so that a re-created topic is not read. The broker
    checks neither epoch if it is -1. A controller refuses the ``cluster_id`` of another cluster; a broker ignores it.
    """
    message = FetchRequest
    version = _BY_NAME_VERSION if topic_id is None else _BY_ID_VERSION
    name = {"topic": partition.topic} if topic_id is None else {"topic_id": parse_uuid(topic_id)}
    wanted = message.FetchTopic.FetchPartition(
        partition=partition.partition,
        current_leader_epoch=current_leader_epoch,
        fetch_offset=offset,
        last_fetched_epoch=last_fetched_epoch,
        log_start_offset=-1,
        partition_max_bytes=max_bytes,
    )
    # Older versions of the request have no id of the cluster.
    of_cluster = {} if cluster_id is None else {"cluster_id": cluster_id}
    return message(
        **of_cluster,
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


def define_struct(name: str, fields: str, versions: str = "0") -> Any:
    """Return the codec of a record that is no message. ``parse_fields`` reads the fields."""
    return StructField(
        {
            "type": "data",
            "name": name,
            "validVersions": versions,
            "flexibleVersions": "0+",
            "fields": parse_fields(fields),
            "versions": "0+",
        }
    )


def describe_configs_request(kind: int, resources: Iterable[str], names: Sequence[str]) -> Any:
    """Return a DescribeConfigs request (API key 32) for these configs of resources of one kind."""
    message = DescribeConfigsRequest
    return message(
        resources=[
            message.DescribeConfigsResource(resource_type=kind, resource_name=each, configuration_keys=[*names])
            for each in resources
        ]
    )


def parse_fields(text: str) -> list[dict[str, Any]]:
    """Return the definitions of fields, as Kafka's JSON files have them.

    A field is its name, its type and, if it is not in all versions, its versions. Fields are separated by commas or
    lines. The fields of a structure are indented below it. ``?`` after a type means that the value may be null.
    ``tag=N`` makes it a tagged field, with null as its default if that is a value. Further words are attributes
    with Kafka's names, such as ``default=-1`` or ``mapKey``.
    """
    root: dict[str, Any] = {}
    parents = [(-1, root)]
    for line in filter(str.strip, text.splitlines()):
        depth = len(line) - len(line.lstrip())
        while parents[-1][0] >= depth:
            parents.pop()
        for each in line.split(","):
            parsed = _parse_field(*each.split())
            parents[-1][1].setdefault("fields", []).append(parsed)
        parents.append((depth, parsed))
    found: list[dict[str, Any]] = root.get("fields", [])
    return found


def _parse_field(name: str, kind: str, *words: str) -> dict[str, Any]:
    versions = next((each for each in words if each[0].isdigit()), "0+")
    parsed: dict[str, Any] = {"name": name, "type": kind.removesuffix("?"), "versions": versions}
    if kind.endswith("?"):
        parsed["nullableVersions"] = versions
    for each in words:
        key, equals, value = each.partition("=")
        if key == "tag":
            parsed |= {"taggedVersions": versions, "tag": int(value)}
            parsed |= {"default": "null"} if kind.endswith("?") else {}
        elif each != versions:
            parsed[key] = value if equals else True
    return parsed
