# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Whether the process of a holder on this host has ended."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace

from ansible_collections.kafkaops.recovery.plugins.module_utils._changes.run_state import Holder, new_holder
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.program import is_alive


def held_by(pid: int) -> Holder:
    """Return the holder of a process of this host that began at another time."""
    mine = new_holder()
    return replace(mine, pid=pid, process=f"{mine.process.rpartition('/')[0]}/{pid}-1")


def test_a_process_that_runs_has_not_ended() -> None:
    assert not new_holder().has_ended_here


def test_a_process_that_is_gone_has_ended() -> None:
    done = subprocess.Popen([sys.executable, "-c", ""])
    done.wait()
    assert held_by(done.pid).has_ended_here
    assert not is_alive(done.pid)


def test_a_process_id_that_was_given_to_another_process_has_ended() -> None:
    assert held_by(os.getppid()).has_ended_here
    assert is_alive(os.getppid())
