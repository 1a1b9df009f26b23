# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""How the sizes of compacted copies went over time: looks in, one row for each copy out. DataFrame -> DataFrame."""

from __future__ import annotations

from contextlib import suppress

with suppress(ImportError):  # a missing library is told by name before anything is done (glue/failures.py)
    import pyarrow as pa
    from pyspark.sql import DataFrame, Window
    from pyspark.sql import functions as sf

    LOOK_SCHEMA = pa.schema(
        {
            "taken_at_ms": pa.int64(),
            "broker_id": pa.int32(),
            "log_dir": pa.string(),
            "topic": pa.string(),
            "partition": pa.int32(),
            "size_bytes": pa.int64(),
        }
    )
    """One copy in one look. ``taken_at_ms`` is milliseconds since 1970 by the clock of whoever looked."""

_PARTITION = ("topic", "partition")
_COPY = ("broker_id", "log_dir", *_PARTITION)


def trends(looks: DataFrame, regrown_bytes: int) -> DataFrame:
    """Rows of ``LOOK_SCHEMA`` to one row for each copy of the newest look, with the fields of ``CopyTrend``.

    A copy that a later look does not hold any more is left out: it was moved or deleted. One that has grown by
    ``regrown_bytes`` since it last shrank is judged by what came since: its compaction tells nothing of now.
    """
    newest = sf.max("taken_at_ms").over(Window.partitionBy(sf.lit(0)))
    copies = (
        looks.withColumn("newest", newest)
        .transform(with_last_shrink, regrown_bytes)
        .where(~sf.col("is_regrown") | (sf.col("taken_at_ms") >= sf.col("shrunk_at_ms")))
        .groupBy(*_COPY)
        .agg(
            sf.count("*").cast("int").alias("looks"),
            (sf.max("taken_at_ms") - sf.min("taken_at_ms")).alias("span_ms"),
            sf.min_by("size_bytes", "taken_at_ms").alias("first_bytes"),
            sf.max_by("size_bytes", "taken_at_ms").alias("last_bytes"),
            sf.bool_or(sf.col("shrunk_at_ms").isNotNull() & ~sf.col("is_regrown")).alias("has_shrunk"),
            sf.min("taken_at_ms").alias("since_ms"),
            sf.max("shrunk_at_ms").alias("shrunk_at_ms"),
            (sf.max("taken_at_ms") == sf.max("newest")).alias("is_there"),
        )
        .where("is_there")
    )
    return copies.transform(with_others)


def with_last_shrink(looks: DataFrame, regrown_bytes: int) -> DataFrame:
    """Adds to each look when its copy last shrank (null for never), and whether it has grown by that much since."""
    copy = Window.partitionBy(*_COPY)
    earlier = sf.lag("size_bytes").over(copy.orderBy("taken_at_ms"))
    is_smaller = sf.col("size_bytes") < sf.col("earlier")
    last = sf.max_by("size_bytes", "taken_at_ms").over(copy)
    shrunk_to = sf.max(sf.when(sf.col("taken_at_ms") == sf.col("shrunk_at_ms"), sf.col("size_bytes"))).over(copy)
    return (
        looks.withColumn("earlier", earlier)
        .withColumn("shrunk_at_ms", sf.max(sf.when(is_smaller, sf.col("taken_at_ms"))).over(copy))
        .withColumn("is_regrown", sf.coalesce(last - shrunk_to >= regrown_bytes, sf.lit(False)))
    )


def with_others(copies: DataFrame) -> DataFrame:
    """Adds what the partition's other copies did: ``others_shrank`` and ``smallest_copy_bytes`` (null without any).

    Another copy shrank only where it did so while this one was looked at and did not.
    """
    own = sf.struct("broker_id", "log_dir")
    others = sf.filter(
        sf.collect_list(sf.struct("broker_id", "log_dir", "last_bytes", "shrunk_at_ms")).over(
            Window.partitionBy(*_PARTITION)
        ),
        lambda other: sf.struct(other["broker_id"], other["log_dir"]) != own,
    )
    return copies.withColumns(
        {
            "others_shrank": sf.exists(
                others, lambda other: sf.coalesce(other["shrunk_at_ms"] > sf.col("since_ms"), sf.lit(False))
            ),
            "smallest_copy_bytes": sf.array_min(sf.transform(others, lambda other: other["last_bytes"])),
        }
    ).drop("is_there", "since_ms", "shrunk_at_ms")
