# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Derive the holder of a cluster's lock and the pending changes from the run topic. Standard library only.

A record's key is the id of the run that wrote it. Its value is a JSON object with ``n``, the number of the record in
this run. A run takes the lock with a *claim*, which names a new generation and the offset of the holder's last record
that the run has read. The claim is valid only if no earlier claim began that generation, and if the holder has written
nothing since. All readers read the log in the same order and find the same holder: this is compare-and-set.

Records of other runs than the holder have no effect. Repeated records have none either: a request whose response was
lost is sent again, and both copies may arrive.
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

from .._model.program import is_alive
from .._model.run import utc_now
from .record import Change, Entry, JournalError, apply_entry

RUN_TOPIC_RIGHTS = ("CREATE", "DESCRIBE", "READ", "WRITE", "DELETE")
"""The ACL operations that a principal needs on the topic."""
_START_TIME_FIELD = 19
"""The start time in /proc/PID/stat, counted from the field after the command's name (proc(5): field 22)."""
_JOB_VARIABLES = ("AWX_JOB_ID", "TOWER_JOB_ID")


@dataclass(frozen=True, slots=True)
class Holder:
    """The run that holds the lock, as other runs see it."""

    run: str
    """Unique id."""
    user: str
    host: str
    pid: int
    process: str
    """Unique id of the process: host, boot, process namespace, process; empty if the system does not tell."""
    job: str
    """AWX job id; empty outside AWX."""
    since: str
    """UTC, for messages only."""

    def __str__(self) -> str:
        job = f", AWX job {self.job}" if self.job else ""
        return f"user {self.user} on host {self.host}, process {self.pid}{job}, since {self.since}"

    @property
    def has_ended_here(self) -> bool:
        """Whether the holder ran on this host and in this process namespace, and its process has ended."""
        if not self.process:
            return False
        mine, its = _machine(), self.process.rpartition("/")[0]
        return bool(mine) and mine == its and _has_ended(self.pid, self.process)


@dataclass
class RunState:
    """The state of a run topic after all records before ``next_offset``."""

    topic: str
    topic_id: str
    next_offset: int = 0
    generation: int = 0
    holder: Holder | None = None
    holder_offset: int = -1
    """The offset of the holder's last record. It grows while the holder lives."""
    has_left: bool = False
    """The holder has released the lock."""
    pending: dict[str, Change] = field(default_factory=dict)
    """The changes in the records that were read. Those that this run begins are in its journal only."""
    doubted: set[str] = field(default_factory=set)
    """The subjects of requests of earlier runs whose responses were lost, and that were sent again."""
    _count: int = -1
    _has_others: bool = False
    """A record before the first claim is not of a run."""

    @property
    def is_foreign(self) -> bool:
        """Whether another party uses the topic: it has records that are not of a run, and no run has ever held it."""
        return self._has_others and self.holder is None

    def claim(self, holder: Holder) -> Entry:
        """Return the record that claims the lock in this state."""
        return {
            "claim": self.generation + 1,
            "after": self.holder_offset,
            "topicId": self.topic_id,
            "holder": asdict(holder),
        }

    def is_held_by(self, holder: Holder) -> bool:
        """Return whether this run holds the lock."""
        return self.holder is not None and self.holder.run == holder.run and not self.has_left

    def apply(self, offset: int, key: bytes | None, value: bytes | None) -> None:
        """Apply the record at an offset. Call this for all records, in their order.

        Raises JournalError for a record of the holder that no run of this version writes.
        """
        self.next_offset = offset + 1
        run = (key or b"").decode(errors="replace")
        try:
            entry = json.loads(value or b"")
            if "claim" in entry:
                self._apply_claim(offset, run, entry)
                return
        except (ValueError, KeyError, TypeError, RecursionError):
            if self.holder is not None and run == self.holder.run:
                raise self._damage(offset + 1) from None
            self._has_others = True
            return
        if self.holder is None or run != self.holder.run or self.has_left:
            self._has_others = True
            return
        try:
            self._apply_entry(offset, entry)
        except (ValueError, KeyError, TypeError):
            raise self._damage(offset + 1) from None

    def _damage(self, number: int) -> JournalError:
        """Return the error for an invalid record. ``number`` counts from 1."""
        return JournalError(
            f"topic {self.topic} is damaged in record {number}, so nothing was changed. Compare the replica orders and "
            "settings in it with the cluster, restore what is needed, then remove it"
        )

    def pass_over(self, holder: Holder, offset: int, number: int) -> None:
        """Pass over records that the holder itself has just written, if no other record is before them.

        Its journal has their changes already. To read 1,000 of them again takes 9 ms.
        """
        if offset == self.next_offset and self.is_held_by(holder):
            self.next_offset += number
            self.holder_offset = self.next_offset - 1
            self._count += number

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
            apply_entry(self.pending, self.doubted, {name: value for name, value in entry.items() if name != "n"})


def new_holder() -> Holder:
    """Return a holder for this process, with a new run id."""
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
    """Return the holder of a claim. Raises KeyError, TypeError or ValueError."""
    holder = Holder(**{each.name: value[each.name] for each in fields(Holder)})
    if not isinstance(holder.pid, int) or not all(
        isinstance(each, str) for each in (holder.run, holder.user, holder.host, holder.process, holder.job)
    ):
        raise TypeError("holder")
    return holder


def _machine() -> str:
    """Return the ids of this host's boot and of our process namespace; empty if they cannot be read."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
        return f"{boot}/{os.readlink('/proc/self/ns/pid')}"
    except OSError:
        return ""


def _has_ended(pid: int, process: str) -> bool:
    """Return whether this process has certainly ended. A mount of /proc may hide a process of another user."""
    found = _process(pid)
    return found != process if found else not is_alive(pid)


def _process(pid: int) -> str:
    """Return an id of a process that is unique across hosts and time; empty if it cannot be read."""
    machine = _machine()
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
    return f"{machine}/{pid}-{stat.rpartition(')')[2].split()[_START_TIME_FIELD]}" if machine else ""
