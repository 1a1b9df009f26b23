# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Writes one salvage directory: rows, read back, and a manifest last. Without it, nothing is kept.

Threads of this process write what is not much: Spark's start would take longer. Spark writes what is more, what goes to
other file systems, and whatever the operator wants it to.
"""

from __future__ import annotations

import os
import pwd
import socket
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, NamedTuple

from .._model.log_contents import Stretches
from .._model.partition import TopicPartition
from .._model.run import VERSION, KafkaOpsError, utc_now
from .._module.libraries import unusable
from .._spark.options import SparkOptions
from .._spark.tasks import deal_together
from .directory import UnfinishedSalvage, open_unfinished_salvage
from .manifest import MANIFEST, HeldRecords, Manifest, SavedFile, SavedFrom, find_file_problems, read_manifest
from .options import is_remote
from .read_back import ReadBack, read_back
from .rows import REPEATED, Item, RowSource

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from .remote import RemoteDirectory

with suppress(ImportError):  # a missing library is named before anything is done (_module/run.py)
    import pyarrow as pa
    import pyarrow.parquet as pq

    from .rows import ROW_SCHEMA

MOST_BYTES_HERE = 4 * 1024**3
"""This much takes this process about as long as it takes Spark, its start included."""
_ROW_GROUP_BYTES = 32 * 1024**2
"""Of each thread, uncompressed, in memory."""
_THREADS = 4
"""Side by side: they wait for brokers and disks, and Arrow writes without Python's lock."""


class SalvageError(KafkaOpsError):
    """Records that could not be saved. The message says which and why; nothing was written to the cluster."""


class Written(NamedTuple):
    """Rows that are on disk, and were read back."""

    back: ReadBack
    files: tuple[SavedFile, ...]


def choose_spark(
    chosen: SparkOptions | None, otherwise: SparkOptions, destination: str, *, is_little: bool
) -> SparkOptions | None:
    """Return how Spark runs, by the operator's own choice or ``otherwise``; None where it is not needed."""
    return None if chosen is None and is_little and not is_remote(destination) else chosen or otherwise


class SalvageWriter:
    """The directory that is written, which is removed when the block ends without a manifest, and Spark, if given.

    Entering raises SalvageError, and what ``spark_session`` raises.
    """

    def __init__(self, destination: str, spark: SparkOptions | None) -> None:
        self._destination = destination
        self._options = spark
        self._stack = ExitStack()
        self._local = ExitStack()
        self._remote = ExitStack()
        self._session: SparkSession | None = None
        self._directory: UnfinishedSalvage | RemoteDirectory | None = None

    def __enter__(self) -> SalvageWriter:
        with ExitStack() as stack:
            # What is written is for this user only, also what Spark and its workers write.
            stack.callback(os.umask, os.umask(0o077))
            # Removed once Spark is gone: its tasks may still write until then. Elsewhere, only Spark can remove it.
            stack.enter_context(self._local)
            if self._options is not None:
                lacking = unusable(("pandas", "pyspark"))
                if lacking:
                    raise SalvageError(f"so much, or to that place, is written by Spark: {lacking}")
                from .._spark.session import spark_session  # noqa: PLC0415 - PySpark takes half a second to import

                self._session = stack.enter_context(spark_session(self._options))
            stack.enter_context(self._remote)
            self._stack = stack.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        return self._stack.__exit__(kind, error, trace)

    @property
    def spark(self) -> SparkSession:
        """The session, where Spark was given."""
        if self._session is None:
            raise ValueError("this writer has no Spark")
        return self._session

    def read_finished_manifest(self) -> Manifest | None:
        """Return the manifest of a finished salvage at the destination. Raises KafkaOpsError where anything else is."""
        place = self._destination
        if is_remote(place):
            from .remote import RemoteDirectory  # noqa: PLC0415 - see above

            return RemoteDirectory(self.spark, place).manifest()
        return read_manifest(place) if Path(place, MANIFEST).is_file() else None

    def find_problems_there(self, manifest: Manifest) -> list[str]:
        """Compare the files of a finished salvage with its manifest. Raises KafkaOpsError where they cannot be read."""
        place = self._destination
        if not is_remote(place):
            return find_file_problems(place, manifest.files)
        from .remote import RemoteDirectory  # noqa: PLC0415 - see above

        is_same = RemoteDirectory(self.spark, place).digests() == manifest.files
        return [] if is_same else [f"the files in {place} are not those of its manifest"]

    def write(self, source: RowSource[Any]) -> Written:
        """Make the directory, write all rows to it, and read them back.

        Raises SalvageError or SalvageDirectoryError.
        """
        if self._session is not None:
            return self._write_on_spark(self._session, source)
        directory = self._directory = self._local.enter_context(open_unfinished_salvage(self._destination))
        directory.records.mkdir()
        hands = deal_together(source.items, source.weight, _THREADS, source.together)
        paths = [directory.records / f"part-{number:05}.parquet" for number in range(len(hands))]
        with ThreadPoolExecutor(_THREADS) as threads:
            for _done in threads.map(lambda path, hand: _write_file(path, hand, source.rows), paths, hands):
                pass
        # On disk first: what is read back is what is kept.
        files = directory.files()
        return Written(read_back(directory.records), files)

    def _write_on_spark(self, spark: SparkSession, source: RowSource[Any]) -> Written:
        from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]  # noqa: PLC0415 - see above
        from pyspark.errors import PySparkException  # noqa: PLC0415

        from . import on_spark  # noqa: PLC0415

        if is_remote(self._destination):
            from .remote import open_unfinished_remote  # noqa: PLC0415

            self._directory = self._remote.enter_context(open_unfinished_remote(spark, self._destination))
        else:
            self._directory = self._local.enter_context(open_unfinished_salvage(self._destination))
        try:
            on_spark.write(spark, source, self._directory.records_uri)
        except (PySparkException, Py4JJavaError) as error:
            raise SalvageError(_in_short(error)) from None
        files = self._directory.files()
        return Written(on_spark.read_back(spark, self._directory.records_uri), files)

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


def _write_file(path: Path, hand: Sequence[Item], rows: Callable[[Item], Iterator[pa.RecordBatch]]) -> None:
    with pq.ParquetWriter(path, ROW_SCHEMA, use_dictionary=[*REPEATED]) as file:
        for group in _row_groups(each for item in hand for each in rows(item)):
            file.write_table(pa.Table.from_batches(group))


def _row_groups(batches: Iterable[pa.RecordBatch]) -> Iterator[list[pa.RecordBatch]]:
    group: list[pa.RecordBatch] = []
    size = 0
    for each in batches:
        group.append(each)
        size += each.nbytes
        if size >= _ROW_GROUP_BYTES:
            yield group
            group, size = [], 0
    if group:
        yield group


def _user() -> str:
    with suppress(KeyError):
        return pwd.getpwuid(os.geteuid()).pw_name
    return f"uid {os.geteuid()}"


def _in_short(error: Exception) -> str:
    """Return the line of a Java stack that says why the records could not be written."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    causes = [line for line in lines if "No space left" in line or line.startswith("Caused by:") or "OSError" in line]
    return f"the records could not be written: {(causes or lines or ['unknown'])[0]}. Nothing was kept"
