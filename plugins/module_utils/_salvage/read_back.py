# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Reads back what was saved from its Parquet files, and trusts nothing that their writer says of them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from .._model.log_contents import EpochRange
from .._model.partition import TopicPartition
from .batch import BatchHeader, has_its_checksum, header_at
from .saved import SavedRecords
from .stretch import merged
from .transactions import Outcome

with suppress(ImportError):  # a missing library is named before anything is done (_module/run.py)
    import pyarrow as pa
    from pyspark.sql import DataFrame
    from pyspark.sql import functions as sql
    from pyspark.sql.pandas.types import from_arrow_schema

    _COVERAGE = pa.schema(
        {
            "topic": pa.string(),
            "partition": pa.int32(),
            "epoch": pa.int32(),
            "start_offset": pa.int64(),
            "end_offset": pa.int64(),
            "bad_batches": pa.int64(),
        }
    )


@dataclass(frozen=True, slots=True)
class ReadBack:
    """What all files hold, and what is wrong with them."""

    partitions: tuple[SavedRecords, ...]
    """In order of topic and number."""
    faults: tuple[str, ...]
    """Each names a partition. Empty when every raw batch has its checksum and no row is missing."""


def read_back(rows: DataFrame) -> ReadBack:
    """Count rows of ``ROW_SCHEMA``, verify the checksum of every raw batch, and take the ranges from their headers."""
    ranges: dict[TopicPartition, list[EpochRange]] = defaultdict(list)
    faults = []
    for row in _coverage(rows):
        partition = TopicPartition(row["topic"], row["partition"])
        ranges[partition].append(EpochRange(row["epoch"], row["start_offset"], row["end_offset"]))
        if row["bad_batches"]:
            faults.append(f"{partition}: {row['bad_batches']} batches do not have their checksum")
    found = []
    for row in _counts(rows):
        rows_found, rows_named = row.pop("rows"), row.pop("batch_rows")
        one = SavedRecords(ranges=(), **row)
        if rows_found != rows_named:
            faults.append(f"{one.topic_partition}: {rows_found} rows where its batches have {rows_named}")
        found.append(replace(one, ranges=merged(ranges[one.topic_partition])))
    return ReadBack(tuple(sorted(found, key=lambda each: each.topic_partition)), tuple(sorted(faults)))


def _counts(rows: DataFrame) -> list[dict[str, Any]]:
    is_data = sql.col("control_type").isNull() & sql.col("decode_error").isNull()

    def number(condition: Any) -> Any:
        return sql.count(sql.when(condition, 1))

    def of(outcome: Outcome) -> Any:
        return number(is_data & (sql.col("transaction") == outcome.value))

    size = sql.coalesce(sql.length("key"), sql.lit(0)) + sql.coalesce(sql.length("value"), sql.lit(0))
    headers = sql.expr(
        "aggregate(headers, 0, "
        "(sum, each) -> sum + octet_length(each.key) + coalesce(octet_length(each.value), 0) + 10)"
    )
    unknown_producer = sql.when(is_data & (sql.col("transaction") == Outcome.UNKNOWN.value), sql.col("producer_id"))
    table = rows.groupBy("topic", "partition", "topic_id").agg(
        number(is_data).alias("records"),
        sql.sum(sql.when(is_data, size).otherwise(0)).alias("bytes"),
        sql.min(sql.when(is_data, sql.col("timestamp_ms"))).alias("first_timestamp_ms"),
        sql.max(sql.when(is_data, sql.col("timestamp_ms"))).alias("last_timestamp_ms"),
        of(Outcome.COMMITTED).alias("committed"),
        of(Outcome.ABORTED).alias("aborted"),
        of(Outcome.UNKNOWN).alias("unknown"),
        number(sql.col("control_type") == "commit").alias("committed_transactions"),
        number(sql.col("control_type") == "abort").alias("aborted_transactions"),
        sql.countDistinct(unknown_producer).alias("open_transactions"),
        number(sql.col("decode_error").isNotNull()).alias("undecodable_batches"),
        number(sql.col("raw_batch").isNotNull()).alias("batches"),
        sql.coalesce(sql.max(sql.when(is_data, size + sql.coalesce(headers, sql.lit(0)))), sql.lit(0)).alias(
            "largest_record_bytes"
        ),
        sql.coalesce(sql.max(sql.length("raw_batch")), sql.lit(0)).alias("largest_batch_bytes"),
        sql.count(sql.lit(1)).alias("rows"),
        sql.coalesce(sql.sum("batch_rows"), sql.lit(0)).alias("batch_rows"),
    )
    found: list[dict[str, Any]] = table.toArrow().to_pylist()
    return found


def _coverage(rows: DataFrame) -> list[dict[str, Any]]:
    batches = rows.where(sql.col("raw_batch").isNotNull()).select("topic", "partition", "raw_batch")
    found: list[dict[str, Any]] = batches.mapInArrow(_covered, from_arrow_schema(_COVERAGE)).toArrow().to_pylist()
    return found


def _covered(tables: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield the ranges of raw batches, joined where one follows on another, and how many are damaged."""
    for table in tables:
        rows: list[dict[str, Any]] = []
        columns = (table.column(name).to_pylist() for name in ("topic", "partition", "raw_batch"))
        for topic, partition, raw in zip(*columns, strict=True):
            header = header_at(raw, 0)
            is_bad = int(header.size != len(raw) or not has_its_checksum(header, raw))
            last = rows[-1] if rows else None
            if last is not None and _follows(last, topic, partition, header):
                last["end_offset"] = header.next_offset
                last["bad_batches"] += is_bad
            else:
                values = (topic, partition, header.leader_epoch, header.base_offset, header.next_offset, is_bad)
                rows.append(dict(zip(_COVERAGE.names, values, strict=True)))
        yield pa.RecordBatch.from_pylist(rows, schema=_COVERAGE)


def _follows(last: dict[str, Any], topic: str, partition: int, header: BatchHeader) -> bool:
    place = (last["topic"], last["partition"], last["epoch"], last["end_offset"])
    return place == (topic, partition, header.leader_epoch, header.base_offset)
