# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What Spark does with the answers of replicas, from DataFrame to DataFrame, by Spark SQL alone: no Python worker.

``candidate.rank_logs`` and ``forecast.forecast_losses`` do the same for one partition, in Python.

The columns RANKED_BY of ``rows.REPLICA_LOG_SCHEMA`` come in. A stretch is a struct of a leader epoch, its first offset
and the offset after its last one, as in ``_model.log_contents``.
"""

from __future__ import annotations

from contextlib import suppress

from .candidate import Flag
from .sort_keys import RANKING, sql_order

with suppress(ImportError):  # a missing library is reported before the module starts (_module/run.py)
    from pyspark.sql import DataFrame
    from pyspark.sql.functions import expr


RANKED_BY = (
    "topic",
    "partition",
    *(each.field for each in RANKING),
    "log_start_offset",
    "lineage",
    "is_fenced",
    "is_future",
    "is_tiered",
    "cause",
)
"""The columns that decide about ranks and flags."""
ROW = "row"
"""The number of a row, from 0, by which the answers find their ranks."""
_REPLICAS = "PARTITION BY topic, `partition`, answered"
_BY_RANK = f"({_REPLICAS} ORDER BY {sql_order()})"
_ALL = f"({_REPLICAS} ORDER BY {sql_order()} ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING)"


def rank(answers: DataFrame) -> DataFrame:
    """Return ROW, the rank of each replica that answered, and its flags, as in ``rows.RANKED_SCHEMA``."""
    return (
        answers.transform(mark_answered)
        .transform(number_replicas)
        .transform(flag_replicas)
        .select(ROW, "rank", "flags")
    )


def count_causes(answers: DataFrame) -> DataFrame:
    """Return each ``cause``, null for an answer, with its number of ``replicas``."""
    return answers.groupBy("cause").agg(expr("count(*) AS replicas"))


def mark_answered(answers: DataFrame) -> DataFrame:
    """Add ``answered``: whether the replica returned everything that the ranking needs."""
    return answers.withColumn(
        "answered", expr("cause IS NULL AND log_start_offset IS NOT NULL AND log_end_offset IS NOT NULL")
    )


def number_replicas(answered: DataFrame) -> DataFrame:
    """Add ``rank``, from 1; ``best``, the log of rank 1; and ``latest_start``, the last log start of the partition."""
    return answered.select(
        "*",
        expr(f"IF(answered, row_number() OVER {_BY_RANK}, NULL) AS rank"),
        expr(f"first_value(struct(log_start_offset, lineage)) OVER {_ALL} AS best"),
        expr(f"max(log_start_offset) OVER {_ALL} AS latest_start"),
    )


def stretches(log_start_offset: str, lineage: str) -> str:
    """Return the SQL expression of the stretches of a log, as ``log_contents.stretches_with_epochs`` does."""
    nothing = "CAST(array() AS array<struct<epoch: int, start_offset: bigint, end_offset: bigint>>)"
    return (
        f"aggregate({lineage}, struct({log_start_offset} AS start, {nothing} AS found), (log, each) -> "
        "IF(each.end_offset > log.start, struct(each.end_offset AS start, concat(log.found, array(struct("
        "each.epoch AS epoch, log.start AS start_offset, each.end_offset AS end_offset))) AS found), log)).found"
    )


_DIVERGED = (
    "rank > 1 AND NOT (lineage = best.lineage AND log_start_offset >= best.log_start_offset) AND exists("
    f"{stretches('log_start_offset', 'lineage')}, each -> each.end_offset > best.log_start_offset AND NOT exists("
    f"{stretches('best.log_start_offset', 'best.lineage')}, held -> held.epoch = each.epoch AND "
    "held.start_offset <= greatest(each.start_offset, best.log_start_offset) AND each.end_offset <= held.end_offset))"
)
_FLAGS = {
    Flag.EMPTY_LOG: "log_end_offset = 0",
    Flag.GAP: "log_end_offset < latest_start",
    Flag.FUTURE_REPLICA: "is_future",
    Flag.FENCED: "is_fenced",
    Flag.DIVERGED: _DIVERGED,
    Flag.LOCAL_ONLY: "is_tiered",
    Flag.NOT_COMPARABLE: (
        "greatest(coalesce(try_element_at(lineage, -1).end_offset, 0L), log_start_offset) <> log_end_offset"
    ),
}


def flag_replicas(numbered: DataFrame) -> DataFrame:
    """Add ``flags``: what to check before the election of each replica."""
    conditions = ", ".join(f"IF(answered AND {condition}, '{flag}', NULL)" for flag, condition in _FLAGS.items())
    return numbered.withColumn("flags", expr(f"array_compact(array({conditions}))"))
