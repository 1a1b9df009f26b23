# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Replay the records of the metadata log: what it holds, and what a part of it says, in words.

Values of configs, SCRAM keys and token ids are never in a text.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from .._kafka.metadata_records import RecordType, can_decode, decode_record, id_text, read_head
from .copy import Contents

_RESOURCES = {2: "topic", 4: "broker", 8: "broker logger", 16: "client metrics", 32: "group"}
_MECHANISMS = {1: "SCRAM-SHA-256", 2: "SCRAM-SHA-512"}
_FENCED = {-1: "unfenced", 1: "fenced"}
_SILENT = frozenset({RecordType.NO_OP, RecordType.BEGIN_TRANSACTION, RecordType.END_TRANSACTION})


class MetadataImage:
    """The cluster metadata at a point of the log. Records of a transaction count when it ends (KIP-868)."""

    def __init__(self) -> None:
        self._topics: dict[str, str] = {}
        self._partitions: dict[str, set[int]] = {}
        self._configs: set[tuple[int, str, str]] = set()
        self._acls: dict[str, str] = {}
        """In words, by id. A deletion has only the id."""
        self._scram: set[tuple[str, int]] = set()
        self._quotas: set[tuple[Any, ...]] = set()
        self._tokens: set[str] = set()
        self._brokers: set[int] = set()
        self._features: dict[str, int] = {}
        self._not_decoded = 0
        self._open: list[tuple[RecordType, dict[str, Any]]] | None = None

    def apply(self, values: Iterable[bytes]) -> None:
        """Apply the records of a batch. Raises MetadataRecordError."""
        for value in values:
            head = read_head(value)
            if head.number == RecordType.PARTITION_CHANGE:  # Most records. They add and remove nothing.
                continue
            if not can_decode(head):
                self._not_decoded += 1
                continue
            kind = RecordType(head.number)
            fields = decode_record(value, head)
            if kind is RecordType.BEGIN_TRANSACTION:
                self._open = []
            elif kind is RecordType.END_TRANSACTION:
                for each in self._open or ():
                    self._apply(*each)
                self._open = None
            elif kind is RecordType.ABORT_TRANSACTION:
                self._open = None
            elif self._open is not None:
                self._open.append((kind, fields))
            else:
                self._apply(kind, fields)

    def contents(self) -> Contents:
        """Return the counts."""
        return Contents(
            topics=len(self._topics),
            partitions=sum(map(len, self._partitions.values())),
            configs=len(self._configs),
            acls=len(self._acls),
            scram_credentials=len(self._scram),
            quotas=len(self._quotas),
            delegation_tokens=len(self._tokens),
            brokers=tuple(sorted(self._brokers)),
            features=tuple(f"{name}={level}" for name, level in sorted(self._features.items())),
            not_decoded=self._not_decoded,
            open_transaction=self._open is not None,
        )

    def describe(self, value: bytes) -> str:
        """Return what a record of the log says, with the names that this image knows. Empty if it says nothing.

        Raises MetadataRecordError.
        """
        head = read_head(value)
        if not can_decode(head):
            return f"a record of type {head.number}, version {head.version}, which this release does not decode"
        kind = RecordType(head.number)
        if kind in _SILENT:
            return ""
        return _DESCRIBE[kind](self, decode_record(value, head))

    def topic(self, topic_id: Any) -> str:
        """Return a topic's name, or its id if the name is unknown."""
        text = id_text(topic_id)
        return self._topics.get(text, f"with id {text}")

    def acl(self, acl_id: Any) -> str:
        """Return what an ACL is about, or its id if it is unknown."""
        text = id_text(acl_id)
        return self._acls.get(text, f"with id {text}")

    def _apply(self, kind: RecordType, fields: dict[str, Any]) -> None:  # noqa: PLR0912  # one case for each type
        match kind:
            case RecordType.TOPIC:
                self._topics[id_text(fields["topic_id"])] = fields["name"]
            case RecordType.PARTITION:
                self._partitions.setdefault(id_text(fields["topic_id"]), set()).add(fields["partition_id"])
            case RecordType.REMOVE_TOPIC:
                topic_id = id_text(fields["topic_id"])
                name = self._topics.pop(topic_id, None)
                self._partitions.pop(topic_id, None)
                self._configs -= {each for each in self._configs if each[:2] == (2, name)}
            case RecordType.CONFIG:
                key = (fields["resource_type"], fields["resource_name"], fields["name"])
                _keep(self._configs, key, is_kept=fields["value"] is not None)
            case RecordType.ACCESS_CONTROL_ENTRY:
                self._acls[id_text(fields["id"])] = _acl(fields)
            case RecordType.REMOVE_ACCESS_CONTROL_ENTRY:
                self._acls.pop(id_text(fields["id"]), None)
            case RecordType.USER_SCRAM_CREDENTIAL:
                self._scram.add((fields["name"], fields["mechanism"]))
            case RecordType.REMOVE_USER_SCRAM_CREDENTIAL:
                self._scram.discard((fields["name"], fields["mechanism"]))
            case RecordType.CLIENT_QUOTA:
                _keep(self._quotas, (_entity(fields), fields["key"]), is_kept=not fields["remove"])
            case RecordType.DELEGATION_TOKEN:
                self._tokens.add(fields["token_id"])
            case RecordType.REMOVE_DELEGATION_TOKEN:
                self._tokens.discard(fields["token_id"])
            case RecordType.REGISTER_BROKER:
                self._brokers.add(fields["broker_id"])
            case RecordType.UNREGISTER_BROKER:
                self._brokers.discard(fields["broker_id"])
            case RecordType.FEATURE_LEVEL:
                self._features[fields["name"]] = fields["feature_level"]
            case _:
                pass


