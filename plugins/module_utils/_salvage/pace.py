# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Choose how many bytes a transaction of a replay has. Pure; standard library only."""

from __future__ import annotations

from dataclasses import dataclass

MOST_BYTES = 16 * 1024 * 1024
_FIRST_BYTES, _LEAST_BYTES = 256 * 1024, 32 * 1024
_WANTED_S = 5.0
"""Far below the time limit of a transaction (60 s), since a quota's delays come in bursts."""


@dataclass(slots=True)
class Pace:
    """The size of the next transaction.

    Brokers abort a transaction that takes longer than its time limit. With a producer quota, one of ``MOST_BYTES``
    may take longer each time. So the first one is small, and the next ones grow as long as they take little time.
    """

    next_bytes: int = _FIRST_BYTES

    def record(self, size: int, seconds: float) -> None:
        """Adapt to a transaction of ``size`` bytes that took so long."""
        if seconds > _WANTED_S:
            self.next_bytes = max(_LEAST_BYTES, min(self.next_bytes, int(size * _WANTED_S / seconds)))
        else:
            self.next_bytes = min(2 * self.next_bytes, MOST_BYTES)
