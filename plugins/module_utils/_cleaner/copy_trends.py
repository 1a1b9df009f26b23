# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Compare the sizes of compacted copies over many looks: DataFrame in, DataFrame out, no Python worker.

A look has one row for each copy: ``broker_id``, ``log_dir``, ``topic``, ``partition``, ``size_bytes``, ``taken_at_ms``
(milliseconds since 1970) and ``looks``, the number of looks that saw this size in a row, from this one on. Rows of
several clusters have further columns that name the cluster: pass these to ``trends``.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

with suppress(ImportError):  # a missing library is reported before the module starts (_module/run.py)
    from pyspark.sql import DataFrame, Window
    from pyspark.sql import functions as sf

_PARTITION = ("topic", "partition")
_COPY = ("broker_id", "log_dir", *_PARTITION)


def trends(looks: DataFrame, regrown_bytes: int, cluster: Sequence[str] = ()) -> DataFrame:
    """Return one row with the fields of ``CopyTrend`` for each copy of its cluster's newest look.

    A copy that is not in the newest look was moved or deleted, and is left out. If a copy has grown by
    ``regrown_bytes`` since it last shrank, only the looks since then count: an old compaction shows nothing.
    """
    newest = sf.max("taken_at_ms").over(Window.partitionBy(*cluster, sf.lit(0)))
    copies = (
        looks.withColumn("newest", newest)
        .transform(with_last_shrink, regrown_bytes, cluster)
        .where(~sf.col("is_regrown") | (sf.col("taken_at_ms") >= sf.col("shrunk_at_ms")))
        .groupBy(*cluster, *_COPY)
        .agg(
            sf.sum("looks").cast("int").alias("looks"),
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
    return copies.transform(with_others, cluster)


def with_last_shrink(looks: DataFrame, regrown_bytes: int, cluster: Sequence[str]) -> DataFrame:
    """Add when the copy last shrank (null for never), and whether it has grown by ``regrown_bytes`` since."""
    copy = Window.partitionBy(*cluster, *_COPY)
    earlier = sf.lag("size_bytes").over(copy.orderBy("taken_at_ms"))
    is_smaller = sf.col("size_bytes") < sf.col("earlier")
    last = sf.max_by("size_bytes", "taken_at_ms").over(copy)
    shrunk_to = sf.max(sf.when(sf.col("taken_at_ms") == sf.col("shrunk_at_ms"), sf.col("size_bytes"))).over(copy)
    return (
        looks.withColumn("earlier", earlier)
        .withColumn("shrunk_at_ms", sf.max(sf.when(is_smaller, sf.col("taken_at_ms"))).over(copy))
        .withColumn("is_regrown", sf.coalesce(last - shrunk_to >= regrown_bytes, sf.lit(False)))
    )


def with_others(copies: DataFrame, cluster: Sequence[str]) -> DataFrame:
    """Add ``others_shrank`` and ``smallest_copy_bytes`` of the partition's other copies (null if there are none).

    Another copy counts as shrunk only if it shrank after this copy's first look.
    """
    own = sf.struct("broker_id", "log_dir")
    others = sf.filter(
        sf.collect_list(sf.struct("broker_id", "log_dir", "last_bytes", "shrunk_at_ms")).over(
            Window.partitionBy(*cluster, *_PARTITION)
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
