# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The options and the results of a benchmark. Standard library only."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median


class CannotMeasureError(Exception):
    """The operation to be timed failed."""


@dataclass(frozen=True)
class Options:
    """The amount of work to measure."""

    partitions: int = 3000
    """Number of partitions, of the cluster or offline: see each benchmark."""
    repeats: int = 5
    """How often to run an operation that takes seconds. Operations of half a minute run once."""


@dataclass(frozen=True)
class Run:
    """One thing, timed once."""

    seconds: float
    phases: Mapping[str, float] = field(default_factory=dict)
    """The seconds of each phase, in order. Some time may belong to no phase."""


@dataclass(frozen=True)
class Timing:
    """One thing, timed once or several times."""

    what: str
    runs: Sequence[Run]

    @property
    def median(self) -> float:
        """Seconds."""
        return median(run.seconds for run in self.runs)

    @property
    def phases(self) -> Mapping[str, float]:
        """Of the run in the middle."""
        by_time = sorted(self.runs, key=lambda run: run.seconds)
        return by_time[len(by_time) // 2].phases


@dataclass(frozen=True)
class Row:
    """Two operations, timed on the same machine one after the other, alternately if they are repeated."""

    baseline: Timing
    measured: Timing
    goal: float | None = None
    """The highest accepted ratio; None if the ratio is only informative."""

    @property
    def ratio(self) -> float:
        """Return the time as a multiple of the baseline, by the medians."""
        return self.measured.median / self.baseline.median

    @property
    def is_met(self) -> bool | None:
        """None without a goal."""
        return None if self.goal is None else self.ratio <= self.goal

    def __str__(self) -> str:
        measured, baseline = self.measured, self.baseline
        return f"{measured.what}: {measured.median:.2f} s; {baseline.what}: {baseline.median:.2f} s"
