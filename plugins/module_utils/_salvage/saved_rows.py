# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Reads saved records from the Parquet files of a salvage, in the order of each log."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from .._model.partition import TopicPartition
from .manifest import RECORDS, ManifestError, SavedFile
from .transactions import Outcome

with suppress(ImportError):  # a missing library is named before anything is done (_module/run.py)
    import pyarrow as pa
    from pyarrow import parquet

_ROWS_AT_ONCE = 4000
Header: TypeAlias = "tuple[str, bytes | None]"


class SavedRow(NamedTuple):
    """One row. ``key``, ``value`` and ``headers`` are None and empty where only places were asked for."""

    topic: str
    partition: int
    offset: int
    epoch: int
    batch: int
    """Base offset of its batch."""
    outcome: str
    """An ``Outcome``."""
    is_control: bool
    is_undecodable: bool
    key: bytes | None
    timestamp_ms: int
    broker_id: int
    value: bytes | None
    headers: list[Header]

    @property
    def topic_partition(self) -> TopicPartition:
        return TopicPartition(self.topic, self.partition)

    @property
    def size(self) -> int:
        """Bytes of key, value and headers."""
        headers = sum(len(name) + len(value or b"") for name, value in self.headers)
        return len(self.key or b"") + len(self.value or b"") + headers

    @property
    def is_settled(self) -> bool:
        """Return whether it is known what became of its transaction."""
        return self.outcome != Outcome.UNKNOWN


_PLACES = (
    "topic",
    "partition",
    "offset",
    "leader_epoch",
    "batch_base_offset",
    "transaction",
    "control_type",
    "decode_error",
    "key",
    "timestamp_ms",
    "origin_broker",
)
_CONTENTS = ("value", "headers")


def saved_rows(
    directory: str, files: Sequence[SavedFile], topics: Collection[str], *, contents: bool
) -> Iterator[SavedRow]:
    """Yield the rows of these topics; without ``contents`` much faster, and without values and headers.

    Rows of one partition come in the order of its log, whatever the order of the files.

    Raises ManifestError: a file cannot be read as what the manifest says it is.
    """
    for each in files:
        path = Path(directory, RECORDS, each.name)
        try:
            yield from _rows(path, topics, contents=contents)
        except (OSError, KeyError, pa.ArrowException) as error:
            raise ManifestError(f"{path} could not be read as the records of a salvage: {error}") from None


def _rows(path: Path, topics: Collection[str], *, contents: bool) -> Iterator[SavedRow]:
    columns = [*_PLACES, *_CONTENTS] if contents else [*_PLACES]
    # Not memory-mapped, and one file at a time: memory stays flat however much was saved.
    with parquet.ParquetFile(path) as file:
        for table in file.iter_batches(batch_size=_ROWS_AT_ONCE, columns=columns):
            names = table.column("topic").to_pylist()
            if topics.isdisjoint(names) if isinstance(topics, (set, frozenset)) else not set(names) & set(topics):
                continue
            for row in zip(names, *_columns(table, contents=contents), strict=True):
                if row[0] in topics:
                    yield SavedRow._make(row)


def _columns(table: pa.RecordBatch, *, contents: bool) -> list[Any]:
    places = [
        table.column(name).to_numpy(zero_copy_only=False).tolist()
        for name in ("partition", "offset", "leader_epoch", "batch_base_offset")
    ]
    flags = [
        table.column(name).is_valid().to_numpy(zero_copy_only=False).tolist()
        for name in ("control_type", "decode_error")
    ]
    more = [
        table.column("timestamp_ms").to_numpy(zero_copy_only=False).tolist(),
        table.column("origin_broker").to_numpy(zero_copy_only=False).tolist(),
    ]
    none = [None] * table.num_rows
    values = table.column("value").to_pylist() if contents else none
    headers = _headers(table) if contents else [[]] * table.num_rows
    return [
        *places,
        table.column("transaction").to_pylist(),
        *flags,
        table.column("key").to_pylist(),
        *more,
        values,
        headers,
    ]


def _headers(table: pa.RecordBatch) -> list[list[Header]]:
    """Return the headers of each row. Most records have none, and lists of structs are slow to convert."""
    column = table.column("headers")
    flat = column.flatten()
    if not len(flat):
        return [[]] * table.num_rows
    names, values = flat.field("key").to_pylist(), flat.field("value").to_pylist()
    pairs = list(zip(names, values, strict=True))
    found, start = [], 0
    for length in column.value_lengths().fill_null(0).to_pylist():
        found.append(pairs[start : start + length])
        start += length
    return found
