# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Make a history of records of the metadata log. Pure.

The log is read backwards, window by window, and each window gives events in their order. The events of all windows are
then applied from the oldest to the newest. A transaction of metadata (KIP-868) that was aborted has no effect.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias

from .._kafka.metadata_log import MetadataBatch
from .._kafka.metadata_records import (
    CHANGE_KEY,
    CHANGES,
    NO_OPS,
    SHORT_HEAD_BYTES,
    RecordType,
    can_decode,
    decode_record,
    id_text,
    key_of_change,
    may_name_recovery,
    partition_key,
    read_head,
)
from .._model.metadata_history import (
    BrokerChange,
    BrokerMoment,
    ConfigKey,
    ConfigMoment,
    MetadataHistory,
    PartitionHistory,
    PartitionMoment,
)
from .._model.partition import NO_LEADER, TopicPartition
from .._model.setting import TOPIC_RESOURCE

_UNCHANGED_LEADER = -2
_UNCHANGED_RECOVERY = -1
_UNCLEAN = 1
_OF_PARTITIONS = (RecordType.PARTITION, RecordType.PARTITION_CHANGE)
_OF_BROKERS = frozenset(
    {
        RecordType.REGISTER_BROKER,
        RecordType.UNREGISTER_BROKER,
        RecordType.FENCE_BROKER,
        RecordType.UNFENCE_BROKER,
        RecordType.BROKER_REGISTRATION_CHANGE,
    }
)
_OF_TRANSACTIONS = frozenset({RecordType.BEGIN_TRANSACTION, RecordType.END_TRANSACTION, RecordType.ABORT_TRANSACTION})
_KNOWN = frozenset(RecordType)


class Event(NamedTuple):
    """One record that matters: its fields, by the names of kafka-python."""

    at_ms: int
    kind: int
    subject: Any
    """A TopicPartition, a topic's name, a broker id, a ConfigKey, or None for the end of a transaction."""
    fields: Mapping[str, Any]
    is_change: bool = True
    """False: it is in a snapshot."""


@dataclass(slots=True)
class EventReader:
    """Picks the events of some partitions, of all brokers, and of some configs out of the log."""

    topic_ids: Mapping[TopicPartition, str]
    """The partitions, with the id of each one's topic in Kafka's text form."""
    config_names: Collection[str] = ()
    only_recovery: bool = False
    """Of the partitions, only changes of LeaderRecoveryState. Far less has to be decoded then."""
    not_decoded: int = 0
    _keys: dict[bytes, TopicPartition] = field(default_factory=dict)
    _topics: Mapping[str, str] = field(default_factory=dict)
    _names: tuple[bytes, ...] = ()

    def __post_init__(self) -> None:
        self._keys = {partition_key(topic_id, each.partition): each for each, topic_id in self.topic_ids.items()}
        self._topics = {topic_id: each.topic for each, topic_id in self.topic_ids.items()}
        self._names = tuple(name.encode() for name in self.config_names)

    def events(self, batches: Iterable[MetadataBatch], *, of_snapshot: bool = False) -> list[Event]:
        """Return the events of these batches, in their order.

        Raises MetadataRecordError.
        """
        found: list[Event] = []
        keys = self._keys
        for batch in batches:
            for value in batch.values:
                # Almost all records are of other partitions, or say nothing: they are skipped by their bytes.
                start = value[:SHORT_HEAD_BYTES]
                if start in NO_OPS or (start in CHANGES and value[CHANGE_KEY] not in keys):
                    continue
                event = self._event(value, batch.time_ms)
                if event is not None:
                    found.append(event._replace(is_change=False) if of_snapshot else event)
        return found

    def _event(self, value: bytes, at_ms: int) -> Event | None:
        head = read_head(value)
        number = head.number
        subject: Any = None
        if number in _OF_PARTITIONS:
            subject = self._keys.get(key_of_change(value, head))
            if subject is None or (self.only_recovery and not may_name_recovery(value, head)):
                return None
        elif number == RecordType.CONFIG:
            if not any(name in value for name in self._names):
                return None
        elif number == RecordType.TOPIC:
            # One of a newer version may be of these topics, so it counts as not decoded.
            subject = self._topics.get(id_text(decode_record(value, head)["topic_id"])) if can_decode(head) else ""
            if subject is None:
                return None
        elif number not in _OF_BROKERS and number not in _OF_TRANSACTIONS:
            # A type that no release had when this was written may say anything.
            self.not_decoded += number not in _KNOWN and number > max(_KNOWN)
            return None
        if not can_decode(head):
            self.not_decoded += 1
            return None
        fields = decode_record(value, head)
        if number in _OF_PARTITIONS and self.only_recovery and fields["leader_recovery_state"] == _UNCHANGED_RECOVERY:
            return None
        if number == RecordType.CONFIG:
            subject = ConfigKey(fields["resource_type"], fields["resource_name"], fields["name"])
            if subject.name not in self.config_names:
                return None
        elif number in _OF_BROKERS:
            subject = fields.get("broker_id", fields.get("id"))
        return Event(at_ms, number, subject, fields)


