# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Looks at sizes, stored as Parquet and compared on Spark."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

from ansible_collections.kafkaops.recovery.plugins.module_utils._cleaner.copy_trends import trends
from ansible_collections.kafkaops.recovery.plugins.module_utils._cleaner.trends import (
    KEPT_LOOKS,
    LookError,
    look_table,
    read_looks,
    write_look,
)


def _look(at_ms: int, *sizes: tuple[int, str, int]) -> list[dict[str, Any]]:
    return [
        {"taken_at_ms": at_ms, "broker_id": broker, "log_dir": "/d", "topic": topic, "partition": 0, "size_bytes": size}
        for broker, topic, size in sizes
    ]


def _frame(spark: SparkSession, rows: list[dict[str, Any]]) -> DataFrame:
    return spark.createDataFrame(look_table(rows)).withColumn("looks", sf.lit(1))


ROWS = [
    *_look(1000, (1, "a", 10), (2, "a", 100), (1, "moved", 5), (3, "alone", 7)),
    *_look(2000, (1, "a", 40), (2, "a", 150), (3, "alone", 7)),
    *_look(5000, (1, "a", 20), (2, "a", 200), (3, "alone", 7)),
]


def test_each_copy_of_the_newest_look_has_one_row(spark: SparkSession) -> None:
    found = {(row["broker_id"], row["topic"]): row.asDict() for row in trends(_frame(spark, ROWS), 1000).collect()}
    assert found.keys() == {(1, "a"), (2, "a"), (3, "alone")}
    shared = {"looks": 3, "span_ms": 4000, "log_dir": "/d", "partition": 0}
    assert found[1, "a"] == shared | {
        "broker_id": 1,
        "topic": "a",
        "first_bytes": 10,
        "last_bytes": 20,
        "has_shrunk": True,
        "others_shrank": False,
        "smallest_copy_bytes": 200,
    }
    assert found[2, "a"] == shared | {
        "broker_id": 2,
        "topic": "a",
        "first_bytes": 100,
        "last_bytes": 200,
        "has_shrunk": False,
        "others_shrank": True,
        "smallest_copy_bytes": 20,
    }
    assert found[3, "alone"]["smallest_copy_bytes"] is None
    assert not found[3, "alone"]["others_shrank"]


def _found(spark: SparkSession, rows: list[dict[str, Any]]) -> dict[int, dict[str, Any]]:
    return {row["broker_id"]: row.asDict() for row in trends(_frame(spark, rows), 100).collect()}


def test_a_cleaner_that_dies_after_a_compaction_is_seen(spark: SparkSession) -> None:
    """Both copies are compacted first, and later only that of broker 2."""
    sizes = [(90, 90), (10, 10), (60, 60), (110, 20), (160, 50)]
    rows = [row for at, (one, two) in enumerate(sizes) for row in _look(at * 1000, (1, "a", one), (2, "a", two))]
    before, found = _found(spark, rows[:6]), _found(spark, rows)
    assert before[1]["has_shrunk"]
    assert (before[1]["looks"], before[1]["first_bytes"]) == (3, 90)
    assert not found[1]["has_shrunk"]
    assert found[1]["others_shrank"]
    assert (found[1]["looks"], found[1]["span_ms"], found[1]["first_bytes"]) == (4, 3000, 10)
    assert found[2]["has_shrunk"]


def test_another_copy_that_shrank_before_this_one_does_not_count(spark: SparkSession) -> None:
    sizes = [(90, 90), (95, 10), (10, 60), (60, 80), (110, 105)]
    rows = [row for at, (one, two) in enumerate(sizes) for row in _look(at * 1000, (1, "a", one), (2, "a", two))]
    found = _found(spark, rows)
    assert not found[1]["has_shrunk"]
    assert not found[1]["others_shrank"]


def test_only_the_newest_looks_are_kept(tmp_path: Path) -> None:
    newest = range(9, 9 + KEPT_LOOKS)
    for number in (7, 8, *newest):
        write_look(str(tmp_path), "c1", number, look_table(_look(number, (1, "a", number))))
    assert {path.name for path in tmp_path.iterdir()} == {f"look-{each}.parquet" for each in newest}
    assert [row["size_bytes"] for row in read_looks(str(tmp_path), "c1").to_pylist()] == [*newest]


def test_looks_are_read_back(tmp_path: Path) -> None:
    for number in range(2):
        write_look(str(tmp_path), "c1", number, look_table(_look(number, (1, "a", 10))))
    assert read_looks(str(tmp_path), "c1").to_pylist() == [*_look(0, (1, "a", 10)), *_look(1, (1, "a", 10))]


def test_invalid_looks_are_refused(tmp_path: Path) -> None:
    write_look(str(tmp_path), "c1", 1, look_table([]))
    with pytest.raises(LookError, match="of its own"):
        read_looks(str(tmp_path), "c2")
    (tmp_path / "look-2.parquet").write_bytes(b"PAR1 nonsense")
    with pytest.raises(LookError, match="could not be read"):
        read_looks(str(tmp_path), "c1")
    with pytest.raises(LookError, match="could not be written"):
        write_look(str(tmp_path / "missing"), "c1", 1, look_table([]))
