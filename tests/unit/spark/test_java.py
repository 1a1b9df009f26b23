# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Java is found as Spark's own scripts find it, and its version is checked before a JVM is started."""

from __future__ import annotations

from pathlib import Path

import pytest

from ansible_collections.kafkaops.recovery.plugins.module_utils._spark.java import SparkUnavailableError, find_java


def install(home: Path, *, release: str | None = None, program: str = "exit 1") -> Path:
    """Return a fake Java with only the files that are checked."""
    binary = home / "bin" / "java"
    binary.parent.mkdir(parents=True)
    binary.write_text(f"#!/bin/sh\n{program}\n")
    binary.chmod(0o755)
    if release is not None:
        (home / "release").write_text(release)
    return home


def test_java_home_wins_over_the_path(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    new = install(tmp_path / "new", release='IMPLEMENTOR="Debian"\nJAVA_VERSION="21.0.2"\n')
    old = install(tmp_path / "old", release='JAVA_VERSION="11.0.1"\n')
    monkeypatch.setenv("PATH", str(old / "bin"))
    monkeypatch.setenv("JAVA_HOME", str(new))
    assert (find_java().home, find_java().version) == (new, "21.0.2")


def test_java_home_is_found_through_a_link(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    home = install(tmp_path / "jdk", release='JAVA_VERSION="17"\n')
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "java").symlink_to(home / "bin" / "java")
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    assert find_java().home == home


@pytest.mark.parametrize("version", ["11.0.22", "1.8.0_402", "9-ea"])
def test_a_java_too_old_is_named_with_its_version(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, version: str
) -> None:
    monkeypatch.setenv("JAVA_HOME", str(install(tmp_path, release=f'JAVA_VERSION="{version}"\n')))
    with pytest.raises(SparkUnavailableError, match=rf"needs Java 17 or newer; .*/bin/java is {version}\. Install"):
        find_java()


def test_a_java_without_a_release_file_is_asked(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    answer = """echo 'openjdk version "1.8.0_402"' >&2"""
    monkeypatch.setenv("JAVA_HOME", str(install(tmp_path, program=answer)))
    with pytest.raises(SparkUnavailableError, match=r"is 1\.8\.0_402"):
        find_java()


def test_a_java_that_does_not_run_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("JAVA_HOME", str(install(tmp_path)))
    with pytest.raises(SparkUnavailableError, match=r"does not run: .*exit status 1"):
        find_java()


def test_no_java_at_all(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(SparkUnavailableError, match=r"no java in the PATH\. Install Java 17 or newer"):
        find_java()


def test_a_java_home_without_java(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(SparkUnavailableError, match=f"JAVA_HOME is {tmp_path}, but .*/bin/java is not a program"):
        find_java()
