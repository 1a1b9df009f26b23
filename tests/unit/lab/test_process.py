# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What the lab says of a process, of which the kernel knows less and less."""

from __future__ import annotations

import signal
import subprocess

from lab.process import is_stopped
from lab.waiting import wait_until


def test_a_process_is_stopped_until_it_goes_on_or_is_gone() -> None:
    process = subprocess.Popen(["sleep", "60"])
    try:
        assert not is_stopped(process)
        process.send_signal(signal.SIGSTOP)
        wait_until(lambda: is_stopped(process))
        process.send_signal(signal.SIGCONT)
        wait_until(lambda: not is_stopped(process))
    finally:
        process.kill()
        process.wait()
    assert not is_stopped(process)
