# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A clock that only sleep advances, so that tests of waits take no time, on slow machines too."""

from __future__ import annotations

from collections.abc import Callable


class FakeClock:
    """Stands in for the module ``time``."""

    def __init__(self) -> None:
        self.now = 0.0
        self.slept: list[float] = []
        self._later: list[tuple[float, Callable[[], object]]] = []

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds
        due = [each for each in self._later if each[0] <= self.now]
        self._later = [each for each in self._later if each not in due]
        for _time, action in due:
            action()

    def in_s(self, seconds: float, action: Callable[[], object]) -> None:
        """Do something once so many seconds were slept."""
        self._later.append((self.now + seconds, action))
