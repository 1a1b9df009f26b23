# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""First pass: what each segment file holds, by (epoch, offset). Spark tasks read segments side by side."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass

from .._model.log_contents import EpochRange
from .._spark.tasks import in_tasks
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
            "batches": pa.int64(),
            "read_bytes": pa.int64(),
            "error": pa.string(),
        }
    )


@dataclass(frozen=True, slots=True)
class SegmentContents:
    """What one segment file holds."""

    path: str
    runs: tuple[EpochRange, ...]
    """Batches with good checksums, joined where one follows on another, in the order of the file."""
    damages: tuple[Damage, ...]
    batches: int
    read_bytes: int
    error: str
    """Why the file could not be read on; empty when it was read to its end."""


def scan_segments(spark: SparkSession, segments: Sequence[Segment]) -> dict[str, SegmentContents]:
    """Read every segment from end to end, checksums verified. Returns what each one holds, by path."""
    if not segments:
        return {}
    rows = in_tasks(spark, segments, _size, _scanned, _SCHEMA).toArrow().to_pylist()
    return {
        row["path"]: SegmentContents(
            row["path"],
            tuple(EpochRange(**each) for each in row["runs"]),
            tuple(Damage(DamageKind(each.pop("kind")), **each) for each in row["damages"]),
            row["batches"],
            row["read_bytes"],
            row["error"],
        )
        for row in rows
    }


def scan_segment(segment: Segment) -> SegmentContents:
    """Read one segment from end to end."""
    runs: list[EpochRange] = []
    damages: list[Damage] = []
    batches = 0
    epoch, start, end = -1, 0, 0
    error = ""
    try:
        with open(segment.path, "rb", buffering=0) as file:
            for found in read_segment(file, segment.size, segment.base_offset):
                if isinstance(found, Damage):
                    damages.append(found)
                    continue
                header = found.header
                batches += 1
                if not header.record_count:
                    # Compaction leaves empty batches behind, for the state of their producers.
                    continue
                if header.leader_epoch != epoch or header.base_offset != end:
                    if end > start:
                        runs.append(EpochRange(epoch, start, end))
                    epoch, start = header.leader_epoch, header.base_offset
                end = header.next_offset
    except OSError as problem:
        error = problem.strerror or str(problem)
    if end > start:
        runs.append(EpochRange(epoch, start, end))
    return SegmentContents(segment.path, tuple(runs), tuple(damages), batches, segment.size, error)


def _size(segment: Segment) -> int:
    return segment.size


def _scanned(segment: Segment) -> Iterator[pa.RecordBatch]:
    found = scan_segment(segment)
    row = {
        "path": found.path,
        "runs": [
            {"epoch": each.epoch, "start_offset": each.start_offset, "end_offset": each.end_offset}
            for each in found.runs
        ],
        "damages": [asdict(each) for each in found.damages],
        "batches": found.batches,
        "read_bytes": found.read_bytes,
        "error": found.error,
    }
    yield pa.RecordBatch.from_pylist([row], schema=_SCHEMA)
