# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Read the controllers' metadata log as a consumer (Fetch, API key 1, version 13; KIP-595, KIP-630).

The active controller answers Fetch requests with replica id -1 on its own listener: a negative id never counts as a
follower. Other controllers refuse, and name the leader. Our principal needs CLUSTER_ACTION on the cluster.

The log before the newest snapshot stays readable until ``metadata.max.retention.ms`` or ``.bytes`` removes it. Every
batch has the time at which the active controller appended it, in milliseconds of POSIX time by its clock.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from itertools import chain
from struct import Struct
from typing import Any, NamedTuple

from .._model.partition import METADATA_TOPIC, Cause
from .._model.run import KafkaOpsError
from . import error_codes
from .errors import BrokerCallError, RequestRefusedError
from .messages import fetch_request
from .quorum import (
    METADATA_PARTITION,
    METADATA_TOPIC_ID,
    KnownLeader,
    controllers,
    controllers_request,
    known_leader,
    known_leader_request,
)
from .record_batch import SNAPSHOT_FOOTER, SNAPSHOT_HEADER, control_type
from .settings import Address
from .wire import Wire

_CHUNK_BYTES = 8 * 1024 * 1024
"""Controllers send at most this much in one answer."""
_BEFORE_ANY_EPOCH = 0
FIRST_RECORD = 1
"""Offset 0 has the control batch of the first leader of all."""
_BATCH_LENGTH = Struct(">qi")
"""The base offset of a batch, and the bytes that follow."""
_SNAPSHOT_HEADER = Struct(">hq")
"""Version, and LastContainedLogTimestamp."""

with suppress(ImportError):  # a missing library is reported before the module starts (_module/run.py)
    from aiokafka.errors import CorruptRecordException  # type: ignore[import-untyped]  # it ships no types
    from aiokafka.record.memory_records import MemoryRecords  # type: ignore[import-untyped]

    from .messages import define_message

    FetchSnapshotRequest = define_message(
        59,
        "FetchSnapshotRequest",
        """
            ClusterId string? tag=0
            ReplicaId int32 default=-1
            MaxBytes int32
            Topics []TopicSnapshot
              Name string
              Partitions []PartitionSnapshot
                Partition int32
                CurrentLeaderEpoch int32
                SnapshotId SnapshotId
                  EndOffset int64, Epoch int32
                Position int64
        """,
    )
    """Version 0: the same in Kafka 3.9 to 4.4."""

    FetchSnapshotResponse = define_message(
        59,
        "FetchSnapshotResponse",
        """
            ThrottleTimeMs int32
            ErrorCode int16
            Topics []TopicSnapshot
              Name string
              Partitions []PartitionSnapshot
                Index int32
                ErrorCode int16
                SnapshotId SnapshotId
                  EndOffset int64, Epoch int32
                Size int64
                Position int64
                UnalignedRecords records
        """,
    )
    """Version 0: the same in Kafka 3.9 to 4.4."""


class MetadataLogError(KafkaOpsError):
    """The metadata log cannot be read. The message says at which controller, why, and what to do."""


class MetadataBatch(NamedTuple):
    """The records of one batch. Control batches have none."""

    base_offset: int
    next_offset: int
    time_ms: int
    """When the active controller appended it. In a snapshot: the time of the last batch that the snapshot covers."""
    values: tuple[bytes, ...]


class SnapshotId(NamedTuple):
    """A snapshot covers the log before ``end_offset``, whose last record has this epoch."""

    end_offset: int
    epoch: int


class MetadataLogRange(NamedTuple):
    """The offsets between which the active controller has the log, and its newest snapshot, if there is one."""

    start: int
    high_watermark: int
    snapshot: SnapshotId | None


