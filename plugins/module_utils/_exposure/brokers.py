# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Which brokers left and came back, which lagged, what the death of each would have cost, and how their disks fill.

DataFrame in, DataFrame out, no Python worker.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

from .states import PARTITION

with suppress(ImportError):  # a missing library is reported before the module starts (_module/run.py)
    from pyspark.sql import DataFrame, Window
    from pyspark.sql import functions as f

BROKER = ("cluster_id", "broker_id")
DISK = (*BROKER, "log_dir")
_LATELY_MS = 24 * 3_600_000


def absences(looks: DataFrame, moments: DataFrame) -> DataFrame:
    """Return how often each broker left and came back, and for how long it was away.

    ``looks`` has ``BROKER``, ``idx`` and ``state`` of each broker in each snapshot. A broker that a snapshot lacks was
    away, too, but not before the first one that has it: it was added to the cluster later. ``longest_ms`` is of one
    absence.
    """
    by_time = Window.partitionBy(*BROKER).orderBy("idx")
    last = moments.groupBy("cluster_id").agg((f.max("idx") - 1).alias("last"))
    brokers = looks.groupBy(*BROKER).agg(f.min("idx").alias("first")).join(f.broadcast(last), "cluster_id")
    every = brokers.select(*BROKER, f.explode(f.expr("sequence(first, last)")).alias("idx"))
    start = moments.select("cluster_id", "idx", "at_ms", f.col("clock_ms").alias("from_ms"))
    end = moments.select("cluster_id", (f.col("idx") - 1).alias("idx"), f.col("clock_ms").alias("until_ms"))
    seen = (
        every.join(looks, [*BROKER, "idx"], "left")
        .join(f.broadcast(start), ["cluster_id", "idx"])
        .join(f.broadcast(end), ["cluster_id", "idx"])
        .withColumn("is_up", f.expr("coalesce(state = 'online', false)"))
        .withColumn("was_up", f.lag("is_up").over(by_time))
        .withColumn("stay", f.sum(f.expr("int(is_up)")).over(by_time))
    )
    stays = seen.groupBy(*BROKER, "stay").agg(
        f.expr("coalesce(sum(until_ms - from_ms) FILTER (WHERE NOT is_up), 0)").alias("away_ms"),
        f.expr("min(at_ms) FILTER (WHERE NOT is_up)").alias("left_ms"),
        f.expr("count_if(was_up AND NOT is_up)").alias("departures"),
        f.expr("count_if(NOT was_up AND is_up)").alias("returns"),
        f.max(f.struct("idx", "state")).alias("newest"),
    )
    return stays.groupBy(*BROKER).agg(
        f.sum("departures").alias("departures"),
        f.sum("returns").alias("returns"),
        f.sum("away_ms").alias("away_ms"),
        f.max("away_ms").alias("longest_ms"),
        f.expr("max_by(left_ms, struct(away_ms, -left_ms)) FILTER (WHERE left_ms IS NOT NULL)").alias("longest_at_ms"),
        f.max("newest").getField("state").alias("state"),
    )


def lags(states: DataFrame) -> DataFrame:
    """Return the states of replicas that answered and were not in sync, although the partition had a leader."""
    each = states.where("leader_id <> -1").select(
        *PARTITION, "idx", "end_idx", "observed_ms", "isr", f.explode("replicas").alias("replica")
    )
    lagging = each.where("replica.cause IS NULL AND NOT array_contains(isr, replica.broker_id)")
    return lagging.select(
        *PARTITION, "idx", "end_idx", "observed_ms", "replica.broker_id", f.lit(1).cast("long").alias("partitions")
    )


