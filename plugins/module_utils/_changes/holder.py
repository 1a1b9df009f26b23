# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Who holds the lock of a cluster. Standard library only."""

from __future__ import annotations

import getpass
import os
import socket
import uuid
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from .._model.run import utc_now

_START_TIME_FIELD = 19
"""Of /proc/PID/stat, counted from the field after the command's name (proc(5): field 22)."""
_JOB_VARIABLES = ("AWX_JOB_ID", "TOWER_JOB_ID")


@dataclass(frozen=True, slots=True)
class Holder:
    """One writing run, as it introduces itself to others."""

    run: str
    """Unique."""
    user: str
    host: str
    pid: int
    process: str
    """This very process on this very host since its last boot; empty where the system does not say."""
    job: str
    """AWX job id; empty outside AWX."""
    since: str
    """UTC, for people only."""

    def __str__(self) -> str:
        job = f", AWX job {self.job}" if self.job else ""
        return f"user {self.user} on host {self.host}, process {self.pid}{job}, since {self.since}"

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @property
    def has_ended_here(self) -> bool:
        """True when it ran on this host, in this process namespace, and its process does not exist any more."""
        if not self.process:
            return False
        mine, its = _machine(), self.process.rpartition("/")[0]
        return bool(mine) and mine == its and _process(self.pid) != self.process


def this_run() -> Holder:
    """Return the holder that this process is. Each call makes a new run of it."""
    try:
        user = getpass.getuser()
    except (KeyError, OSError):
        user = f"uid {os.getuid()}"
    in_awx = any(name.startswith("AWX_") for name in os.environ)
    job = next((os.environ[each] for each in _JOB_VARIABLES if os.environ.get(each)), "")
    return Holder(
        run=uuid.uuid4().hex,
        user=user,
        host=socket.gethostname(),
        pid=os.getpid(),
        process=_process(os.getpid()),
        job=job or (os.environ.get("JOB_ID", "") if in_awx else ""),
        since=utc_now(),
    )


def holder_from(value: dict[str, Any]) -> Holder:
    """Return what ``to_json`` wrote. Raises KeyError, TypeError or ValueError."""
    holder = Holder(**{each.name: value[each.name] for each in fields(Holder)})
    if not isinstance(holder.pid, int) or not all(
        isinstance(each, str) for each in (holder.run, holder.user, holder.host, holder.process, holder.job)
    ):
        raise TypeError("holder")
    return holder


def _machine() -> str:
    """Return this boot of this host and our process namespace; empty where that cannot be read."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
        return f"{boot}/{os.readlink('/proc/self/ns/pid')}"
    except OSError:
        return ""


def _process(pid: int) -> str:
    """Return what no other process of any host is called; empty where there is no such process."""
    machine = _machine()
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
    return f"{machine}/{pid}-{stat.rpartition(')')[2].split()[_START_TIME_FIELD]}" if machine else ""