def make_history(events: Sequence[Event], begins_at_ms: int, ends_at_ms: int, **more: Any) -> MetadataHistory:
    """Apply events in their order, the oldest first. ``more`` are further fields of the history."""
    partitions: dict[TopicPartition, list[PartitionMoment]] = {}
    brokers: dict[int, list[BrokerMoment]] = {}
    configs: dict[ConfigKey, list[ConfigMoment]] = {}
    created: set[TopicPartition] = set()
    for event in _committed(events):
        if event.kind == RecordType.TOPIC:
            if event.is_change:
                # An earlier topic of this name took its configs along. Those of this one follow (createTopic).
                for key in [each for each in configs if each[:2] == (TOPIC_RESOURCE, event.subject)]:
                    configs[key].append(ConfigMoment(event.at_ms, None, begins_topic=True))
        elif event.kind in _OF_PARTITIONS:
            if event.subject not in partitions and event.kind == RecordType.PARTITION and event.is_change:
                created.add(event.subject)
            moments = partitions.setdefault(event.subject, [])
            moments.append(_APPLY[event.kind](event, moments[-1] if moments else None))
        elif event.kind == RecordType.CONFIG:
            configs.setdefault(event.subject, []).append(
                ConfigMoment(event.at_ms, event.fields["value"], event.is_change)
            )
        else:
            brokers.setdefault(event.subject, []).extend(_broker_moments(event))
    return MetadataHistory(
        begins_at_ms,
        ends_at_ms,
        {each: PartitionHistory(tuple(moments), each in created) for each, moments in partitions.items()},
        {each: tuple(moments) for each, moments in brokers.items()},
        {each: tuple(moments) for each, moments in configs.items()},
        **more,
    )


def _committed(events: Sequence[Event]) -> list[Event]:
    """Return the events without those of aborted transactions, and of one that did not end."""
    found: list[Event] = []
    began: int | None = None
    for event in events:
        if event.kind == RecordType.BEGIN_TRANSACTION:
            began = len(found)
        elif event.kind == RecordType.END_TRANSACTION:
            began = None
        elif event.kind == RecordType.ABORT_TRANSACTION:
            del found[began if began is not None else 0 :]
            began = None
        else:
            found.append(event)
    return found if began is None else found[:began]


def _from_base(event: Event, _before: PartitionMoment | None) -> PartitionMoment:
    fields = event.fields
    return PartitionMoment(
        event.at_ms,
        fields["leader"],
        tuple(fields["isr"]),
        tuple(fields["eligible_leader_replicas"] or ()),
        tuple(fields["replicas"]),
        fields["leader_recovery_state"] == _UNCLEAN,
        event.is_change,
        fields["leader_epoch"],
    )


def _from_change(event: Event, before: PartitionMoment | None) -> PartitionMoment:
    fields = event.fields
    state = before if before is not None else PartitionMoment(event.at_ms)
    leader, isr = fields["leader"], fields["isr"]
    elr, replicas = fields["eligible_leader_replicas"], fields["replicas"]
    begins_epoch = leader != _UNCHANGED_LEADER
    return PartitionMoment(
        event.at_ms,
        leader if begins_epoch else state.leader_id,
        tuple(isr) if isr is not None else state.isr,
        tuple(elr) if elr is not None else state.elr,
        tuple(replicas) if replicas is not None else state.replicas,
        fields["leader_recovery_state"] == _UNCLEAN or _is_out_of_sync(leader, state),
        begins_epoch,
        # Each record that names a leader begins an epoch, also if it is the same leader (PartitionRegistration.merge).
        None if state.leader_epoch is None else state.leader_epoch + begins_epoch,
    )


def _is_out_of_sync(leader: int, before: PartitionMoment) -> bool:
    """Return whether this new leader was neither in the ISR nor an eligible leader replica.

    Two unclean elections can follow each other while the first leader is still recovering. Then the second one does not
    change LeaderRecoveryState, so that its record says nothing of it (PartitionChangeBuilder.tryElection).
    """
    if leader in (_UNCHANGED_LEADER, NO_LEADER, before.leader_id) or before.isr is None:
        return False
    return leader not in before.isr and leader not in (before.elr or ())


_Apply: TypeAlias = Callable[[Event, PartitionMoment | None], PartitionMoment]
_APPLY: Mapping[int, _Apply] = {
    RecordType.PARTITION: _from_base,
    RecordType.PARTITION_CHANGE: _from_change,
}


def _broker_moments(event: Event) -> list[BrokerMoment]:
    fields, at_ms = event.fields, event.at_ms
    epoch = fields.get("broker_epoch", fields.get("epoch"))
    match event.kind:
        case RecordType.REGISTER_BROKER:
            directories = tuple(id_text(each) for each in fields["log_dirs"] or ())
            found = [BrokerMoment(at_ms, BrokerChange.REGISTERED, epoch, directories, event.is_change)]
            if not fields["fenced"]:  # a snapshot has the state of a broker in its registration
                found.append(BrokerMoment(at_ms, BrokerChange.UNFENCED, epoch, is_change=event.is_change))
            return found
        case RecordType.UNREGISTER_BROKER:
            return [BrokerMoment(at_ms, BrokerChange.UNREGISTERED, epoch)]
        case RecordType.FENCE_BROKER:
            return [BrokerMoment(at_ms, BrokerChange.FENCED, epoch)]
        case RecordType.UNFENCE_BROKER:
            return [BrokerMoment(at_ms, BrokerChange.UNFENCED, epoch)]
        case _:
            changes = {1: BrokerChange.FENCED, -1: BrokerChange.UNFENCED}
            found = []
            if fields["in_controlled_shutdown"] == 1:
                found.append(BrokerMoment(at_ms, BrokerChange.SHUTTING_DOWN, epoch))
            if fields["log_dirs"]:  # those that are left
                found.append(BrokerMoment(at_ms, BrokerChange.LOG_DIR_FAILED, epoch))
            if fields["fenced"] in changes:
                found.append(BrokerMoment(at_ms, changes[fields["fenced"]], epoch))
            return found
