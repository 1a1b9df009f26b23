# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Segments that Kafka wrote, read and saved by one executor and by two: does a salvage scale?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from operator import attrgetter
from pathlib import Path
from tempfile import TemporaryDirectory

from pyspark.sql import SparkSession

from ansible_collections.kafkaops.recovery.plugins.module_utils._disk.segment import Segment
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.log_contents import union
from ansible_collections.kafkaops.recovery.plugins.module_utils._salvage.on_spark import scan, write
from ansible_collections.kafkaops.recovery.plugins.module_utils._salvage.rows import (
    Origin,
    RowSource,
    WantedReplica,
    read_replica_rows,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._salvage.scan import SegmentContents
from ansible_collections.kafkaops.recovery.plugins.module_utils._spark.options import SparkOptions
from ansible_collections.kafkaops.recovery.plugins.module_utils._spark.session import spark_session
from bench.kit.row import CannotMeasureError, Options, Row, Run, Timing
from bench.kit.timing import timed
from bench.salvage import SEGMENT_BYTES, write_segments
from lab import Cluster
from lab.spark import EXECUTORS_OF_ONE_CORE, StandaloneCluster, wait_for_executors

_GIB = 2.0
_WITH_TWO = 0.6


def run(options: Options) -> Iterator[Row]:
    """Measure with workers of one core each. The files are in the page cache, so the disk is not measured."""
    # On a disk: the lab's own directory is in memory.
    with (
        TemporaryDirectory(prefix="kafkaops-bench-") as directory,
        Cluster(heap="1g", properties={"log.segment.bytes": SEGMENT_BYTES}, base_dir=Path(directory)) as cluster,
    ):
        files = write_segments(cluster, "lz4", int(_GIB * 2**30), 0.0)
        segments = [Segment(str(each), int(each.stem), each.stat().st_size) for each in files]
        what = f"{sum(each.size for each in segments) / 2**30:.1f} GiB, lz4"
        repeats = min(3, options.repeats)
        one, two = (_measured(Path(directory, f"spark-{workers}"), workers, segments, repeats) for workers in (1, 2))
        # Reads are limited by the memory bandwidth, which the cores of one host share.
        for verb, goal, alone, together in zip(("read", "save"), (None, _WITH_TWO), one, two, strict=True):
            yield Row(Timing(f"one executor {verb}s {what}", alone), Timing(f"two {verb} the same", together), goal)


def _measured(directory: Path, workers: int, segments: Sequence[Segment], repeats: int) -> tuple[list[Run], list[Run]]:
    """Read all segments, and save all their records. The first call also starts Python's workers."""
    with _session(directory, workers) as spark:
        found = scan(spark, segments)
        damaged = [each for each in found.values() if each.error or each.damages]
        if len(found) != len(segments) or damaged:
            raise CannotMeasureError(f"{len(segments)} segments were to be read, and {len(found)} were: {damaged}")
        source = _all_that_is_held(segments, found)
        read = [timed(lambda: scan(spark, segments)) for _repeat in range(repeats)]
        saved = [
            timed(partial(write, spark, source, (directory / f"saved-{each}").as_uri())) for each in range(repeats)
        ]
        return read, saved


def _all_that_is_held(segments: Sequence[Segment], found: Mapping[str, SegmentContents]) -> RowSource[WantedReplica]:
    by_partition: dict[Path, list[Segment]] = {}
    for each in segments:
        by_partition.setdefault(Path(each.path).parent, []).append(each)
    wanted = []
    for number, (path, held) in enumerate(sorted(by_partition.items())):
        origin = Origin("cluster", None, path.name.rpartition("-")[0], number, 1, None)
        wanted.append(
            WantedReplica(origin, union([(run for each in held for run in found[each.path].runs)]), tuple(held))
        )
    return RowSource(wanted, read_replica_rows, attrgetter("size"), attrgetter("topic_partition"))


@contextmanager
def _session(directory: Path, workers: int) -> Iterator[SparkSession]:
    directory.mkdir()
    with (
        StandaloneCluster(directory, workers) as standalone,
        spark_session(SparkOptions(master=standalone.master, conf=EXECUTORS_OF_ONE_CORE)) as spark,
    ):
        wait_for_executors(spark, workers)
        yield spark