class MetadataLog:
    """The log as the active controller returns it. Made by ``open_metadata_log``."""

    def __init__(self, wire: Wire, address: Address, leader: KnownLeader, cluster_id: str) -> None:
        self._wire = wire
        self._cluster_id = cluster_id
        self._leader = leader
        self.address = address
        self.read_bytes = 0
        """Bytes of all answers so far."""

    @property
    def source(self) -> str:
        """Which log this is, for a person."""
        return f"the metadata log of the controller at {self.address}"

    def range(self) -> MetadataLogRange:
        """Return where the log begins and ends now.

        Raises BrokerCallError or MetadataLogError.
        """
        # The answer for the oldest epoch names the newest snapshot, if the log has one.
        answer = self._fetch(0, 1, _BEFORE_ANY_EPOCH)
        found = answer.snapshot_id
        snapshot = SnapshotId(found.end_offset, found.epoch) if found is not None and found.end_offset >= 0 else None
        end = answer.high_watermark
        if snapshot is None:
            return MetadataLogRange(max(0, answer.log_start_offset), end, None)
        # With a snapshot, offset 0 is always answered with it (KafkaRaftClient.validateFetchOffsetAndEpoch).
        answer = self._fetch(end, 1, self._leader.epoch)
        return MetadataLogRange(max(FIRST_RECORD, answer.log_start_offset), end, snapshot)

    def batches(self, start: int, end: int, stop: Callable[[], bool] = lambda: False) -> Iterator[MetadataBatch]:
        """Yield the batches that have an offset from ``start``, inclusive, to ``end``, exclusive.

        ``end`` must not be above the high watermark. ``stop`` ends the reading before the next request.

        Raises BrokerCallError or MetadataLogError.
        """
        offset = start
        while offset < end and not stop():
            # The newest epoch is valid for each offset: a leader begins its epoch with a record.
            answer = self._fetch(offset, _CHUNK_BYTES, self._leader.epoch)
            before = offset
            for batch in self._decode(bytes(answer.records or b"")):
                if batch.base_offset >= end:
                    return
                offset = batch.next_offset
                yield batch
            if offset == before:
                raise MetadataLogError(
                    f"the controller at {self.address} sends no records of its metadata log at offset {offset}, "
                    f"although the log ends at {end}"
                )

    def snapshot(self, snapshot: SnapshotId, max_bytes: int, stop: Callable[[], bool] = lambda: False) -> bytes | None:
        """Return the content of a snapshot (FetchSnapshot, API key 59, KIP-630), for ``decode_snapshot``.

        None if it has more than ``max_bytes``, or if ``stop`` ended the reading.

        Raises BrokerCallError or MetadataLogError.
        """
        parts: list[bytes] = []
        position = 0
        while not stop():
            message = FetchSnapshotRequest
            topic = message.TopicSnapshot
            wanted = topic.PartitionSnapshot(
                partition=0,
                current_leader_epoch=self._leader.epoch,
                snapshot_id=topic.PartitionSnapshot.SnapshotId(end_offset=snapshot.end_offset, epoch=snapshot.epoch),
                position=position,
            )
            request = message(
                cluster_id=self._cluster_id,
                replica_id=-1,
                max_bytes=_CHUNK_BYTES,
                topics=[topic(name=METADATA_TOPIC, partitions=[wanted])],
            )
            response = self._wire.call(self.address, request)
            self._raise_if_refused(response.error_code or (0 if response.topics else error_codes.UNKNOWN_SERVER_ERROR))
            answer = response.topics[0].partitions[0]
            self._raise_if_refused(answer.error_code)
            content = bytes(answer.unaligned_records or b"")
            self.read_bytes += len(content)
            if answer.size > max_bytes:
                return None
            parts.append(content)
            position += len(content)
            if position >= answer.size:
                return b"".join(parts)
            if not content:
                raise MetadataLogError(
                    f"the controller at {self.address} sends nothing of its snapshot at offset {snapshot.end_offset} "
                    f"after {position} of {answer.size} bytes"
                )
        return None

    def _fetch(self, offset: int, max_bytes: int, last_fetched_epoch: int) -> Any:
        request = fetch_request(
            METADATA_PARTITION,
            offset,
            max_bytes,
            topic_id=METADATA_TOPIC_ID,
            current_leader_epoch=self._leader.epoch,
            last_fetched_epoch=last_fetched_epoch,
            cluster_id=self._cluster_id,
        )
        response = self._wire.call(self.address, request)
        self._raise_if_refused(response.error_code or (0 if response.responses else error_codes.UNKNOWN_SERVER_ERROR))
        answer = response.responses[0].partitions[0]
        self._raise_if_refused(answer.error_code)
        self.read_bytes += len(answer.records or b"")
        return answer

    def _raise_if_refused(self, code: int) -> None:
        if code == error_codes.NONE:
            return
        where = f"the controller at {self.address} does not return its metadata log"
        raise MetadataLogError(f"{where}: {_explain_refusal(code, self._cluster_id)}")

    def _decode(self, records: bytes) -> Iterator[MetadataBatch]:
        try:
            yield from decode_batches(records)
        except MetadataLogError as error:
            raise BrokerCallError(str(self.address), Cause.BAD_ANSWER, str(error), request="Fetch") from None


