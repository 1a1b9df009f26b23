# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Jobs that are killed, jobs side by side, clocks that are wrong, and damaged or foreign files: into real files.

After each, the recordings can be read by a plan and by Spark, and the next job makes them complete again.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from ansible_collections.kafkaops.recovery.plugins.module_utils._model.partition import TopicPartition
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.run import NullProgress
from ansible_collections.kafkaops.recovery.plugins.module_utils._recorder.asking import ClusterLook
from ansible_collections.kafkaops.recovery.plugins.module_utils._recorder.changes import compare, to_store
from ansible_collections.kafkaops.recovery.plugins.module_utils._recorder.dataset import (
    Recordings,
    explained,
    recordings_of,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._recorder.names import (
    DamagedSnapshotError,
    RecordingError,
    SnapshotName,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._recorder.reading import FoundRecordings, find_last_seen
from ansible_collections.kafkaops.recovery.plugins.module_utils._recorder.recorder import Recorded, store
from ansible_collections.kafkaops.recovery.plugins.module_utils._recorder.rows import BROKER_SCHEMA
from processes.recorder.test_changes import asked, no_brokers
from processes.recorder.test_reading import no_spark

_T0 = datetime(2026, 1, 31, 2, 0, tzinfo=UTC)
_ORDERS = TopicPartition("orders", 0)
_HOUR = 60
_Ends = Mapping[int, int | str | None]
Damage = Callable[[Path], object]


class Job:
    """Runs jobs of the recorder on one directory, each at so many minutes after 02:00, and plans that read it."""

    def __init__(self, spark: SparkSession, root: Path) -> None:
        self.spark = spark
        self.root = root
        self.recordings = recordings_of(spark, str(root), "cluster")
        self.scope = root / "cluster_id=cluster" / "scope=all"

    def run(self, minutes: float, ends: _Ends, *, recordings: Recordings | None = None) -> Recorded:
        at = _T0 + timedelta(minutes=minutes)
        look = ClusterLook("cluster", at, asked(ends), pa.Table.from_pylist([], BROKER_SCHEMA), {}, ())
        return store(
            self.spark,
            recordings or self.recordings,
            look,
            timedelta(hours=1),
            check_mode=False,
            progress=NullProgress(),
        )

    def found(self, minutes: float, *, by_spark: bool = False) -> FoundRecordings:
        now = _T0 + timedelta(minutes=minutes)
        place = self.root.as_uri() if by_spark else str(self.root)
        return find_last_seen(
            place, "cluster", [_ORDERS], (lambda work: work(self.spark)) if by_spark else no_spark, now
        )

    def ends(self, minutes: float) -> dict[int, tuple[int, float]]:
        """Return what a plan finds: each replica's log end, and at how many minutes. Spark finds the same."""
        found, by_spark = (self.found(minutes, by_spark=each) for each in (False, True))
        assert found.seen == by_spark.seen
        assert found.notes == by_spark.notes
        return {
            broker_id: (each.log_end_offset, (each.seen_at_ms / 1000 - _T0.timestamp()) / 60)
            for broker_id, each in found.seen[_ORDERS].items()
        }

    def rows(self) -> int:
        """Return how many rows a user of Spark reads."""
        return self.spark.read.option("basePath", str(self.root)).parquet(f"{self.root}/*/*/snapshot=*/*s").count()

    def file(self, minutes: int) -> Path:
        """Return the file of the snapshot of this minute."""
        at = f"{_T0 + timedelta(minutes=minutes):%Y%m%dT%H%M%S}"
        (found,) = self.scope.glob(f"snapshot={at}*/replicas/*.parquet")
        return found


@pytest.fixture
def job(spark: SparkSession, tmp_path: Path) -> Job:
    return Job(spark, tmp_path)


class _Killed(BaseException):
    """What happens to a job that gets SIGKILL: nothing of it runs any more."""


class _DyingFiles:
    """A file system whose user is killed right before its n-th rename or removal, and so does nothing after it."""

    def __init__(self, files: Any, lives: int) -> None:
        self._files = files
        self._lives = lives

    def __getattr__(self, name: str) -> Any:
        return getattr(self._files, name)

    def rename(self, *paths: Any) -> Any:
        return self._unless_killed(self._files.rename, *paths)

    def delete(self, *paths: Any) -> Any:
        return self._unless_killed(self._files.delete, *paths)

    def _unless_killed(self, step: Any, *paths: Any) -> Any:
        self._lives -= 1
        if self._lives < 0:
            raise _Killed
        return step(*paths)


@pytest.fixture(scope="module")
def base(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two snapshots that are too old, a full one, and a damaged one: the next job has something to do for each."""
    job = Job(spark, tmp_path_factory.mktemp("base"))
    for minutes, ends in ((0, {1: 10, 2: 10}), (1, {1: 11, 2: 10})):
        job.run(minutes, ends)
    _full(job, 10, {1: 12, 2: 10})
    job.run(100, {1: 13, 2: 10})
    job.file(100).write_bytes(b"")
    return job.root


def _full(job: Job, minutes: int, ends: _Ends) -> None:
    """Record a full snapshot, as every 24th job does."""
    name = SnapshotName.new(_T0 + timedelta(minutes=minutes), is_full=True)
    compared = compare(job.spark.createDataFrame(asked(ends)), job.recordings.replicas([]), name.at, None)
    job.recordings.write(name, to_store(compared, is_full=True), no_brokers(job.spark))


_STEPS = 6
"""The damaged snapshot is hidden, the new one gets its name, two old ones are hidden, and removed."""


@pytest.mark.parametrize(
    "lives", [each if each == 1 else pytest.param(each, marks=pytest.mark.wide) for each in range(_STEPS + 1)]
)
def test_a_job_that_is_killed_before_one_of_its_steps_leaves_what_the_next_one_continues(
    base: Path, spark: SparkSession, tmp_path: Path, lives: int
) -> None:
    job = Job(spark, shutil.copytree(base, tmp_path / "recordings"))
    dying = recordings_of(spark, str(job.root), "cluster")
    dying._files = _DyingFiles(dying._files, lives)
    with pytest.raises(_Killed) if lives < _STEPS else nullcontext():
        job.run(200, {1: 20, 2: 10}, recordings=dying)
    is_stored = lives > 1
    assert job.ends(201) == ({1: (20, 200), 2: (10, 200)} if is_stored else {1: (12, 10), 2: (10, 10)})
    job.run(202, {1: "hung", 2: 11})
    assert job.ends(203) == {1: (20, 200) if is_stored else (12, 10), 2: (11, 202)}
    assert job.rows() > 0
    assert not any(job.scope.glob("_expired*"))


def test_jobs_on_two_hosts_at_once_remove_the_same_snapshots(job: Job) -> None:
    job.run(0, {1: 10, 2: 10})
    listed = job.recordings.names()
    _full(job, 10, {1: 12, 2: 10})
    now = _T0 + timedelta(minutes=200)
    assert job.recordings.remove(listed, now, now) == 1
    assert job.recordings.remove(listed, now, now) == 0
    assert job.ends(201) == {1: (12, 10), 2: (10, 10)}


class _ListedEarlier:
    """Recordings of a job that listed the snapshots before another job wrote one."""

    def __init__(self, recordings: Recordings) -> None:
        self._recordings = recordings
        self._names = recordings.names()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._recordings, name)

    def names(self) -> list[SnapshotName]:
        return self._names


@pytest.mark.wide
def test_two_jobs_at_the_same_moment_leave_what_each_of_them_saw(job: Job) -> None:
    job.run(0, {1: 10, 2: 10})
    second: Any = _ListedEarlier(job.recordings)
    job.run(1, {1: 12, 2: 10})
    job.run(1, {1: 10, 2: 11}, recordings=second)
    assert job.ends(2) == {1: (12, 1), 2: (11, 1)}
    job.run(2, {1: 13, 2: "hung"})
    assert job.ends(3) == {1: (13, 2), 2: (11, 1)}


def test_a_clock_that_was_ahead_leaves_snapshots_that_nothing_builds_on(job: Job) -> None:
    job.run(0, {1: 10, 2: 10})
    job.run(_HOUR, {1: 12, 2: 10})  # in truth, this is minute 1
    recorded = job.run(2, {1: "hung", 2: 11})
    assert "1 snapshot is newer than this host's clock, up to 2026-01-31T03:00:00+00:00" in recorded.notes[0]
    assert job.ends(3) == {1: (10, 0), 2: (11, 2)}
    assert job.found(3).notes == (recorded.notes[0],)
    # An hour later, it is no longer from the future: the next job puts right what it says.
    job.run(_HOUR + 1, {1: "hung", 2: 12})
    assert job.ends(_HOUR + 2) == {1: (12, _HOUR), 2: (12, _HOUR + 1)}


@pytest.mark.wide
def test_a_clock_that_is_behind_for_one_job_hides_nothing_from_the_next(job: Job) -> None:
    job.run(_HOUR, {1: 10, 2: 10})
    job.run(_HOUR + 1, {1: 11, 2: 10})
    job.run(0, {1: 12, 2: 10})
    assert job.ends(_HOUR + 2) == {1: (11, _HOUR + 1), 2: (10, _HOUR + 1)}
    job.run(_HOUR + 3, {1: "hung", 2: 10})
    assert job.ends(_HOUR + 4) == {1: (11, _HOUR + 1), 2: (10, _HOUR + 3)}


@pytest.mark.wide
def test_a_clock_that_is_years_ahead_for_one_job_removes_nothing(job: Job) -> None:
    job.run(0, {1: 10, 2: 10})
    _full(job, 1, {1: 11, 2: 10})
    assert job.run(10_000_000, {1: 12, 2: 10}).expired == 0
    assert len(job.recordings.names()) == 3


def _cut(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:500])


def _empty(file: Path) -> None:
    file.write_bytes(b"")


def _remove_directory(file: Path) -> None:
    shutil.rmtree(file.parent)


def test_damage_to_what_is_stored_of_brokers_keeps_the_replicas(job: Job) -> None:
    """A dead broker's replicas are known by that snapshot only. The next one is full, so that reports use it again."""
    job.run(0, {1: 10, 2: 10})
    job.run(1, {1: 11, 2: 10})
    (file,) = job.file(1).parents[1].glob("brokers/*.parquet")
    file.write_bytes(b"")
    recorded = job.run(2, {1: "hung", 2: 11})
    assert recorded.is_full
    assert "what is stored of brokers is damaged" in recorded.notes[0]
    assert job.ends(3) == {1: (11, 1), 2: (11, 2)}
    assert not job.run(3, {1: "hung", 2: 12}).notes


@pytest.mark.parametrize(
    "damage", [_cut, *(pytest.param(each, marks=pytest.mark.wide) for each in (_empty, Path.unlink, _remove_directory))]
)
def test_a_damaged_snapshot_is_named_left_out_and_replaced_by_a_full_one(job: Job, damage: Damage) -> None:
    job.run(0, {1: 10, 2: 10})
    job.run(1, {1: 11, 2: 10})
    job.run(2, {1: 12, 2: 10})
    job.run(3, {1: 12, 2: 11})
    name = job.file(2).parents[1].name
    damage(job.file(2))
    # What the part after it says depends on it.
    assert job.ends(4) == {1: (11, 1), 2: (10, 1)}
    notes = (f"damaged snapshots are not used: {name}, and the 1 that only say what changed since",)
    assert job.found(4).notes == notes
    recorded = job.run(5, {1: "hung", 2: 11})
    assert (recorded.is_full, recorded.notes) == (True, notes)
    assert job.ends(6) == {1: (11, 1), 2: (11, 5)}
    assert job.found(6).notes == ()
    assert job.rows() == 2 + 1 + 2
    assert (job.scope / f"_damaged-{name}").is_dir()


def test_a_snapshot_that_may_not_be_read_is_not_a_damaged_one() -> None:
    # The texts of PySpark 4.1 for a Parquet file of another user: root may read every file, so no test of root sees it.
    file = "/srv/scope=all/snapshot=20260131T020000000Z-full-0123ab/replicas/part-0.parquet"
    assert SnapshotName.parse(Path(file).parents[1].name) is not None

    refused = PySparkException(
        f"[FAILED_READ_FILE.CANNOT_READ_FILE_FOOTER] Encountered error while reading file file:{file}.\n"
        f"Caused by: java.io.FileNotFoundException: {file} (Permission denied)"
    )
    with pytest.raises(RecordingError, match=f"may not read or write {file}") as error, explained("/srv"):
        raise refused
    assert not isinstance(error.value, DamagedSnapshotError)


def test_without_any_snapshot_that_can_be_read_a_plan_says_so(job: Job) -> None:
    job.run(0, {1: 10, 2: 10})
    _cut(job.file(0))
    for by_spark in (False, True):
        found = job.found(1, by_spark=by_spark)
        assert found.seen == {}
        assert "damaged snapshots are not used" in found.notes[0]
        assert "has no recordings of cluster cluster" in found.notes[1]
    assert job.run(2, {1: 11, 2: 10}).is_full
    assert job.ends(3) == {1: (11, 2), 2: (10, 2)}


def test_what_is_no_recording_is_left_alone(job: Job) -> None:
    job.run(0, {1: 10, 2: 10})
    foreign = {
        "snapshot=20260131T020100000Z-part-abcdef.tmp/replicas/x.parquet",
        "snapshot=latest/replicas/x.parquet",
        "lost+found/x",
        "_damaged-mine/x",
    }
    for each in foreign:
        (job.scope / each).parent.mkdir(parents=True)
        (job.scope / each).write_bytes(b"foreign")
    for file in (job.root / "README", job.scope / "README", job.scope.parent / "scope=file"):
        file.write_bytes(b"foreign")
    assert job.ends(1) == {1: (10, 0), 2: (10, 0)}
    job.run(200, {1: 11, 2: 10})
    job.run(300, {1: 12, 2: 10})
    assert job.ends(301) == {1: (12, 300), 2: (10, 300)}
    assert all((job.scope / each).read_bytes() == b"foreign" for each in foreign)


def test_a_directory_in_which_nothing_can_be_written_leaves_the_recordings_as_they_were(job: Job) -> None:
    job.run(0, {1: 10, 2: 10})
    (job.root / "file").write_bytes(b"")
    broken = recordings_of(job.spark, str(job.root), "cluster")
    broken.uri = f"{job.root.as_uri()}/file"
    with pytest.raises(RecordingError, match="is not a directory"):
        job.run(1, {1: 11, 2: 10}, recordings=broken)
    assert job.ends(2) == {1: (10, 0), 2: (10, 0)}
