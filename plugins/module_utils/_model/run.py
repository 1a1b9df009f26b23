# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What every run has: the root of its errors, the time in documents, progress, the version. Standard library only."""

from __future__ import annotations

import gc
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from enum import StrEnum
from typing import Protocol

VERSION = "1.0.0"
"""Of this collection, for the files it writes. galaxy.yml has the same; a unit test compares the two."""


class KafkaOpsError(Exception):
    """What failed, what was found and what to do, in one text for the person on call. Holds no secret.

    Only the glue turns it into ``fail_json``.
    """


def utc_now() -> str:
    """Return the UTC time in ISO 8601 with seconds: 2026-01-31T23:59:59Z.

    It is never compared: clock skew has no effect.
    """
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def count_by_status(statuses: Iterable[StrEnum], kind: type[StrEnum]) -> dict[str, int]:
    """Count the rows of each status, those with no row included."""
    counts = Counter(statuses)
    return {status.value: counts[status] for status in kind}


class RunMode(StrEnum):
    """Whether a run was allowed to write."""

    CHECK = "check"
    APPLY = "apply"


class Clock(Protocol):
    """The module ``time``, or a test's clock."""

    def monotonic(self) -> float: ...
    def sleep(self, seconds: float, /) -> None: ...


class Progress(Protocol):
    """Receives each step of long work. A call never fails and never waits."""

    def step(self, text: str, done: int | None = None, total: int | None = None) -> None:
        """Report the current step: ``done`` of ``total`` things are finished, where that is known."""


class NullProgress:
    """Reports no progress."""

    def step(self, text: str, done: int | None = None, total: int | None = None) -> None:
        """Do nothing."""


@contextmanager
def garbage_collection_paused() -> Iterator[None]:
    """Pause the search for cycles during a ``with`` block, in all threads.

    For work that makes objects by the hundred thousand and keeps them: the collector looks through all of them again
    and again, and finds nothing. That was 45 % of the CPU time of asking a broker (docs/benchmarks.md). What is in no
    cycle is freed as always.

    What was made is left out of all later searches as well. The first one after the pause would look through all of it:
    15 % of the CPU time of a recovery of 20,000 partitions.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.freeze()
            gc.enable()
