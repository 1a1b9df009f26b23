# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The class archive is used if it is complete and ours, recorded if it is missing, and never causes a failure."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from ansible_collections.kafkaops.recovery.plugins.module_utils._spark.java import Java, class_archive, find_java

FLAGS = ("-XX:+UseSerialGC", "-Xshare:auto")
JAVA = Java(Path("/jdk"), "17.0.15", "a build")
WHOLE = bytes.fromhex("a8ab0bf0") + bytes(100)
CUT_SHORT = bytes(104)
_NOBODY = 65534


@pytest.fixture
def cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    for name in ("SPARK_CONF_DIR", "HADOOP_CONF_DIR", "YARN_CONF_DIR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "kafkaops.recovery"


@pytest.fixture
def jars(tmp_path: Path) -> Path:
    directory = tmp_path / "jars"
    directory.mkdir()
    return directory


def recorded_file(jars: Path, java: Java = JAVA, flags: tuple[str, ...] = FLAGS) -> Path:
    archive = class_archive(java, jars, flags)
    assert archive.is_recorded
    [flag] = archive.flags
    return Path(flag.removeprefix("-XX:ArchiveClassesAtExit="))


@contextmanager
def read_only(directory: Path) -> Iterator[None]:
    """Take the right to write to a directory from this process' real user. Root has it always, so be another user."""
    user = os.getuid()
    directory.chmod(0o555)
    os.setreuid(user or _NOBODY, -1)
    try:
        yield
    finally:
        os.setreuid(user, -1)
        directory.chmod(0o755)


def test_missing_archive_is_recorded_then_used(cache: Path, jars: Path) -> None:
    file = recorded_file(jars)
    assert file.parent == cache
    file.write_bytes(WHOLE)
    archive = class_archive(JAVA, jars, FLAGS)
    assert archive.flags == (f"-XX:SharedArchiveFile={file}",)
    assert not archive.is_recorded


def test_truncated_archive_is_recorded_again(cache: Path, jars: Path) -> None:
    file = recorded_file(jars)
    file.write_bytes(CUT_SHORT)
    assert recorded_file(jars) == file


def test_everything_that_makes_an_archive_stale_names_another_file(cache: Path, jars: Path) -> None:
    files = [
        recorded_file(jars),
        recorded_file(jars, java=Java(JAVA.home, JAVA.version, "another build")),
        recorded_file(jars, flags=()),
    ]
    os.utime(jars, (1, 1))
    files.append(recorded_file(jars))
    assert len(set(files)) == 4


def test_only_the_archives_used_last_are_kept(cache: Path, jars: Path) -> None:
    cache.mkdir(mode=0o700)
    for age in range(5):
        other = cache / f"spark-{age}.jsa"
        other.write_bytes(WHOLE)
        os.utime(other, (1000 - age, 1000 - age))
    recorded_file(jars)
    assert {each.name for each in cache.iterdir()} == {"spark-0.jsa", "spark-1.jsa"}


@pytest.mark.parametrize("name", ["SPARK_CONF_DIR", "HADOOP_CONF_DIR"])
def test_no_archive_is_used_with_directories_on_the_class_path(
    cache: Path, jars: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv(name, "/etc/spark")
    assert class_archive(JAVA, jars, FLAGS).flags == ()


def test_no_archive_is_used_if_others_could_change_it(cache: Path, jars: Path) -> None:
    cache.mkdir()
    cache.chmod(0o770)
    assert class_archive(JAVA, jars, FLAGS).flags == ()


def test_archive_in_a_read_only_directory_is_used_and_none_is_recorded(cache: Path, jars: Path) -> None:
    file = recorded_file(jars)
    with read_only(cache):
        assert class_archive(JAVA, jars, FLAGS).flags == ()
    file.write_bytes(WHOLE)
    with read_only(cache):
        assert class_archive(JAVA, jars, FLAGS).flags == (f"-XX:SharedArchiveFile={file}",)


def test_no_archive_is_used_without_a_cache(jars: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    assert class_archive(JAVA, jars, FLAGS).flags == ()


def test_java_ignores_an_archive_that_does_not_match(cache: Path, jars: Path) -> None:
    """Test a guarantee of the JVM that this collection needs."""
    recorded_file(jars).write_bytes(WHOLE)
    flags = [*FLAGS, *class_archive(JAVA, jars, FLAGS).flags]
    found = subprocess.run([find_java().home / "bin" / "java", *flags, "-version"], capture_output=True, check=False)
    assert found.returncode == 0


def test_an_archive_fits_in_an_image_whose_layers_drop_fractions_of_seconds(cache: Path, jars: Path) -> None:
    os.utime(jars, ns=(1_700_000_000_123_456_789,) * 2)
    file = recorded_file(jars)
    os.utime(jars, (1_700_000_000,) * 2)
    assert recorded_file(jars) == file
