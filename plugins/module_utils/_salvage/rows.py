# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Convert record batches to rows of a salvage's Parquet files, and define their columns."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import reduce
from pathlib import Path
from typing import Any, Generic, TypeVar

from .._disk.segment import Batch, Segment, read_segment
from .._kafka.record_batch import (
    BatchError,
    BatchHeader,
    BatchRecord,
    ControlType,
    decode_records,
    read_control_type,
)
from .._model.log_contents import Stretches
from .._model.partition import TopicPartition
from .markers import Gap, Markers, TransactionOutcome

with suppress(ImportError):  # a missing library is reported before the module starts (_module/run.py)
    import pyarrow as pa
    import pyarrow.compute as pc
    from pyarrow import parquet

    ROW_SCHEMA = pa.schema(
        {
            "cluster_id": pa.string(),
            "topic_id": pa.string(),
            "topic": pa.string(),
            "partition": pa.int32(),
            "offset": pa.int64(),
            "leader_epoch": pa.int32(),
            "timestamp_ms": pa.int64(),
            "timestamp_type": pa.string(),
            "key": pa.binary(),
            "value": pa.binary(),
            "headers": pa.list_(pa.struct({"key": pa.string(), "value": pa.binary()})),
            "producer_id": pa.int64(),
            "producer_epoch": pa.int32(),
            "is_transactional": pa.bool_(),
            "transaction": pa.string(),
            "control_type": pa.string(),
            "origin_broker": pa.int32(),
            "origin_directory_id": pa.string(),
            "batch_base_offset": pa.int64(),
            "batch_checksum": pa.int64(),
            "decode_error": pa.string(),
            # Of the first row of each batch only:
            "raw_batch": pa.binary(),
            "batch_rows": pa.int32(),
        }
    )

_BYTES_AT_ONCE = 4 * 1024 * 1024
_ROWS_AT_ONCE = 5000
_BYTES_READ_AT_ONCE, _MOST_ROWS_READ = 2 * 1024 * 1024, 4000
_READ_BUFFER_BYTES = 1024 * 1024
"""Buffer of each column."""
REPEATED = ("cluster_id", "topic_id", "topic", "timestamp_type", "transaction", "control_type", "origin_directory_id")
"""Columns with few distinct values. For the others, a dictionary would hide how large the rows of a file are."""
_OF_RECORD = ("offset", "timestamp_ms", "key", "value", "headers")
_OF_ORIGIN = {
    "cluster_id": "cluster_id",
    "topic_id": "topic_id",
    "topic": "topic",
    "partition": "partition",
    "origin_broker": "broker_id",
    "origin_directory_id": "directory_id",
}
"""Columns that have one value for all rows of a replica, and the fields of ``Origin`` with the values."""
Item = TypeVar("Item")
CREATE_TIME = "create_time"
LOG_APPEND_TIME = "log_append_time"


