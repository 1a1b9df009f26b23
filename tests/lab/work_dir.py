# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The directory of a cluster, removed with it; one whose owner was killed is removed by the next owner."""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from pathlib import Path

from lab.cache import exclusive

_PREFIX = "kafkaops-lab-"
_LOCK = "owner.lock"
_MEMORY = Path("/dev/shm")


def default_base() -> Path:
    """Return /dev/shm if it exists: a broker calls fsync several times for each partition that it creates."""
    return _MEMORY if os.access(_MEMORY, os.W_OK) else Path(tempfile.gettempdir())


class WorkDir:
    """A new directory in ``base``, whose lock this process holds until it removes the directory or ends."""

    def __init__(self, base: Path) -> None:
        with exclusive("work-dirs"):
            _sweep(base)
            self.path = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=base))
            self._lock = (self.path / _LOCK).open("w")
            fcntl.flock(self._lock, fcntl.LOCK_EX)

    def remove(self) -> None:
        """Remove the directory and its content."""
        with exclusive("work-dirs"):  # another process's sweep must not find an incomplete directory
            shutil.rmtree(self.path, ignore_errors=True)
            self._lock.close()


def sweep(base: Path) -> None:
    """Remove the directories in ``base`` whose owners have ended."""
    with exclusive("work-dirs"):
        _sweep(base)


def _sweep(base: Path) -> None:
    for lock_path in base.glob(f"{_PREFIX}*/{_LOCK}"):
        with lock_path.open("w") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                continue
            shutil.rmtree(lock_path.parent, ignore_errors=True)
