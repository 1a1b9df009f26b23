# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Define what every run uses: the base class of errors, time, progress, the version. Standard library only."""

from __future__ import annotations

import gc
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from enum import StrEnum
from typing import Protocol

VERSION = "1.0.0"
"""The collection's version, for the files that it writes. A unit test compares it with galaxy.yml."""


class KafkaOpsError(Exception):
    """An error with a message for the operator: what failed, what was found, and what to do. It has no secret.

    Only ``_module/run.py`` turns it into ``fail_json``.
    """


def utc_now() -> str:
    """Return the UTC time in ISO 8601 with seconds: 2026-01-31T23:59:59Z.

    It is never compared, so clock skew has no effect.
    """
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def count_by_status(statuses: Iterable[StrEnum], kind: type[StrEnum]) -> dict[str, int]:
    """Count the rows of each status. A status without rows counts 0."""
    counts = Counter(statuses)
    return {status.value: counts[status] for status in kind}


class RunMode(StrEnum):
    """Whether a run was allowed to write."""

    CHECK = "check"
    APPLY = "apply"


class Clock(Protocol):
    """The module ``time``, or the clock of a test."""

    def monotonic(self) -> float: ...
    def sleep(self, seconds: float, /) -> None: ...


FRESH_S = 3.0
"""How long after a look a run may write without another one."""


def looks(clock: Clock, seconds: float) -> Iterator[None]:
    """Yield for each look at a change that is waited for: at once, then after pauses, and last when the time is over.

    The pauses grow from 10 to 100 ms, because most changes are visible at once.
    """
    deadline = clock.monotonic() + seconds
    pause_s = 0.01
    while True:
        yield
        if clock.monotonic() >= deadline:
            return
        clock.sleep(pause_s)
        pause_s = min(2 * pause_s, 0.1)


class Progress(Protocol):
    """Receives each step of long work. A call never fails and never waits."""

    def step(self, text: str, done: int | None = None, total: int | None = None) -> None:
        """Report the current step, and, if known, that ``done`` of ``total`` items are finished."""


class NullProgress:
    """Reports no progress."""

    def step(self, text: str, done: int | None = None, total: int | None = None) -> None:
        """Do nothing."""


class PartOfProgress:
    """Counts the items of one batch among those of the whole work."""

    def __init__(self, whole: Progress, before: int, total: int) -> None:
        """``before`` items of ``total`` ended before this batch."""
        self._whole, self._before, self._total = whole, before, total

    def step(self, text: str, done: int | None = None, total: int | None = None) -> None:
        """Report a step of the batch. ``total`` is the batch's, and only says that the step is counted."""
        if done is None or total is None:
            self._whole.step(text)
        else:
            self._whole.step(text, self._before + done, self._total)


def set_collector_thresholds() -> None:
    """Make Python search for reference cycles less often than by default. For a process that runs one module.

    A plan of 3,000 elections has half a million objects that stay in use. With Python's defaults of 700, 10 and 10, the
    searches among them take a third of the CPU time of writing and reading the plan, and find none.
    """
    gc.set_threshold(100_000, 50, 100)


@contextmanager
def garbage_collection_paused() -> Iterator[None]:
    """Pause Python's search for reference cycles during a ``with`` block, in all threads.

    For work that creates hundreds of thousands of objects and keeps them: the collector would scan them again and
    again, and find no cycle. That took 45 % of the CPU time of asking a broker (docs/performance.md). Objects outside
    cycles are freed as always.

    Later searches skip the new objects as well (gc.freeze). The first search would scan all of them, which took 15 % of
    the CPU time of a recovery of 20,000 partitions.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.freeze()
            gc.enable()
