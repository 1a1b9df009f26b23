# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Snapshot after snapshot, by a real Spark and into real files: what is stored, what is kept, and what is removed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import from_arrow_schema

from ansible_collections.kafkaops.recovery.plugins.module_utils._recorder.changes import (
    compare,
    newest_rows,
    to_store,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._recorder.dataset import (
    Recordings,
    recordings_of,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._recorder.names import (
    RecordingError,
    SnapshotName,
    expired,
    since_full,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._recorder.rows import ASKED_SCHEMA, BROKER_SCHEMA

_T0 = datetime(2026, 1, 31, 2, 0, tzinfo=UTC)
_Ends = Mapping[int, int | str | None]
"""By broker id: the log end, or the cause of no answer. A broker without an entry has no replica any more."""


def asked(ends: _Ends) -> pa.Table:
    """Return the answers of the replicas of one partition."""
    rows = [
        {
            "topic": "orders",
            "partition": 0,
            "broker_id": broker_id,
            "topic_id": "id",
            "leader_id": 1,
            "leader_epoch": 4,
            "isr": [1, 2],
            "log_start_offset": 0 if isinstance(end, int) else None,
            "log_end_offset": end if isinstance(end, int) else None,
            "cause": end if isinstance(end, str) else None,
        }
        for broker_id, end in ends.items()
    ]
    return pa.Table.from_pylist(rows, ASKED_SCHEMA)


Record = Callable[[int, _Ends], SnapshotName]


@pytest.fixture
def recordings(spark: SparkSession, tmp_path: Path) -> Recordings:
    return recordings_of(spark, str(tmp_path), "cluster")


@pytest.fixture
def record(spark: SparkSession, recordings: Recordings) -> Record:
    """Return a function that records the log ends of the replicas so many minutes after 02:00."""

    def record_at(minutes: int, ends: _Ends, *, is_full: bool | None = None) -> SnapshotName:
        chain = since_full(recordings.names())
        name = SnapshotName.new(_T0 + timedelta(minutes=minutes), is_full=not chain if is_full is None else is_full)
        before = newest_rows(recordings.replicas(chain))
        compared = compare(spark.createDataFrame(asked(ends)), before, name.at, chain[-1].at if chain else None)
        stored = to_store(compared, is_full=name.is_full)
        recordings.write(name, stored, no_brokers(spark))
        return name

    return record_at


def no_brokers(spark: SparkSession) -> DataFrame:
    return spark.createDataFrame([], from_arrow_schema(BROKER_SCHEMA))


def rows(recordings: Recordings, *names: SnapshotName) -> dict[int, dict[str, Any]]:
    found = recordings.replicas(names).toArrow().to_pylist()
    assert len({each["broker_id"] for each in found}) == len(found)
    return {each["broker_id"]: each for each in found}


def test_only_what_changed_is_stored(recordings: Recordings, record: Record) -> None:
    first = record(0, {1: 10, 2: 10})
    second = record(1, {1: 12, 2: 10})
    third = record(2, {1: 12, 2: 10})
    assert (first.is_full, second.is_full) == (True, False)
    assert rows(recordings, first).keys() == {1, 2}
    changed = rows(recordings, second)
    assert {broker_id: each["log_end_offset"] for broker_id, each in changed.items()} == {1: 12}
    assert changed[1]["observed_at"] == _T0 + timedelta(minutes=1)
    assert rows(recordings, third) == {}


def test_a_silent_replica_has_no_values_and_what_it_held_last(recordings: Recordings, record: Record) -> None:
    record(0, {1: 10, 2: 10})
    record(1, {1: 12, 2: 10})
    record(2, {1: 12, 2: 11})  # replica 1 answers, and has not changed
    silent = rows(recordings, record(3, {1: "unreachable", 2: 11}))[1]
    assert (silent["cause"], silent["log_end_offset"], silent["size_bytes"]) == ("unreachable", None, None)
    assert silent["last_answer"]["log_end_offset"] == 12
    assert silent["last_answer"]["seen_at"] == _T0 + timedelta(minutes=2)
    again = rows(recordings, record(4, {1: "hung", 2: 11}))[1]
    assert again["last_answer"] == silent["last_answer"]
    full = rows(recordings, record(5, {1: "hung", 2: 12}, is_full=True))  # type: ignore[call-arg]
    assert full[1]["last_answer"] == silent["last_answer"]
    assert full[1]["observed_at"] == _T0 + timedelta(minutes=4)
    back = rows(recordings, record(6, {1: 20, 2: 12}))[1]
    assert (back["cause"], back["log_end_offset"], back["last_answer"]) == (None, 20, None)


def test_a_replica_that_is_silent_from_the_beginning_held_nothing_known(recordings: Recordings, record: Record) -> None:
    assert rows(recordings, record(0, {1: "fenced"}))[1]["last_answer"] is None


def test_a_removed_replica_is_stored_once(recordings: Recordings, record: Record) -> None:
    record(0, {1: 10, 2: 10})
    removed = rows(recordings, record(1, {1: 10}))[2]
    assert (removed["is_removed"], removed["log_end_offset"]) == (True, None)
    assert rows(recordings, record(2, {1: 10})) == {}
    assert rows(recordings, record(3, {1: 10, 2: 4}))[2]["log_end_offset"] == 4


def test_two_jobs_at_once_and_a_killed_one_leave_whole_snapshots(
    spark: SparkSession, recordings: Recordings, record: Record, tmp_path: Path
) -> None:
    record(0, {1: 10, 2: 10})
    chain = since_full(recordings.names())
    for end in (12, 13):  # both have read the same snapshots
        name = SnapshotName.new(_T0 + timedelta(minutes=end), is_full=False)
        compared = compare(
            spark.createDataFrame(asked({1: end, 2: 10})), newest_rows(recordings.replicas(chain)), name.at, _T0
        )
        recordings.write(name, to_store(compared, is_full=False), no_brokers(spark))
    scope = tmp_path / "cluster_id=cluster" / "scope=all"
    (scope / "_staging-20260131T020500000Z-abcdef" / "replicas").mkdir(parents=True)
    (scope / "_staging-20260131T020500000Z-abcdef" / "replicas" / "part-0.parquet").write_bytes(b"PAR1")
    assert len(recordings.names()) == 3
    everyone = spark.read.option("basePath", str(tmp_path)).parquet(f"{tmp_path}/*/*/snapshot=*/replicas")
    assert everyone.count() == 4
    newest = newest_rows(recordings.replicas(recordings.names())).where("broker_id = 1").collect()
    assert [each["log_end_offset"] for each in newest] == [13]
    now = _T0 + timedelta(hours=12)
    recordings.remove([], now, now)
    assert any(scope.glob("_staging-*"))  # its job may still write
    now = _T0 + timedelta(hours=25)
    recordings.remove([], now, now)
    assert not any(scope.glob("_*"))


def test_what_later_snapshots_need_stays(recordings: Recordings, record: Record, tmp_path: Path) -> None:
    record(0, {1: 10})
    record(1, {1: 11})
    full = record(2, {1: 12}, is_full=True)  # type: ignore[call-arg]
    last = record(3, {1: 13})
    names = recordings.names()
    assert expired(names, full.at - timedelta(seconds=1)) == []
    assert recordings.remove(expired(names, last.at), last.at, last.at) == 2
    assert recordings.names() == [full, last]
    assert rows(recordings, last)[1]["log_end_offset"] == 13
    assert not any(tmp_path.glob("**/_expired*"))


def test_a_place_that_cannot_be_written_is_named(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    recordings = recordings_of(spark, str(tmp_path / "file"), "cluster")
    with pytest.raises(RecordingError, match="file/cluster_id=cluster"):
        recordings.write(SnapshotName.new(_T0, is_full=True), recordings.replicas([]), no_brokers(spark))


def test_a_cluster_id_must_be_readable(spark: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(RecordingError, match="no cluster id"):
        recordings_of(spark, str(tmp_path), "two words")
