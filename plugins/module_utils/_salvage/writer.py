# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Write one salvage directory: write the rows, read them back, then write the manifest. Without it, nothing is saved.

Threads of this process write small salvages, because Spark's start would take longer. Spark writes large ones, those on
other file systems, and those for which the operator set Spark's options.
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
from types import MappingProxyType, TracebackType
from typing import TYPE_CHECKING, Any, NamedTuple

from .._model.log_contents import Stretches
from .._model.partition import TopicPartition
from .._model.run import VERSION, KafkaOpsError, utc_now
from .._module.libraries import missing_libraries_message
from .._spark.failures import describe_failure
from .._spark.options import SparkOptions, is_uri
from .._spark.tasks import distribute_groups
from .directory import UnfinishedSalvage, UnsyncedSalvageError, check_covers, open_unfinished_salvage, sync_finished
from .manifest import MANIFEST, HeldRecords, Manifest, SavedFile, SavedFrom, find_file_problems, read_manifest
from .read_back import ReadBack, read_back
from .rows import REPEATED, Item, RowSource
from .saved import UnreadableOffsets

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from .remote import RemoteDirectory

with suppress(ImportError):  # a missing library is reported before the module starts (_module/run.py)
    import pyarrow as pa
    import pyarrow.parquet as pq

    from .rows import ROW_SCHEMA

MOST_BYTES_HERE = 4 * 1024**3
"""For this size, this process takes about as long as Spark with its start."""
_ROW_GROUP_BYTES = 32 * 1024**2
"""Uncompressed, in the memory of each thread."""
_THREADS = 4
"""Threads wait for brokers and disks, and Arrow writes without Python's lock."""


class SalvageError(KafkaOpsError):
    """Records could not be saved. The message says which and why. Nothing was written to the cluster."""


def read_back_error(problems: Sequence[str]) -> SalvageError:
    """Return the error about files that were read back and do not have all records."""
    return SalvageError("the saved files were read back with errors, and were removed: " + "; ".join(problems))


class Written(NamedTuple):
    """Rows that were written to disk and read back."""

    back: ReadBack
    files: tuple[SavedFile, ...]


def choose_spark(
    chosen: SparkOptions | None, default: SparkOptions, destination: str, *, is_little: bool
) -> SparkOptions | None:
    """Return Spark's options: those that the operator set, else ``default``. None if Spark is not needed."""
    if chosen is None and is_little and not is_uri(destination):
        return None
    return chosen or default


