# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A server that is one process and listens on reserved ports."""

from __future__ import annotations

import subprocess

from lab import process
from lab.ports import HeldPorts


class Server:
    """A context manager that stops the process and releases the ports. A subclass starts the process."""

    _process: subprocess.Popen[bytes]
    _ports: HeldPorts

    def __exit__(self, *_error: object) -> None:
        process.terminate(self._process, 10)
        self._ports.release()

    def kill(self) -> None:
        """Send SIGKILL, and wait for the exit. Afterwards, the ports refuse connections."""
        process.kill(self._process)
