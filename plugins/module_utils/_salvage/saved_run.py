# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Handle saved records as runs: consecutive records that share partition, leader epoch and transaction outcome.

Most decisions are made for a whole run, because Python's work for each record limits the speed of a replay. Also adds
the headers that name the origin of a record that is given back.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cached_property, reduce
from itertools import accumulate, repeat
from typing import Any, NamedTuple, TypeAlias

from .._model.partition import TopicPartition
from .markers import TransactionOutcome
from .rows import differs_from_last

with suppress(ImportError):  # a missing library is reported before the module starts (_module/run.py)
    import pyarrow as pa
    import pyarrow.compute as pc


Header: TypeAlias = "tuple[str, bytes | None]"
_SHARED = ("topic", "partition", "leader_epoch", "transaction", "origin_broker")
_FLAGS = ("control_type", "decode_error")
"""Columns for which only matters whether a row has a value."""
PLACES = (*_SHARED, *_FLAGS, "offset", "key", "timestamp_ms")
CONTENTS = ("value", "headers")
_LISTS = ("offsets_as_text", "timestamps_as_text", "timestamps_ms", "keys", "values", "headers", "ends")
PREFIX = "kafkaops.salvage."
_EPOCH, _OFFSET, _TIMESTAMP = f"{PREFIX}epoch", f"{PREFIX}offset", f"{PREFIX}timestamp"
OVERHEAD_BYTES = 512
"""The most bytes that these headers and the framing of a record and its batch add, without the topic's name."""


class Block:
    """Some rows of a file. A column is converted to a list at its first use."""

    def __init__(self, table: pa.RecordBatch) -> None:
        self._table = table

    def prepare(self) -> Block:
        """Convert all columns that a replay needs, and return this block."""
        for name in _LISTS:
            getattr(self, name)
        return self

    @cached_property
    def timestamps_ms(self) -> list[int]:
        return _to_list(self._table.column("timestamp_ms"))

    @cached_property
    def offsets_as_text(self) -> list[bytes]:
        return self._to_texts("offset")

    @cached_property
    def timestamps_as_text(self) -> list[bytes]:
        return self._to_texts("timestamp_ms")

    @cached_property
    def keys(self) -> list[bytes | None]:
        return _to_list(self._table.column("key"))

    @cached_property
    def values(self) -> list[bytes | None]:
        return _to_list(self._table.column("value"))

    @cached_property
    def headers(self) -> list[list[Header]]:
        """Headers of each row. Converted by hand, because Arrow converts lists of structs slowly."""
        column = self._table.column("headers")
        flat = column.flatten()
        if not len(flat):
            return [[]] * self._table.num_rows
        pairs = list(zip(flat.field("key").to_pylist(), _to_list(flat.field("value")), strict=True))
        found, start = [], 0
        for length in column.value_lengths().fill_null(0).to_pylist():
            found.append(pairs[start : start + length])
            start += length
        return found

    @cached_property
    def ends(self) -> list[int]:
        """Sum of the bytes of keys and values up to and including each row."""
        sizes = (pc.binary_length(self._table.column(name)).fill_null(0) for name in ("key", "value"))
        return _to_list(pc.cumulative_sum(reduce(pc.add, sizes).cast(pa.int64())))

    @cached_property
    def ends_of_headers(self) -> list[int]:
        """Sum of the bytes of headers up to and including each row."""
        if not any(self.headers):
            return [0] * self._table.num_rows
        return list(accumulate(sum(len(name) + len(value or b"") for name, value in each) for each in self.headers))

    def runs(self, topics: Collection[str]) -> Iterator[SavedRun]:
        """Yield the rows of these topics as runs."""
        if not self._table.num_rows:
            return
        shared = [self._table.column(name) for name in _SHARED]
        flags = [self._table.column(name).is_valid() for name in _FLAGS]
        offsets = self._table.column("offset")
        starts = [0, *_find_changes([*shared, *flags], offsets)]
        at = pa.array(starts)
        firsts = (each.take(at).to_pylist() for each in (*shared, offsets, *flags))
        stops = [*starts[1:], self._table.num_rows]
        for start, stop, topic, *more in zip(starts, stops, *firsts, strict=True):
            if topic in topics:
                yield SavedRun(self, start, stop, topic, *more)

    def _to_texts(self, name: str) -> list[bytes]:
        return _to_list(self._table.column(name).cast(pa.string()).cast(pa.binary()))


class Position(NamedTuple):
    """Where a record is in the logs of one partition. Of two records, that with the higher one is newer."""

    epoch: int
    offset: int


