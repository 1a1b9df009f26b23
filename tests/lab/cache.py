# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The lab's place in the user's cache directory."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


def cache_dir() -> Path:
    """Return the directory for downloads and builds: kafkaops-lab in ``$XDG_CACHE_HOME`` or ``~/.cache``."""
    directory = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "kafkaops-lab"
    directory.mkdir(parents=True, exist_ok=True)
    return directory


@contextmanager
def exclusive(name: str) -> Iterator[None]:
    """Hold the lock ``name`` against other threads and processes of this user."""
    with (cache_dir() / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
