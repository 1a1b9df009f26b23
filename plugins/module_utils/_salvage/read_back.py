# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Read saved records back from their Parquet files, verify them and count them. The writer's counts are not used.

Some rows are counted at a time (``count_rows``), and the counts are added up (``combine_counts``). So any number of
files can be counted in parallel. Spark counts records by ``transformations.account``, and its tasks check raw batches
by ``check_rows``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

from .._kafka.record_batch import (
    has_valid_checksum,
    read_header,
)
from .._model.log_contents import EpochRange, Stretches, union
from .._model.partition import TopicPartition
from .markers import TransactionOutcome
from .rows import differs_from_last, read_row_batches
from .saved import SavedRecords
from .stretch import append_run

_SUMS = (
    "records",
    "bytes",
    "committed",
    "aborted",
    "unknown",
    "committed_transactions",
    "aborted_transactions",
    "undecodable_batches",
    "batches",
    "rows",
    "batch_rows",
    "bad_batches",
)
_LARGEST = ("largest_record_bytes", "largest_batch_bytes")
KEY = ("topic", "partition", "topic_id")
CHECKED = (*KEY, "raw_batch")
"""The columns that ``check_rows`` needs."""

with suppress(ImportError):  # a missing library is reported before the module starts (_module/run.py)
    import pyarrow as pa
    import pyarrow.compute as pc

    from .rows import ROW_SCHEMA

    RANGE = pa.struct({"epoch": pa.int32(), "start_offset": pa.int64(), "end_offset": pa.int64()})
    CHECKED_SCHEMA = pa.schema(
        {
            "topic": pa.string(),
            "partition": pa.int32(),
            "topic_id": pa.string(),
            "ranges": pa.list_(RANGE),
            "bad_batches": pa.int64(),
        }
    )
    """Those counts of some rows of one partition that are read from raw batches."""


HEADER_OVERHEAD_BYTES = 10
"""The most bytes that a record header takes besides its name and value."""


@dataclass(frozen=True, slots=True)
class ReadBack:
    """The records in all files, and the problems that were found."""

    partitions: tuple[SavedRecords, ...]
    """In order of topic and partition number."""
    problems: tuple[str, ...]
    """Each names a partition. Empty if the checksums of all raw batches are valid and no row is missing."""

    @property
    def ranges(self) -> dict[TopicPartition, Stretches]:
        """Return the offsets of each partition that are in the files."""
        return {each.topic_partition: each.ranges for each in self.partitions}


@dataclass(slots=True)
class _Counts:
    """The counts of all rows of one partition."""

    sums: dict[str, int] = field(default_factory=lambda: dict.fromkeys((*_SUMS, *_LARGEST), 0))
    timestamps_ms: list[int] = field(default_factory=list)
    producers: set[int] = field(default_factory=set)
    ranges: list[EpochRange] = field(default_factory=list)

    def add(self, row: Mapping[str, Any]) -> None:
        """Add the counts of some rows, or a part of these counts."""
        for name in _SUMS:
            self.sums[name] += row.get(name, 0)
        for name in _LARGEST:
            self.sums[name] = max(self.sums[name], row.get(name, 0))
        times = (row.get("first_timestamp_ms"), row.get("last_timestamp_ms"))
        self.timestamps_ms += [each for each in times if each is not None]
        self.producers.update(row.get("unknown_producers", ()))
        self.ranges += [EpochRange(**each) for each in row.get("ranges", ())]

    def problems(self) -> Iterator[str]:
        if self.sums["bad_batches"]:
            yield f"batches without their checksum: {self.sums['bad_batches']}"
        if self.sums["rows"] != self.sums["batch_rows"]:
            yield f"the files have {self.sums['rows']} rows, and its batches have {self.sums['batch_rows']}"

    def to_saved_records(self, partition: TopicPartition, topic_id: str | None) -> SavedRecords:
        counts = {name: count for name, count in self.sums.items() if name not in {"rows", "batch_rows", "bad_batches"}}
        return SavedRecords(
            topic=partition.topic,
            partition=partition.partition,
            topic_id=topic_id,
            ranges=union([self.ranges]),
            first_timestamp_ms=min(self.timestamps_ms, default=None),
            last_timestamp_ms=max(self.timestamps_ms, default=None),
            open_transactions=len(self.producers),
            **counts,
        )


def read_back(records: Path) -> ReadBack:
    """Read every Parquet file of a directory. Raises OSError or pyarrow's errors."""
    with ThreadPoolExecutor() as readers:
        return combine_counts(
            row for found in readers.map(_count_file, sorted(records.glob("*.parquet"))) for row in found
        )


def _count_file(path: Path) -> list[dict[str, Any]]:
    return [*count_rows(read_row_batches(path, ROW_SCHEMA.names))]


def combine_counts(partials: Iterable[Mapping[str, Any]]) -> ReadBack:
    """Add up counts of some rows each, or parts of counts that complement each other."""
    counts: dict[tuple[TopicPartition, str | None], _Counts] = {}
    for row in partials:
        key = TopicPartition(row["topic"], row["partition"]), row["topic_id"]
        counts.setdefault(key, _Counts()).add(row)
    found = sorted(counts.items(), key=lambda each: each[0][0])
    return ReadBack(
        tuple(each.to_saved_records(*key) for key, each in found),
        tuple(f"{partition}: {problem}" for (partition, _topic_id), each in found for problem in each.problems()),
    )


