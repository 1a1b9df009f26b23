# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What each partition was, from which snapshot to which: DataFrame in, DataFrame out, no Python worker.

A snapshot stores what changed, and a full one everything. So a row counts until the replica's next row, and at most
until a full snapshot that does not have the replica.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

from .._recorder.names import SNAPSHOT
from .timeline import Timeline

with suppress(ImportError):  # a missing library is reported before the module starts (_module/run.py)
    from pyspark.sql import DataFrame, SparkSession, Window
    from pyspark.sql import functions as f

PARTITION = ("cluster_id", "topic", "partition")
REPLICA = (*PARTITION, "broker_id")
_OF_PARTITION = ("leader_id", "isr", "min_isr", "topic_id", "is_compacted")
_OF_COMPACTED = ("size_bytes", "log_dir")
"""Only log cleaners are judged by these. Of other replicas they are null: each new size would be another state."""
_OF_REPLICA = ("log_start_offset", "log_end_offset", "high_watermark", "cause", *_OF_COMPACTED)
_HELD = (*_OF_PARTITION, *_OF_REPLICA)
_SNAPSHOTS = f"cluster_id string, {SNAPSHOT} string, idx int, next_full int"
_MOMENTS = "cluster_id string, idx int, at_ms long, clock_ms long"
_BOUNDS = "cluster_id string, first int, last int"


def snapshots_of(spark: SparkSession, timelines: Sequence[Timeline]) -> DataFrame:
    """Return the number of each snapshot in its timeline, and that of the next full one."""
    rows = [
        (each.cluster_id, name.text.removeprefix(f"{SNAPSHOT}="), place, full)
        for each in timelines
        for place, (name, full) in enumerate(zip(each.names, each.next_full, strict=True))
    ]
    return spark.createDataFrame(rows, _SNAPSHOTS)


def moments_of(spark: SparkSession, timelines: Sequence[Timeline]) -> DataFrame:
    """Return the time and the observed clock of each snapshot, and of the end of each timeline, in milliseconds."""
    rows = [
        (each.cluster_id, place, round(at.timestamp() * 1000), clock)
        for each in timelines
        for place, (at, clock) in enumerate(
            zip([*(name.at for name in each.names), each.end], each.clock_ms, strict=True)
        )
    ]
    return spark.createDataFrame(rows, _MOMENTS)


def bounds_of(spark: SparkSession, timelines: Sequence[Timeline]) -> DataFrame:
    """Return the first snapshot of each timeline that counts, and the number of its snapshots."""
    return spark.createDataFrame([(each.cluster_id, each.first, len(each.names)) for each in timelines], _BOUNDS)


def partition_states(rows: DataFrame, timelines: Sequence[Timeline]) -> DataFrame:
    """Return each state of each partition, and how long it counts.

    ``rows`` are those of all snapshots of the timelines. The snapshots that saw a state are those from ``idx`` to
    before ``end_idx``, and ``is_newest`` says whether the newest snapshot of its cluster is one of them. The other
    columns are ``PARTITION``, ``observed_ms``, ``leader_id``, ``isr``, ``min_isr``, ``topic_id``, ``is_compacted`` and
    ``replicas``, which is empty while the partition did not exist.
    """
    spark = rows.sparkSession
    moments = f.broadcast(moments_of(spark, timelines))
    states = _states(_changes(rows.join(f.broadcast(snapshots_of(spark, timelines)), ["cluster_id", SNAPSHOT])))
    ended = states.join(f.broadcast(bounds_of(spark, timelines)), "cluster_id").withColumn(
        "end_idx", f.coalesce(f.lead("idx").over(Window.partitionBy(*PARTITION).orderBy("idx")), f.col("last"))
    )
    shown = ended.where("end_idx > first").withColumn("idx", f.greatest("idx", "first"))
    return (
        shown.join(moments.select("cluster_id", "idx", f.col("clock_ms").alias("from_ms")), ["cluster_id", "idx"])
        .join(
            moments.select("cluster_id", f.col("idx").alias("end_idx"), f.col("clock_ms").alias("until_ms")),
            ["cluster_id", "end_idx"],
        )
        .select(
            *PARTITION,
            "idx",
            "end_idx",
            (f.col("end_idx") == f.col("last")).alias("is_newest"),
            (f.col("until_ms") - f.col("from_ms")).alias("observed_ms"),
            *(f"state.{each}" for each in _OF_PARTITION),
            "replicas",
        )
    )


def _changes(rows: DataFrame) -> DataFrame:
    """Return what a replica was since which snapshot (``idx``). ``value`` is null since it does not exist."""
    by_time = Window.partitionBy(*REPLICA).orderBy("idx")
    held = [f.when(f.col("is_compacted"), f.col(each)) if each in _OF_COMPACTED else f.col(each) for each in _HELD]
    struct = f.struct(*(column.alias(name) for name, column in zip(_HELD, held, strict=True)))
    value = f.when(~f.col("is_removed"), struct)
    numbered = rows.repartition(*PARTITION).select(
        *REPLICA, "idx", "next_full", "is_removed", value.alias("value"), f.lead("idx").over(by_time).alias("next_idx")
    )
    is_missing = f.expr("NOT is_removed AND next_full IS NOT NULL AND (next_idx IS NULL OR next_idx > next_full)")
    here = f.struct(f.col("idx"), f.col("value"))
    nothing = f.when(f.lit(False), f.struct(*(f"value.{each}" for each in _HELD)))
    gone = f.struct(f.col("next_full").alias("idx"), nothing.alias("value"))
    both = numbered.select(
        *REPLICA, f.explode(f.when(is_missing, f.array(here, gone)).otherwise(f.array(here))).alias("step")
    ).select(*REPLICA, "step.idx", "step.value")
    return both.withColumn("before", f.lag("value").over(by_time)).where("NOT value <=> before").drop("before")


def _states(changes: DataFrame) -> DataFrame:
    """Return what all replicas of a partition were after each change of one of them."""
    since = Window.partitionBy(*REPLICA).orderBy("idx").rowsBetween(Window.unboundedPreceding, 0)
    changed = changes.select(*REPLICA, "idx", f.struct("idx", "value").alias("change"))
    grid = changes.select(*PARTITION, "idx").distinct().join(changes.select(*REPLICA).distinct(), [*PARTITION])
    known = grid.join(changed, [*REPLICA, "idx"], "left").select(
        *REPLICA, "idx", f.last("change", ignorenulls=True).over(since).alias("known")
    )
    value = f.col("known.value")
    replica = f.struct("broker_id", *(f.col(f"known.value.{each}").alias(each) for each in _OF_REPLICA))
    partition = f.struct(*(f.col(f"known.value.{each}").alias(each) for each in _OF_PARTITION))
    return known.groupBy(*PARTITION, "idx").agg(
        f.collect_list(f.when(value.isNotNull(), replica)).alias("replicas"),
        # The rows of all replicas have the same metadata. If it changes, all rows change.
        f.max_by(f.when(value.isNotNull(), partition), f.when(value.isNotNull(), f.col("known.idx"))).alias("state"),
    )
