# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Write a salvage directory on any file system that Hadoop supports, with the FileSystem API of Spark's own JVM.

No lock and no rename works on all of these file systems. So a run claims a directory by creating a file that must not
exist, the directory has its final name from the beginning, and it is finished once it has a manifest. The files of a
killed run are not removed, because another run may still be writing them.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from .._model.run import KafkaOpsError
from .._module.libraries import missing_libraries_message
from .._spark.failures import describe_failure
from .._spark.options import SparkOptions, is_uri, local_uri
from .._spark.session import spark_session
from .directory import CLAIM_FILE
from .manifest import MANIFEST, RECORDS, Manifest, SavedFile, decode_manifest, digest, encode_manifest
from .options import DRIVER_MEMORY, SalvageDirectoryError, resolve_place

with suppress(ImportError):  # a missing library is reported before the module starts (_module/run.py)
    from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]  # it ships no types
    from pyspark.errors import PySparkException
    from pyspark.sql import SparkSession

_DIRECTORY_MODE, _FILE_MODE = "700", "600"
_PARQUET = ".parquet"
_Result = TypeVar("_Result")


class RemoteDirectory:
    """One directory. Every method raises SalvageDirectoryError."""

    def __init__(self, spark: SparkSession, uri: str) -> None:
        self.uri = uri
        self.is_finished = False
        jvm: Any = spark._jvm  # PySpark has no public name for it
        self._hadoop = jvm.org.apache.hadoop
        configuration = spark.sparkContext._jsc.hadoopConfiguration()
        self._fs = self._call("could not be reached", lambda: self._hadoop.fs.Path(uri).getFileSystem(configuration))

    @property
    def records_uri(self) -> str:
        return f"{self.uri}/{RECORDS}"

    def manifest(self) -> Manifest | None:
        """Return the manifest of a finished salvage; None if the directory does not exist.

        Raises SalvageDirectoryError, ManifestError or DocumentError.
        """
        if self._call("could not be read", lambda: self._fs.exists(self._path(MANIFEST))):
            return decode_manifest(self._read(MANIFEST), f"{self.uri}/{MANIFEST}")
        if self._call("could not be read", lambda: self._fs.exists(self._path())):
            raise SalvageDirectoryError(
                f"{self.uri} exists and is no finished salvage: name a directory that does not exist. If a killed run "
                "left it, delete it first"
            )
        return None

    def claim(self) -> None:
        """Create the directory for this run alone."""
        what = "could not be written"
        directory = self._path()
        self._call(what, lambda: self._fs.mkdirs(directory, self._permission(_DIRECTORY_MODE)))
        self._call(what, lambda: self._fs.create(self._path(CLAIM_FILE), False).close())

    def remove(self) -> None:
        """Remove the directory that this run created."""
        self._call("could not be removed", lambda: self._fs.delete(self._path(), True))

    def files(self) -> tuple[SavedFile, ...]:
        """Delete all files but the Parquet files, set their mode to 0600, and return their digests."""
        what = "could not be read back"
        for path in self._paths_of_records():
            if path.getName().endswith(_PARQUET):
                self._call(what, partial(self._fs.setPermission, path, self._permission(_FILE_MODE)))
            else:
                self._call(what, partial(self._fs.delete, path, True))
        return self.digests()

    def digests(self) -> tuple[SavedFile, ...]:
        """Download every Parquet file and return the digests, in order of name."""
        found = []
        with tempfile.TemporaryDirectory(prefix="kafkaops-salvage-") as name:
            for path in self._paths_of_records():
                if path.getName().endswith(_PARQUET):
                    copy = Path(name, path.getName())
                    self._download(path, copy)
                    found.append(digest(copy))
                    copy.unlink()
        return tuple(sorted(found, key=lambda each: each.name))

    def finish(self, manifest: Manifest) -> None:
        """Write the manifest and read it back. Then the salvage is finished."""
        content = encode_manifest(manifest)
        self._call("could not be written", lambda: self._write(MANIFEST, content))
        if self._read(MANIFEST) != content:
            raise SalvageDirectoryError(f"{self.uri}/{MANIFEST} was read back, and differs from what was written")
        self.is_finished = True
        self._call("could not be written", lambda: self._fs.delete(self._path(CLAIM_FILE), False))

    def fetch(self, manifest: Manifest, directory: Path) -> None:
        """Copy a finished salvage to a local directory."""
        (directory / RECORDS).mkdir()
        for each in manifest.files:
            self._download(self._path(RECORDS, each.name), directory / RECORDS / each.name)
        (directory / MANIFEST).write_bytes(self._read(MANIFEST))

    def _paths_of_records(self) -> list[Any]:
        listed = self._call("could not be read back", lambda: list(self._fs.listStatus(self._path(RECORDS))))
        return [each.getPath() for each in listed]

    def _write(self, name: str, content: bytes) -> None:
        stream = self._fs.create(self._path(name), False)
        try:
            stream.write(bytearray(content))
            # HDFS syncs to the disks of its DataNodes. In object stores the file is durable once it is closed.
            if stream.hasCapability("hsync"):
                stream.hsync()
        finally:
            stream.close()

    def _read(self, name: str) -> bytes:
        with tempfile.TemporaryDirectory(prefix="kafkaops-salvage-") as directory:
            copy = Path(directory, name)
            self._download(self._path(name), copy)
            return copy.read_bytes()

    def _download(self, path: Any, copy: Path) -> None:
        target = self._hadoop.fs.Path(local_uri(copy))
        self._call("could not be read", lambda: self._fs.copyToLocalFile(False, path, target, True))

    def _path(self, *names: str) -> Any:
        return self._hadoop.fs.Path("/".join((self.uri, *names)))

    def _permission(self, mode: str) -> Any:
        return self._hadoop.fs.permission.FsPermission(mode)

    def _call(self, what: str, call: Callable[[], _Result]) -> _Result:
        try:
            return call()
        except (Py4JJavaError, PySparkException) as error:
            cause = describe_failure(str(error)).rsplit("Exception: ", 1)[-1]  # without the names of classes
            raise SalvageDirectoryError(f"{self.uri} {what}: {cause}") from None


