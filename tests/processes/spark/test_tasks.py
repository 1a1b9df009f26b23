# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Work is distributed to Spark's tasks, and related parts stay together."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
from pyspark.sql import SparkSession
from pyspark.sql import functions as sql

from ansible_collections.kafkaops.recovery.plugins.module_utils._spark.tasks import run_in_tasks

SCHEMA = pa.schema({"name": pa.string(), "offset": pa.int64()})


def rows(item: tuple[str, int]) -> Iterator[pa.RecordBatch]:
    name, start = item
    for offset in (start, start + 1):
        yield pa.RecordBatch.from_pylist([{"name": name, "offset": offset}], schema=SCHEMA)


def test_items_of_one_group_are_in_one_partition_in_order(spark: SparkSession) -> None:
    items = [(name, start) for start in (0, 10, 20) for name in ("a", "b", "c", "d", "e")]
    done = run_in_tasks(spark, items, lambda item: item[1] + 1, rows, SCHEMA, together=lambda item: item[0])
    found = done.withColumn("task", sql.spark_partition_id()).toArrow().to_pylist()
    for name in "abcde":
        mine = [each for each in found if each["name"] == name]
        assert [each["offset"] for each in mine] == [0, 1, 10, 11, 20, 21]
        assert len({each["task"] for each in mine}) == 1
    assert len({each["task"] for each in found}) > 1
