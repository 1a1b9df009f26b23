# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The queries of docs/spark.md run as they stand there, over the evidence of several gathers of two clusters."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession

from ansible_collections.kafkaops.recovery.plugins.module_utils._model.partition import Cause, ReplicaLog
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.evidence import (
    Evidence,
    write_evidence,
    write_evidence_to_uri,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.on_spark import OnSpark
from lab.playbook import PROJECT
from unit.fakes.brokers import a_log, a_partition
from unit.recovery.test_ranking import to_table

_BLOCKS = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@pytest.fixture
def gather() -> Sequence[Evidence]:
    """Return three gathers. Broker 3 was silent in two of them, and broker 2 has 5 records less than broker 1.

    The last one is of a release with one more column.
    """

    def one(cluster: str, moment: str, third: ReplicaLog) -> Evidence:
        logs = [a_log("orders", 0, 1, (4, 30)), a_log("orders", 0, 2, (4, 25)), third]
        alone = [a_log("trades", 1, 1, (2, 9)), ReplicaLog("trades", 1, 3, cause=Cause.HUNG)]
        partitions = (a_partition("orders", 0, (1, 2, 3)), a_partition("trades", 1, (1, 3)))
        return Evidence(cluster, moment, "1.0.0", to_table([*logs, *alone]), partitions)

    dead = ReplicaLog("orders", 0, 3, cause=Cause.UNREACHABLE, error="no route")
    last = one("B" * 22, "2026-02-01T02:59:59Z", a_log("orders", 0, 3, (3, 40)))
    added = last.replica_logs.append_column("added", pa.array([7] * last.replica_logs.num_rows))
    return [
        one("A" * 22, "2026-01-31T02:59:59Z", dead),
        one("A" * 22, "2026-02-01T02:59:59Z", dead),
        replace(last, replica_logs=added),
    ]


def answers(root: str, spark: SparkSession, capsys: pytest.CaptureFixture[str]) -> list[str]:
    """Run the queries one after the other, and return what they print."""
    text = (PROJECT / "docs" / "spark.md").read_text(encoding="utf-8")
    reading, *queries = _BLOCKS.findall(text)
    names: dict[str, object] = {"spark": spark}
    exec(re.sub(r"^root = .*$", f"root = {root!r}", reading, flags=re.MULTILINE), names)
    found = names["logs"]
    assert isinstance(found, DataFrame)
    assert found.groupBy("cluster_id", "added").count().count() == 2
    capsys.readouterr()
    printed = []
    for query in queries:
        exec(query, names)
        printed.append(capsys.readouterr().out)
    return printed


def _writer(spark: SparkSession) -> Callable[[pa.Table, str], None]:
    def write(table: pa.Table, uri: str) -> None:
        assert OnSpark(spark).write_parquet(table, uri) == ""

    return write


def rows(printed: str) -> list[list[str]]:
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in printed.splitlines() if "|" in line][1:]


@pytest.mark.parametrize("place", ["a directory", "a URI"])
def test_the_queries_answer_for_all_gathers(
    place: str, gather: Sequence[Evidence], spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root = str(tmp_path / "evidence")
    for each in gather:
        if place == "a URI":
            root = (tmp_path / "evidence").as_uri()
            assert write_evidence_to_uri(each, root, _writer(spark)).startswith(root)
        else:
            write_evidence(each, root)
    silent, alone, behind = answers(root, spark, capsys)
    one, other = (letter * 17 + "..." for letter in "AB")  # show() prints 20 characters
    assert rows(silent) == [
        [one, "3", "hung", "2", "2"],
        [one, "3", "unreachable", "2", "2"],
        [other, "3", "hung", "1", "1"],
    ]
    assert [row[1:] for row in rows(alone)] == [["trades", "1", "1"], ["trades", "1", "2"]], "by the time of the gather"
    assert rows(behind) == [["1", "0", "0"], ["2", "5", "0"], ["3", "NULL", "1"]]
