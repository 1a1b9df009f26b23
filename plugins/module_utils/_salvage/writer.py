# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Writes one salvage directory: rows by Spark, read back, and a manifest last. Without it, nothing is kept."""

from __future__ import annotations

import os
import pwd
import socket
import uuid
from collections.abc import Mapping
from contextlib import ExitStack, suppress
from pathlib import Path
from types import TracebackType
from typing import NamedTuple

from .._model.log_contents import Stretches
from .._model.partition import TopicPartition
from .._model.run import VERSION, KafkaOpsError, utc_now
from .._spark.options import SparkOptions
from .._spark.session import spark_session
from .directory import Unfinished, unfinished
from .manifest import MANIFEST, HeldRecords, Manifest, SavedFile, SavedFrom, read_manifest
from .places import is_remote
from .read_back import ReadBack, read_back
from .remote import RemoteDirectory, unfinished_remote

with suppress(ImportError):  # a missing library is named before anything is done (_module/run.py)
    from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]  # it ships no types
    from pyspark.errors import PySparkException
    from pyspark.sql import DataFrame, SparkSession


class SalvageError(KafkaOpsError):
    """Records that could not be saved. The message says which and why; nothing was written to the cluster."""


class Written(NamedTuple):
    """Rows that are on disk, and were read back."""

    back: ReadBack
    files: tuple[SavedFile, ...]


class SalvageWriter:
    """A Spark session, and the directory that it writes, which is removed when the block ends without a manifest.

    Entering raises what ``spark_session`` raises.
    """

    spark: SparkSession

    def __init__(self, destination: str, spark: SparkOptions) -> None:
        self._destination = destination
        self._options = spark
        self._stack = ExitStack()
        self._local = ExitStack()
        self._remote = ExitStack()
        self._directory: Unfinished | RemoteDirectory | None = None

    def __enter__(self) -> SalvageWriter:
        with ExitStack() as stack:
            # What Spark and its workers write is for this user only.
            stack.callback(os.umask, os.umask(0o077))
            # Removed once Spark is gone: its tasks may still write until then. Elsewhere, only Spark can remove it.
            stack.enter_context(self._local)
            self.spark = stack.enter_context(spark_session(self._options))
            stack.enter_context(self._remote)
            self._stack = stack.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        return self._stack.__exit__(kind, error, trace)

    def manifest_there(self) -> Manifest | None:
        """Return the manifest of a finished salvage at the destination. Raises KafkaOpsError where anything else is."""
        place = self._destination
        if is_remote(place):
            return RemoteDirectory(self.spark, place).manifest()
        return read_manifest(place) if Path(place, MANIFEST).is_file() else None

    def write(self, rows: DataFrame) -> Written:
        """Make the directory, and write rows of ``ROW_SCHEMA`` to it. Raises SalvageError or SalvageDirectoryError."""
        place = self._destination
        if is_remote(place):
            self._directory = self._remote.enter_context(unfinished_remote(self.spark, place))
        else:
            self._directory = self._local.enter_context(unfinished(place))
        try:
            rows.write.parquet(self._directory.records_uri)
        except (PySparkException, Py4JJavaError) as error:
            raise SalvageError(_in_short(error)) from None
        files = self._directory.files()
        return Written(read_back(self.spark.read.parquet(self._directory.records_uri)), files)

    def finish(
        self,
        written: Written,
        cluster_id: str,
        origins: tuple[SavedFrom, ...],
        held: Mapping[TopicPartition, Stretches],
    ) -> Manifest:
        """Write the manifest. ``held`` is what the disks or replicas hold, saved or not."""
        if self._directory is None:
            raise ValueError("a directory is finished after it was written")
        manifest = Manifest(
            salvage_id=str(uuid.uuid4()),
            cluster_id=cluster_id,
            taken_at=utc_now(),
            taken_on=socket.gethostname(),
            taken_by=_user(),
            collection_version=VERSION,
            origins=origins,
            held=tuple(HeldRecords(each.topic, each.partition, ranges) for each, ranges in sorted(held.items())),
            partitions=written.back.partitions,
            files=written.files,
        )
        self._directory.finish(manifest)
        return manifest


def _user() -> str:
    with suppress(KeyError):
        return pwd.getpwuid(os.geteuid()).pw_name
    return f"uid {os.geteuid()}"


def _in_short(error: Exception) -> str:
    """Return the line of a Java stack that says why the records could not be written."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    causes = [line for line in lines if "No space left" in line or line.startswith("Caused by:") or "OSError" in line]
    return f"the records could not be written: {(causes or lines or ['unknown'])[0]}. Nothing was kept"
