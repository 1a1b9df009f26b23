# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Spark ranks in the same way as this process."""

from __future__ import annotations

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession

from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.on_spark import rank_dataframe
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.rows import RANKED_SCHEMA, rank_table
from unit.recovery.test_ranking import Model, logs_of, partitions, to_table


@settings(max_examples=4, deadline=None, suppress_health_check=list(HealthCheck))
@given(partitions, st.integers(1, 4))
def test_spark_ranks_alike_for_any_partitioning_of_the_rows(
    spark: SparkSession, partitions: list[list[Model]], spark_partitions: int
) -> None:
    logs = to_table(logs_of(partitions))
    spread = rank_dataframe(spark.createDataFrame(logs).repartition(spark_partitions)).toArrow().cast(RANKED_SCHEMA)
    order = [(name, "ascending") for name in ("topic", "partition", "broker_id")]
    assert spread.sort_by(order).equals(rank_table(logs).sort_by(order))
