# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A deadline that Spark carries from the driver to a task. Standard library only."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path

_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")


def _this_boot() -> str | None:
    """What tells this host's monotonic clock from any other; None where the system does not say."""
    try:
        return _BOOT_ID.read_text(encoding="ascii").strip()
    except OSError:
        return None


@dataclass(frozen=True, slots=True)
class Deadline:
    """A point of ``time.monotonic()``, in seconds, that survives pickling.

    On the host that set it, it is the same instant in every process: Spark's planning and queueing are paid from it.
    Monotonic clocks mean nothing on another host, and wall clocks may be skewed: there it arrives as the duration that
    was left when it was sent, counted from its arrival. Its journey is not counted.
    """

    at: float

    @classmethod
    def after_ms(cls, duration_ms: int) -> Deadline:
        return cls(time.monotonic() + duration_ms / 1000)

    def remaining(self) -> float:
        """Seconds left; negative once it has passed."""
        return self.at - time.monotonic()

    def __reduce__(self) -> tuple[object, ...]:
        return _arrive, (self.at, self.remaining(), _this_boot())


def _arrive(at: float, remaining: float, boot: str | None) -> Deadline:
    if boot is not None and boot == _this_boot():
        return Deadline(at)
    return Deadline(time.monotonic() + remaining)