def read_row_batches(path: Path, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a file, some megabytes at a time, so that memory does not grow with the file.

    Raises OSError or pyarrow.ArrowException.
    """
    # Neither memory-mapped nor pre-buffered: Arrow would hold the whole file in memory.
    with parquet.ParquetFile(path, pre_buffer=False, buffer_size=_READ_BUFFER_BYTES) as file:
        yield from file.iter_batches(_rows_read_at_once(file.metadata, columns), columns=columns, use_threads=False)


def differs_from_last(columns: Iterable[pa.Array]) -> pa.BooleanArray:
    """Return for each row but the first whether one of these columns differs from the row before."""
    return reduce(pc.or_, (pc.not_equal(each.slice(1), each.slice(0, len(each) - 1)) for each in columns))


def _rows_read_at_once(metadata: parquet.FileMetaData, columns: Sequence[str]) -> int:
    size = 0
    for number in range(metadata.num_row_groups):
        group = metadata.row_group(number)
        chunks = [group.column(place) for place in range(group.num_columns)]
        size += sum(each.total_uncompressed_size for each in chunks if each.path_in_schema.split(".")[0] in columns)
    most: int = _BYTES_READ_AT_ONCE * metadata.num_rows // max(size, 1)
    return max(1, min(_MOST_ROWS_READ, most))


@dataclass(frozen=True, slots=True)
class RowSource(Generic[Item]):
    """Items and the function that reads an item's rows of ``ROW_SCHEMA``."""

    items: Sequence[Item]
    rows: Callable[[Item], Iterator[pa.RecordBatch]]
    weight: Callable[[Item], int]
    """Returns about how many bytes are read for an item."""
    together: Callable[[Item], Hashable]
    """Returns a key. Items with the same key go into one file in their order, which a replay needs."""


@dataclass(frozen=True, slots=True)
class Origin:
    """The replica that records were read from."""

    cluster_id: str
    topic_id: str | None
    topic: str
    partition: int
    broker_id: int
    directory_id: str | None


class RowBuffer:
    """Collects rows until there are enough for one Arrow batch. Rows are kept by column, which is faster."""

    def __init__(self, origin: Origin, wanted: Stretches) -> None:
        self._origin = origin
        self._wanted = wanted
        self._columns: dict[str, list[Any]] = {name: [] for name in ROW_SCHEMA.names if name not in _OF_ORIGIN}
        self._collected_bytes = 0

    def add(self, header: BatchHeader, batch: bytes, outcome: TransactionOutcome) -> None:
        """Add the wanted records of a batch, and the raw batch. A batch that does not decode becomes one row."""
        columns: dict[str, list[Any]] = {}
        control = decode_error = None
        try:
            control = read_control_type(header, batch).value if header.is_control else None
            records = self._select_wanted(header, list(decode_records(header, batch)))
            columns = dict(zip(_OF_RECORD, map(list, zip(*records, strict=True)), strict=False))
            count = len(records)
        except BatchError as error:
            control, decode_error, count = None, str(error), 1
            columns = {"offset": [header.base_offset], "timestamp_ms": [header.max_timestamp]}
            columns |= {name: [None] for name in ("key", "value", "headers")}
        if not count:
            # Compaction leaves batches without records, to keep the state of their producers.
            return
        for name, value in (
            _batch_columns(header, outcome) | {"control_type": control, "decode_error": decode_error}
        ).items():
            columns[name] = [value] * count
        nothing = [None] * (count - 1)
        columns |= {"raw_batch": [batch, *nothing], "batch_rows": [count, *nothing]}
        for name, values in columns.items():
            self._columns[name] += values
        self._collected_bytes += 2 * len(batch)

    def batches(self, *, last: bool = False) -> Iterator[pa.RecordBatch]:
        """Yield the collected rows if there are enough of them, or if this is the ``last`` call."""
        count = len(self._columns["offset"])
        if not count or not (last or self._collected_bytes >= _BYTES_AT_ONCE or count >= _ROWS_AT_ONCE):
            return
        arrays = []
        for field in ROW_SCHEMA:
            if field.name in _OF_ORIGIN:
                value = pa.scalar(getattr(self._origin, _OF_ORIGIN[field.name]), field.type)
                arrays.append(pa.repeat(value, count))
            else:
                make = _build_headers if field.name == "headers" else pa.array
                arrays.append(make(self._columns[field.name], field.type))
                self._columns[field.name].clear()
        self._collected_bytes = 0
        table = pa.RecordBatch.from_arrays(arrays, schema=ROW_SCHEMA)
        for start in range(0, count, _ROWS_AT_ONCE):
            yield table.slice(start, _ROWS_AT_ONCE)

    def _select_wanted(self, header: BatchHeader, records: list[BatchRecord]) -> list[BatchRecord]:
        stretches = [each for each in self._wanted if each.epoch == header.leader_epoch]
        if any(each.start_offset <= header.base_offset and header.next_offset <= each.end_offset for each in stretches):
            return records
        return [
            record
            for record in records
            if any(each.start_offset <= record.offset < each.end_offset for each in stretches)
        ]


def _batch_columns(header: BatchHeader, outcome: TransactionOutcome) -> dict[str, Any]:
    return {
        "leader_epoch": header.leader_epoch,
        "timestamp_type": LOG_APPEND_TIME if header.has_log_append_time else CREATE_TIME,
        "producer_id": header.producer_id,
        "producer_epoch": header.producer_epoch,
        "is_transactional": header.is_transactional,
        "transaction": outcome.value,
        "batch_base_offset": header.base_offset,
        "batch_checksum": header.crc,
    }


def _build_headers(rows: list[list[tuple[str, bytes | None]] | None], kind: pa.ListType) -> pa.Array:
    """Build an array of lists of structs. Arrow's own conversion from Python objects is much slower."""
    starts: list[int | None] = []
    end = 0
    for row in rows:
        starts.append(None if row is None else end)
        end += len(row or ())
    pairs = [pair for row in rows for pair in row or ()]
    names, values = zip(*pairs, strict=True) if pairs else ((), ())
    columns = [pa.array(names, kind.value_type.field(0).type), pa.array(values, kind.value_type.field(1).type)]
    structs = pa.StructArray.from_arrays(columns, fields=[kind.value_type.field(place) for place in range(2)])
    return pa.ListArray.from_arrays(pa.array([*starts, end], pa.int32()), structs).cast(kind)


@dataclass(frozen=True, slots=True)
class WantedReplica:
    """The records to save from one replica on a disk."""

    origin: Origin
    stretches: Stretches
    segments: tuple[Segment, ...]
    """From the first segment with wanted records to the end of the log, which has the transaction markers."""

    @property
    def topic_partition(self) -> TopicPartition:
        return TopicPartition(self.origin.topic, self.origin.partition)

    @property
    def size(self) -> int:
        """Bytes to read."""
        return sum(each.size for each in self.segments)


def read_replica_rows(wanted: WantedReplica) -> Iterator[pa.RecordBatch]:
    """Yield the rows of one replica in the order of its log."""
    return build_rows(lambda: _batches(wanted.segments), wanted.origin, wanted.stretches)


def build_rows(
    read: Callable[[], Iterable[tuple[BatchHeader, bytes | memoryview] | Gap]], origin: Origin, stretches: Stretches
) -> Iterator[pa.RecordBatch]:
    """Yield the rows of the records in the stretches.

    ``read`` yields the batches of one log, and a gap where some may be missing. It is called twice, because a
    transaction's marker comes after its records.
    """
    markers = Markers()
    for found in read():
        if isinstance(found, Gap):
            markers.add_gap(found)
        elif found[0].is_control:
            markers.add(found[0], _read_end_of_transaction(*found))
    buffer = RowBuffer(origin, stretches)
    for found in read():
        if not isinstance(found, Gap) and _has_wanted_offsets(found[0], stretches):
            header, raw = found
            buffer.add(header, bytes(raw), markers.outcome(header))
            yield from buffer.batches()
    yield from buffer.batches(last=True)


def _has_wanted_offsets(header: BatchHeader, stretches: Stretches) -> bool:
    """Return whether a batch has offsets in one of the stretches of its epoch."""
    return any(
        each.epoch == header.leader_epoch
        and header.base_offset < each.end_offset
        and each.start_offset < header.next_offset
        for each in stretches
    )


def _read_end_of_transaction(header: BatchHeader, raw: bytes | memoryview) -> ControlType:
    """Return the type of a control batch; OTHER if it does not decode."""
    try:
        return read_control_type(header, raw)
    except BatchError:
        return ControlType.OTHER


def _batches(segments: Sequence[Segment]) -> Iterator[tuple[BatchHeader, memoryview] | Gap]:
    """Yield the batches of consecutive segments, and the gaps within and between them.

    Compaction leaves gaps between offsets too. Within a file, these are told from damage, because the batches follow
    each other byte by byte. Between two files they cannot be told from a missing segment.
    """
    end_offset = None
    for segment in segments:
        if end_offset is not None and end_offset < segment.base_offset:
            yield Gap(end_offset)
        end_offset = segment.base_offset
        # The first pass reports unreadable files. Records that only this pass cannot read are found missing by the
        # check after reading back.
        try:
            with open(segment.path, "rb", buffering=0) as file:
                for found in read_segment(file, segment):
                    if isinstance(found, Batch):
                        end_offset = found.header.next_offset
                        yield found.header, found.data
                    else:
                        yield Gap(found.from_offset)
        except OSError:
            yield Gap(end_offset)
