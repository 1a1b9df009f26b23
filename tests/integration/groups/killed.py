# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Kill a module right before its n-th write, so that tests cover every boundary."""

from __future__ import annotations

import subprocess
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from lab import Cluster
from lab.faults import DisconnectError, Fault
from lab.module_process import results, start_module
from lab.request import Request


@dataclass(eq=False)
class KilledBefore(Fault):
    """Kill a process before its n-th write. No broker gets this request."""

    process: subprocess.Popen[str]
    number: int
    killed_at: list[str] = field(default_factory=list)
    """The name of the request."""
    _seen: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def on_request(self, request: Request) -> bool:
        if not request.is_write:
            return True
        with self._lock:
            self._seen += 1
            if self._seen < self.number:
                return True
            if not self.killed_at:
                self.process.kill()
                self.killed_at.append(request.name)
        raise DisconnectError


def run_killed_before_each_write(
    cluster: Cluster, options: Mapping[str, object], name: str = "group_recovery"
) -> tuple[list[str], dict[str, Any]]:
    """Run a module again and again, and kill it before its first, second, ... write, until one run ends.

    Returns the requests before which a run was killed, and the results of the last run.
    """
    deaths: list[str] = []
    while True:
        process = start_module(name, options)
        fault = KilledBefore(process, len(deaths) + 1)
        with cluster.proxy.inject(fault):
            if process.wait(timeout=240) == 0:
                return deaths, results(process)
            process.communicate()
        deaths += fault.killed_at
