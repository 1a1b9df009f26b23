# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Brings ranked replicas back from Spark, as the dataclasses that the recovery room decides on."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import groupby, islice
from typing import Any, NamedTuple

from ansible_collections.kafkaops.recovery.plugins.module_utils.model.partition import TopicPartition
from ansible_collections.kafkaops.recovery.plugins.module_utils.model.replica_log import Cause, EpochEnd
from ansible_collections.kafkaops.recovery.plugins.module_utils.recovery.candidate import (
    Candidate,
    Flag,
    SilentReplica,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils.recovery.explanation import Standing, explain

with suppress(ImportError):  # a missing library is told by name before anything is done (glue/failures.py)
    import pyarrow as pa
    from pyspark.sql import DataFrame

_ROWS_AT_ONCE = 50_000
"""Bounds the Python objects that exist beside the Arrow table."""


class RankedPartition(NamedTuple):
    """A partition's replicas, judged: candidates best first, the silent in the order of the replica list."""

    topic_partition: TopicPartition
    candidates: tuple[Candidate, ...]
    silent: tuple[SilentReplica, ...]


class _Row(NamedTuple):
    topic: str
    partition: int
    broker_id: int
    log_start_offset: int | None
    log_end_offset: int | None
    last_written_epoch: int | None
    lineage: tuple[EpochEnd, ...]
    size_bytes: int | None
    cause: str | None
    error: str
    rank: int | None
    flags: list[str]


def ranked_partitions(ranked: DataFrame) -> Iterator[RankedPartition]:
    """Rows of ``RANKED_SCHEMA``, by partition, in order of topic and number. Runs the query once, when first asked."""
    table = ranked.select(*_Row._fields, "place").toArrow()
    table = table.sort_by([(name, "ascending") for name in ("topic", "partition", "rank", "place")])
    for (topic, partition), rows in groupby(_rows(table), key=lambda row: (row.topic, row.partition)):
        yield _ranked_partition(TopicPartition(topic, partition), list(rows))


def _rows(table: pa.Table) -> Iterator[_Row]:
    for batch in table.to_batches(max_chunksize=_ROWS_AT_ONCE):
        columns: list[Iterable[Any]] = [
            _lineages(batch.column(name)) if name == "lineage" else batch.column(name).to_pylist()
            for name in _Row._fields
        ]
        yield from map(_Row, *columns)


def _lineages(column: pa.ListArray) -> Iterator[tuple[EpochEnd, ...]]:
    """Column by column: a dict for each entry, as to_pylist makes it, would take most of the collection's time."""
    entries = column.flatten()
    ends = map(EpochEnd, entries.field("epoch").to_pylist(), entries.field("end_offset").to_pylist())
    for length in column.value_lengths().to_pylist():
        yield tuple(islice(ends, length or 0))


def _ranked_partition(topic_partition: TopicPartition, rows: list[_Row]) -> RankedPartition:
    candidates = [row for row in rows if row.rank is not None]
    standings = [
        Standing(
            row.broker_id,
            row.last_written_epoch,
            _told(row.log_start_offset),
            _told(row.log_end_offset),
            tuple(map(Flag, row.flags)),
        )
        for row in candidates
    ]
    return RankedPartition(
        topic_partition,
        tuple(map(_candidate, candidates, standings, explain(standings))),
        tuple(
            SilentReplica(row.broker_id, Cause(row.cause or Cause.BAD_ANSWER), row.error)
            for row in rows
            if row.rank is None
        ),
    )


def _told(number: int | None) -> int:
    if number is None:
        raise ValueError("only a replica that told its offsets is ranked")
    return number


def _candidate(row: _Row, standing: Standing, explanation: str) -> Candidate:
    return Candidate(
        broker_id=row.broker_id,
        rank=_told(row.rank),
        last_written_epoch=row.last_written_epoch,
        log_start_offset=standing.log_start_offset,
        log_end_offset=standing.log_end_offset,
        lineage=row.lineage,
        size_bytes=row.size_bytes,
        flags=standing.flags,
        explanation=explanation,
    )
