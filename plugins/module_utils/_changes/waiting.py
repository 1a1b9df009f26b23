# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Wait until something is seen. Standard library only."""

from __future__ import annotations

import time
from collections.abc import Callable

from .._model.run import Clock


def poll_until(is_so: Callable[[], bool], timeout_s: float, *, every_s: float = 0.1, clock: Clock = time) -> bool:
    """Ask ``is_so`` until it returns True or the timeout has passed; at least once. Returns what it returned last."""
    deadline = clock.monotonic() + timeout_s
    while not is_so():
        if clock.monotonic() >= deadline:
            return False
        clock.sleep(every_s)
    return True
