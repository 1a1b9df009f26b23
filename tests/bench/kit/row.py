# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What a benchmark gets, and what it yields. Standard library only."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median


class CannotMeasureError(Exception):
    """What was to be timed did not do its work."""


@dataclass(frozen=True)
class Options:
    """How much is measured."""

    partitions: int = 3000
    """Of the cluster, or offline: each benchmark says which."""
    repeats: int = 5
    """Runs of whatever takes seconds. What takes half a minute is run once."""


@dataclass(frozen=True)
class Run:
    """One thing, timed once."""

    seconds: float
    phases: Mapping[str, float] = field(default_factory=dict)
    """Where the time went, in seconds, in order; may leave some out."""


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
    """Two things, timed on the same machine one after the other, in turns where they were repeated."""

    baseline: Timing
    measured: Timing
    goal: float | None = None
    """The highest ratio that we are content with; None where the figure is for information."""

    @property
    def ratio(self) -> float:
        """How many times as long as the baseline, by the medians."""
        return self.measured.median / self.baseline.median

    @property
    def is_met(self) -> bool | None:
        """None without a goal."""
        return None if self.goal is None else self.ratio <= self.goal

    def __str__(self) -> str:
        measured, baseline = self.measured, self.baseline
        return f"{measured.what}: {measured.median:.2f} s; {baseline.what}: {baseline.median:.2f} s"
