# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Scan, write and read back in Spark's tasks: for large salvages, and for file systems that only Spark reaches.

Each function has a counterpart in scan.py, writer.py or read_back.py that does the same in this process.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict
from operator import attrgetter
from typing import Any

from .._disk.segment import Damage, DamageKind, Segment
from .._model.log_contents import EpochRange
from .._spark.tasks import run_in_tasks
from .read_back import CHECKED, ReadBack, check_rows, combine_counts
from .rows import RowSource
from .scan import SegmentContents, read_whole_segment
from .transformations import account

with suppress(ImportError):  # a missing library is reported before the module starts (_module/run.py)
    import pyarrow as pa
    from pyspark.sql import SparkSession
    from pyspark.sql.pandas.types import from_arrow_schema

    from .read_back import CHECKED_SCHEMA, RANGE
    from .rows import ROW_SCHEMA

    _DAMAGE = pa.struct(
        {
            "kind": pa.string(),
            "position": pa.int64(),
            "size": pa.int64(),
            "from_offset": pa.int64(),
            "to_offset": pa.int64(),
        }
    )
    _SCHEMA = pa.schema(
        {
            "path": pa.string(),
            "runs": pa.list_(RANGE),
            "damages": pa.list_(_DAMAGE),
            "error": pa.string(),
        }
    )


def scan(spark: SparkSession, segments: Sequence[Segment]) -> dict[str, SegmentContents]:
    """Read every segment from end to end. Returns the contents by path."""
    rows = run_in_tasks(spark, segments, attrgetter("size"), _scanned, _SCHEMA).toArrow().to_pylist()
    return {
        row["path"]: SegmentContents(
            row["path"],
            tuple(EpochRange(**each) for each in row["runs"]),
            tuple(Damage(DamageKind(each.pop("kind")), **each) for each in row["damages"]),
            row["error"],
        )
        for row in rows
    }


def write(spark: SparkSession, source: RowSource[Any], uri: str) -> None:
    """Write all rows to Parquet files in a new directory. Raises PySparkException or Py4JJavaError."""
    rows = run_in_tasks(spark, source.items, source.weight, source.rows, ROW_SCHEMA, together=source.together)
    rows.write.parquet(uri)


def read_back(spark: SparkSession, uri: str) -> ReadBack:
    """Read all files of a directory and count their records. Only the checksums of raw batches need Python workers."""
    rows = spark.read.parquet(uri)
    counts = rows.transform(account)
    checks = rows.select(*CHECKED).mapInArrow(check_rows, from_arrow_schema(CHECKED_SCHEMA))
    return combine_counts([*counts.toArrow().to_pylist(), *checks.toArrow().to_pylist()])


def _scanned(segment: Segment) -> Iterator[pa.RecordBatch]:
    found = read_whole_segment(segment)
    row = {
        "path": found.path,
        "runs": [each._asdict() for each in found.runs],
        "damages": [asdict(each) for each in found.damages],
        "error": found.error,
    }
    yield pa.RecordBatch.from_pylist([row], schema=_SCHEMA)
