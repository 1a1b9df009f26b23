# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Create, delete, write and read our own topics (CreateTopics 19, DeleteTopics 20, Produce 0, Fetch 1).

Deletes and reads use the topic id, so that they never affect a later topic of the same name.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, TypeAlias

from .._model.fields import INT64_MAX
from .._model.partition import Cause, TopicPartition
from .._model.run import KafkaOpsError
from . import error_codes
from .errors import BrokerCallError
from .messages import fetch_request, parse_uuid, uuid_text
from .settings import Address
from .wire import Wire

with suppress(ImportError):  # a missing library is reported before the module starts (_module/run.py)
    from kafka.errors import CorruptRecordError, KafkaError
    from kafka.protocol.admin import CreateTopicsRequest, DeleteTopicsRequest
    from kafka.protocol.producer import ProduceRequest
    from kafka.record.memory_records import MemoryRecords, MemoryRecordsBuilder

_CREATE_VERSION = 7
"""The first version whose response has the topic id (KIP-516)."""
_DELETE_BY_ID_VERSION = 6
_PRODUCE_BY_NAME_VERSIONS = (9, 12)
"""Kafka 3.9 has no Produce request by topic id."""
_ACKS_ALL = -1
_GZIP = 1
"""kafka-python and the console consumer need no further library for it. It compresses similar records to a tenth."""
_DECODED_BY_KAFKA_PYTHON = (0, _GZIP)
"""Codecs for which kafka-python needs no further library."""
_MAX_FETCH_BYTES = 8 * 1024 * 1024
_UNLIMITED = 2**31 - 1

OWN_TOPIC_CONFIG: Mapping[str, str] = {
    "compression.type": "gzip",
    # The clocks of two hosts may differ by more than the cluster's limits allow.
    "message.timestamp.type": "LogAppendTime",
    "message.timestamp.before.max.ms": str(INT64_MAX),
    "message.timestamp.after.max.ms": str(INT64_MAX),
    "max.message.bytes": "2097152",
    "min.insync.replicas": "1",
    "preallocate": "false",
    "retention.bytes": "-1",
    "retention.ms": "-1",
    "segment.bytes": "104857600",
    "segment.ms": "604800000",
    "unclean.leader.election.enable": "false",
}
"""The configs that each topic of this collection sets. Otherwise it would inherit them from the brokers.

A cluster's default can make our records unreadable (a codec), refused (timestamps, size) or deleted (retention).
"""

Record: TypeAlias = "tuple[bytes | None, bytes | None]"
"""Key and value. A value of None deletes the key of a compacted topic."""


@dataclass(frozen=True, slots=True)
class NewTopic:
    """A topic whose replicas the controller places."""

    name: str
    partitions: int
    copies: int
    """Replicas of each partition. -1 means the cluster's default."""
    configs: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class TopicRecords:
    """Records up to the high watermark."""

    records: tuple[tuple[int, Record], ...]
    """Each with its offset."""
    next_offset: int
    """The offset to read next."""


class UnreadableRecordsError(KafkaOpsError):
    """A batch of records cannot be decoded. The message says which one, and why."""


def create_topic(wire: Wire, address: Address, name: str, replicas: Sequence[int], configs: Mapping[str, str]) -> str:
    """Create a topic with one partition on these brokers, preferred leader first, and return its id.

    Of several callers exactly one succeeds; the others are refused with TOPIC_ALREADY_EXISTS. Brokers know the topic
    some milliseconds later.

    Raises BrokerCallError: the outcome is unknown. RequestRefusedError: this request created nothing.
    """
    placement = {"assignments": _assign_partition(replicas)}
    return uuid_text(_create(wire, address, name, configs, placement, validate_only=False).topic_id)


def check_topic_creation(
    wire: Wire, address: Address, name: str, replicas: Sequence[int], configs: Mapping[str, str]
) -> None:
    """Let the controller check the ACLs, policy and configs of such a topic without creating it.

    Raises BrokerCallError, or RequestRefusedError with the reason.
    """
    _create(wire, address, name, configs, {"assignments": _assign_partition(replicas)}, validate_only=True)


def create_spread_topic(wire: Wire, address: Address, topic: NewTopic) -> str:
    """Create a topic whose replicas the controller places, and return its id.

    Raises as ``create_topic`` does.
    """
    placement = {"num_partitions": topic.partitions, "replication_factor": topic.copies}
    return uuid_text(_create(wire, address, topic.name, topic.configs, placement, validate_only=False).topic_id)


def _assign_partition(replicas: Sequence[int]) -> list[Any]:
    assignment = CreateTopicsRequest.CreatableTopic.CreatableReplicaAssignment
    return [assignment(partition_index=0, broker_ids=[*replicas])]


def _create(
    wire: Wire,
    address: Address,
    name: str,
    configs: Mapping[str, str],
    placement: Mapping[str, Any],
    *,
    validate_only: bool,
) -> Any:
    message = CreateTopicsRequest
    topic = message.CreatableTopic
    where = {"num_partitions": -1, "replication_factor": -1, "assignments": [], **placement}
    own = [topic.CreatableTopicConfig(name=each, value=value) for each, value in configs.items()]
    request = message(
        topics=[topic(name=name, configs=own, **where)],
        timeout_ms=wire.settings.request_timeout_ms,
        validate_only=validate_only,
        min_version=_CREATE_VERSION,
        max_version=_CREATE_VERSION,
    )
    answer = _only(wire.call(address, request).topics, address, "CreateTopics")
    error_codes.raise_if_refused("CreateTopics", answer)
    return answer