class SalvageWriter:
    """Writes one salvage directory, with Spark if options are given.

    If the ``with`` block ends without a manifest, the directory is removed. Entering the block raises SalvageError and
    the errors of ``spark_session``.
    """

    def __init__(self, destination: str, spark: SparkOptions | None) -> None:
        self._place = destination
        self._options = spark
        self._stack = ExitStack()
        self._local = ExitStack()
        self._remote = ExitStack()
        self._session: SparkSession | None = None
        self._directory: UnfinishedSalvage | RemoteDirectory | None = None

    def __enter__(self) -> SalvageWriter:
        with ExitStack() as stack:
            # All files are for this user only, also those that Spark and its workers write.
            stack.callback(os.umask, os.umask(0o077))
            # A local directory is removed after Spark has ended, because its tasks may still write until then.
            # A remote directory is removed before, because only Spark can remove it.
            stack.enter_context(self._local)
            if self._options is not None:
                missing = missing_libraries_message(("pandas", "pyspark"))
                if missing:
                    raise SalvageError(f"Spark is needed for so many records, or for that place: {missing}")
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
        """The Spark session. Raises ValueError if the writer has none."""
        if self._session is None:
            raise ValueError("this writer has no Spark")
        return self._session

    def read_finished_manifest(self) -> Manifest | None:
        """Return the manifest of a finished salvage at the destination; None if there is none.

        Raises KafkaOpsError.
        """
        place = self._place
        if is_uri(place):
            from .remote import RemoteDirectory  # noqa: PLC0415 - see above

            return RemoteDirectory(self.spark, place).manifest()
        return read_manifest(place) if Path(place, MANIFEST).is_file() else None

    def require_finished(
        self, manifest: Manifest, cluster_id: str, wanted: Iterable[tuple[TopicPartition, str | None, Stretches]]
    ) -> None:
        """Require that a finished salvage at the destination has what is wanted, in intact files. Sync them again.

        Raises KafkaOpsError; UnsyncedSalvageError if only the sync failed.
        """
        check_covers(manifest, self._place, cluster_id, wanted)
        if problems := self._find_problems(manifest):
            raise SalvageError("; ".join([*problems, "name another directory, to save the records again"]))

    def _find_problems(self, manifest: Manifest) -> list[str]:
        """Compare the files of a finished salvage with its manifest. Those of this host are synced again."""
        place = self._place
        if not is_uri(place):
            problems = find_file_problems(place, manifest.files)
            try:
                if not problems:
                    sync_finished(place, manifest.files)
            except OSError as error:
                raise UnsyncedSalvageError(Path(place), manifest, str(error.strerror)) from error
            return problems
        from .remote import RemoteDirectory  # noqa: PLC0415 - see above

        is_same = RemoteDirectory(self.spark, place).digests() == manifest.files
        return [] if is_same else [f"the files in {place} are not those of its manifest"]

    def write(self, source: RowSource[Any]) -> Written:
        """Create the directory, write all rows to it, and read them back.

        Raises SalvageError or SalvageDirectoryError.
        """
        if self._session is not None:
            return self._write_on_spark(self._session, source)
        directory = self._directory = self._local.enter_context(open_unfinished_salvage(self._place))
        directory.records.mkdir()
        shares = distribute_groups(source.items, source.weight, _THREADS, source.together)
        paths = [directory.records / f"part-{number:05}.parquet" for number in range(len(shares))]
        with ThreadPoolExecutor(_THREADS) as threads:
            for _done in threads.map(lambda path, share: _write_file(path, share, source.rows), paths, shares):
                pass
        # Sync to disk before reading back.
        files = directory.files()
        return Written(read_back(directory.records), files)

    def _write_on_spark(self, spark: SparkSession, source: RowSource[Any]) -> Written:
        from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]  # noqa: PLC0415 - see above
        from pyspark.errors import PySparkException  # noqa: PLC0415

        from . import on_spark  # noqa: PLC0415

        if is_uri(self._place):
            from .remote import open_unfinished_remote  # noqa: PLC0415

            self._directory = self._remote.enter_context(open_unfinished_remote(spark, self._place))
        else:
            self._directory = self._local.enter_context(open_unfinished_salvage(self._place))
        try:
            on_spark.write(spark, source, self._directory.records_uri)
            files = self._directory.files()
            return Written(on_spark.read_back(spark, self._directory.records_uri), files)
        except (PySparkException, Py4JJavaError) as error:
            cause = describe_failure(str(error))
            raise SalvageError(f"the records could not be written and read back: {cause}. Nothing was saved") from None

    def finish(
        self,
        written: Written,
        cluster_id: str,
        origins: tuple[SavedFrom, ...],
        held: Mapping[TopicPartition, Stretches],
        reused_epochs: Mapping[TopicPartition, tuple[int, ...]] = MappingProxyType({}),
        *,
        unreadable: Mapping[TopicPartition, tuple[UnreadableOffsets, ...]] = MappingProxyType({}),
    ) -> Manifest:
        """Write the manifest. ``held`` has the offsets that disks or losers hold, saved or not.

        ``reused_epochs`` are those of their leader epochs that two leaders had, and ``unreadable`` is what could not
        be read of them.

        Raises UnsyncedSalvageError if the salvage is finished all the same.
        """
        if self._directory is None:
            raise ValueError("write() was not called before finish()")
        manifest = Manifest(
            salvage_id=str(uuid.uuid4()),
            cluster_id=cluster_id,
            taken_at=utc_now(),
            taken_on=socket.gethostname(),
            taken_by=_user_name(),
            collection_version=VERSION,
            origins=origins,
            held=tuple(
                HeldRecords(each.topic, each.partition, ranges, reused_epochs.get(each, ()), unreadable.get(each, ()))
                for each, ranges in sorted(held.items())
            ),
            partitions=written.back.partitions,
            files=written.files,
        )
        self._directory.finish(manifest)
        return manifest


def _write_file(path: Path, items: Sequence[Item], rows: Callable[[Item], Iterator[pa.RecordBatch]]) -> None:
    with pq.ParquetWriter(path, ROW_SCHEMA, use_dictionary=[*REPEATED]) as file:
        for group in _group_for_writing(each for item in items for each in rows(item)):
            file.write_table(pa.Table.from_batches(group))


def _group_for_writing(batches: Iterable[pa.RecordBatch]) -> Iterator[list[pa.RecordBatch]]:
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


def _user_name() -> str:
    with suppress(KeyError):
        return pwd.getpwuid(os.geteuid()).pw_name
    return f"uid {os.geteuid()}"
