# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Read the logs of replicas from their disks, without an RPC, for dead brokers too."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass

from kafka.record.default_records import DefaultRecordBatch

from lab import Cluster

_BATCH_PREFIX = struct.Struct(">qii")
"""Base offset, length of the rest, partition leader epoch."""
_BEFORE_LENGTH = 12


@dataclass(frozen=True, order=True)
class Record:
    """A record, with fields that identify it in its partition."""

    epoch: int
    offset: int
    value: str


Log = frozenset[Record]


def log_of(cluster: Cluster, broker: int, topic: str, partition: int) -> Log:
    """Return all records of one replica, with leader epochs, whether the broker runs or not."""
    return frozenset(
        record
        for data_dir in cluster.brokers[broker].data_dirs
        for segment in (data_dir / f"{topic}-{partition}").glob("*.log")
        for record in _records(segment.read_bytes())
    )


def times_on_disk(cluster: Cluster, broker: int, topic: str, partition: int) -> dict[str, int]:
    """Return the timestamp of each record of one replica, by its value, whether the broker runs or not."""
    return {
        (record.value or b"").decode(): record.timestamp
        for data_dir in cluster.brokers[broker].data_dirs
        for segment in (data_dir / f"{topic}-{partition}").glob("*.log")
        for _epoch, batch in _batches(segment.read_bytes())
        for record in batch
    }


def undecided_on_disk(cluster: Cluster, broker: int, topic: str, partition: int) -> frozenset[str]:
    """Return the values of one replica whose transaction has no marker there, whether the broker runs or not."""
    batches = [
        batch
        for data_dir in cluster.brokers[broker].data_dirs
        for segment in (data_dir / f"{topic}-{partition}").glob("*.log")
        for _epoch, batch in _batches(segment.read_bytes())
        if batch.is_transactional
    ]
    open_records: dict[int, list[str]] = {}
    for batch in sorted(batches, key=lambda each: each.base_offset):
        if batch.is_control_batch:
            open_records.pop(batch.producer_id, None)
        else:
            values = [(record.value or b"").decode() for record in batch]
            open_records.setdefault(batch.producer_id, []).extend(values)
    return frozenset(value for values in open_records.values() for value in values)


def end_of(log: Log) -> tuple[int, int]:
    """Return last written epoch and log end offset, the rank by KAFKA-20098; (-1, 0) for an empty log."""
    return max(((each.epoch, each.offset + 1) for each in log), default=(-1, 0))


def _records(segment: bytes) -> Iterator[Record]:
    for epoch, batch in _batches(segment):
        for record in batch:
            yield Record(epoch, record.offset, (record.value or b"").decode())


def _batches(segment: bytes) -> Iterator[tuple[int, DefaultRecordBatch]]:
    """Yield each whole batch, and its leader epoch. A broker that was killed may leave a part of the last one."""
    position = 0
    while position + _BATCH_PREFIX.size <= len(segment):
        _base, length, epoch = _BATCH_PREFIX.unpack_from(segment, position)
        after = position + _BEFORE_LENGTH + length
        if after > len(segment):
            return
        yield epoch, DefaultRecordBatch(segment[position:after])
        position = after
