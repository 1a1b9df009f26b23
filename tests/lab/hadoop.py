# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Configuration files and shell of Hadoop, for all of its file systems."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from lab import process

_SHELL = "org.apache.hadoop.fs.FsShell"
_TOOL_SECONDS = 60.0


class HadoopStore:
    """A file system that Hadoop reaches by a configuration.

    Args:
        directory: where configuration, logs and data go.
    """

    uri: str

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self._conf_dir = directory / "conf"
        self.environment = {"HADOOP_CONF_DIR": str(self._conf_dir)}
        """Return the environment of a program that uses PySpark's Hadoop."""

    def jars(self) -> Sequence[Path]:
        """Return the jars of the shell's class path."""
        raise NotImplementedError

    def copy(self, uri: str, target: Path) -> None:
        """Copy all files below a URI to a local directory with Hadoop's own shell."""
        self.shell("-get", uri, str(target))

    def make_directory(self, uri: str) -> None:
        self.shell("-mkdir", "-p", uri)

    def shell(self, *arguments: str) -> bytes:
        """Return the output of ``hadoop fs``. Raises RuntimeError if it fails."""
        done = self.run(_SHELL, *arguments)
        if done.returncode:
            raise RuntimeError(f"hadoop fs {' '.join(arguments)}: {done.stderr.decode()[-2000:]}")
        return done.stdout

    def run(self, main_class: str, *arguments: str) -> subprocess.CompletedProcess[bytes]:
        return subprocess.run(
            self.command(main_class, *arguments),
            capture_output=True,
            timeout=_TOOL_SECONDS,
            check=False,
            stdin=subprocess.DEVNULL,
        )

    def command(self, main_class: str, *arguments: str) -> list[str]:
        return process.java_command([self._conf_dir, *self.jars()], main_class, *arguments)

    def configure(self, name: str, properties: Mapping[str, object]) -> None:
        """Write one configuration file."""
        content = "".join(
            f"<property><name>{key}</name><value>{value}</value></property>" for key, value in properties.items()
        )
        self._conf_dir.mkdir(parents=True, exist_ok=True)
        (self._conf_dir / name).write_text(f"<configuration>{content}</configuration>\n", encoding="utf-8")
