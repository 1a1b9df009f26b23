# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Kill a module right before a write, and run it again, until it died before every kind of write."""

from __future__ import annotations

import subprocess
import threading
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from lab import Cluster
from lab.faults import DisconnectError, Fault
from lab.module_process import results, start_module
from lab.request import Request


@dataclass(eq=False)
class KilledBefore(Fault):
    """Kill a process before its first write before which none died yet. No broker gets this request."""

    process: subprocess.Popen[str]
    deaths: list[tuple[str, int]]
    """The requests before which a process died: the name, and how many of it came before in the same run."""
    is_killed: bool = False
    _seen: Counter[str] = field(default_factory=Counter)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def on_request(self, request: Request) -> bool:
        """Forward reads, and writes before which a process died already."""
        if not request.is_write:
            return True
        with self._lock:
            boundary = (request.name, self._seen[request.name])
            self._seen[request.name] += 1
            if not self.is_killed:
                if boundary in self.deaths:
                    return True
                self.is_killed = True
                self.process.kill()
                self.deaths.append(boundary)
        raise DisconnectError


def run_killed_before_each_write(
    cluster: Cluster, options: Mapping[str, object], name: str = "group_recovery"
) -> tuple[list[str], dict[str, Any]]:
    """Run a module again and again, and kill it each time before another write, until one run ends.

    Returns the requests before which a run was killed, and the results of the last run.
    """
    deaths: list[tuple[str, int]] = []
    while True:
        process = start_module(name, options)
        fault = KilledBefore(process, deaths)
        with cluster.proxy.inject(fault):
            process.wait(timeout=240)
        if not fault.is_killed:
            return [each for each, _before in deaths], results(process)
        process.communicate()
