# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The files of recordings, on any file system that Hadoop knows and that renames a directory in one step.

``ROOT/cluster_id=ID/scope=SCOPE/snapshot=TIME-KIND-NUMBER/{replicas,brokers}/*.parquet``

A snapshot is written to a directory whose name begins with an underscore, which Spark does not read, and is then
renamed. So a snapshot is complete, or it is not there. Two jobs at once write two snapshots. A ``full`` snapshot has
all replicas, a ``part`` those that changed since the snapshot before. What is older than the newest full snapshot that
is old enough is removed, likewise by a rename first. After a loss of power, a name may be there without its content:
such a snapshot is put aside by a rename, too.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from .._spark.failures import describe_failure, explain_failure
from .names import (
    BROKERS,
    REPLICAS,
    SCOPE,
    SNAPSHOT,
    DamagedSnapshotError,
    RecordingError,
    SnapshotName,
    cluster_uri,
    clusters_in,
    names_in,
    root_uri,
    scope_directory,
    time_in_name,
    time_text,
)

with suppress(ImportError):  # a missing library is reported before the module starts (_module/run.py)
    import pyarrow as pa
    from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]  # it ships no types
    from pyspark.errors import PySparkException
    from pyspark.sql.pandas.types import from_arrow_schema

    from .rows import RECORDED_SCHEMA

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_STAGING, _EXPIRED, _DAMAGED = "_staging-", "_expired-", "_damaged-"
_UNREADABLE = ("FAILED_READ_FILE", "PATH_NOT_FOUND")
"""What Spark says of a file that is damaged or missing. It names the file."""
_STALE_AFTER = timedelta(hours=24)
"""No job writes for so long: the directory is one of a killed job."""


class Recordings:
    """The recordings of one scope of one cluster."""

    def __init__(self, spark: SparkSession, uri: str) -> None:
        """``uri`` is that of the scope's directory, see ``recordings_of``."""
        self._spark = spark
        self.uri = uri
        jvm: Any = spark._jvm
        self._path = jvm.org.apache.hadoop.fs.Path
        with explained(uri):
            self._files = self._path(uri).getFileSystem(spark._jsc.hadoopConfiguration())

    def names(self) -> list[SnapshotName]:
        """Return all complete snapshots, oldest first. Raises RecordingError."""
        return sorted(name for each in self.directories() if (name := SnapshotName.parse(each)))

    def replicas(self, names: Sequence[SnapshotName]) -> DataFrame:
        """Return the rows of these snapshots: ``rows.RECORDED_SCHEMA``, and the column ``snapshot``.

        Raises DamagedSnapshotError for one without a file. What is in the files is only known when the rows are read.
        """
        rows = self._spark.read.option("basePath", self.uri).schema(from_arrow_schema(RECORDED_SCHEMA))
        if not names:
            empty = self._spark.createDataFrame([], from_arrow_schema(RECORDED_SCHEMA))
            return empty.selectExpr("*", f"'' AS {SNAPSHOT}")
        if damaged := self.find_empty(names, REPLICAS):
            raise DamagedSnapshotError(damaged)
        with explained(self.uri):
            return rows.parquet(*(f"{self.uri}/{each.text}/{REPLICAS}" for each in names))

    def find_empty(self, names: Iterable[SnapshotName], part: str) -> set[str]:
        """Return the snapshots whose part has no file, or an empty one: Spark would read it as one without rows.

        A loss of power leaves such files. ``part`` is REPLICAS or BROKERS. Raises RecordingError.
        """
        return {each.text for each in names if not self._has_file(each, part)}

    def read(self, rows: DataFrame) -> pa.Table:
        """Return these rows as a table. Raises RecordingError; DamagedSnapshotError if a file is damaged."""
        with explained(self.uri):
            return rows.toArrow()

    def count(self, replicas: DataFrame) -> int:
        """Return how many rows these are. Raises RecordingError, like ``write``."""
        with explained(self.uri):
            return replicas.count()

    def write(
        self, name: SnapshotName, replicas: DataFrame, brokers: DataFrame, damaged: Sequence[SnapshotName] = ()
    ) -> int:
        """Write a snapshot, and return how many rows of replicas it has. Hide the ``damaged`` ones from all readers.

        Raises RecordingError; DamagedSnapshotError if one that ``replicas`` are compared with is damaged.
        """
        staging = f"{self.uri}/{_STAGING}{time_text(name.at)}-{secrets.token_hex(3)}"
        with explained(self.uri):
            try:
                sorted_rows = replicas.coalesce(1).sortWithinPartitions("topic", "partition", "broker_id")
                for rows, part in ((sorted_rows, REPLICAS), (brokers.coalesce(1), BROKERS)):
                    rows.write.option("compression", "zstd").parquet(f"{staging}/{part}")
                stored = self._spark.read.schema(from_arrow_schema(RECORDED_SCHEMA)).parquet(f"{staging}/{REPLICAS}")
                count = stored.count()
                # Not before the file system has shown that it works, and not after a kill could leave them for good.
                for each in damaged:
                    self._rename(each.text, f"{_DAMAGED}{each.text}")
                if not self._files.rename(self._path(staging), self._path(f"{self.uri}/{name.text}")):
                    raise RecordingError(f"{self.uri}/{name.text} could not be created from {staging}")
                return count
            except BaseException:
                with suppress(Py4JJavaError, OSError):
                    self._files.delete(self._path(staging), True)
                raise

    def size_bytes(self, name: SnapshotName) -> int:
        """Return the size of a snapshot's files."""
        with explained(self.uri):
            return int(self._files.getContentSummary(self._path(f"{self.uri}/{name.text}")).getLength())

    def remove(self, names: Sequence[SnapshotName], now: datetime, cutoff: datetime) -> int:
        """Remove these snapshots, what was put aside before ``cutoff``, and what killed jobs have left.

        Return how many snapshots. Raises RecordingError.
        """
        with explained(self.uri):
            removed = sum(self._rename(each.text, f"{_EXPIRED}{each.text}") for each in names)
            for text in self.directories():
                at = time_in_name(text)
                oldest = {_STAGING: now - _STALE_AFTER, _DAMAGED: cutoff}.get(text.partition("-")[0] + "-")
                if text.startswith(_EXPIRED) or (oldest is not None and at is not None and at < oldest):
                    self._files.delete(self._path(f"{self.uri}/{text}"), True)
            return removed

    def _rename(self, old: str, new: str) -> bool:
        """Return False if it is not there: another job has renamed it."""
        source = self._path(f"{self.uri}/{old}")
        try:
            return bool(self._files.rename(source, self._path(f"{self.uri}/{new}")))
        except Py4JJavaError:
            # A local file system raises what others return.
            if self._files.exists(source):
                raise
            return False

    def _has_file(self, name: SnapshotName, part: str) -> bool:
        """Return whether a part of a snapshot has a file that is not empty. Without rows, it has a file, too."""
        with explained(self.uri):
            path = self._path(f"{self.uri}/{name.text}/{part}")
            return self._files.isDirectory(path) and any(
                str(each.getPath().getName()).endswith(".parquet") and each.getLen() > 0
                for each in self._files.listStatus(path)
            )

    def directories(self) -> list[str]:
        """Return the names of what is in the directory, none if it does not exist. Raises RecordingError."""
        with explained(self.uri):
            path = self._path(self.uri)
            if not self._files.exists(path):
                return []
            return [str(each.getPath().getName()) for each in self._files.listStatus(path)]


@contextmanager
def explained(place: str) -> Iterator[None]:
    """Explain Spark's errors. Raises RecordingError; DamagedSnapshotError if Spark cannot read a snapshot."""
    try:
        yield
    except (Py4JJavaError, PySparkException) as error:
        text = str(error)
        # A file that may not be read, or for which memory is lacking, is not damaged: damaged ones are moved away.
        damaged = names_in(text) if not explain_failure(text) and any(each in text for each in _UNREADABLE) else None
        if damaged:
            raise DamagedSnapshotError(damaged) from error
        raise RecordingError(f"{place}: {describe_failure(text)}") from error


def recordings_of(spark: SparkSession, root: str, cluster_id: str, scope: str = "") -> Recordings:
    """Return the recordings below ``root``, a path or a URI, of the topics that match ``scope``.

    Raises RecordingError for what is no cluster id.
    """
    return Recordings(spark, f"{cluster_uri(root, cluster_id)}/{scope_directory(scope)}")


def find_scopes(spark: SparkSession, root: str, cluster_id: str) -> list[Recordings]:
    """Return the recordings of all scopes of a cluster. Raises RecordingError."""
    cluster = Recordings(spark, cluster_uri(root, cluster_id))
    return [Recordings(spark, f"{cluster.uri}/{each}") for each in cluster.directories() if each.startswith(SCOPE)]


def find_clusters(spark: SparkSession, root: str) -> list[str]:
    """Return the ids of all clusters that were recorded below ``root``, in order. Raises RecordingError."""
    return clusters_in(Recordings(spark, root_uri(root)).directories())
