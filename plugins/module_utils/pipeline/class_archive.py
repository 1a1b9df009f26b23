# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""An archive of the classes that Spark loads (AppCDS, JEP 350), which halves the time to the first ranked result.

The first session on a host records it: its JVM writes the archive after the session, in the background. Every later one
maps it. The JVM itself checks that an archive fits (its own build, each jar's size and time), and goes on without one
that does not. Standard library only.
"""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from ansible_collections.kafkaops.recovery.plugins.module_utils.pipeline.java import Java
from ansible_collections.kafkaops.recovery.plugins.module_utils.pipeline.user_cache import trusted_cache

_MAGIC = 0xF00BABA8.to_bytes(4, byteorder=sys.byteorder)
_KEPT = 3
"""Archives in the cache, some 170 MB each: one for every Spark, Java and set of flags in use on this host."""
_CLASS_PATH_VARIABLES = ("SPARK_CONF_DIR", "HADOOP_CONF_DIR", "YARN_CONF_DIR")


@dataclass(frozen=True, slots=True)
class ClassArchive:
    """What to tell the JVM about the archive."""

    flags: tuple[str, ...]
    is_recorded: bool
    """This JVM writes the archive when it ends: let it end by itself."""


_NONE = ClassArchive((), is_recorded=False)


def class_archive(java: Java, jars: Path, flags: Sequence[str]) -> ClassArchive:
    """The archive for this Java, the Spark in ``jars`` and these JVM flags: to be used if there is one, else recorded.

    None at all where the user's cache directory cannot be trusted or written, or where settings put directories on
    Spark's class path, which Java cannot archive.
    """
    if any(os.environ.get(name) for name in _CLASS_PATH_VARIABLES):
        return _NONE
    try:
        directory = trusted_cache()
        archive = directory / f"spark-{_key(java, jars, flags)}.jsa"
        if _is_complete(archive):
            with suppress(PermissionError):  # one that came with an image is root's, and no less good
                os.utime(archive)
            return ClassArchive((f"-XX:SharedArchiveFile={archive}",), is_recorded=False)
        if not os.access(directory, os.W_OK):
            return _NONE
        _make_room(directory)
    except OSError:
        return _NONE
    return ClassArchive((f"-XX:ArchiveClassesAtExit={archive}",), is_recorded=True)


def _key(java: Java, jars: Path, flags: Sequence[str]) -> str:
    """Changes with everything that makes an archive useless: a reinstalled Spark too, by its directory's time."""
    identity = [java.build, str(java.home), str(jars), str(jars.stat().st_mtime_ns), *flags]
    return hashlib.sha256("\n".join(identity).encode()).hexdigest()[:16]


def _is_complete(archive: Path) -> bool:
    """Java writes the header last, so an archive whose writing was cut short has none."""
    try:
        with archive.open("rb") as file:
            return file.read(len(_MAGIC)) == _MAGIC
    except FileNotFoundError:
        return False


def _make_room(directory: Path) -> None:
    by_use = sorted(directory.glob("*.jsa"), key=lambda archive: archive.stat().st_mtime, reverse=True)
    for archive in by_use[_KEPT - 1 :]:
        archive.unlink()
