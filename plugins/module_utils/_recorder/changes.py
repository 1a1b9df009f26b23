# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Compare what all replicas hold with what was recorded before: DataFrame in, DataFrame out, no Python worker."""

from __future__ import annotations

from contextlib import suppress
from datetime import datetime
from functools import reduce

from .names import SNAPSHOT
from .rows import COMPARED, KEY, LAST_ANSWER

with suppress(ImportError):  # a missing library is reported before the module starts (_module/run.py)
    from pyspark.sql import Column, DataFrame
    from pyspark.sql import functions as f

    from .rows import RECORDED_SCHEMA


def newest_rows(recorded: DataFrame) -> DataFrame:
    """Return the newest row of each replica, without those of replicas that do not exist any more."""
    rest = [name for name in RECORDED_SCHEMA.names if name not in KEY]
    newest = recorded.groupBy(*KEY).agg(f.max_by(f.struct(*rest), f.col(SNAPSHOT)).alias("newest"))
    return newest.select(*KEY, *(f.col(f"newest.{name}").alias(name) for name in rest)).where("NOT is_removed")


def compare(asked: DataFrame, before: DataFrame, at: datetime, seen_at: datetime | None) -> DataFrame:
    """Return the rows of all replicas as they are to be recorded, with the column ``is_changed``.

    ``asked`` has the answers of now (rows.ASKED_SCHEMA), ``before`` the newest rows. ``at`` is the time of the answers,
    ``seen_at`` that of the newest snapshot before, at which every replica without a cause answered.
    """
    now, old = asked.alias("now"), before.alias("old")
    both = now.join(old, [f.col(f"now.{name}") == f.col(f"old.{name}") for name in KEY], "full_outer")
    is_new, is_removed = f.col("old.topic").isNull(), f.col("now.topic").isNull()
    differs = reduce(
        Column.__or__, [~f.col(f"now.{name}").eqNullSafe(f.col(f"old.{name}")) for name in COMPARED], is_new
    )
    is_changed = is_new | is_removed | differs
    answered = f.struct(
        *(f.col(f"old.{name}").alias(name) for name in LAST_ANSWER), f.lit(seen_at).cast("timestamp").alias("seen_at")
    )
    last_answer = f.when(~is_new & f.col("old.cause").isNull(), answered).otherwise(f.col("old.last_answer"))
    is_silent = is_removed | f.col("now.cause").isNotNull()
    return both.select(
        *(f.coalesce(f.col(f"now.{name}"), f.col(f"old.{name}")).alias(name) for name in KEY),
        *(f.col(f"now.{name}").alias(name) for name in COMPARED),
        f.when(is_changed, f.lit(at).cast("timestamp")).otherwise(f.col("old.observed_at")).alias("observed_at"),
        is_removed.alias("is_removed"),
        f.when(is_silent, last_answer).alias("last_answer"),
        is_changed.alias("is_changed"),
    )


def to_store(compared: DataFrame, *, is_full: bool) -> DataFrame:
    """Return the rows of a snapshot: of all replicas that exist, or only of those that changed."""
    rows = compared.where("NOT is_removed") if is_full else compared.where("is_changed")
    return rows.select(*RECORDED_SCHEMA.names)
