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
from ansible_collections.kafkaops.recovery.plugins.module_utils._recorder.reading import find_last_seen
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
