# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The time of each step that an operation reports. Standard library only."""

from __future__ import annotations

import time


class Phases:
    """Receives each step of a long operation, and records its time."""

    def __init__(self) -> None:
        self._seconds: dict[str, float] = {}
        self._now, self._since = "before the first step", time.perf_counter()

    def step(self, text: str, _done: int | None = None, _total: int | None = None) -> None:
        """End one phase and begin another. Text after a comma, such as a rate, does not begin a new phase."""
        self._close()
        self._now = text.partition(",")[0]

    def end(self) -> dict[str, float]:
        """Return seconds by phase, in order."""
        self._close()
        return self._seconds

    def _close(self) -> None:
        now = time.perf_counter()
        self._seconds[self._now] = self._seconds.get(self._now, 0.0) + now - self._since
        self._since = now
