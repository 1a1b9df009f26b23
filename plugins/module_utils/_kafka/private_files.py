# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Write secrets to files that only this user can read, for libraries and processes that need a path.

Standard library only, so that Spark's tasks can read their connection settings with it.
"""

from __future__ import annotations

import dataclasses
import json
import os
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path

from .._model.program import is_alive
from .errors import SettingsError, describe_unreadable
from .settings import ConnectionSettings, settings_from

_ONLY_US = 0o600
_PREFIX = "kafkaops-private-"


def private_file(content: bytes) -> AbstractContextManager[str]:
    """Return a context with the path of a file that only this user can read. The file is removed after the block.

    On Linux it is in memory, elsewhere on a disk.
    """
    if hasattr(os, "memfd_create"):
        return _file_in_memory(content)
    return _file_on_disk(content, tempfile.gettempdir())


@contextmanager
def _file_in_memory(content: bytes) -> Iterator[str]:
    """Keep the file in the memory of this process. It is never on a disk, and disappears if the process is killed."""
    descriptor = os.memfd_create("kafkaops")
    try:
        os.fchmod(descriptor, _ONLY_US)
        with open(descriptor, "wb", closefd=False) as file:
            file.write(content)
        yield f"/proc/{os.getpid()}/fd/{descriptor}"
    finally:
        os.close(descriptor)


@contextmanager
def _file_on_disk(content: bytes, parent: str) -> Iterator[str]:
    """Keep the file in its own directory. The next call removes the files of killed processes."""
    _remove_leftovers(parent)
    with tempfile.TemporaryDirectory(prefix=f"{_PREFIX}{os.getpid()}-", dir=parent) as directory:
        path = Path(directory) / "content"
        with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, _ONLY_US), "wb") as file:
            file.write(content)
        yield str(path)


def _remove_leftovers(parent: str) -> None:
    for directory in Path(parent).glob(f"{_PREFIX}*"):
        with suppress(OSError, ValueError):
            if directory.stat().st_uid == os.getuid() and not is_alive(int(directory.name.split("-")[2])):
                shutil.rmtree(directory)


def settings_json(settings: ConnectionSettings) -> str:
    """Return the settings, secrets included, as the JSON text that read_settings_reference reads."""
    values = {each.name: getattr(settings, each.name) for each in dataclasses.fields(settings)}
    values["bootstrap_servers"] = [str(address) for address in settings.bootstrap_servers]
    return json.dumps(values)


def temporary_settings_reference(settings: ConnectionSettings) -> AbstractContextManager[str]:
    """Return a context with the path of a file with the settings, for Spark's tasks on this host.

    Tasks get only this path, so that no secret is in a conf, a closure or an event log.
    """
    return private_file(settings_json(settings).encode())


def read_settings_reference(path: str | os.PathLike[str]) -> ConnectionSettings:
    """Read a file of settings.

    Raises SettingsError if it cannot be read, if users outside its group can read it, or if anyone but its owner can
    write it.
    """
    what = f"the file of connection settings {path}"
    try:
        with open(path, encoding="utf-8") as file:
            mode = stat.S_IMODE(os.fstat(file.fileno()).st_mode)
            if mode & (stat.S_IRWXO | stat.S_IWGRP):
                raise SettingsError([f"{what} has mode {mode:o}, but it contains secrets: chmod 600"])
            values = json.load(file)
    except OSError as error:
        raise SettingsError([f"{what} {describe_unreadable(error)}"]) from None
    except ValueError:
        raise SettingsError([f"{what} is not JSON"]) from None  # the cause would quote the text
    if not isinstance(values, dict):
        raise SettingsError([f"{what} is not a JSON object"])
    return settings_from(values)
