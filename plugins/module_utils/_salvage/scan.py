# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Second pass: what is whole of the segments that hold something to save, with every checksum verified.

Of a few segments, threads of this process are sooner done than Spark has started.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import asdict

from .._model.log_contents import EpochRange
from .._spark.tasks import in_tasks
from .contents import SegmentContents, contents_of
from .log_dir import Segment
from .segment import Damage, DamageKind, read_segment

with suppress(ImportError):  # a missing library is named before anything is done (_module/run.py)
    import pyarrow as pa
    from pyspark.sql import SparkSession

    _RANGE = pa.struct({"epoch": pa.int32(), "start_offset": pa.int64(), "end_offset": pa.int64()})
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
            "runs": pa.list_(_RANGE),
            "damages": pa.list_(_DAMAGE),
            "error": pa.string(),
        }
    )


def scan_here(segments: Sequence[Segment]) -> dict[str, SegmentContents]:
    """Read every segment from end to end, side by side. Returns what each one holds, by path."""
    with ThreadPoolExecutor() as readers:
        return {found.path: found for found in readers.map(_whole, segments)}


def scan_on_spark(spark: SparkSession, segments: Sequence[Segment]) -> dict[str, SegmentContents]:
    """Do what ``scan_here`` does, in Spark's tasks."""
    rows = in_tasks(spark, segments, _size, _scanned, _SCHEMA).toArrow().to_pylist()
    return {
        row["path"]: SegmentContents(
            row["path"],
            tuple(EpochRange(**each) for each in row["runs"]),
            tuple(Damage(DamageKind(each.pop("kind")), **each) for each in row["damages"]),
            row["error"],
        )
        for row in rows
    }


def _whole(segment: Segment) -> SegmentContents:
    return contents_of(segment, read_segment)


def _size(segment: Segment) -> int:
    return segment.size


def _scanned(segment: Segment) -> Iterator[pa.RecordBatch]:
    found = _whole(segment)
    row = {
        "path": found.path,
        "runs": [
            {"epoch": each.epoch, "start_offset": each.start_offset, "end_offset": each.end_offset}
            for each in found.runs
        ],
        "damages": [asdict(each) for each in found.damages],
        "error": found.error,
    }
    yield pa.RecordBatch.from_pylist([row], schema=_SCHEMA)
