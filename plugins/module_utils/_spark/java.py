# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Find Java for Spark, and prepare files that make Spark start faster. Standard library only.

The version of Java is checked before any JVM is started.

An archive of the classes that Spark loads (AppCDS, JEP 350) halves the time to the first ranked result. The first
session on a host records it: after the session, its JVM writes the archive in the background. Every later session uses
it. The JVM itself checks that an archive matches (its own build, each jar's size and time), and ignores it otherwise.

Spark puts PySpark's zip file in SPARK_HOME first on its workers' path, and Python compiles everything that it imports
from a zip file, in each worker and each time. In a SPARK_HOME without the zip file, the workers import the installed
package, which is already compiled.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import stat
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from .._model.run import KafkaOpsError

MINIMUM_VERSION = 17
"""The oldest version for Spark 4."""

_REMEDY = (
    f"Install Java {MINIMUM_VERSION} or newer on the host that runs the module (Debian: openjdk-17-jre-headless, "
    "Red Hat: java-17-openjdk-headless), or set JAVA_HOME for the task to one"
)
_MAGIC = 0xF00BABA8.to_bytes(4, byteorder=sys.byteorder)
_MAX_ARCHIVES = 3
"""Archives in the cache, about 170 MB each: one for each combination of Spark, Java and flags."""
_CLASS_PATH_VARIABLES = ("SPARK_CONF_DIR", "HADOOP_CONF_DIR", "YARN_CONF_DIR")
_PARTS = ("bin", "conf", "jars")


class SparkUnavailableError(KafkaOpsError):
    """Spark cannot be used. The message has the cause and the remedy."""


@dataclass(frozen=True, slots=True)
class Java:
    """A Java runtime, as its release file or its own output describes it."""

    home: Path
    version: str
    """The full version, for example 17.0.15."""
    build: str
    """Identifies the build: a class archive is only valid for the build that wrote it."""


@dataclass(frozen=True, slots=True)
class ClassArchive:
    """The JVM flags of an archive."""

    flags: tuple[str, ...]
    is_recorded: bool
    """Whether this JVM writes the archive when it ends. Then it must not be killed."""


_NONE = ClassArchive((), is_recorded=False)


def find_java() -> Java:
    """Find Java by JAVA_HOME, or else on the PATH, as Spark's own scripts do.

    Raises SparkUnavailableError if there is none, or if it is too old.
    """
    binary = _find_binary()
    java = _describe(binary)
    found = re.match(r"(?:1\.)?(\d+)", java.version)
    if not found or int(found[1]) < MINIMUM_VERSION:
        raise SparkUnavailableError(
            f"Spark needs Java {MINIMUM_VERSION} or newer; {binary} is {java.version}. {_REMEDY}"
        )
    return java


def _find_binary() -> Path:
    home = os.environ.get("JAVA_HOME")
    if home:
        binary = Path(home, "bin", "java")
        if not os.access(binary, os.X_OK):
            raise SparkUnavailableError(f"JAVA_HOME is {home}, but {binary} is not a program. {_REMEDY}")
        return binary
    on_path = shutil.which("java")
    if on_path is None:
        raise SparkUnavailableError(
            f"Spark needs Java: JAVA_HOME is not set, and there is no java in the PATH. {_REMEDY}"
        )
    return Path(on_path)


def _describe(binary: Path) -> Java:
    home = binary.resolve().parent.parent
    try:
        release = (home / "release").read_text(encoding="utf-8")
    except OSError:
        return _ask_for_version(binary, home)
    version = re.search(r'^JAVA_VERSION="([^"]+)"', release, re.MULTILINE)
    return Java(home, version[1], release) if version else _ask_for_version(binary, home)


def _ask_for_version(binary: Path, home: Path) -> Java:
    """Ask a runtime without a release file for its version. That starts a JVM, which is slow."""
    try:
        answer = subprocess.run([binary, "-version"], capture_output=True, text=True, timeout=30, check=True).stderr
    except (OSError, subprocess.SubprocessError) as error:
        raise SparkUnavailableError(f"{binary} does not run: {error}. {_REMEDY}") from error
    version = re.search(r'version "([^"]+)"', answer)
    return Java(home, version[1] if version else answer.strip(), answer)


def class_archive(java: Java, jars: Path, flags: Sequence[str]) -> ClassArchive:
    """Return the JVM flags to use or to record the archive for this Java, the Spark in ``jars`` and these flags.

    There are none if the user's cache directory cannot be trusted or written, or if the environment puts directories on
    Spark's class path, which Java cannot archive.
    """
    if any(os.environ.get(name) for name in _CLASS_PATH_VARIABLES):
        return _NONE
    try:
        directory = trusted_cache()
        archive = directory / f"spark-{_key(java, jars, flags)}.jsa"
        if _is_complete(archive):
            with suppress(OSError):  # in a container image it may be owned by root, or on a read-only file system
                os.utime(archive)
            return ClassArchive((f"-XX:SharedArchiveFile={archive}",), is_recorded=False)
        if not os.access(directory, os.W_OK):
            return _NONE
        _remove_oldest(directory)
    except OSError:
        return _NONE
    return ClassArchive((f"-XX:ArchiveClassesAtExit={archive}",), is_recorded=True)


def is_recorded(java: Java, jars: Path, flags: Sequence[str]) -> bool:
    """Return whether ``class_archive`` would find a complete archive. Changes nothing.

    Raises OSError if the user's cache directory cannot be trusted or written.
    """
    return _is_complete(trusted_cache() / f"spark-{_key(java, jars, flags)}.jsa")


def _key(java: Java, jars: Path, flags: Sequence[str]) -> str:
    """Return a name that changes with everything that makes an archive invalid, including a reinstalled Spark."""
    # In seconds, as Java compares the times of jars, because image layers have no fractions of seconds.
    identity = [java.build, str(java.home), str(jars), str(int(jars.stat().st_mtime)), *flags]
    return hashlib.sha256("\n".join(identity).encode()).hexdigest()[:16]


def _is_complete(archive: Path) -> bool:
    """Return whether the archive has its header, which Java writes last."""
    try:
        with archive.open("rb") as file:
            return file.read(len(_MAGIC)) == _MAGIC
    except FileNotFoundError:
        return False


def _remove_oldest(directory: Path) -> None:
    by_use = sorted(directory.glob("*.jsa"), key=lambda archive: archive.stat().st_mtime, reverse=True)
    for archive in by_use[_MAX_ARCHIVES - 1 :]:
        archive.unlink()


def lean_spark_home(package: Path) -> Path:
    """Return a directory of links to those parts of the installed PySpark (``package``) that Spark needs.

    The directory is permanent, because a class archive is only valid for jars at the same path. If the user's cache
    directory cannot be trusted or written, return ``package`` itself.
    """
    try:
        cache = trusted_cache()
        home = cache / f"spark-home-{hashlib.sha256(os.fsencode(package)).hexdigest()[:16]}"
        if not home.is_dir():
            _create(home, package)
    except OSError:
        return package
    return home


def _create(home: Path, package: Path) -> None:
    """Create the directory completely or not at all. Another run may create it at the same time."""
    with tempfile.TemporaryDirectory(dir=home.parent, prefix=".spark-home-", ignore_cleanup_errors=True) as scratch:
        draft = Path(scratch, "home")
        draft.mkdir()
        for part in _PARTS:
            if (package / part).is_dir():
                (draft / part).symlink_to(package / part)
        try:
            draft.rename(home)
        except OSError:
            if not home.is_dir():
                raise


def trusted_cache() -> Path:
    """Return the cache directory. Its content is executed, so raise OSError if other users could write it."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"))
    if not cache.is_absolute():
        raise PermissionError("this user has no home directory")
    directory = cache / "kafkaops.recovery"
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    found = directory.stat()
    if found.st_uid not in (os.geteuid(), 0) or found.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise PermissionError(f"{directory} can be written by others")
    return directory
