# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Kill a run before or after one of its requests, so that tests cover every step."""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from kafka.protocol.api_key import ApiKey

from lab.faults import Fault
from lab.proxy import Proxy


@dataclass(frozen=True)
class Boundary:
    """The moment at which a run dies: before or after the ``number``-th request of a kind."""

    name: str
    moment: Callable[[Callable[[], object]], Fault]
    """``Before`` or ``After``."""
    api_key: ApiKey
    number: int = 1

    def kill(self, proxy: Proxy, start: Callable[[], subprocess.Popen[Any]]) -> None:
        """Start a process whose requests pass the proxy, and kill it there. Raises RuntimeError if it ended before."""
        hits = 0
        process: subprocess.Popen[Any] | None = None

        def kill_at_the_last() -> None:
            nonlocal hits
            hits += 1
            if hits == self.number and process is not None:
                process.kill()
                process.wait()

        proxy.clear()
        with proxy.inject(self.moment(kill_at_the_last), api_key=self.api_key):
            process = start()
            output, _errors = process.communicate(timeout=240)
        if process.returncode != -signal.SIGKILL:
            raise RuntimeError(f"{self.name}: the run ended after {hits} such requests: {output}")
