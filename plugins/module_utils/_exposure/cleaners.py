# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Which log cleaners seem to fall behind, by the sizes of the copies of compacted partitions: an inference.

Spark compares the sizes, without a Python worker, by the rules of ``log_cleaner_info`` without metrics.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import fields
from typing import Any

from .._cleaner.copy_trends import trends
from .._cleaner.diagnosis import (
    DEFAULT_THRESHOLDS,
    HEALTHY_CASES,
    Case,
    CopyTrend,
    Diagnosis,
    find_suspects,
    infer,
)
from .._cleaner.report import SuspiciousCopy
from .._model.partition import grouped
from .._model.reasons import plural
from .report import CleanerRow
from .states import PARTITION

with suppress(ImportError):  # a missing library is reported before the module starts (_module/run.py)
    from pyspark.sql import DataFrame, Window
    from pyspark.sql import functions as f

_ONLINE = "online"
_HOW_TO_KNOW = "record for longer, or run kafkaops.recovery.recover_log_cleaners, which reads metrics"
_TREND = tuple(each.name for each in fields(CopyTrend))
_LOOKS = """
filter(
    array(
        named_struct('idx', idx, 'looks', end_idx - idx - int(is_newest)),
        named_struct('idx', end_idx - 1, 'looks', int(is_newest))
    ),
    look -> look.looks > 0
)
"""
"""When a state was seen first, and how often. The newest snapshot is a look of its own: there, all copies have one."""


def copy_trends(states: DataFrame, moments: DataFrame) -> DataFrame:
    """Return ``cluster_id`` and the fields of ``CopyTrend`` for each copy of a partition that is compacted at the end.

    A topic that was created again is another one: only the states of its newest id count.
    """
    newest = f.max_by(f.struct(f.col("is_newest").alias("is_there"), "topic_id", "is_compacted"), "idx")
    looks = (
        states.withColumn("newest", newest.over(Window.partitionBy(*PARTITION)))
        .where("newest.is_there AND newest.is_compacted AND topic_id = newest.topic_id")
        .select(*PARTITION, f.explode("replicas").alias("replica"), f.expr(_LOOKS).alias("seen"))
        .where("replica.size_bytes IS NOT NULL AND replica.log_dir IS NOT NULL")
        .select(*PARTITION, "replica.broker_id", "replica.log_dir", "replica.size_bytes", f.explode("seen").alias("at"))
        .select("*", "at.idx", "at.looks")
        .join(f.broadcast(moments.withColumnRenamed("at_ms", "taken_at_ms")), ["cluster_id", "idx"])
    )
    return trends(looks, DEFAULT_THRESHOLDS.suspect_bytes, ["cluster_id"])


def unknown_policies(states: DataFrame) -> DataFrame:
    """Return for each cluster how many partitions at the end are of topics whose ``cleanup.policy`` is unknown."""
    unknown = states.where("is_newest AND size(replicas) > 0 AND is_compacted IS NULL")
    return unknown.groupBy("cluster_id").agg(f.count("*").alias("partitions"))


def diagnose_cleaners(
    found: Sequence[Mapping[str, Any]], brokers: Mapping[int, str], unknown_partitions: int
) -> Iterator[CleanerRow]:
    """Yield what the sizes show of each broker's cleaner. ``brokers`` has their states in the newest snapshot.

    ``unknown_partitions`` may be compacted too: with some, no cleaner counts as healthy.
    """
    by_broker = grouped((row["broker_id"], CopyTrend(**{name: row[name] for name in _TREND})) for row in found)
    for broker_id, state in sorted(brokers.items()):
        own = by_broker.get(broker_id, [])
        suspects = find_suspects(own, DEFAULT_THRESHOLDS)
        diagnosis = infer(own, suspects, how_to_know=_HOW_TO_KNOW)
        if state != _ONLINE:
            diagnosis = Diagnosis(Case.UNKNOWN, f"broker {broker_id} is {state} in the newest snapshot")
        elif unknown_partitions and diagnosis.case in HEALTHY_CASES:
            count = plural(unknown_partitions, "partition", "are")
            diagnosis = Diagnosis(
                Case.UNKNOWN, f"whether {count} compacted was not recorded: grant DESCRIBE_CONFIGS on the topics"
            )
        copies = tuple(SuspiciousCopy(each.topic, each.partition, each.size_bytes, each.reason) for each in suspects)
        yield CleanerRow(broker_id, diagnosis.case, diagnosis.reason, copies)
