# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A metadata log in memory, and the records of a partition, of brokers and of configs, as Kafka encodes them."""

from __future__ import annotations

import struct
import uuid
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any, cast

from crc32c import crc32c
from kafka.record.default_records import DefaultRecordBatchBuilder

from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.metadata_log import (
    MetadataBatch,
    MetadataLog,
    MetadataLogRange,
    SnapshotId,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.partition import MIN_ISR, TopicPartition
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.setting import BROKER_RESOURCE, TOPIC_RESOURCE

ORDERS = TopicPartition("orders", 0)
TOPIC_ID = uuid.UUID(int=77)
OLDER_TOPIC_ID = uuid.UUID(int=76)
REPLICAS = (1, 2, 3)
AN_HOUR = 7_200
"""So many offsets are an hour of an idle log."""
_BEGUN_MS, _NO_OP_MS = 1_000_000_000, 500
_NO_OP = b"\x01\x14\x00\x00"
_BATCH_BYTES = 72
_SNAPSHOT_HEADER = struct.pack(">hh", 0, 3)
_CRC_AT, _ATTRIBUTES_AT, _CONTROL = 17, 21, 0x20


class FakeMetadataLog:
    """What ``MetadataLog`` returns of a log with one batch for each offset, every half second.

    ``records`` are the values of some offsets. All others say nothing, as those of an idle controller.
    """

    source = "the fake log"

    def __init__(
        self,
        records: Mapping[int, Sequence[bytes]],
        *,
        end: int,
        start: int = 1,
        snapshot_at: int | None = None,
        snapshot: Sequence[bytes] = (),
    ) -> None:
        self.read_bytes = 0
        self.lowest = end
        """The first offset that was read."""
        self._records, self._start, self._end = records, start, end
        self._snapshot_at, self._snapshot = snapshot_at, snapshot

    def as_log(self) -> MetadataLog:
        return cast("MetadataLog", self)

    def range(self) -> MetadataLogRange:
        snapshot = None if self._snapshot_at is None else SnapshotId(self._snapshot_at, 1)
        return MetadataLogRange(self._start, self._end, snapshot)

    def batches(self, start: int, end: int, stop: Callable[[], bool]) -> Iterator[MetadataBatch]:
        self.lowest = min(self.lowest, start)
        for offset in range(start, end):
            if stop():
                return
            self.read_bytes += _BATCH_BYTES
            yield MetadataBatch(offset, offset + 1, time_of(offset), tuple(self._records.get(offset, [_NO_OP])))

    def snapshot(self, *_asked: Any) -> bytes:
        return snapshot_content(self._snapshot, time_of((self._snapshot_at or 0) - 1))


def snapshot_content(values: Sequence[bytes], covered_until_ms: int, written_after_ms: int = 50) -> bytes:
    """Return a snapshot with these records. A controller writes it after the last batch that it covers."""
    written_ms = covered_until_ms + written_after_ms
    header = bytearray(_batch(0, written_ms, [(_SNAPSHOT_HEADER, struct.pack(">hqb", 0, covered_until_ms, 0))]))
    header[_ATTRIBUTES_AT + 1] |= _CONTROL
    struct.pack_into(">I", header, _CRC_AT, crc32c(bytes(header[_ATTRIBUTES_AT:])))
    return bytes(header) + (_batch(1, written_ms, [(None, value) for value in values]) if values else b"")


def _batch(offset: int, at_ms: int, records: Sequence[tuple[bytes | None, bytes]]) -> bytes:
    builder = DefaultRecordBatchBuilder(2, 0, False, -1, -1, -1, 10**9)
    for number, (key, value) in enumerate(records):
        builder.append(number, at_ms, key, value, [])
    return struct.pack(">q", offset) + bytes(builder.build())[8:]


def time_of(offset: int) -> int:
    """Return the time of a batch in milliseconds."""
    return _BEGUN_MS + offset * _NO_OP_MS


def topic(topic_id: uuid.UUID = TOPIC_ID) -> bytes:
    return b"\x01\x02\x00" + _text(ORDERS.topic) + topic_id.bytes + _tags({})


def no_topic(topic_id: uuid.UUID) -> bytes:
    """Return the record that removes a topic."""
    return b"\x01\x09\x00" + topic_id.bytes + _tags({})


def partition(leader: int, isr: Collection[int] = REPLICAS, replicas: Collection[int] = REPLICAS) -> bytes:
    """Return the state of the partition, as at its creation or in a snapshot."""
    head = b"\x01\x03\x00" + struct.pack(">i", ORDERS.partition) + TOPIC_ID.bytes
    lists = b"".join(_numbers(each) for each in (replicas, isr, (), ()))
    return head + lists + struct.pack(">iii", leader, 1, 1) + _tags({})


def change(leader: int | None = None, isr: Collection[int] | None = None, *, unclean: bool = False) -> bytes:
    fields: dict[int, bytes] = {}
    if isr is not None:
        fields[0] = _numbers(isr)
    if leader is not None:
        fields[1] = struct.pack(">i", leader)
    if unclean:
        fields[5] = b"\x01"
    return b"\x01\x05\x00" + struct.pack(">i", ORDERS.partition) + TOPIC_ID.bytes + _tags(fields)


def of_topic(min_isr: int) -> bytes:
    return _config(TOPIC_RESOURCE, ORDERS.topic, min_isr)


def of_cluster(min_isr: int) -> bytes:
    return _config(BROKER_RESOURCE, "", min_isr)


def started(broker_id: int, epoch: int = 1, directory: int = 100) -> bytes:
    """Return the registration of a broker with one log directory."""
    incarnation = uuid.UUID(int=epoch).bytes
    head = b"\x01\x00\x03" + struct.pack(">i", broker_id) + b"\x00" + incarnation + struct.pack(">q", epoch)
    # No endpoints, features and rack; fenced, and not in a controlled shutdown.
    return head + b"\x01\x01\x00\x01\x00" + _tags({0: b"\x02" + uuid.UUID(int=directory + broker_id).bytes})


def _config(kind: int, resource: str, value: int) -> bytes:
    return b"\x01\x04\x00" + struct.pack(">b", kind) + _text(resource) + _text(MIN_ISR) + _text(str(value)) + _tags({})


def _text(value: str) -> bytes:
    return bytes([len(value) + 1]) + value.encode()


def _numbers(values: Collection[int]) -> bytes:
    return bytes([len(values) + 1]) + b"".join(struct.pack(">i", each) for each in values)


def _tags(fields: Mapping[int, bytes]) -> bytes:
    return bytes([len(fields)]) + b"".join(bytes([tag, len(value)]) + value for tag, value in sorted(fields.items()))
