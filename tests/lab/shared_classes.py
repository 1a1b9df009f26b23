# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""An archive of Kafka's loaded classes (AppCDS, JEP 350): a node starts with half of the CPU time.

The JVM checks an archive against its class path and itself, and goes on without one that does not fit.
"""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

from lab import process
from lab.cache import cache_dir, exclusive


def archive(class_path: Sequence[Path], train: Callable[[Path], None]) -> Path | None:
    """Return the archive for this class path and Java, from the cache or made by ``train``; None if Java makes none.

    ``train`` is given a path, and runs a node whose exit makes the archive there (see ``record``).
    """
    directory = cache_dir() / "classes"
    directory.mkdir(exist_ok=True)
    made = directory / f"{_key(class_path)}.jsa"
    if not made.exists():
        with exclusive(made.stem):
            if not made.exists():
                scratch = made.with_suffix(".scratch")
                scratch.unlink(missing_ok=True)
                train(scratch)
                scratch.touch()  # empty: this Java creates no archive, and is not asked again
                scratch.rename(made)
    return made if made.stat().st_size else None


def record(path: Path) -> list[str]:
    """Return the JVM arguments that create an archive when the JVM exits cleanly."""
    return [f"-XX:ArchiveClassesAtExit={path}"]


def use(path: Path | None) -> list[str]:
    """Return the JVM arguments that use an archive, if there is one. Agents may change its classes, too."""
    return [] if path is None else [f"-XX:SharedArchiveFile={path}"]


def _key(class_path: Sequence[Path]) -> str:
    launcher = Path(shutil.which(process.java()) or process.java()).resolve()
    identity = [str(launcher), str(launcher.stat().st_mtime_ns), *map(str, class_path)]
    return hashlib.sha256("\n".join(identity).encode()).hexdigest()[:16]
