# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Remember which brokers' metadata is used, and which is not, each for a while."""

from __future__ import annotations

import threading
from dataclasses import dataclass

from .._model.run import Clock
from .settings import Address

_EXCLUDED_S = 15.0


@dataclass(frozen=True, slots=True)
class Exclusion:
    """Why no request goes to a broker, and until when by the clock."""

    reason: str
    until: float
    is_late: bool
    """The broker follows the controllers, and applies late what it gets from them."""


class Exclusions:
    """The brokers whose metadata is not used now, and those whose metadata was found to be current."""

    def __init__(self, clock: Clock) -> None:
        self.stale: dict[Address, str] = {}
        """The brokers whose metadata was old when it was looked at last, and a text about each for the operator."""
        self._clock = clock
        self._excluded: dict[Address, Exclusion] = {}
        self._current_until: dict[Address, float] = {}
        self._lock = threading.Lock()

    def now(self) -> dict[Address, Exclusion]:
        """Return the brokers that no request goes to."""
        now = self._clock.monotonic()
        with self._lock:
            self._excluded = {address: each for address, each in self._excluded.items() if each.until > now}
            return dict(self._excluded)

    def exclude(self, address: Address, reason: str, *, is_late: bool) -> None:
        """Send no request to this broker for a while."""
        with self._lock:
            self.stale[address] = reason
            self._excluded[address] = Exclusion(reason, self._clock.monotonic() + _EXCLUDED_S, is_late)

    def end(self) -> None:
        """Let all brokers be asked again."""
        with self._lock:
            self._excluded.clear()

    def count_as_current(self, address: Address, seconds: float) -> None:
        """Do not check this broker again for so long. One whose metadata was old is still named as such."""
        with self._lock:
            self._excluded.pop(address, None)
            self._current_until[address] = self._clock.monotonic() + seconds

    def is_current(self, address: Address) -> bool:
        """Return whether a broker need not be checked now."""
        return self._current_until.get(address, 0.0) > self._clock.monotonic()

    def forget(self, address: Address) -> None:
        """Do not name a broker any more: its metadata is current again."""
        with self._lock:
            self.stale.pop(address, None)
