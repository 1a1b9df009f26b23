# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Ranks replicas by what they hold: DataFrame to DataFrame, the same for any partitioning of the rows.

Ranks what was gathered, and makes a plan of it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from types import MappingProxyType

from .._model.partition import TopicPartition
from .._model.run import utc_now
from .candidate import Flag
from .decide import decide
from .evidence import Evidence
from .plan import LeftAlone, Plan, PlannedElection
from .rows import ranked_partitions
from .strategy import Policy

with suppress(ImportError):  # a missing library is named before anything is done (_module/run.py)
    from pyspark.sql import Column, DataFrame, SparkSession, Window
    from pyspark.sql import functions as sf


_PARTITION = ("topic", "partition")


def ranked(replica_logs: DataFrame) -> DataFrame:
    """Rows of ``REPLICA_LOG_SCHEMA`` to rows of ``RANKED_SCHEMA``: as many, each with its rank and flags."""
    return replica_logs.transform(with_rank).transform(with_flags)


def with_rank(replica_logs: DataFrame) -> DataFrame:
    """Add ``rank``, from 1, among the partition's replicas that answered; null for the others.

    The order: highest last written leader epoch (a log without epochs comes last), then highest log end offset, then,
    of a tiered topic, the lowest offset on its own disk, so that a replica which was rebuilt from the tier does not
    pass for a complete one; then place in the replica list, where the first wins (KIP-966).
    """
    best_first = (
        sf.desc(_answered()),
        sf.desc_nulls_last("last_written_epoch"),
        sf.desc("log_end_offset"),
        sf.asc_nulls_last("local_log_start_offset"),
        sf.asc("place"),
        sf.asc("broker_id"),
    )
    rank = sf.row_number().over(Window.partitionBy(*_PARTITION).orderBy(*best_first))
    return replica_logs.withColumn("rank", sf.when(_answered(), rank))


def with_flags(ranked_logs: DataFrame) -> DataFrame:
    """Add ``flags``: what a person must know of each ranked replica. Empty for a replica that did not answer.

    ``Flag`` says what each one means.
    """
    candidates = Window.partitionBy(*_PARTITION)
    is_candidate = sf.col("rank").isNotNull()
    best = sf.max(sf.when(sf.col("rank") == 1, sf.struct("log_start_offset", "lineage"))).over(candidates)
    highest_start = sf.max(sf.when(is_candidate, sf.col("log_start_offset"))).over(candidates)
    conditions = {
        Flag.EMPTY_LOG: sf.col("log_end_offset") == 0,
        Flag.GAP: sf.col("log_end_offset") < sf.col("_highest_start"),
        Flag.FUTURE_REPLICA: sf.col("is_future"),
        Flag.FENCED: sf.col("is_fenced"),
        Flag.DIVERGED: _holds_what_best_does_not(),
        Flag.LOCAL_ONLY: sf.col("is_tiered"),
    }
    flags = sf.array_compact(sf.array(*[sf.when(conditions[flag], sf.lit(str(flag))) for flag in Flag]))
    return (
        ranked_logs.withColumns({"_best": best, "_highest_start": highest_start})
        .withColumn("flags", sf.when(is_candidate, flags).otherwise(sf.array().cast("array<string>")))
        .drop("_best", "_highest_start")
    )


def _answered() -> Column:
    return sf.col("cause").isNull() & sf.col("log_end_offset").isNotNull() & sf.col("log_start_offset").isNotNull()


def _segments(lineage: Column, log_start_offset: Column) -> Column:
    """Return a log as stretches of one epoch each: array of (epoch, start, end), start inclusive and end exclusive."""

    def segment(entry: Column, index: Column) -> Column:
        start = sf.when(index == 0, log_start_offset).otherwise(sf.get(lineage, index - 1)["end_offset"])
        return sf.struct(entry["epoch"].alias("epoch"), start.alias("start"), entry["end_offset"].alias("end"))

    return sf.transform(lineage, segment)


def _holds_what_best_does_not() -> Column:
    """Say whether a stretch of this log, above the best one's log start, lies in none of the best of the same epoch.

    Two logs hold the same record at an offset where their epochs are the same (Raft's log matching, KIP-101), so
    comparing stretches compares records. What the best log's retention has deleted is no divergence.
    """
    best_start = sf.col("_best.log_start_offset")
    best_segments = _segments(sf.col("_best.lineage"), best_start)

    def is_missing(own: Column) -> Column:
        start = sf.greatest(own["start"], best_start)
        is_within = sf.exists(
            best_segments,
            lambda best: (best["epoch"] == own["epoch"]) & (best["start"] <= start) & (best["end"] >= own["end"]),
        )
        return (start < own["end"]) & ~is_within

    return sf.exists(_segments(sf.col("lineage"), sf.col("log_start_offset")), is_missing)


def plan_recovery(
    spark: SparkSession,
    evidence: Evidence,
    policies: Mapping[str, Policy],
    left_alone: Sequence[LeftAlone] = (),
    leaders: Mapping[TopicPartition, int] = MappingProxyType({}),
) -> Plan:
    """Return a plan for every partition of the evidence, each by its topic's policy, and those left alone before.

    ``leaders`` are those that a person chose, for partitions where that is so.
    """
    replicas = {
        each.topic_partition: each for each in ranked_partitions(ranked(spark.createDataFrame(evidence.replica_logs)))
    }
    decisions: list[PlannedElection | LeftAlone] = []
    for state in evidence.partitions:
        # A partition without replicas has no rows.
        judged = replicas.get(state.topic_partition)
        candidates, silent = (judged.candidates, judged.silent) if judged else ((), ())
        chosen = leaders.get(state.topic_partition)
        decisions.append(decide(state, candidates, silent, policies[state.topic], chosen))
    elections = [each for each in decisions if isinstance(each, PlannedElection)]
    others = [*left_alone, *(each for each in decisions if isinstance(each, LeftAlone))]
    return Plan(
        cluster_id=evidence.cluster_id,
        created_at=utc_now(),
        elections=tuple(sorted(elections, key=lambda each: each.topic_partition)),
        left_alone=tuple(sorted(others, key=lambda each: each.topic_partition)),
    )
