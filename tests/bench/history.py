# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The history of 3,000 partitions out of a metadata log of 100 MB, compared with decoding its batches alone."""

from __future__ import annotations

import struct
import uuid
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import cast

from aiokafka.record.default_records import DefaultRecordBatchBuilder  # type: ignore[import-untyped]  # it ships no types

from ansible_collections.kafkaops.recovery.plugins.module_utils._history.reading import (
    HistoryLimits,
    HistoryQuestion,
    read_log,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.messages import uuid_text
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.metadata_log import (
    MetadataBatch,
    MetadataLog,
    MetadataLogRange,
    SnapshotId,
    decode_batches,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.partition import MIN_ISR, TopicPartition
from bench.kit.row import CannotMeasureError, Options, Row, Timing
from bench.kit.timing import in_turns, timed

_BYTES = 100_000_000
_PART_BYTES = 8 * 2**20
_PARTITIONS = 3000
_OTHERS = 5000
_GOAL = 5.0
"""A ratio. In seconds: at most 5 on two cores."""
_TOPIC, _OTHER_TOPIC = uuid.UUID(int=7), uuid.UUID(int=8)
_NO_OP = b"\x01\x14\x00\x00"
_NO_OP_MS = 500
_BEGUN_MS = 1_700_000_000_000
_IN_A_BATCH = 10


def run(options: Options) -> Iterator[Row]:
    """Compare both kinds of log: one of a cluster that is idle for a week, and one of ISR changes."""
    kinds: dict[str, Callable[[int], list[bytes]]] = {
        "of an idle cluster": lambda _number: [_NO_OP],
        "of ISR changes": lambda number: [
            _change(_OTHER_TOPIC, (number * _IN_A_BATCH + each) % _OTHERS, None, [1, 2, 3])
            for each in range(_IN_A_BATCH)
        ],
    }
    for kind, values_of in kinds.items():
        log = _MadeUpLog(values_of)
        decode = partial(timed, log.decode)
        read = partial(timed, partial(_read, log))
        alone, history = in_turns(options.repeats, decode, read)
        yield Row(
            Timing(f"{log.records:,} metadata records {kind} decoded", alone),
            Timing(f"the history of {_PARTITIONS:,} partitions read from them", history),
            _GOAL,
        )


class _MadeUpLog:
    """A log without a controller: noise, and in the end an outage of each partition."""

    source = "made up"

    def __init__(self, values_of: Callable[[int], list[bytes]]) -> None:
        self.read_bytes = self.records = 0
        self._parts: list[bytes] = []
        self._starts: list[int] = []
        part: list[bytes] = []
        size = number = written = 0
        at = _BEGUN_MS
        while written < _BYTES:
            part.append(self._batch(at, values_of(number)))
            size, written, number, at = size + len(part[-1]), written + len(part[-1]), number + 1, at + _NO_OP_MS
            if size >= _PART_BYTES:
                self._parts.append(b"".join(part))
                part, size = [], 0
        for partition in range(_PARTITIONS):
            part.append(self._batch(at, _outage(partition)))
        self._parts.append(b"".join(part))

    def range(self) -> MetadataLogRange:
        return MetadataLogRange(0, self.records, None)

    def batches(self, _start: int, _end: int, _stop: Callable[[], bool]) -> Iterator[MetadataBatch]:
        for each in self._parts:
            yield from decode_batches(each)

    def snapshot(self, _snapshot: SnapshotId, _max_bytes: int, _stop: Callable[[], bool]) -> bytes | None:
        return None

    def decode(self) -> None:
        if sum(len(each.values) for part in self._parts for each in decode_batches(part)) != self.records:
            raise CannotMeasureError("a record is missing")

    def _batch(self, at_ms: int, values: Sequence[bytes]) -> bytes:
        builder = DefaultRecordBatchBuilder(2, 0, 0, -1, -1, 0, 2**20)
        for offset, value in enumerate(values):
            builder.append(offset, at_ms, None, value, [])
        content = struct.pack(">q", self.records) + bytes(builder.build())[8:]
        self.records += len(values)
        return content


def _read(log: _MadeUpLog) -> None:
    """Raise CannotMeasureError unless it is known of each partition when it lost its leader."""
    partitions = [TopicPartition("orders", number) for number in range(_PARTITIONS)]
    question = HistoryQuestion(
        dict.fromkeys(partitions, uuid_text(_TOPIC)), dict.fromkeys(partitions, (2, 3)), (MIN_ISR,)
    )
    found = read_log(cast("MetadataLog", log), question, HistoryLimits(max_seconds=600))
    known = found.history.partitions.values() if found.history is not None else ()
    if len(known) != _PARTITIONS or any(each.leader_lost_at_ms is None for each in known):
        raise CannotMeasureError(f"{len(known)} partitions are known: {found.missing}")


def _outage(partition: int) -> list[bytes]:
    changes: list[tuple[int | None, list[int]]] = [(1, [1, 2, 3]), (None, [1, 3]), (None, [1]), (-1, [1])]
    return [_change(_TOPIC, partition, leader, isr) for leader, isr in changes]


def _change(topic: uuid.UUID, partition: int, leader: int | None, isr: Sequence[int]) -> bytes:
    """Return a PartitionChangeRecord: its tagged fields 0 and 1 are the ISR and the leader."""
    tagged = [bytes([0, 1 + 4 * len(isr), len(isr) + 1]) + struct.pack(f">{len(isr)}i", *isr)]
    if leader is not None:
        tagged.append(b"\x01\x04" + struct.pack(">i", leader))
    body = struct.pack(">i", partition) + topic.bytes + bytes([len(tagged)]) + b"".join(tagged)
    return b"\x01\x05\x00" + body
