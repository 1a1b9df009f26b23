# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The Java that Spark is to run on: found, and found new enough, before any JVM is started."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from .._model.run import KafkaOpsError

MINIMUM_VERSION = 17
"""What Spark 4 needs."""

_REMEDY = (
    f"Install Java {MINIMUM_VERSION} or newer on the host that runs the module (Debian: openjdk-17-jre-headless, "
    "Red Hat: java-17-openjdk-headless), or set JAVA_HOME for the task to one"
)


class SparkUnavailableError(KafkaOpsError):
    """Spark cannot be started here. The message says why, and what to do."""


@dataclass(frozen=True, slots=True)
class Java:
    """A Java runtime, by its release file or its own output."""

    home: Path
    version: str
    """The full version, for example 17.0.15."""
    build: str
    """Identifies this build: classes that one build archived are useless to another."""


def find_java() -> Java:
    """Find the Java of JAVA_HOME, or else of the PATH, as Spark's own scripts do.

    Raises SparkUnavailableError where there is none, or one too old.
    """
    binary = _binary()
    java = _described(binary)
    found = re.match(r"(?:1\.)?(\d+)", java.version)
    if not found or int(found[1]) < MINIMUM_VERSION:
        raise SparkUnavailableError(
            f"Spark needs Java {MINIMUM_VERSION} or newer; {binary} is {java.version}. {_REMEDY}"
        )
    return java


def _binary() -> Path:
    home = os.environ.get("JAVA_HOME")
    if home:
        binary = Path(home, "bin", "java")
        if not os.access(binary, os.X_OK):
            raise SparkUnavailableError(f"JAVA_HOME is {home}, but {binary} is no program. {_REMEDY}")
        return binary
    on_path = shutil.which("java")
    if on_path is None:
        raise SparkUnavailableError(
            f"Spark needs Java: JAVA_HOME is not set, and there is no java in the PATH. {_REMEDY}"
        )
    return Path(on_path)


def _described(binary: Path) -> Java:
    home = binary.resolve().parent.parent
    try:
        release = (home / "release").read_text(encoding="utf-8")
    except OSError:
        return _asked(binary, home)
    version = re.search(r'^JAVA_VERSION="([^"]+)"', release, re.MULTILINE)
    return Java(home, version[1], release) if version else _asked(binary, home)


def _asked(binary: Path, home: Path) -> Java:
    """Ask a runtime that has no release file for its version. That costs a JVM's start."""
    try:
        answer = subprocess.run([binary, "-version"], capture_output=True, text=True, timeout=30, check=True).stderr
    except (OSError, subprocess.SubprocessError) as error:
        raise SparkUnavailableError(f"{binary} does not run: {error}. {_REMEDY}") from error
    version = re.search(r'version "([^"]+)"', answer)
    return Java(home, version[1] if version else answer.strip(), answer)
