# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""How fast the free space of disks shrinks: DataFrame in, DataFrame out, no Python worker."""

from __future__ import annotations

from contextlib import suppress

with suppress(ImportError):  # a missing library is reported before the module starts (_module/run.py)
    from pyspark.sql import DataFrame
    from pyspark.sql import functions as f

DISK = ("cluster_id", "broker_id", "log_dir")
_LATELY_MS = 24 * 3_600_000


def disks(looks: DataFrame) -> DataFrame:
    """Return the newest space of each log directory, and the bytes that it lost each millisecond.

    ``looks`` has ``DISK``, ``at_ms``, ``total_bytes`` and ``usable_bytes``, which are null if unknown. The rates are
    slopes of the least-squares line through the free space, over the whole period and over its last 24 hours. They are
    null for fewer than two values.
    """
    known = looks.where("log_dir IS NOT NULL")
    end = known.groupBy(*DISK).agg(f.expr("max(at_ms) FILTER (WHERE usable_bytes IS NOT NULL)").alias("last_ms"))
    # Times and bytes from the end on: sums of squares of absolute ones would lose digits.
    timed = known.join(end, [*DISK]).withColumn("t", f.col("at_ms") - f.col("last_ms"))
    is_late = f"t >= -{_LATELY_MS}"
    return timed.groupBy(*DISK).agg(
        f.max_by("total_bytes", "at_ms").alias("total_bytes"),
        f.max_by("usable_bytes", "at_ms").alias("usable_bytes"),
        f.expr("count(usable_bytes)").alias("values"),
        f.expr("max(last_ms)").alias("last_ms"),
        f.expr("-regr_slope(double(usable_bytes), double(t))").alias("rate"),
        f.expr(f"-regr_slope(double(usable_bytes), double(t)) FILTER (WHERE {is_late})").alias("rate_lately"),
    )