def count_rows(tables: Iterable[pa.RecordBatch]) -> Iterator[dict[str, Any]]:
    """Count rows of ``ROW_SCHEMA``. Yields the counts of consecutive rows of one partition."""
    return (_count_partition(each) for table in tables for each in _split_by_partition(table))


def check_rows(tables: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Check the raw batches in the columns CHECKED. Yields rows of CHECKED_SCHEMA."""
    for table in tables:
        rows = [_check_partition(each) for each in _split_by_partition(table)]
        yield pa.RecordBatch.from_pylist(rows, schema=CHECKED_SCHEMA)


def _check_partition(rows: pa.RecordBatch) -> dict[str, Any]:
    ranges, bad_batches = _check_raw_batches(rows.column("raw_batch").drop_null().to_pylist())
    return {**{name: rows.column(name)[0].as_py() for name in KEY}, "ranges": ranges, "bad_batches": bad_batches}


def _split_by_partition(table: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    """Yield slices of consecutive rows that belong to the same partition."""
    if not table.num_rows:
        return
    columns = (table.column("topic"), table.column("partition"), table.column("topic_id").fill_null(""))
    changed = differs_from_last(columns)
    places = [0, *(each + 1 for each in pc.indices_nonzero(changed).to_pylist()), table.num_rows]
    for start, stop in pairwise(places):
        yield table.slice(start, stop - start)


def _count_partition(rows: pa.RecordBatch) -> dict[str, Any]:
    control, transaction = rows.column("control_type"), rows.column("transaction")
    is_undecodable = rows.column("decode_error").is_valid()
    is_data = pc.invert(pc.or_(control.is_valid(), is_undecodable))
    is_unknown = pc.and_(is_data, pc.equal(transaction, TransactionOutcome.UNKNOWN.value))
    sizes = pc.if_else(is_data, pc.add(_byte_lengths(rows.column("key")), _byte_lengths(rows.column("value"))), 0)
    times = pc.min_max(rows.column("timestamp_ms").filter(is_data)).as_py()
    raw = rows.column("raw_batch").drop_null()
    ranges, bad_batches = _check_raw_batches(raw.to_pylist())
    return {
        **{name: rows.column(name)[0].as_py() for name in KEY},
        "records": _count_true(is_data),
        "bytes": pc.sum(sizes).as_py(),
        "first_timestamp_ms": times["min"],
        "last_timestamp_ms": times["max"],
        "committed": _count_true(pc.and_(is_data, pc.equal(transaction, TransactionOutcome.COMMITTED.value))),
        "aborted": _count_true(pc.and_(is_data, pc.equal(transaction, TransactionOutcome.ABORTED.value))),
        "unknown": _count_true(is_unknown),
        "committed_transactions": _count_true(pc.equal(control, "commit")),
        "aborted_transactions": _count_true(pc.equal(control, "abort")),
        "unknown_producers": rows.column("producer_id").filter(is_unknown).unique().to_pylist(),
        "undecodable_batches": _count_true(is_undecodable),
        "batches": len(raw),
        "largest_record_bytes": _largest_record(rows.column("headers"), sizes, is_data),
        "largest_batch_bytes": pc.max(_byte_lengths(raw)).as_py() or 0,
        "rows": rows.num_rows,
        "batch_rows": pc.sum(rows.column("batch_rows")).as_py() or 0,
        "ranges": ranges,
        "bad_batches": bad_batches,
    }


def _check_raw_batches(raw_batches: Sequence[bytes]) -> tuple[list[dict[str, int]], int]:
    """Return the offset ranges of raw batches, adjacent ones joined, and the number of damaged batches."""
    ranges: list[EpochRange] = []
    bad_batches = 0
    for raw in raw_batches:
        header = read_header(raw, 0)
        bad_batches += header.size != len(raw) or not has_valid_checksum(header, raw)
        append_run(ranges, header.offsets)
    return [each._asdict() for each in ranges], bad_batches


def _largest_record(headers: pa.ListArray, sizes: pa.Array, is_data: pa.BooleanArray) -> int:
    """Return the bytes of key, value and headers of the largest data record. ``sizes`` has those of key and value."""
    largest: int = pc.max(sizes).as_py() or 0
    flat = headers.flatten()
    if not len(flat):
        return largest
    of_each = pc.add(
        pc.add(_byte_lengths(flat.field("key")), _byte_lengths(flat.field("value"))), HEADER_OVERHEAD_BYTES
    )
    table = pa.table({"row": pc.list_parent_indices(headers), "size": of_each})
    of_rows = table.group_by("row").aggregate([("size", "sum")])
    at = of_rows["row"]
    with_headers = pc.add(sizes.take(at), of_rows["size_sum"]).filter(is_data.take(at))
    return max(largest, pc.max(with_headers).as_py() or 0)


def _byte_lengths(column: pa.Array) -> pa.Array:
    """Return the bytes of each value; 0 for null."""
    return pc.binary_length(column).fill_null(0).cast(pa.int64())


def _count_true(condition: pa.BooleanArray) -> int:
    found: int = pc.sum(condition).as_py() or 0
    return found
