# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Run a command that dies with its parent: ``python tether.py PARENT_PID COMMAND...``.

The kernel sends SIGKILL to the command when the *thread* that started it ends (prctl(2), PR_SET_PDEATHSIG), a stopped
command included. It is a program of its own, not a preexec_fn, because those are unsafe in a process with threads.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys

_PR_SET_PDEATHSIG = 1


def main() -> None:
    """Tie this process to its parent, then become the command."""
    parent_pid, command = int(sys.argv[1]), sys.argv[2:]
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_PDEATHSIG) failed")
    if os.getppid() == parent_pid:  # otherwise it died before the tie was made
        os.execvp(command[0], command)


if __name__ == "__main__":
    main()
