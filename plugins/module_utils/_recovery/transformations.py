# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What Spark does with the answers of replicas, from DataFrame to DataFrame, by Spark SQL alone: no Python worker.

``candidate.rank_logs`` and ``forecast.compare_candidates`` do the same for one partition, in Python.

The columns RANKED_BY of ``rows.REPLICA_LOG_SCHEMA`` come in. A stretch is a struct of a leader epoch, its first offset
and the offset after its last one, as in ``_model.log_contents``. The epochs of a lineage rise, and its end offsets do
not fall: brokers are asked so, and stored evidence is refused otherwise.
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


def compare(answers: DataFrame) -> DataFrame:
    """Return ROW, each replica's rank and flags, and what it lacks of the others, as in ``rows.COMPARED_SCHEMA``."""
    return (
        answers.transform(mark_answered)
        .transform(number_replicas)
        .transform(flag_replicas)
        .transform(collect_others)
        .transform(compare_with_others)
        .transform(unite_losses)
        .select(ROW, "rank", "flags", "against", "lost")
    )


def summarize(answers: DataFrame) -> DataFrame:
    """Return each ``cause``, null for an answer, with its number of ``replicas``; and the number of ``partitions``."""
    of_partition = answers.groupBy("topic", "partition", "cause").agg(expr("count(*) AS replicas"))
    first = "row_number() OVER (PARTITION BY topic, `partition` ORDER BY cause) = 1"
    return (
        of_partition.withColumn("is_first", expr(first))
        .groupBy("cause")
        .agg(expr("sum(replicas) AS replicas"), expr("count_if(is_first) AS partitions"))
    )


def mark_answered(answers: DataFrame) -> DataFrame:
    """Add ``answered``: whether the replica returned everything that the ranking needs; and ``held``, its stretches."""
    return answers.select(
        "*",
        expr("cause IS NULL AND log_start_offset IS NOT NULL AND log_end_offset IS NOT NULL AS answered"),
        expr(f"{stretches('log_start_offset', 'lineage')} AS held"),
    )


def number_replicas(answered: DataFrame) -> DataFrame:
    """Add ``rank``, from 1; ``best``, the log of rank 1; and ``latest_start``, the last log start of the partition."""
    return answered.select(
        "*",
        expr(f"IF(answered, row_number() OVER {_BY_RANK}, NULL) AS rank"),
        expr(f"first_value(struct(log_start_offset, lineage, held)) OVER {_ALL} AS best"),
        expr(f"max(log_start_offset) OVER {_ALL} AS latest_start"),
    )


_STRETCHES = "array<struct<epoch: int, start_offset: bigint, end_offset: bigint>>"
_NOTHING = f"CAST(array() AS {_STRETCHES})"


def stretches(log_start_offset: str, lineage: str) -> str:
    """Return the SQL expression of the stretches of a log, as ``log_contents.stretches_with_epochs`` does."""
    return (
        f"aggregate({lineage}, struct({log_start_offset} AS start, {_NOTHING} AS found), (log, each) -> "
        "IF(each.end_offset > log.start, struct(each.end_offset AS start, concat(log.found, array(struct("
        "each.epoch AS epoch, log.start AS start_offset, each.end_offset AS end_offset))) AS found), log)).found"
    )


_DIVERGED = (
    "rank > 1 AND NOT (lineage = best.lineage AND log_start_offset >= best.log_start_offset) AND exists("
    "held, each -> each.end_offset > best.log_start_offset AND NOT exists("
    "best.held, other -> other.epoch = each.epoch AND "
    "other.start_offset <= greatest(each.start_offset, best.log_start_offset) AND each.end_offset <= other.end_offset))"
)
_HAS_ALL_EPOCHS = "greatest(coalesce(try_element_at(lineage, -1).end_offset, 0L), log_start_offset) = log_end_offset"
_FLAGS = {
    Flag.EMPTY_LOG: "log_end_offset = 0",
    Flag.GAP: "log_end_offset < latest_start",
    Flag.FUTURE_REPLICA: "is_future",
    Flag.FENCED: "is_fenced",
    Flag.DIVERGED: _DIVERGED,
    Flag.LOCAL_ONLY: "is_tiered",
    Flag.NOT_COMPARABLE: f"NOT {_HAS_ALL_EPOCHS}",
}


def flag_replicas(numbered: DataFrame) -> DataFrame:
    """Add ``flags``: what to check before the election of each replica."""
    conditions = ", ".join(f"IF(answered AND {condition}, '{flag}', NULL)" for flag, condition in _FLAGS.items())
    return numbered.withColumn("flags", expr(f"array_compact(array({conditions}))"))


_IS_KNOWN = "coalesce(try_element_at(held, -1).end_offset, log_start_offset) = log_end_offset"
"""Whether the epochs of a log cover it, as in ``log_contents.all_stretches``."""


def collect_others(numbered: DataFrame) -> DataFrame:
    """Add ``others``: the logs of the partition's other replicas that answered, by rank; and ``is_known``."""
    known = numbered.withColumn("is_known", expr(_IS_KNOWN))
    log = "struct(rank, broker_id, log_start_offset, log_end_offset, is_known, held)"
    all_logs = f"collect_list({log}) OVER {_ALL}"
    return known.withColumn("all_logs", expr(all_logs)).withColumn(
        "others", expr("IF(answered, filter(all_logs, other -> other.rank <> rank), NULL)")
    )


def _stretch(start_offset: str, end_offset: str, of: str) -> str:
    return f"struct({of}.epoch AS epoch, {start_offset} AS start_offset, {end_offset} AS end_offset)"


