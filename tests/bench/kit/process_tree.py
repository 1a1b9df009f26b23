# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Memory and CPU of a process and all that it started, read from /proc. Linux. Standard library only."""

from __future__ import annotations

import os
import threading
from pathlib import Path

_EVERY_S = 0.25
_TICKS = os.sysconf("SC_CLK_TCK")
_PAGE = os.sysconf("SC_PAGE_SIZE")
_PARENT, _USER, _SYSTEM, _RESIDENT = 1, 11, 12, 21
"""Fields of /proc/PID/stat after the name."""


class ProcessTree:
    """Measures the processes several times a second. A context manager."""

    def __init__(self, pid: int) -> None:
        self.most_bytes = 0
        """Peak resident memory of all processes; shared pages count for each process."""
        self.most_by_process: list[tuple[str, int]] = []
        """Name and resident bytes of each process at that moment, the largest first."""
        self._pid = pid
        self._cpu: dict[int, float] = {}
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    @property
    def cpu_seconds(self) -> float:
        """User and system time of all processes that were seen, those that ended included."""
        return sum(self._cpu.values())

    def __enter__(self) -> ProcessTree:
        self._thread.start()
        return self

    def __exit__(self, *_error: object) -> None:
        self._is_over.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._is_over.wait(_EVERY_S):
            self._look()

    def _look(self) -> None:
        stats: dict[int, list[str]] = {}
        for stat in Path("/proc").glob("[0-9]*/stat"):
            try:
                stats[int(stat.parent.name)] = stat.read_text().rpartition(")")[2].split()
            except (OSError, ValueError):
                continue  # it has ended
        ours, grown = {self._pid}, True
        while grown:
            more = {pid for pid, fields in stats.items() if int(fields[_PARENT]) in ours} - ours
            ours, grown = ours | more, bool(more)
        found = {pid: stats[pid] for pid in ours if pid in stats}
        for pid, fields in found.items():
            self._cpu[pid] = (int(fields[_USER]) + int(fields[_SYSTEM])) / _TICKS
        sizes = {pid: int(fields[_RESIDENT]) * _PAGE for pid, fields in found.items()}
        if sum(sizes.values()) > self.most_bytes:
            self.most_bytes = sum(sizes.values())
            by_size = sorted(sizes.items(), key=lambda each: -each[1])
            self.most_by_process = [(f"{self._name(pid)} {pid}", size) for pid, size in by_size]

    @staticmethod
    def _name(pid: int) -> str:
        try:
            return Path(f"/proc/{pid}/comm").read_text(encoding="utf-8").strip()
        except OSError:
            return "ended"
