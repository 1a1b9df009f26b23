# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Writes one salvage directory: rows by Spark, read back, and a manifest last. Without it, nothing is kept.

What is read back comes from the Parquet files, and trusts nothing that their writer says of them.
"""

from __future__ import annotations

import os
import pwd
import socket
import uuid
from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple

from .._model.log_contents import EpochRange, Stretches
from .._model.partition import TopicPartition
from .._model.run import VERSION, KafkaOpsError, utc_now
from .._spark.options import SparkOptions
from .._spark.session import spark_session
from .batch import BatchHeader, has_its_checksum, header_at
from .directory import Unfinished, unfinished
from .manifest import MANIFEST, HeldRecords, Manifest, SavedFile, SavedFrom, read_manifest
from .options import is_remote
from .remote import RemoteDirectory, unfinished_remote
from .saved import SavedRecords
from .stretch import merged
from .transactions import Outcome

with suppress(ImportError):  # a missing library is named before anything is done (_module/run.py)
    import pyarrow as pa
    from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]  # it ships no types
    from pyspark.errors import PySparkException
    from pyspark.sql import DataFrame, SparkSession
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


class SalvageError(KafkaOpsError):
    """Records that could not be saved. The message says which and why; nothing was written to the cluster."""


class Written(NamedTuple):
    """Rows that are on disk, and were read back."""

    back: ReadBack
    files: tuple[SavedFile, ...]


class SalvageWriter:
    """A Spark session, and the directory that it writes, which is removed when the block ends without a manifest.

    Entering raises what ``spark_session`` raises.
    """

    spark: SparkSession

    def __init__(self, destination: str, spark: SparkOptions) -> None:
        self._destination = destination
        self._options = spark
        self._stack = ExitStack()
        self._local = ExitStack()
        self._remote = ExitStack()
        self._directory: Unfinished | RemoteDirectory | None = None

    def __enter__(self) -> SalvageWriter:
        with ExitStack() as stack:
            # What Spark and its workers write is for this user only.
            stack.callback(os.umask, os.umask(0o077))
            # Removed once Spark is gone: its tasks may still write until then. Elsewhere, only Spark can remove it.
            stack.enter_context(self._local)
            self.spark = stack.enter_context(spark_session(self._options))
            stack.enter_context(self._remote)
            self._stack = stack.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        return self._stack.__exit__(kind, error, trace)

    def manifest_there(self) -> Manifest | None:
        """Return the manifest of a finished salvage at the destination. Raises KafkaOpsError where anything else is."""
        place = self._destination
        if is_remote(place):
            return RemoteDirectory(self.spark, place).manifest()
        return read_manifest(place) if Path(place, MANIFEST).is_file() else None

    def write(self, rows: DataFrame) -> Written:
        """Make the directory, and write rows of ``ROW_SCHEMA`` to it. Raises SalvageError or SalvageDirectoryError."""
        place = self._destination
        if is_remote(place):
            self._directory = self._remote.enter_context(unfinished_remote(self.spark, place))
        else:
            self._directory = self._local.enter_context(unfinished(place))
        try:
            rows.write.parquet(self._directory.records_uri)
        except (PySparkException, Py4JJavaError) as error:
            raise SalvageError(_in_short(error)) from None
        files = self._directory.files()
        return Written(read_back(self.spark.read.parquet(self._directory.records_uri)), files)

    def finish(
        self,
        written: Written,
        cluster_id: str,
        origins: tuple[SavedFrom, ...],
        held: Mapping[TopicPartition, Stretches],
    ) -> Manifest:
        """Write the manifest. ``held`` is what the disks or replicas hold, saved or not."""
        if self._directory is None:
            raise ValueError("a directory is finished after it was written")
        manifest = Manifest(
            salvage_id=str(uuid.uuid4()),
            cluster_id=cluster_id,
            taken_at=utc_now(),
            taken_on=socket.gethostname(),
            taken_by=_user(),
            collection_version=VERSION,
            origins=origins,
            held=tuple(HeldRecords(each.topic, each.partition, ranges) for each, ranges in sorted(held.items())),
            partitions=written.back.partitions,
            files=written.files,
        )
        self._directory.finish(manifest)
        return manifest


def _user() -> str:
    with suppress(KeyError):
        return pwd.getpwuid(os.geteuid()).pw_name
    return f"uid {os.geteuid()}"


def _in_short(error: Exception) -> str:
    """Return the line of a Java stack that says why the records could not be written."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    causes = [line for line in lines if "No space left" in line or line.startswith("Caused by:") or "OSError" in line]
    return f"the records could not be written: {(causes or lines or ['unknown'])[0]}. Nothing was kept"


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
