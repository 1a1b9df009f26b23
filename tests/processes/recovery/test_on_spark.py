# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Spark SQL ranks, flags, compares and counts as this process does, row by row, for any logs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

import pyarrow as pa
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession

from ansible_collections.kafkaops.recovery.plugins.module_utils._model.partition import Cause, EpochEnd, ReplicaLog
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.forecast import compare_candidates
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.on_spark import OnSpark
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.rows import (
    COMPARED_SCHEMA,
    RANKED_SCHEMA,
    rank_table,
    read_ranked_partitions,
    summarize_table,
    to_record_batch,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.transformations import (
    RANKED_BY,
    ROW,
    compare,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._spark.interpreted import INTERPRETED
from unit.recovery.test_ranking import Model, epochs


@dataclass(frozen=True)
class Replica:
    """A log, and what the controller says of its broker."""

    log: ReplicaLog
    is_fenced: bool


@st.composite
def replicas(draw: st.DrawFn) -> Replica:
    """Draw a log: usual, empty, equal to others, diverging, tiered, without epochs, contradictory, or silent."""
    log = Model(draw(st.integers(0, 3)), draw(epochs), answers=draw(st.integers(0, 9)) > 0).log(0, 0)
    if log.answered and draw(st.booleans()):
        local = draw(st.none() | st.integers(0, 4))
        log = replace(log, is_tiered=draw(st.none() | st.booleans()), local_log_start_offset=local)
    match draw(st.integers(0, 9)):
        case 0:  # without epochs
            log = replace(log, lineage=(), last_written_epoch=None)
        case 1:  # epochs that do not reach the log's start or end
            log = replace(log, log_end_offset=draw(st.integers(0, 9)), log_start_offset=draw(st.integers(0, 9)))
        case 2:  # a lineage of another log
            found = sorted(draw(st.sets(st.integers(0, 3), max_size=3)))
            ends = sorted(draw(st.lists(st.integers(0, 6), min_size=len(found), max_size=len(found))))
            log = replace(log, lineage=tuple(map(EpochEnd, found, ends)))
        case 3:
            log = replace(log, cause=draw(st.sampled_from(Cause)))
        case 4:
            log = replace(log, log_start_offset=None)
    # Without a log directory, it is unknown whether there is a future replica.
    log = replace(log, is_future=draw(st.booleans()), log_dir=draw(st.sampled_from([None, "/data"])))
    return Replica(log, draw(st.booleans()))


partitions = st.lists(st.lists(replicas(), min_size=1, max_size=4), min_size=30, max_size=60)


def to_rows(partitions: list[list[Replica]]) -> pa.Table:
    """Return a row for each replica. Broker ids are places, and two topics have the same partition numbers."""
    return pa.Table.from_batches(
        [
            to_record_batch(
                [replace(one.log, topic=f"t{number % 2}", partition=number // 2, broker_id=place)],
                [place],
                one.is_fenced,
            )
            for number, replicas in enumerate(partitions)
            for place, one in enumerate(replicas)
        ]
    )


def in_order(table: pa.Table) -> pa.Table:
    return table.sort_by([(name, "ascending") for name in ("topic", "partition", "broker_id")])


@contextmanager
def compiled(spark: SparkSession) -> Iterator[None]:
    """Let Spark compile queries in this block, as it does by default. The tests' session interprets them."""
    for name in INTERPRETED:
        spark.conf.unset(name)
    try:
        yield
    finally:
        for name, value in INTERPRETED.items():
            spark.conf.set(name, value)


@settings(max_examples=8, deadline=None, suppress_health_check=list(HealthCheck))
@given(partitions, st.booleans())
def test_spark_ranks_compares_and_counts_as_this_process_does(
    spark: SparkSession, partitions: list[list[Replica]], are_few: bool
) -> None:
    answers = to_rows(partitions)
    engine = OnSpark(spark, few=answers.num_rows if are_few else 0)
    with compiled(spark):
        ranked = engine.rank(answers)
        summary = engine.summarize(answers)
    assert ranked.schema.equals(COMPARED_SCHEMA)
    assert in_order(ranked.select(RANKED_SCHEMA.names)).to_pylist() == in_order(rank_table(answers)).to_pylist()
    assert summary == summarize_table(answers)
    for found in read_ranked_partitions(ranked):
        assert found.compared == compare_candidates(found.candidates)


def test_ranks_and_comparisons_start_no_python_worker(spark: SparkSession) -> None:
    rows = to_rows([[Replica(Model(0, (1, 2), answers=True).log(0, 0), is_fenced=False)]])
    numbered = rows.select([*RANKED_BY]).append_column(ROW, pa.array([0], pa.int64()))
    plan = spark.createDataFrame(numbered).transform(compare)._jdf.queryExecution().toString()
    assert "Window" in plan
    assert not any(word in plan for word in ("Python", "InArrow", "InPandas"))
