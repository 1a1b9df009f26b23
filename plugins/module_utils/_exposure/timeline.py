# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""When a cluster was looked at, and when nobody looked. Pure; standard library only.

A state that a snapshot saw counts until the next snapshot. If that comes too late, the time between them is a gap: it
counts neither as healthy nor as unhealthy. The *observed clock* is the time without the gaps.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import pairwise
from statistics import median
from typing import NamedTuple

from .._recorder.names import SnapshotName

_USUAL_TIMES = 3
"""A snapshot that comes later than so many usual intervals after the one before leaves a gap."""


class Unseen(NamedTuple):
    """A time without snapshots."""

    start: datetime
    end: datetime


@dataclass(frozen=True, slots=True)
class Timeline:
    """The snapshots of one cluster that tell about a period."""

    cluster_id: str
    names: tuple[SnapshotName, ...]
    """Oldest first. The first one is full, and may be older than the period: it tells what was so at its start."""
    first: int
    """The number of the first snapshot whose state counts as seen in the period. ``len(names)`` if there is none."""
    clock_ms: tuple[int, ...]
    """For each snapshot, and for the end of all: the observed milliseconds of the period until then."""
    start: datetime
    end: datetime
    usual: timedelta | None
    """The median of the intervals between snapshots. None for fewer than two."""
    limit: timedelta | None
    """A longer interval is a gap. None if it could not be derived from fewer than two snapshots."""
    gaps: tuple[Unseen, ...]

    @property
    def seen(self) -> tuple[SnapshotName, ...]:
        """The snapshots whose states count."""
        return self.names[self.first :]

    @property
    def next_full(self) -> list[int | None]:
        """For each snapshot, the number of the next full one: what is not in that does not exist any more."""
        found: list[int | None] = []
        after = None
        for place in reversed(range(len(self.names))):
            found.append(after)
            after = place if self.names[place].is_full else after
        return found[::-1]


def timeline_of(
    cluster_id: str,
    names: Sequence[SnapshotName],
    start: datetime | None,
    end: datetime,
    limit: timedelta | None = None,
) -> Timeline:
    """Return the timeline of a period. Without ``start``, it begins with the first full snapshot.

    Without ``limit``, an interval is a gap if it is longer than three usual ones.
    """
    fulls = [place for place, each in enumerate(names) if each.is_full]
    before = [place for place in fulls if start is not None and names[place].at <= start]
    base = before[-1] if before else fulls[0] if fulls else len(names)
    used = [each for each in names[base:] if each.at <= end]
    begin = start or (used[0].at if used else end)
    intervals = [later.at - earlier.at for earlier, later in pairwise(used)]
    usual = timedelta(seconds=median(each.total_seconds() for each in intervals)) if intervals else None
    longest = limit or (usual and usual * _USUAL_TIMES)

    def is_gap(earlier: datetime, later: datetime) -> bool:
        return longest is None or later - earlier > longest

    clock = [timedelta()]
    for earlier, later in pairwise(used):
        shown = max(later.at - max(earlier.at, begin), timedelta())
        clock.append(clock[-1] + (timedelta() if is_gap(earlier.at, later.at) else shown))
    inside = next((place for place, each in enumerate(used) if each.at >= begin), len(used))
    first = inside
    if 0 < inside < len(used) and not is_gap(used[inside - 1].at, used[inside].at):
        first = inside - 1
    edges = [used[inside - 1].at if inside else begin, *(each.at for each in used[inside:]), end]
    gaps = [
        Unseen(max(earlier, begin), later)
        for earlier, later in pairwise(edges)
        if is_gap(earlier, later) and max(earlier, begin) < later
    ]
    return Timeline(
        cluster_id,
        tuple(used),
        first,
        tuple(round(each / timedelta(milliseconds=1)) for each in ([*clock, clock[-1]] if used else clock)),
        begin,
        end,
        usual,
        longest,
        tuple(gaps),
    )
