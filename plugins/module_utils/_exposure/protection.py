# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Which partitions were short of in-sync replicas, and which racks do not protect: no Python worker."""

from __future__ import annotations

from contextlib import suppress

from .states import PARTITION

with suppress(ImportError):  # a missing library is reported before the module starts (_module/run.py)
    from pyspark.sql import DataFrame, Window
    from pyspark.sql import functions as f

_LEVEL = """
CASE WHEN size(replicas) = 0 THEN 'gone'
     WHEN leader_id = -1 THEN 'offline'
     WHEN min_isr IS NULL OR isr IS NULL OR leader_id IS NULL THEN 'unknown'
     WHEN size(isr) < least(min_isr, size(replicas)) THEN 'below'
     WHEN size(isr) = least(min_isr, size(replicas)) THEN 'at'
     ELSE 'above' END
"""
"""A leader needs no more replicas in sync than there are (Kafka 3.7 and later)."""
_LOW = "level IN ('offline', 'below', 'at')"


def min_isr_of_partitions(states: DataFrame, moments: DataFrame) -> DataFrame:
    """Return how long each partition was at or below min ISR, without a leader, or in a state that is not known.

    ``longest_ms`` is of one uninterrupted stretch, with the gaps in it left out, and ``longest_at_ms`` is the time of
    the snapshot at which it began. What a snapshot saw right before a gap lasted for no known time: ``was_offline`` and
    ``was_below`` are about all snapshots.
    """
    by_time = Window.partitionBy(*PARTITION).orderBy("idx")
    leveled = states.withColumn("level", f.expr(_LEVEL)).withColumn("is_low", f.expr(_LOW))
    # A stretch is what lies between two states that are not low.
    numbered = leveled.withColumn("stretch", f.sum(f.expr("int(NOT is_low)")).over(by_time))
    stretches = numbered.groupBy(*PARTITION, "stretch").agg(
        *(
            f.expr(f"coalesce(sum(observed_ms) FILTER (WHERE level = '{level}'), 0)").alias(f"{level}_ms")
            for level in ("offline", "below", "at", "unknown")
        ),
        f.expr("coalesce(sum(observed_ms) FILTER (WHERE is_low), 0)").alias("low_ms"),
        f.expr("min(idx) FILTER (WHERE is_low)").alias("began"),
        f.expr("coalesce(sum(end_idx - idx) FILTER (WHERE is_low), 0)").alias("snapshots"),
        f.expr("bool_or(level = 'offline')").alias("was_offline"),
        f.expr("bool_or(level = 'below')").alias("was_below"),
        f.expr("max(struct(idx, level, min_isr, size(replicas) AS replicas))").alias("newest"),
    )
    worst = f.expr("max_by(began, struct(low_ms, -began)) FILTER (WHERE began IS NOT NULL)")
    sums = ("offline_ms", "below_ms", "at_ms", "unknown_ms", "snapshots")
    once = ("was_offline", "was_below")
    found = stretches.groupBy(*PARTITION).agg(
        *(f.sum(each).alias(each) for each in sums),
        *(f.bool_or(each).alias(each) for each in once),
        f.max("low_ms").alias("longest_ms"),
        worst.alias("began"),
        f.max("newest").alias("newest"),
    )
    began = moments.select("cluster_id", f.col("idx").alias("began"), f.col("at_ms").alias("longest_at_ms"))
    return found.join(f.broadcast(began), ["cluster_id", "began"], "left").select(
        *PARTITION, *sums, *once, "longest_ms", "longest_at_ms", "newest.level", "newest.min_isr", "newest.replicas"
    )


def racks_of_partitions(states: DataFrame, racks: DataFrame) -> DataFrame:
    """Return the partitions whose replicas are all in one rack at the end, and those whose racks are not known.

    ``racks`` has the newest rack of each broker. Partitions with one replica are left out: no rack can protect them.
    ``rack`` is null for those that are not known.
    """
    newest = states.groupBy(*PARTITION).agg(f.max_by("replicas", "idx").alias("replicas")).where("size(replicas) > 1")
    placed = newest.select(*PARTITION, f.explode("replicas.broker_id").alias("broker_id")).join(
        f.broadcast(racks), ["cluster_id", "broker_id"], "left"
    )
    each = placed.groupBy(*PARTITION).agg(
        f.sort_array(f.collect_list("broker_id")).alias("brokers"),
        f.expr("bool_or(rack IS NULL)").alias("is_unknown"),
        f.countDistinct("rack").alias("racks"),
        f.min("rack").alias("rack"),
    )
    rack = f.when(~f.col("is_unknown"), f.col("rack"))
    return each.where("is_unknown OR racks = 1").select(*PARTITION, "brokers", rack.alias("rack"))
