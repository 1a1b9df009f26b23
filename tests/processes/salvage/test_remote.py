# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A salvage directory on a file system that only Hadoop knows: its own ViewFileSystem."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from unittest.mock import Mock

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from ansible_collections.kafkaops.recovery.plugins.module_utils._salvage.manifest import (
    Manifest,
    SavedFrom,
    find_file_problems,
    read_manifest,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._salvage.options import SalvageDirectoryError
from ansible_collections.kafkaops.recovery.plugins.module_utils._salvage.remote import (
    RemoteDirectory,
    open_unfinished_remote,
)
from unit.salvage.saved import SAVED

_ROWS = 100


@pytest.fixture(scope="module")
def mounted(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the local directory behind ``viewfs://far/kept``."""
    directory = tmp_path_factory.mktemp("mounted")
    configuration = spark.sparkContext._jsc.hadoopConfiguration()
    configuration.set("fs.viewfs.mounttable.far.link./kept", directory.as_uri())
    return directory


def save(spark: SparkSession, uri: str) -> Manifest:
    with open_unfinished_remote(spark, uri) as directory:
        spark.range(_ROWS).write.parquet(directory.records_uri)
        manifest = Manifest(
            "s", "c", "2026-01-31T23:59:59Z", "host", "user", "1", (SavedFrom(1),), (), (SAVED,), directory.files()
        )
        directory.finish(manifest)
    return manifest


def save_twice(spark: SparkSession, uri: str) -> None:
    with open_unfinished_remote(spark, uri) as directory:
        for _twice in range(2):
            spark.range(_ROWS).write.parquet(directory.records_uri)


def test_write_and_read_again(spark: SparkSession, mounted: Path, tmp_path: Path) -> None:
    uri = "viewfs://far/kept/incident/saved"
    manifest = save(spark, uri)
    there = mounted / "incident" / "saved"
    files = {path.name for path in there.rglob("*") if path.is_file() and not path.name.endswith(".crc")}
    assert files == {"manifest.json", *(each.name for each in manifest.files)}
    assert {path.stat().st_mode & 0o777 for path in there.rglob("*.parquet")} == {0o600}
    assert there.stat().st_mode & 0o777 == 0o700
    RemoteDirectory(spark, uri).fetch(manifest, tmp_path)
    assert read_manifest(str(tmp_path)) == manifest
    assert not find_file_problems(str(tmp_path), manifest.files)
    assert spark.read.parquet(f"{uri}/records").count() == _ROWS
    assert RemoteDirectory(spark, uri).manifest() == manifest
    with pytest.raises(SalvageDirectoryError, match="exists: name a directory that does not"):
        save(spark, uri)


def test_a_failed_run_leaves_no_files(spark: SparkSession, mounted: Path) -> None:
    uri = "viewfs://far/kept/failed"
    with pytest.raises(PySparkException, match="ALREADY_EXISTS"):
        save_twice(spark, uri)
    assert not (mounted / "failed").exists()


def test_a_failed_removal_does_not_hide_why_the_run_failed(spark: SparkSession, mounted: Path) -> None:
    uri = "viewfs://far/kept/stuck"
    assert mounted.is_dir()
    with pytest.raises(SalvageDirectoryError, match=r"^the disk is full; it could not be removed$"):
        fail_to_save(spark, uri)


def fail_to_save(spark: SparkSession, uri: str) -> None:
    with ExitStack() as stack:
        stuck = SalvageDirectoryError("it could not be removed")
        directory = stack.enter_context(open_unfinished_remote(spark, uri))
        directory.remove = Mock(side_effect=stuck)  # type: ignore[method-assign]
        raise SalvageDirectoryError("the disk is full")


def test_files_of_another_run_are_left_alone(spark: SparkSession, mounted: Path) -> None:
    uri = "viewfs://far/kept/busy"
    with open_unfinished_remote(spark, uri):
        with pytest.raises(SalvageDirectoryError, match="is no finished salvage"), open_unfinished_remote(spark, uri):
            pass
        assert (mounted / "busy").exists()


@pytest.mark.parametrize(
    ("uri", "why"),
    [
        ("nowhere://far/saved", 'could not be reached: No FileSystem for scheme "nowhere"'),
        ("s3a://bucket/saved", "could not be reached: Class org.apache.hadoop.fs.s3a.S3AFileSystem not found"),
        ("viewfs://far/elsewhere/saved", "could not be written"),
    ],
)
def test_a_directory_that_cannot_be_written_is_reported(spark: SparkSession, mounted: Path, uri: str, why: str) -> None:
    assert mounted.is_dir()
    with pytest.raises(SalvageDirectoryError) as refused, open_unfinished_remote(spark, uri):
        pass
    assert f"{uri} {why}" in str(refused.value)
