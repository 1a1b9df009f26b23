# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Reads the wanted batches of replicas again, decodes them, and makes rows of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass

from .._model.log_contents import Stretches
from .._model.partition import TopicPartition
from .batch import BatchError, BatchHeader, ControlType, control_type
from .log_dir import Segment
from .rows import Origin, RowBuffer
from .segment import Batch, read_segment
from .transactions import Markers

with suppress(ImportError):  # a missing library is named before anything is done (_module/run.py)
    import pyarrow as pa


@dataclass(frozen=True, slots=True)
class Wanted:
    """What to save of one replica on a disk."""

    origin: Origin
    stretches: Stretches
    segments: tuple[Segment, ...]
    """From the first one with wanted records to the last one of the log: there are the markers of transactions."""

    @property
    def topic_partition(self) -> TopicPartition:
        return TopicPartition(self.origin.topic, self.origin.partition)

    @property
    def size(self) -> int:
        """Bytes that are read."""
        return sum(each.size for each in self.segments)


def rows(wanted: Wanted) -> Iterator[pa.RecordBatch]:
    """Yield one replica's rows of ``ROW_SCHEMA``, in the order of its log."""
    return rows_from(lambda: _batches(wanted.segments), wanted.origin, wanted.stretches)


def rows_from(
    read: Callable[[], Iterable[tuple[BatchHeader, bytes | memoryview]]], origin: Origin, stretches: Stretches
) -> Iterator[pa.RecordBatch]:
    """Yield rows of what lies in the stretches. ``read`` is called twice: markers lie behind what they are about."""
    markers = Markers()
    for header, raw in read():
        if header.is_control:
            markers.add(header, _control_type_or_other(header, raw))
    buffer = RowBuffer(origin, stretches)
    for header, raw in read():
        if _overlaps(header, stretches):
            buffer.add(header, bytes(raw), markers.outcome(header))
            yield from buffer.batches()
    yield from buffer.batches(last=True)


def _overlaps(header: BatchHeader, stretches: Stretches) -> bool:
    """Whether a batch has offsets in one of the stretches of its epoch."""
    return any(
        each.epoch == header.leader_epoch
        and header.base_offset < each.end_offset
        and each.start_offset < header.next_offset
        for each in stretches
    )


def _control_type_or_other(header: BatchHeader, raw: bytes | memoryview) -> ControlType:
    """Return what a control batch says; one that does not decode ends no transaction."""
    try:
        return control_type(header, raw)
    except BatchError:
        return ControlType.OTHER


def _batches(segments: Sequence[Segment]) -> Iterator[tuple[BatchHeader, memoryview]]:
    for segment in segments:
        # The first pass names what cannot be read. What only this one cannot read is missed when all is read back.
        with suppress(OSError), open(segment.path, "rb", buffering=0) as file:
            for found in read_segment(file, segment):
                if isinstance(found, Batch):
                    yield found.header, found.data
