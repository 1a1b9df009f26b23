# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Waiting for a named condition, to a deadline on the monotonic clock."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def wait_until(predicate: Callable[[], T], timeout: float = 30.0, *, what: str = "", interval: float = 0.1) -> T:
    """Return the first true value of ``predicate``, asked every ``interval`` seconds for at most ``timeout`` seconds.

    Raises TimeoutError, naming ``what`` was waited for and the last value, which the predicate gave.
    """
    deadline = time.monotonic() + timeout
    while not (value := predicate()):
        if time.monotonic() >= deadline:
            raise TimeoutError(f"Not within {timeout:g} s: {what or predicate.__name__} (last value: {value!r}).")
        time.sleep(interval)
    return value