def delete_topic(wire: Wire, address: Address, topic_id: str) -> None:
    """Delete the topic of this id, and no other topic of its name.

    Raises BrokerCallError: the outcome is unknown. RequestRefusedError: nothing was deleted. With UNKNOWN_TOPIC_ID the
    topic does not exist any more.
    """
    message = DeleteTopicsRequest
    request = message(
        topics=[message.DeleteTopicState(name=None, topic_id=parse_uuid(topic_id))],
        timeout_ms=wire.settings.request_timeout_ms,
        min_version=_DELETE_BY_ID_VERSION,
        max_version=_DELETE_BY_ID_VERSION,
    )
    answer = _only(wire.call(address, request).responses, address, "DeleteTopics")
    error_codes.raise_if_refused("DeleteTopics", answer)


def append_records(wire: Wire, leader: Address, partition: TopicPartition, records: Sequence[Record]) -> int:
    """Append records, all or none, and return the offset of the first one when every in-sync replica has them.

    Raises BrokerCallError: the outcome is unknown. RequestRefusedError.
    """
    batch = MemoryRecordsBuilder(magic=2, compression_type=_GZIP, batch_size=_UNLIMITED)
    for key, value in records:
        batch.append(timestamp=None, key=key, value=value)
    batch.close()
    message = ProduceRequest
    topic = message.TopicProduceData
    lowest, highest = _PRODUCE_BY_NAME_VERSIONS
    request = message(
        transactional_id=None,
        acks=_ACKS_ALL,
        timeout_ms=wire.settings.request_timeout_ms,
        topic_data=[
            topic(
                name=partition.topic,
                partition_data=[topic.PartitionProduceData(index=partition.partition, records=batch.buffer())],
            )
        ],
        min_version=lowest,
        max_version=highest,
    )
    answered = _only(wire.call(leader, request).responses, leader, "Produce")
    answer = _only(answered.partition_responses, leader, "Produce")
    error_codes.raise_if_refused("Produce", answer)
    return int(answer.base_offset)


def read_records(wire: Wire, leader: Address, topic_id: str, offset: int, partition: int = 0) -> TopicRecords:
    """Read a partition of the topic of this id from an offset to the high watermark.

    Raises UnreadableRecordsError, BrokerCallError or RequestRefusedError: UNKNOWN_TOPIC_ID if the broker does not know
    this topic (any more), OFFSET_OUT_OF_RANGE if the log ends before the offset.
    """
    found: list[tuple[int, Record]] = []
    while True:
        answer = _fetch(wire, leader, topic_id, offset, partition)
        records, next_offset = decode_content(leader, answer.records)
        # Brokers return whole batches, so the first records may be before the offset.
        found += [each for each in records if each[0] >= offset]
        if next_offset is None or next_offset >= answer.high_watermark:
            return TopicRecords(tuple(found), max(offset, next_offset or 0))
        offset = next_offset


def _fetch(wire: Wire, leader: Address, topic_id: str, offset: int, partition: int) -> Any:
    request = fetch_request(TopicPartition("", partition), offset, _MAX_FETCH_BYTES, topic_id=topic_id)
    response = wire.call(leader, request)
    error_codes.raise_if_refused("Fetch", response)
    topic_answer = _only(response.responses, leader, "Fetch")
    answer = _only(topic_answer.partitions, leader, "Fetch")
    error_codes.raise_if_refused("Fetch", answer)
    return answer


def decode_content(leader: Address, content: Any) -> tuple[list[tuple[int, Record]], int | None]:
    """Return the records, and the offset after them. The offset is None if there is no complete batch.

    Raises UnreadableRecordsError; or BrokerCallError: a checksum is wrong.
    """
    found: list[tuple[int, Record]] = []
    next_offset = None
    try:
        for batch in MemoryRecords(content) if content else ():
            if not batch.validate_crc():
                raise CorruptRecordError(f"checksum of the batch at offset {batch.base_offset}")
            if batch.compression_type not in _DECODED_BY_KAFKA_PYTHON:
                return _decode_all_codecs(bytes(content))
            next_offset = int(batch.next_offset)
            if not batch.is_control_batch:
                found += [(record.offset, (record.key, record.value)) for record in batch]
    except CorruptRecordError as error:
        raise BrokerCallError(str(leader), Cause.BAD_ANSWER, str(error), request="Fetch") from None
    except (KafkaError, ValueError, struct.error) as error:
        name = type(error).__name__
        raise UnreadableRecordsError(f"the records after offset {(next_offset or 0) - 1}: {name}: {error}") from None
    return found, next_offset


def _decode_all_codecs(content: bytes) -> tuple[list[tuple[int, Record]], int | None]:
    """Decode batches whose checksums are right. A broker compresses again if its topic has another codec (KIP-780)."""
    # pyarrow has every codec, and takes long to import.
    from .record_batch import HEADER_BYTES, BatchError, decode_records, read_header  # noqa: PLC0415

    found: list[tuple[int, Record]] = []
    next_offset, position = None, 0
    while len(content) - position >= HEADER_BYTES:
        header = read_header(content, position)
        batch = content[position : position + header.size]
        if len(batch) < header.size:
            break
        try:
            if not header.is_control:
                found += [(each.offset, (each.key, each.value)) for each in decode_records(header, batch)]
        except BatchError as error:
            raise UnreadableRecordsError(str(error)) from None
        next_offset, position = header.next_offset, position + header.size
    return found, next_offset


def _only(answers: Sequence[Any], address: Address, request: str) -> Any:
    if len(answers) != 1:
        raise BrokerCallError(str(address), Cause.BAD_ANSWER, f"{len(answers)} answers, not 1", request=request)
    return answers[0]
