# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Segments that Kafka wrote, read from end to end by one executor and by two: does the reading scale?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from pyspark.sql import SparkSession

from ansible_collections.kafkaops.recovery.plugins.module_utils._salvage.log_dir import Segment
from ansible_collections.kafkaops.recovery.plugins.module_utils._salvage.on_spark import scan
from ansible_collections.kafkaops.recovery.plugins.module_utils._spark.options import SparkOptions
from ansible_collections.kafkaops.recovery.plugins.module_utils._spark.session import spark_session
from bench.kit.row import CannotMeasureError, Options, Row, Run, Timing
from bench.kit.timing import timed
from bench.salvage import SEGMENT_BYTES, write_segments
from lab import Cluster, wait_until
from lab.spark import DRIVER_HERE, StandaloneCluster

_GIB = 2.0
_WITH_TWO = 0.6


def run(options: Options) -> Iterator[Row]:
    """Each worker has one core. The files are in the page cache: what is measured is not the disk."""
    # On a disk: the lab's own directory is memory.
    with (
        TemporaryDirectory(prefix="kafkaops-bench-") as directory,
        Cluster(heap="1g", properties={"log.segment.bytes": SEGMENT_BYTES}, base_dir=Path(directory)) as cluster,
    ):
        files = write_segments(cluster, "lz4", int(_GIB * 2**30), 0.0)
        segments = [Segment(str(each), int(each.stem), each.stat().st_size) for each in files]
        what = f"{sum(each.size for each in segments) / 2**30:.1f} GiB, lz4"
        one, two = (_scanned(Path(directory), workers, segments, min(3, options.repeats)) for workers in (1, 2))
        yield Row(Timing(f"one executor reads {what}", one), Timing("two executors read the same", two), _WITH_TWO)


def _scanned(directory: Path, workers: int, segments: Sequence[Segment], repeats: int) -> list[Run]:
    with _session(directory / f"spark-{workers}", workers) as spark:
        found = scan(spark, segments)  # Python's workers start, and the page cache fills
        damaged = [each for each in found.values() if each.error or each.damages]
        if len(found) != len(segments) or damaged:
            raise CannotMeasureError(f"{len(segments)} segments were to be read, and {len(found)} were: {damaged}")
        return [timed(lambda: scan(spark, segments)) for _repeat in range(repeats)]


@contextmanager
def _session(directory: Path, workers: int) -> Iterator[SparkSession]:
    directory.mkdir()
    conf = {**DRIVER_HERE, "spark.executor.memory": "512m", "spark.executor.cores": "1"}
    with (
        StandaloneCluster(directory, workers) as standalone,
        spark_session(SparkOptions(master=standalone.master, conf=conf)) as spark,
    ):
        # The driver is in the list, too.
        java = spark.sparkContext._jsc.sc()
        wait_until(lambda: java.getExecutorMemoryStatus().size() == workers + 1, 60, what=f"{workers} executors are up")
        yield spark
