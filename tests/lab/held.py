# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Requests that are held on their way to a broker, and go on when a test says so, whatever became of their sender.

They are held in front of the broker: behind it, the broker would hold back whatever the next run asks of it, too.
"""

from __future__ import annotations

import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from lab.faults import Before
from lab.proxy import Proxy, Rule
from lab.waiting import wait_until

_LONGEST_S = 120.0


@contextmanager
def held(proxy: Proxy, api_key: int, *, passing: int = 0) -> Iterator[tuple[Rule, threading.Event]]:
    """Hold one request of a kind, after ``passing`` others; yield its rule and the function that releases it."""
    released = threading.Event()
    hold = Before(lambda: len(rule.hits) > passing and released.wait(_LONGEST_S))
    rule = proxy.inject(hold, api_key=api_key, times=passing + 1)
    try:
        with rule:
            yield rule, released
    finally:
        released.set()


def kill_when_held(rule: Rule, process: subprocess.Popen[Any], *, passing: int = 0) -> None:
    """Kill the sender of the request that the rule holds."""
    try:
        wait_until(lambda: len(rule.hits) > passing, 60, what="the request is on its way to the controller")
    finally:
        process.kill()
        process.communicate(timeout=60)
