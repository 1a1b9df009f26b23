# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Pass the collection's code, as a zip file, and a deadline from the driver to Spark's workers.

Standard library only.
"""

from __future__ import annotations

import time
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from .._model.program import import_root

_MODULE_UTILS = PurePosixPath("ansible_collections", "kafkaops", "recovery", "plugins", "module_utils")
_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")


def code_for_workers(directory: Path) -> Path:
    """Return a zip file from which a Python worker can import this collection's module_utils.

    In an Ansible module that is the zip file from which the module itself runs (AnsiballZ, with the module and its
    imports). Elsewhere it is created in ``directory``.
    """
    root = import_root()
    return root if root.is_file() else _pack(root, directory / "kafkaops_recovery.zip")


def _pack(root: Path, archive: Path) -> Path:
    """Pack module_utils.

    Each package gets an ``__init__.py``, as in AnsiballZ, because other installed collections have one.
    """
    packages = {*_MODULE_UTILS.parents, _MODULE_UTILS} - {PurePosixPath(".")}
    # Files of an artifact are dated 1970, which a zip file cannot hold.
    with zipfile.ZipFile(archive, "w", strict_timestamps=False) as zipped:
        for file in sorted((root / _MODULE_UTILS).rglob("*.py")):
            name = PurePosixPath(file.relative_to(root).as_posix())
            packages |= {parent for parent in name.parents if parent != PurePosixPath(".")}
            zipped.write(file, str(name))
        for package in sorted(packages):
            zipped.writestr(str(package / "__init__.py"), "")
    return archive


def _this_boot(boot_id: Path = _BOOT_ID) -> str | None:
    """Return the boot id, which identifies this host's monotonic clock. None if the system has none."""
    try:
        return boot_id.read_text(encoding="ascii").strip()
    except OSError:
        return None


@dataclass(frozen=True, slots=True)
class Deadline:
    """A point of ``time.monotonic()``, in seconds, that can be pickled.

    On the host that set it, it is the same instant in every process, so Spark's planning and queueing count. On another
    host, the monotonic clock differs and the wall clock may be skewed. There the deadline is the time that was left
    when it was sent, counted from its arrival. The transport does not count.
    """

    at: float

    @classmethod
    def after_ms(cls, duration_ms: int) -> Deadline:
        return cls(time.monotonic() + duration_ms / 1000)

    def remaining(self) -> float:
        """Return the seconds left; negative after the deadline."""
        return self.at - time.monotonic()

    def __reduce__(self) -> tuple[Callable[..., Deadline], tuple[float, float, str | None]]:
        return _arrive, (self.at, self.remaining(), _this_boot())


def _arrive(at: float, remaining: float, boot: str | None) -> Deadline:
    if boot is not None and boot == _this_boot():
        return Deadline(at)
    return Deadline(time.monotonic() + remaining)
