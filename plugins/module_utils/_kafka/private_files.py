# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Files with secrets, for libraries and processes that take only a path. Standard library only."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_ONLY_US = 0o600
_PREFIX = "kafkaops-private-"


@contextmanager
def private_file(content: bytes) -> Iterator[str]:
    """Give the path of a file with this content, for the length of a ``with`` block. Only this user can read it.

    On Linux it is memory of this process: nothing is on a disk, and nothing is left behind when the process is killed.
    Elsewhere it is a file in a directory of its own, and what a killed process left is removed by the next call.
    """
    if hasattr(os, "memfd_create"):
        descriptor = os.memfd_create("kafkaops")
        try:
            os.fchmod(descriptor, _ONLY_US)
            with open(descriptor, "wb", closefd=False) as file:
                file.write(content)
            yield f"/proc/{os.getpid()}/fd/{descriptor}"
        finally:
            os.close(descriptor)
    else:
        _remove_leftovers()
        with tempfile.TemporaryDirectory(prefix=f"{_PREFIX}{os.getpid()}-") as directory:
            path = Path(directory) / "content"
            with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, _ONLY_US), "wb") as file:
                file.write(content)
            yield str(path)


def _remove_leftovers() -> None:
    for directory in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        with suppress(OSError, ValueError):
            if directory.stat().st_uid == os.getuid() and not _is_alive(int(directory.name.split("-")[2])):
                shutil.rmtree(directory)


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
