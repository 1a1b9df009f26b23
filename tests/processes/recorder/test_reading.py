# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A plan reads the newest answer of each replica, by this process from a directory and by Spark from a URI."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession
from pyspark.sql.pandas.types import from_arrow_schema

from ansible_collections.kafkaops.recovery.plugins.module_utils._model.partition import TopicPartition
from ansible_collections.kafkaops.recovery.plugins.module_utils._recorder.changes import compare, newest_rows, to_store
from ansible_collections.kafkaops.recovery.plugins.module_utils._recorder.dataset import find_clusters, recordings_of
from ansible_collections.kafkaops.recovery.plugins.module_utils._recorder.names import (
    SnapshotName,
    cluster_uri,
    root_uri,
    since_full,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._recorder.reading import FoundRecordings, find_last_seen
from ansible_collections.kafkaops.recovery.plugins.module_utils._recorder.rows import BROKER_SCHEMA
from processes.recorder.test_changes import asked

_T0 = datetime(2026, 1, 31, 2, 0, tzinfo=UTC)
_ORDERS = TopicPartition("orders", 0)


@pytest.fixture(scope="module")
def recorded(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Replica 1 answers until minute 2 and is silent then, replica 2 answers always; 3 never did."""
    place = tmp_path_factory.mktemp("recorded by alice@example.com #1 100%")
    recordings = recordings_of(spark, str(place), "cluster")
    looks: list[dict[int, int | str | None]] = [
        {1: 10, 2: 10, 3: "hung"},
        {1: 12, 2: 10, 3: "hung"},
        {1: 12, 2: 11},
        {1: "hung", 2: 11},
    ]
    for minute, ends in enumerate(looks):
        chain = since_full(recordings.names())
        name = SnapshotName.new(_T0 + timedelta(minutes=minute), is_full=not chain)
        before = newest_rows(recordings.replicas(chain))
        compared = compare(spark.createDataFrame(asked(ends)), before, name.at, chain[-1].at if chain else None)
        rows = to_store(compared, is_full=name.is_full)
        recordings.write(name, rows, spark.createDataFrame([], from_arrow_schema(BROKER_SCHEMA)))
    return place


def no_spark(_work: Callable[[SparkSession], pa.Table]) -> pa.Table:
    raise AssertionError("a directory is read without Spark")


@pytest.mark.parametrize("by_spark", [False, True])
def test_the_newest_answer_of_each_replica(spark: SparkSession, recorded: Path, *, by_spark: bool) -> None:
    place = root_uri(str(recorded)) if by_spark else str(recorded)
    found = find_last_seen(place, "cluster", [_ORDERS], (lambda work: work(spark)) if by_spark else no_spark)
    assert found.notes == ()
    ends = {
        broker_id: (each.log_end_offset, (each.seen_at_ms / 1000 - _T0.timestamp()) / 60)
        for broker_id, each in found.seen[_ORDERS].items()
    }
    assert ends == {1: (12, 2), 2: (11, 3)}


def test_columns_that_another_release_did_not_record_are_unknown(recorded: Path, tmp_path: Path) -> None:
    older = tmp_path / "older"
    shutil.copytree(recorded, older)
    for file in older.glob("*/*/*/replicas/*.parquet"):
        pq.write_table(pq.ParquetFile(file).read().drop(["known_epoch", "size_bytes"]), file)
    found = find_last_seen(str(older), "cluster", [_ORDERS], no_spark)
    assert found.notes == ()
    assert {each.known_epoch for each in found.seen[_ORDERS].values()} == {None}
    assert found.seen[_ORDERS][1].log_end_offset == 12


def test_other_partitions_are_left_out(recorded: Path) -> None:
    found = find_last_seen(str(recorded), "cluster", [TopicPartition("orders", 1), _ORDERS], no_spark)
    assert found.seen.keys() == {_ORDERS}
    assert found.notes == (
        f"the recordings in {recorded} have no answer of 1 partition, such as orders-1: its topic is newer, hidden "
        "from the recorder, or in no recorded scope",
    )


def test_recordings_of_another_cluster_are_not_used_and_named(spark: SparkSession, recorded: Path) -> None:
    found = find_last_seen(str(recorded), "another", [_ORDERS], no_spark)
    assert found.seen == {}
    assert found.notes == (f"{recorded} has no recordings of cluster another: it has those of cluster",)
    by_spark = find_last_seen(root_uri(str(recorded)), "another", [_ORDERS], lambda work: work(spark))
    assert by_spark.notes == (
        f"{root_uri(str(recorded))} has no recordings of cluster another: it has those of cluster",
    )


@pytest.mark.parametrize("by_spark", [False, True])
def test_any_cluster_id_that_kafka_takes_is_a_directory(
    spark: SparkSession, recorded: Path, tmp_path: Path, *, by_spark: bool
) -> None:
    """StorageTool formats with each of these (tried on 4.3.1)."""
    for number, cluster_id in enumerate(("prod.eu-1", "../100%/{a,b}*")):
        place = tmp_path / "recordings" / cluster_uri("", cluster_id).rpartition("/")[2]
        shutil.copytree(recorded / "cluster_id=cluster", place)
        root = str(tmp_path / "recordings")
        found = find_last_seen(
            root_uri(root) if by_spark else root, cluster_id, [_ORDERS], lambda work: work(spark) if by_spark else None
        )
        assert found.notes == ()
        assert found.seen[_ORDERS][1].log_end_offset == 12
        assert len(find_clusters(spark, root)) == number + 1
        assert cluster_id in find_clusters(spark, root)


def test_a_damaged_file_is_named(recorded: Path, tmp_path: Path) -> None:
    damaged = shutil.copytree(recorded, tmp_path / "damaged")
    for each in damaged.glob("**/replicas/*.parquet"):
        each.write_bytes(b"damaged")
    notes = find_last_seen(str(damaged), "cluster", [_ORDERS], no_spark).notes
    assert "damaged snapshots are not used: snapshot=" in notes[0]
    assert notes[1] == f"{damaged} has no recordings of cluster cluster"


_NEVER = pa.array([2**62]).cast(pa.timestamp("us", "UTC"))
"""A time that no calendar has, as a damaged page of a file has it."""


@pytest.mark.parametrize("missing", ["topic_id", "leader_id", "leader_epoch", "broker_id"])
def test_an_answer_that_lacks_a_value_says_nothing(tmp_path: Path, missing: str) -> None:
    assert by_hand(tmp_path, answer()).seen[_ORDERS][1].log_end_offset == 10
    found = by_hand(tmp_path, answer().drop([missing]))
    assert found.seen == {}
    assert "have no answer of 1 partition, such as orders-0" in found.notes[0]


def test_a_time_that_no_calendar_has_is_damage(tmp_path: Path) -> None:
    found = by_hand(tmp_path, answer().append_column("observed_at", _NEVER))
    assert found.seen == {}
    assert "damaged snapshots are not used" in found.notes[0]
    (tmp_path / "cluster_id=cluster" / "scope=all" / "snapshot=20261399T999999999Z-full-6ad00b").mkdir()
    assert by_hand(tmp_path, answer()).notes == ()


def test_what_spark_reads_and_python_cannot_stops_no_plan() -> None:
    rows = pa.table({"observed_at": _NEVER})
    found = find_last_seen("hdfs://namenode/recordings", "cluster", [_ORDERS], lambda _work: rows)
    assert "hdfs://namenode/recordings have a value that cannot be one" in found.notes[0]


def answer() -> pa.Table:
    """Return one replica's answer, without the columns that do not matter."""
    numbers = {"partition": 0, "broker_id": 1, "leader_id": 1, "leader_epoch": 3, "known_epoch": 3}
    texts = {"topic": "orders", "topic_id": "id"}
    return pa.Table.from_pylist([{**texts, **numbers, "log_start_offset": 0, "log_end_offset": 10}])


def by_hand(root: Path, rows: pa.Table) -> FoundRecordings:
    """Read a snapshot with these rows."""
    place = root / "cluster_id=cluster" / "scope=all" / "snapshot=20260131T020000000Z-full-6ad00b" / "replicas"
    place.mkdir(parents=True, exist_ok=True)
    pq.write_table(rows, place / "part-0.parquet")
    return find_last_seen(str(root), "cluster", [_ORDERS], no_spark)