def subtract(stretches: str, held: str) -> str:
    """Return the SQL expression of the stretches that are not in ``held``, as ``log_contents.subtract`` does."""
    # Equal stretches are mostly at equal places. The others are looked up.
    differing = f"zip_with({stretches}, {held}, (each, same) -> IF(each <=> same, NULL, each))"
    nothing = _stretch("each.end_offset", "each.end_offset", "each")
    same = f"coalesce(try_element_at(filter({held}, log -> log.epoch = each.epoch), 1), {nothing})"
    before = _stretch("each.start_offset", "least(each.end_offset, same.start_offset)", "each")
    after = _stretch("greatest(each.start_offset, same.end_offset)", "each.end_offset", "each")
    left = f"filter(array({before}, {after}), part -> part.start_offset < part.end_offset)"
    of_each = f"transform(array_compact({differing}), each -> transform(array({same}), same -> {left}))"
    return f"flatten(flatten({of_each}))"


def union(stretches: str) -> str:
    """Return the SQL expression of each record once, as ``log_contents.union`` does."""
    last = "element_at(found, -1)"
    merged = _stretch(f"{last}.start_offset", f"greatest({last}.end_offset, each.end_offset)", "each")
    joins = f"size(found) > 0 AND {last}.epoch = each.epoch AND each.start_offset <= {last}.end_offset"
    return (
        f"aggregate(array_sort({stretches}), {_NOTHING}, (found, each) -> IF({joins}, "
        f"concat(slice(found, 1, size(found) - 1), array({merged})), concat(found, array(each))))"
    )


_BEFORE = (
    "transform(filter(other.held, each -> each.start_offset < log_start_offset), each -> "
    f"{_stretch('each.start_offset', 'least(each.end_offset, log_start_offset)', 'each')})"
)
"""The records of the other log before the start of this one."""
_FROM_START = (
    "transform(filter(other.held, each -> each.end_offset > log_start_offset), each -> "
    f"{_stretch('greatest(each.start_offset, log_start_offset)', 'each.end_offset', 'each')})"
)
_IS_NEWER = "coalesce(each.epoch > try_element_at(lineage, 1).epoch, false)"
_NEVER_HELD = f"filter({_BEFORE}, each -> {_IS_NEWER})"
"""As ``log_contents.never_held_before_start``."""
_EARLIER = f"filter({_BEFORE}, each -> NOT {_IS_NEWER})"
_NEWEST_SHARED = "array_max(array_intersect(other.held.epoch, held.epoch))"
_DIVERGENCE = (
    f"array_max(transform(array({_NEWEST_SHARED}), epoch -> least("
    "try_element_at(filter(held, each -> each.epoch = epoch), 1).end_offset, "
    "try_element_at(filter(other.held, each -> each.epoch = epoch), 1).end_offset)))"
)
_BEYOND = (
    "CASE WHEN other.is_known THEN transform(filter(other.held, each -> each.end_offset > log_end_offset), each -> "
    f"{_stretch('greatest(each.start_offset, log_end_offset)', 'each.end_offset', 'each')}) "
    "WHEN greatest(log_end_offset, other.log_start_offset) < other.log_end_offset THEN array(struct(-1 AS epoch, "
    f"greatest(log_end_offset, other.log_start_offset) AS start_offset, other.log_end_offset AS end_offset)) "
    f"ELSE {_NOTHING} END"
)
"""As ``log_contents.records_beyond``."""


def _against(lost: str, divergence_offset: str, earlier: str, beyond: str) -> str:
    return (
        f"struct(other.broker_id AS broker_id, {lost} AS lost, {divergence_offset} AS divergence_offset, "
        f"{earlier} AS earlier, {beyond} AS beyond)"
    )


_LONGER = (
    "IF(log_end_offset < other.log_end_offset, array(struct(element_at(held, -1).epoch AS epoch, "
    f"log_end_offset AS start_offset, other.log_end_offset AS end_offset)), {_NOTHING})"
)
"""The records of the other log after the end of this one, if both have the same epochs from the same offsets."""
_LACKED = union(f"concat({_NEVER_HELD}, {subtract(_FROM_START, 'held')})")
_UNKNOWN = f"CAST(NULL AS {_STRETCHES})"
_AGAINST = (
    "CASE WHEN other.is_known AND size(other.held) = 0 AND other.log_end_offset <= log_end_offset "
    f"THEN {_against(_NOTHING, 'CAST(NULL AS bigint)', _NOTHING, _NOTHING)} "
    "WHEN NOT (is_known AND other.is_known) "
    f"THEN {_against(_UNKNOWN, 'CAST(NULL AS bigint)', _NOTHING, _BEYOND)} "
    # The usual case, for speed: logs that differ in their ends at most.
    "WHEN size(held) > 0 AND other.held.epoch = held.epoch AND other.held.start_offset = held.start_offset "
    f"THEN {_against(_LONGER, 'least(log_end_offset, other.log_end_offset)', _NOTHING, _NOTHING)} "
    f"ELSE {_against(_LACKED, _DIVERGENCE, _EARLIER, _NOTHING)} END"
)


def compare_with_others(collected: DataFrame) -> DataFrame:
    """Add ``against``: for each of the ``others``, what this replica lacks of it, as ``forecast.LossAgainst``."""
    return collected.withColumn("against", expr(f"transform(others, other -> {_AGAINST})"))


def unite_losses(compared: DataFrame) -> DataFrame:
    """Add ``lost``: each record once that another replica holds and this one certainly never held."""
    parts = "transform(against, each -> coalesce(each.lost, each.beyond))"
    columns = ", ".join(f"each.{name}" for name in ("broker_id", "lost", "divergence_offset", "earlier"))
    return compared.withColumn("lost", expr(union(f"flatten({parts})"))).withColumn(
        "against", expr(f"transform(against, each -> struct({columns}))")
    )