def _explain_refusal(code: int, cluster_id: str) -> str:
    if code == error_codes.CLUSTER_AUTHORIZATION_FAILED:
        return "grant CLUSTER_ACTION on the cluster to this principal"
    if code == error_codes.INCONSISTENT_CLUSTER_ID:
        return f"it belongs to another cluster than {cluster_id}"
    return error_codes.describe_error(code)


def decode_batches(content: bytes) -> Iterator[MetadataBatch]:
    """Yield the complete batches of a part of the log, or of one of its segments. The last may be cut.

    Raises MetadataLogError: a batch is damaged.
    """
    try:
        reader = MemoryRecords(content)
        while (batch := reader.next_batch()) is not None:
            if not batch.validate_crc():
                raise MetadataLogError(f"the batch at offset {batch.base_offset} has a wrong checksum")
            values = () if batch.is_control_batch else tuple([record.value for record in batch])
            yield MetadataBatch(batch.base_offset, batch.next_offset, batch.max_timestamp, values)
    except (CorruptRecordException, ValueError) as error:
        raise MetadataLogError(f"a batch cannot be decoded: {error}") from None


def decode_snapshot(content: bytes) -> Iterator[MetadataBatch]:
    """Yield the batches of a snapshot, with the time of the last batch of the log that it covers.

    The header has that time (KIP-630). The batches have the time at which they were written: if that takes long, the
    log has older batches after the snapshot, as if a clock had been set back.

    Raises MetadataLogError: a batch is damaged, or the header is missing.
    """
    batches = decode_batches(content)
    first = next(batches, None)
    header = next(iter(MemoryRecords(content).next_batch()), None) if first is not None else None
    value = header.value or b"" if header is not None and control_type(header.key) == SNAPSHOT_HEADER else b""
    if first is None or len(value) < _SNAPSHOT_HEADER.size:
        raise MetadataLogError("a snapshot of the metadata log does not begin with its header")
    _version, covered_until = _SNAPSHOT_HEADER.unpack_from(value)
    yield from (each._replace(time_ms=covered_until) for each in chain([first], batches))


def ends_with_footer(content: bytes) -> bool:
    """Return whether a snapshot is complete: its last batch is the control batch of its footer (KIP-630)."""
    begin = end = 0
    while end + _BATCH_LENGTH.size <= len(content):
        begin, end = end, end + _BATCH_LENGTH.size + max(_BATCH_LENGTH.unpack_from(content, end)[1], 0)
    batch = MemoryRecords(content[begin:end]).next_batch() if end == len(content) else None
    if batch is None or not batch.is_control_batch:
        return False
    return control_type(next(iter(batch)).key) == SNAPSHOT_FOOTER


def open_metadata_log(wire: Wire, addresses: Sequence[Address], cluster_id: str) -> MetadataLog:
    """Find the active controller, by these controllers' own listeners and those that they list, and return its log.

    ``wire`` has the settings for controllers. A controller of another cluster than ``cluster_id`` refuses. Raises
    MetadataLogError with what each controller answered.
    """
    failures: list[str] = []

    def list_controllers(address: Address) -> tuple[Address, ...]:
        try:
            return tuple(controllers(wire.call(address, controllers_request())).addresses.values())
        except (BrokerCallError, RequestRefusedError) as error:  # a broker refuses, for example
            failures.append(f"{address}: {error}")
            return ()

    listed = wire.in_parallel(list_controllers, addresses)
    known = [*addresses, *(each for found in listed.values() if isinstance(found, tuple) for each in found)]
    answers = wire.in_parallel(lambda address: wire.call(address, known_leader_request()), dict.fromkeys(known))
    found = {}
    for address, answer in answers.items():
        leader = None if isinstance(answer, BrokerCallError) else known_leader(answer)
        if leader is not None:
            found[address] = leader
        elif not isinstance(answer, BrokerCallError):
            code = answer.error_code
            failures.append(f"the controller at {address} refuses a Fetch: {_explain_refusal(code, cluster_id)}")
    if not found:
        raise MetadataLogError(f"no controller returns its metadata log: {'; '.join(failures)}")
    newest = max(found.values(), key=lambda each: each.epoch)
    for address, leader in found.items():
        if leader.epoch == newest.epoch:
            log = MetadataLog(wire, address, leader, cluster_id)
            try:
                log.range()
            except (BrokerCallError, MetadataLogError) as error:
                failures.append(str(error))
            else:
                return log
    raise MetadataLogError(f"the active controller does not return its metadata log: {'; '.join(failures)}")
