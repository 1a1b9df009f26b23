# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Who holds the lock of a cluster, and what is pending, by the records of the run topic. Standard library only.

A record's key is the run that wrote it; its value is a JSON object with ``n``, which counts that run's records. The
lock is taken by a *claim*. A claim names the generation that it begins and the offset of the holder's last record that
the claimant saw. It is valid only if no other claim began that generation, and if the holder wrote nothing since.
The log has one order, so every reader finds the same holder: this is compare-and-set.

Records of any run but the holder have no effect, nor do repeated ones: a request whose response was lost is sent again,
and both copies may arrive.
"""

from __future__ import annotations

import getpass
import json
import os
import socket
import uuid
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

from .._model.run import utc_now
from .journal import damage_error
from .record import Change, Entry, apply_entry

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


@dataclass
class RunState:
    """The state of one run topic after its records up to ``next_offset``."""

    topic: str
    topic_id: str
    next_offset: int = 0
    generation: int = 0
    holder: Holder | None = None
    holder_offset: int = -1
    """The offset of the holder's last record: it grows as long as the holder lives."""
    has_left: bool = False
    """The holder ended in order."""
    pending: dict[str, Change] = field(default_factory=dict)
    _count: int = -1

    def claim(self, holder: Holder) -> Entry:
        """Return the claim that takes the lock from this state on."""
        return {
            "claim": self.generation + 1,
            "after": self.holder_offset,
            "topicId": self.topic_id,
            "holder": holder.to_json(),
        }

    def is_held_by(self, holder: Holder) -> bool:
        """Return whether this run holds the lock."""
        return self.holder is not None and self.holder.run == holder.run and not self.has_left

    def apply(self, offset: int, key: bytes | None, value: bytes | None) -> None:
        """Apply the record at an offset; the records come in order.

        Raises JournalError for a record of the holder that no run of this version wrote.
        """
        self.next_offset = offset + 1
        run = (key or b"").decode(errors="replace")
        try:
            entry = json.loads(value or b"")
            if "claim" in entry:
                self._apply_claim(offset, run, entry)
                return
        except (ValueError, KeyError, TypeError):
            if self.holder is not None and run == self.holder.run:
                raise damage_error(f"topic {self.topic}", offset + 1) from None
            return
        if self.holder is None or run != self.holder.run or self.has_left:
            return
        try:
            self._apply_entry(offset, entry)
        except (ValueError, KeyError, TypeError):
            raise damage_error(f"topic {self.topic}", offset + 1) from None

    def _apply_claim(self, offset: int, run: str, entry: Entry) -> None:
        follows = entry["claim"] == self.generation + 1 and entry["after"] == self.holder_offset
        holder = _holder_from(entry["holder"])
        if follows and entry["topicId"] == self.topic_id and holder.run == run:
            self.generation += 1
            self.holder, self.holder_offset, self.has_left, self._count = holder, offset, False, entry["n"]

    def _apply_entry(self, offset: int, entry: Entry) -> None:
        if entry["n"] <= self._count:
            return
        self._count, self.holder_offset = entry["n"], offset
        if "leave" in entry:
            self.has_left = True
        elif "beat" not in entry:
            apply_entry(self.pending, {name: value for name, value in entry.items() if name != "n"})


def new_holder() -> Holder:
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


def _holder_from(value: dict[str, Any]) -> Holder:
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