def deaths(states: DataFrame) -> DataFrame:
    """Return what the death of a broker would have cost, partition by partition, where that is not nothing.

    It is the part of the leader's log that no other replica had: beyond the log ends of all others that answered, and
    beyond the high watermark if another one in sync answered. The high watermark and the log end come from the same
    broker over one connection, so that this part is not counted as lost only because the others were asked earlier.
    Without a leader that answers, each replica that answers is one.
    """
    candidates = states.withColumn("answered", f.expr("filter(replicas, r -> r.log_end_offset IS NOT NULL)"))
    each = candidates.select(
        *PARTITION, "idx", "end_idx", "isr", "leader_id", "answered", f.explode("answered").alias("own")
    ).where("own.broker_id = leader_id OR NOT exists(answered, r -> r.broker_id = leader_id)")
    others = each.withColumn("others", f.expr("filter(answered, r -> r.broker_id <> own.broker_id)"))
    safe = """
        greatest(
            own.log_start_offset,
            array_max(transform(others, r -> r.log_end_offset)),
            CASE WHEN exists(others, r -> array_contains(isr, r.broker_id)) THEN own.high_watermark END
        )
    """
    records = f.expr(f"greatest(own.log_end_offset - ({safe}), 0)")
    found = others.withColumn("records", records).where("records > 0")
    return found.select(
        *PARTITION,
        "idx",
        "end_idx",
        "own.broker_id",
        "records",
        f.lit(1).cast("long").alias("partitions"),
        f.expr("CASE WHEN size(others) = 0 THEN records ELSE 0 END").alias("only_answer_records"),
    )


def worst_moments(pieces: DataFrame, moments: DataFrame, values: Sequence[str]) -> DataFrame:
    """Return when the sum of the first of the values was highest for each broker, and all sums of that moment.

    Each piece counts from snapshot ``idx`` to before ``end_idx``. Of equal moments, the first.
    """
    changes = pieces.select(*BROKER, "idx", *values).unionByName(
        pieces.select(*BROKER, f.col("end_idx").alias("idx"), *((-f.col(each)).alias(each) for each in values))
    )
    by_time = Window.partitionBy(*BROKER).orderBy("idx")
    sums = changes.groupBy(*BROKER, "idx").agg(*(f.sum(each).alias(each) for each in values))
    running = sums.select(*BROKER, "idx", *(f.sum(each).over(by_time).alias(each) for each in values))
    worst = running.groupBy(*BROKER).agg(
        f.max_by(f.struct("idx", *values), f.struct(f.col(values[0]), -f.col("idx"))).alias("worst")
    )
    at = moments.select("cluster_id", "idx", "at_ms")
    return worst.select(*BROKER, "worst.*").join(f.broadcast(at), ["cluster_id", "idx"]).drop("idx")


def disks(looks: DataFrame, moments: DataFrame) -> DataFrame:
    """Return the space of each log directory in the newest snapshot, and the bytes that it lost each millisecond.

    ``looks`` has ``DISK``, ``idx``, ``at_ms``, ``total_bytes`` and ``usable_bytes``, which are null if unknown. So is
    the space of a directory that the newest snapshot lacks: its broker is dead, or does not have it any more. The rates
    are slopes of the least-squares line through the free space, over the whole period and over its last 24 hours. They
    are null for fewer than two values.
    """
    known = looks.where("log_dir IS NOT NULL")
    end = known.groupBy(*DISK).agg(f.expr("max(at_ms) FILTER (WHERE usable_bytes IS NOT NULL)").alias("last_ms"))
    # Times and bytes from the end on: sums of squares of absolute ones would lose digits.
    timed = known.join(end, [*DISK]).withColumn("t", f.col("at_ms") - f.col("last_ms"))
    is_late = f"t >= -{_LATELY_MS}"
    newest = moments.groupBy("cluster_id").agg((f.max("idx") - 1).alias("newest"))
    return (
        timed.join(f.broadcast(newest), "cluster_id")
        .groupBy(*DISK)
        .agg(
            f.expr("max(total_bytes) FILTER (WHERE idx = newest)").alias("total_bytes"),
            f.expr("max(usable_bytes) FILTER (WHERE idx = newest)").alias("usable_bytes"),
            f.expr("-regr_slope(double(usable_bytes), double(t))").alias("rate"),
            f.expr(f"-regr_slope(double(usable_bytes), double(t)) FILTER (WHERE {is_late})").alias("rate_lately"),
        )
    )
