# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Decode records of the controllers' metadata log (KIP-500, KIP-631). No I/O.

A record's value begins with the frame version, the number of its type and its version. Kafka's own definitions say
what follows (``common/metadata/*.json`` in the kafka-metadata jar, 3.9 to 4.4). A type that is not defined here, and a
version newer than the newest one here, is not decoded: the caller counts it.
"""

from __future__ import annotations

import io
import uuid
from collections.abc import Mapping
from enum import IntEnum
from functools import cache
from typing import Any, NamedTuple

from .._model.run import KafkaOpsError
from .bulk import UnusualAnswerError, read_varint
from .messages import define_struct, parse_uuid, uuid_text


class RecordType(IntEnum):
    """The types of records that can be decoded. The values are Kafka's."""

    REGISTER_BROKER = 0
    UNREGISTER_BROKER = 1
    TOPIC = 2
    PARTITION = 3
    CONFIG = 4
    PARTITION_CHANGE = 5
    FENCE_BROKER = 7
    UNFENCE_BROKER = 8
    REMOVE_TOPIC = 9
    DELEGATION_TOKEN = 10
    USER_SCRAM_CREDENTIAL = 11
    FEATURE_LEVEL = 12
    CLIENT_QUOTA = 14
    PRODUCER_IDS = 15
    BROKER_REGISTRATION_CHANGE = 17
    ACCESS_CONTROL_ENTRY = 18
    REMOVE_ACCESS_CONTROL_ENTRY = 19
    NO_OP = 20
    REMOVE_USER_SCRAM_CREDENTIAL = 22
    BEGIN_TRANSACTION = 23
    END_TRANSACTION = 24
    ABORT_TRANSACTION = 25
    REMOVE_DELEGATION_TOKEN = 26
    REGISTER_CONTROLLER = 27
    CLEAR_ELR = 28


class RecordHead(NamedTuple):
    """What a record begins with."""

    number: int
    """Kafka's number of the type. It may be no RecordType."""
    version: int
    body: int
    """Position of the first byte after the head."""


class MetadataRecordError(KafkaOpsError):
    """A record's value is damaged. The message says where."""


_FRAME_VERSIONS = (0, 1)
"""1 in the log of every release, 0 in the format of the proposal."""


_DEFINITIONS: Mapping[RecordType, tuple[int, str]] = {
    RecordType.REGISTER_BROKER: (
        4,
        """
            BrokerId int32
            IsMigratingZkBroker bool 2+ default=false
            IncarnationId uuid
            BrokerEpoch int64
            EndPoints []BrokerEndpoint
              Name string mapKey, Host string, Port uint16, SecurityProtocol int16
            Features []BrokerFeature
              Name string mapKey, MinSupportedVersion int16, MaxSupportedVersion int16
            Rack string?
            Fenced bool default=true
            InControlledShutdown bool 1+ default=false
            LogDirs []uuid 3+ tag=0
            CordonedLogDirs []uuid? 4+ tag=1
        """,
    ),
    RecordType.UNREGISTER_BROKER: (0, "BrokerId int32, BrokerEpoch int64"),
    RecordType.TOPIC: (0, "Name string, TopicId uuid"),
    RecordType.PARTITION: (
        2,
        """
            PartitionId int32
            TopicId uuid
            Replicas []int32
            Isr []int32
            RemovingReplicas []int32
            AddingReplicas []int32
            Leader int32
            LeaderRecoveryState int8 tag=0 default=0
            LeaderEpoch int32
            PartitionEpoch int32
            Directories []uuid 1+
            EligibleLeaderReplicas []int32? 2+ tag=1
            LastKnownElr []int32? 2+ tag=2
        """,
    ),
    RecordType.CONFIG: (
        0,
        """
            ResourceType int8
            ResourceName string
            Name string
            Value string?
        """,
    ),
    RecordType.PARTITION_CHANGE: (
        2,
        """
            PartitionId int32
            TopicId uuid
            Isr []int32? tag=0
            Leader int32 tag=1 default=-2
            Replicas []int32? tag=2
            RemovingReplicas []int32? tag=3
            AddingReplicas []int32? tag=4
            LeaderRecoveryState int8 tag=5 default=-1
            EligibleLeaderReplicas []int32? 2+ tag=6
            LastKnownElr []int32? 2+ tag=7
            Directories []uuid? 1+ tag=8
        """,
    ),
    RecordType.FENCE_BROKER: (0, "Id int32, Epoch int64"),
    RecordType.UNFENCE_BROKER: (0, "Id int32, Epoch int64"),
    RecordType.REMOVE_TOPIC: (0, "TopicId uuid"),
    RecordType.DELEGATION_TOKEN: (
        0,
        """
            Owner string
            Requester string
            Renewers []string
            IssueTimestamp int64
            MaxTimestamp int64
            ExpirationTimestamp int64
            TokenId string
        """,
    ),
    RecordType.REMOVE_DELEGATION_TOKEN: (0, "TokenId string"),
    RecordType.USER_SCRAM_CREDENTIAL: (
        0,
        """
            Name string
            Mechanism int8
            Salt bytes
            StoredKey bytes
            ServerKey bytes
            Iterations int32
        """,
    ),
    RecordType.REMOVE_USER_SCRAM_CREDENTIAL: (0, "Name string, Mechanism int8"),
    RecordType.FEATURE_LEVEL: (0, "Name string, FeatureLevel int16"),
    RecordType.CLIENT_QUOTA: (
        0,
        """
            Entity []EntityData
              EntityType string, EntityName string?
            Key string
            Value float64
            Remove bool
        """,
    ),
    RecordType.PRODUCER_IDS: (
        0,
        """
            BrokerId int32
            BrokerEpoch int64 default=-1
            NextProducerId int64
        """,
    ),
    RecordType.ACCESS_CONTROL_ENTRY: (
        0,
        """
            Id uuid
            ResourceType int8
            ResourceName string
            PatternType int8
            Principal string
            Host string
            Operation int8
            PermissionType int8
        """,
    ),
    RecordType.REMOVE_ACCESS_CONTROL_ENTRY: (0, "Id uuid"),
    RecordType.NO_OP: (0, ""),
    RecordType.REGISTER_CONTROLLER: (
        0,
        """
            ControllerId int32
            IncarnationId uuid
            ZkMigrationReady bool
            EndPoints []ControllerEndpoint
              Name string mapKey, Host string, Port uint16, SecurityProtocol int16
            Features []ControllerFeature
              Name string mapKey, MinSupportedVersion int16, MaxSupportedVersion int16
        """,
    ),
    RecordType.BROKER_REGISTRATION_CHANGE: (
        3,
        """
            BrokerId int32
            BrokerEpoch int64
            Fenced int8 tag=0
            InControlledShutdown int8 1+ tag=1
            LogDirs []uuid 2+ tag=2
            CordonedLogDirs []uuid? 3+ tag=3
        """,
    ),
    RecordType.BEGIN_TRANSACTION: (0, "Name string? tag=0"),
    RecordType.END_TRANSACTION: (0, ""),
    RecordType.ABORT_TRANSACTION: (0, "Reason string? tag=0"),
    RecordType.CLEAR_ELR: (0, "TopicName string"),
}
"""By type: the newest version that is known, and its fields (``parse_fields``)."""
_NEWEST: Mapping[int, int] = {kind: version for kind, (version, _text) in _DEFINITIONS.items()}

_PARTITION_KEY_BYTES = 20
"""A PartitionChangeRecord begins with the partition's number and the topic's id."""

SHORT_HEAD_BYTES = 3
"""The bytes of a head whose type and version have one byte each: all heads until today."""


def _short_heads(*kinds: RecordType) -> frozenset[bytes]:
    return frozenset(
        bytes((frame, kind, version))
        for frame in _FRAME_VERSIONS
        for kind in kinds
        for version in range(_NEWEST[kind] + 1)
    )


NO_OPS = _short_heads(RecordType.NO_OP)
"""How a record begins that an active controller writes twice a second, and that says nothing."""

CHANGES = _short_heads(RecordType.PARTITION_CHANGE)
"""How the change of a partition begins. Its ``partition_key`` follows at CHANGE_KEY."""
CHANGE_KEY = slice(SHORT_HEAD_BYTES, SHORT_HEAD_BYTES + _PARTITION_KEY_BYTES)


def read_head(value: bytes) -> RecordHead:
    """Read what a record begins with.

    Raises MetadataRecordError.
    """
    # Numbers below 128 have one byte, and no type or version is greater yet.
    if len(value) >= 3 and value[0] in _FRAME_VERSIONS and value[1] < 0x80 and value[2] < 0x80:  # noqa: PLR2004
        return RecordHead(value[1], value[2], 3)
    try:
        frame, position = read_varint(value, 0)
        if frame not in _FRAME_VERSIONS:
            raise MetadataRecordError(f"a metadata record has frame version {frame}, which no release of Kafka writes")
        number, position = read_varint(value, position)
        version, position = read_varint(value, position)
    except (IndexError, UnusualAnswerError):
        raise MetadataRecordError("a metadata record is shorter than its own head") from None
    return RecordHead(number, version, position)


def can_decode(head: RecordHead) -> bool:
    """Return whether this type and version are defined here."""
    return head.version <= _NEWEST.get(head.number, -1)


def decode_record(value: bytes, head: RecordHead) -> dict[str, Any]:
    """Decode a record for which ``can_decode`` is true: values by the field names of kafka-python (``topic_id``).

    Uuids are ``uuid.UUID``. Tagged fields that this module does not know are left out.

    Raises MetadataRecordError.
    """
    kind = RecordType(head.number)
    if not _DEFINITIONS[kind][1]:  # kafka-python has no structs without fields
        return {}
    struct, defaults = _struct(kind)
    try:
        found = struct.decode(io.BytesIO(value[head.body :]), version=head.version, compact=True, tagged=True)
    except Exception as error:  # noqa: BLE001  # kafka-python raises whatever the bytes lead it to
        name = type(error).__name__
        raise MetadataRecordError(f"a metadata record of type {kind.name} cannot be decoded: {name}: {error}") from None
    # kafka-python returns only the tagged fields that are there.
    return defaults | {name: each for name, each in found.items() if not name.startswith("_")}


def partition_key(topic_id: str, partition: int) -> bytes:
    """Return the bytes after the head of each change of this partition, so that others need not be decoded."""
    return partition.to_bytes(4, "big") + parse_uuid(topic_id).bytes


def may_name_recovery(value: bytes, head: RecordHead) -> bool:
    """Return False if a PARTITION_CHANGE or PARTITION record does not name LeaderRecoveryState, without decoding it.

    The field is tagged, and its value has one byte.
    """
    tag = 0 if head.number == RecordType.PARTITION else 5
    return bytes((tag, 1)) in value


def key_of_change(value: bytes, head: RecordHead) -> bytes:
    """Return the ``partition_key`` of a PARTITION_CHANGE or PARTITION record."""
    return value[head.body : head.body + _PARTITION_KEY_BYTES]


def id_text(value: uuid.UUID | None) -> str:
    """Return a decoded Uuid in Kafka's text form. kafka-python reads the zero Uuid as None."""
    return uuid_text(value or uuid.UUID(int=0))


@cache
def _struct(kind: RecordType) -> tuple[Any, dict[str, Any]]:
    newest, fields = _DEFINITIONS[kind]
    struct = define_struct(kind.name, fields, f"0-{newest}")
    defaults = {each.name: each.default for each in struct.fields.values()}
    return struct, defaults