class SavedRun(NamedTuple):
    """Consecutive offsets of one partition with the same epoch, transaction outcome, broker and flags."""

    block: Block
    start: int
    """First row in the block."""
    stop: int
    """The row after the last one."""
    topic: str
    partition: int
    epoch: int
    outcome: str
    """A ``TransactionOutcome``."""
    broker_id: int
    offset: int
    """Offset of the first record."""
    is_control: bool
    is_undecodable: bool

    @property
    def topic_partition(self) -> TopicPartition:
        return TopicPartition(self.topic, self.partition)

    @property
    def records(self) -> int:
        return self.stop - self.start

    @property
    def next_offset(self) -> int:
        return self.offset + self.records

    @property
    def keys(self) -> Sequence[bytes | None]:
        return self.block.keys[self.start : self.stop]

    @property
    def values(self) -> Sequence[bytes | None]:
        return self.block.values[self.start : self.stop]

    @property
    def headers(self) -> Sequence[list[Header]]:
        return self.block.headers[self.start : self.stop]

    @property
    def timestamps_ms(self) -> Sequence[int]:
        return self.block.timestamps_ms[self.start : self.stop]

    @property
    def offsets_as_text(self) -> Sequence[bytes]:
        return self.block.offsets_as_text[self.start : self.stop]

    @property
    def timestamps_as_text(self) -> Sequence[bytes]:
        return self.block.timestamps_as_text[self.start : self.stop]

    @property
    def size(self) -> int:
        """Bytes of keys and values."""
        return _sum_between(self.block.ends, self.start, self.stop)

    @property
    def size_with_headers(self) -> int:
        return self.size + _sum_between(self.block.ends_of_headers, self.start, self.stop)

    @property
    def has_known_outcome(self) -> bool:
        """Whether the outcome of the transaction is known."""
        return self.outcome != TransactionOutcome.UNKNOWN

    def between(self, offset: int, next_offset: int) -> SavedRun:
        """Return the records of these offsets. They must be in the run."""
        start = self.start + offset - self.offset
        return self._replace(start=start, stop=start + next_offset - offset, offset=offset)

    def take_first(self, most_bytes: int, most_records: int) -> SavedRun:
        """Return the first records, until they reach ``most_bytes`` (headers included) or ``most_records``."""

        def size(records: int) -> int:
            return self._replace(stop=self.start + records).size_with_headers

        most = min(self.records, most_records)
        records = bisect_left(range(1, most + 1), most_bytes, key=size) + 1
        return self._replace(stop=self.start + min(records, most))


def _find_changes(shared: Sequence[pa.Array], offsets: pa.Array) -> list[int]:
    """Return the rows that differ from the row before in a shared column, or do not have the next offset."""
    is_gap = pc.not_equal(pc.subtract(offsets.slice(1), offsets.slice(0, len(offsets) - 1)), 1)
    found: list[int] = pc.add(pc.indices_nonzero(pc.or_(differs_from_last(shared), is_gap)), 1).to_pylist()
    return found


def _sum_between(sums: Sequence[int], start: int, stop: int) -> int:
    return sums[stop - 1] - (sums[start - 1] if start else 0)


def _to_list(column: Any) -> list[Any]:
    """Return the same as ``to_pylist``, but faster: that makes an Arrow object of each value first."""
    found: list[Any] = column.to_numpy(zero_copy_only=False).tolist()
    return found


def add_origin_headers(cluster_id: str, run: SavedRun) -> list[list[Header]]:
    """Return the headers of each record of a run, followed by those that name its origin, with values as text.

    They include the timestamp, because a topic with log append time replaces it.
    """
    shared = {
        "cluster": cluster_id,
        "broker": run.broker_id,
        "topic": run.topic,
        "partition": run.partition,
        "epoch": run.epoch,
    }
    of_all = [(PREFIX + name, str(value).encode()) for name, value in shared.items()]
    # zip builds the pairs much faster than an expression for each record.
    offsets = zip(repeat(_OFFSET), run.offsets_as_text, strict=False)
    timestamps = zip(repeat(_TIMESTAMP), run.timestamps_as_text, strict=False)
    columns = zip(run.headers, offsets, timestamps, strict=True)
    return [[*own, *of_all, offset, timestamp] for own, offset, timestamp in columns]


def name_origin(cluster_id: str, partition: TopicPartition) -> dict[str, bytes]:
    """Return the headers that each record has that was given back from this partition."""
    names = {"cluster": cluster_id, "topic": partition.topic, "partition": partition.partition}
    return {PREFIX + name: str(value).encode() for name, value in names.items()}


def read_origin(headers: Sequence[Header], origin: Mapping[str, bytes]) -> tuple[int, int] | None:
    """Return leader epoch and offset that a record had before it was given back; None for any other record.

    ``origin`` is of ``name_origin``. Kafka Streams and MirrorMaker copy the headers of a record to other topics: there,
    they do not say where the record was.
    """
    # The last headers count: a record that was given back after two incidents has the headers of both.
    found = {name: value for name, value in headers if name.startswith(PREFIX)}
    if not found or any(found.get(name) != value for name, value in origin.items()):
        return None
    try:
        return int(found[_EPOCH] or b""), int(found[_OFFSET] or b"")
    except (KeyError, ValueError):
        return None


def read_original_timestamp(headers: Sequence[Header]) -> int | None:
    """Return the timestamp that a record had before it was given back; None if no header has it."""
    value = next((value for name, value in reversed(headers) if name == _TIMESTAMP), None)
    with suppress(ValueError):
        return int(value or b"")  # -1 if the record had none
    return None


def is_committed(run: SavedRun) -> bool:
    """Return whether a reader of committed records gets these."""
    return not run.is_control and run.outcome not in (TransactionOutcome.ABORTED, TransactionOutcome.UNKNOWN)


def records_with_key(run: SavedRun) -> Iterator[tuple[Position, bytes, bytes | None]]:
    """Yield position, key and value of each record with a key, in their order."""
    for offset, (key, value) in enumerate(zip(run.keys, run.values, strict=True), run.offset):
        if key is not None:
            yield Position(run.epoch, offset), key, value