@contextmanager
def open_unfinished_remote(spark: SparkSession, uri: str) -> Iterator[RemoteDirectory]:
    """Create a salvage directory. It is removed at the end unless it was finished. Raises SalvageDirectoryError."""
    directory = RemoteDirectory(spark, uri)
    if directory.manifest() is not None:
        raise SalvageDirectoryError(f"{uri} exists: name a directory that does not")
    directory.claim()
    failure: KafkaOpsError | None = None
    try:
        yield directory
    except KafkaOpsError as error:
        failure = error
        raise
    finally:
        if not directory.is_finished:
            # Tasks of a failed job may still be writing.
            spark.sparkContext.cancelAllJobs()
            try:
                directory.remove()
            except SalvageDirectoryError as error:
                # This error must not hide why the run failed.
                raise SalvageDirectoryError(f"{failure}; {error}" if failure else str(error)) from None


def check_remote(uri: str) -> None:
    """Check that the directory can be written, before anything is changed: create it and remove it again.

    If it is a finished salvage, perhaps of a killed run, its records are compared later.

    Raises SalvageDirectoryError, ManifestError, DocumentError or SparkUnavailableError.
    """
    with _session() as spark:
        if RemoteDirectory(spark, uri).manifest() is None:
            with open_unfinished_remote(spark, uri):
                pass


@contextmanager
def local_copy(place: str) -> Iterator[str]:
    """Yield a local directory of the salvage. A remote salvage is copied, and the copy is removed after the block.

    Raises SalvageDirectoryError, ManifestError or SparkUnavailableError.
    """
    place = resolve_place(place)
    if not is_uri(place):
        yield place
        return
    with tempfile.TemporaryDirectory(prefix="kafkaops-salvage-") as name:
        before = os.umask(0o077)
        try:
            with _session() as spark:
                directory = RemoteDirectory(spark, place)
                manifest = directory.manifest()
                if manifest is None:
                    raise SalvageDirectoryError(
                        f"{place} does not exist: give the directory that a salvage has written"
                    )
                directory.fetch(manifest, Path(name))
        finally:
            os.umask(before)
        yield name


@contextmanager
def _session() -> Iterator[SparkSession]:
    missing = missing_libraries_message(("pyspark",))
    if missing:
        raise SalvageDirectoryError(f"other file systems than the local one need Spark: {missing}")
    with spark_session(SparkOptions(driver_memory=DRIVER_MEMORY)) as spark:
        yield spark