def _keep(where: set[Any], key: Any, *, is_kept: bool) -> None:
    if is_kept:
        where.add(key)
    else:
        where.discard(key)


def _entity(fields: dict[str, Any]) -> str:
    parts = [(each["entity_type"], each["entity_name"]) for each in fields["entity"]]
    return ", ".join(f"{kind} {'(default)' if name is None else name}" for kind, name in sorted(parts, key=str))


def _acl(fields: dict[str, Any]) -> str:
    return f"of {fields['principal']} on {fields['resource_name']}"


def _partition(image: MetadataImage, fields: dict[str, Any]) -> str:
    return f"partition {fields['partition_id']} of topic {image.topic(fields['topic_id'])}"


def _of_partition(image: MetadataImage, fields: dict[str, Any]) -> str:
    said = f"replicas {fields['replicas']}, ISR {fields['isr']}, leader {fields['leader']}"
    return f"{_partition(image, fields)} was created: {said}"


def _of_change(image: MetadataImage, fields: dict[str, Any]) -> str:
    changes = [f"ISR {fields['isr']}"] if fields["isr"] is not None else []
    changes += [f"leader {fields['leader']}"] if fields["leader"] != -2 else []  # noqa: PLR2004  # Kafka's "unchanged"
    changes += [f"replicas {fields['replicas']}"] if fields["replicas"] is not None else []
    return f"{_partition(image, fields)} changed: {', '.join(changes) or 'its ELR, directories or reassignment'}"


def _of_config(_image: MetadataImage, fields: dict[str, Any]) -> str:
    resource = f"{_RESOURCES.get(fields['resource_type'], 'resource')} {fields['resource_name'] or '(default)'}"
    return f"config {fields['name']} of {resource} was {'set' if fields['value'] is not None else 'removed'}"


def _of_topic(image: MetadataImage, fields: dict[str, Any]) -> str:
    image._topics[id_text(fields["topic_id"])] = fields["name"]  # for the partitions that follow
    return f"topic {fields['name']} was created with id {id_text(fields['topic_id'])}"


_DESCRIBE: dict[RecordType, Callable[[MetadataImage, dict[str, Any]], str]] = {
    RecordType.TOPIC: _of_topic,
    RecordType.REMOVE_TOPIC: lambda image, it: f"topic {image.topic(it['topic_id'])} was deleted",
    RecordType.PARTITION: _of_partition,
    RecordType.PARTITION_CHANGE: _of_change,
    RecordType.CONFIG: _of_config,
    RecordType.ACCESS_CONTROL_ENTRY: lambda _image, it: f"an ACL {_acl(it)} was created",
    RecordType.REMOVE_ACCESS_CONTROL_ENTRY: lambda image, it: f"the ACL {image.acl(it['id'])} was deleted",
    RecordType.USER_SCRAM_CREDENTIAL: lambda _image, it: (
        f"the {_MECHANISMS.get(it['mechanism'], 'SCRAM')} credential of user {it['name']} was set"
    ),
    RecordType.REMOVE_USER_SCRAM_CREDENTIAL: lambda _image, it: (
        f"the {_MECHANISMS.get(it['mechanism'], 'SCRAM')} credential of user {it['name']} was deleted"
    ),
    RecordType.CLIENT_QUOTA: lambda _image, it: (
        f"quota {it['key']} of {_entity(it)} was {'removed' if it['remove'] else 'set'}"
    ),
    RecordType.DELEGATION_TOKEN: lambda _image, it: f"a delegation token of {it['owner']} was issued",
    RecordType.REMOVE_DELEGATION_TOKEN: lambda _image, _it: "a delegation token was removed",
    RecordType.REGISTER_BROKER: lambda _image, it: f"broker {it['broker_id']} registered",
    RecordType.UNREGISTER_BROKER: lambda _image, it: f"broker {it['broker_id']} was unregistered",
    RecordType.FENCE_BROKER: lambda _image, it: f"broker {it['id']} was fenced",
    RecordType.UNFENCE_BROKER: lambda _image, it: f"broker {it['id']} was unfenced",
    RecordType.BROKER_REGISTRATION_CHANGE: lambda _image, it: (
        f"broker {it['broker_id']} was {_FENCED.get(it['fenced'], 'changed')}"
    ),
    RecordType.FEATURE_LEVEL: lambda _image, it: f"feature {it['name']} was set to {it['feature_level']}",
    RecordType.PRODUCER_IDS: lambda _image, it: f"producer ids up to {it['next_producer_id']} were given out",
    RecordType.REGISTER_CONTROLLER: lambda _image, it: f"controller {it['controller_id']} registered",
    RecordType.ABORT_TRANSACTION: lambda _image, _it: "a metadata transaction was aborted",
    RecordType.CLEAR_ELR: lambda _image, it: f"the ELR of {it['topic_name'] or 'all topics'} was cleared",
}
