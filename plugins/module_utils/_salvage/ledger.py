# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Keep which saved records are settled, by (epoch, offset). Pure; standard library only.

A record is settled if it was given back, or if it will never be: a compacted topic does not need it. Two salvages of
one incident may hold the same record, for instance a dead broker's disk and a follower. The same epoch and offset are
the same record (``_model.log_contents``), so it is given back once.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable

from .._model.log_contents import EpochRange, Stretches, union

MOST_STRETCHES = 20_000
"""Limit for one partition: as text, they must fit into one record of Kafka's default size."""


class Ledger:
    """The settled offsets of one partition. Records are added in the order of the log."""

    def __init__(self, settled: Stretches = (), given: int = 0, superseded: int = 0) -> None:
        self._starts: dict[int, list[int]] = {}
        self._ends: dict[int, list[int]] = {}
        self._settled_before = union([settled])
        for each in self._settled_before:
            self._starts.setdefault(each.epoch, []).append(each.start_offset)
            self._ends.setdefault(each.epoch, []).append(each.end_offset)
        self._added: list[EpochRange] = []
        self._may_fill = False
        """False if the next record must not be joined with the records before it."""
        self.given = given
        """Number of records that all runs gave back."""
        self.superseded = superseded
        """Number of records that a compacted topic does not need, counted by all runs."""

    @property
    def settled(self) -> Stretches:
        return union([self._settled_before, tuple(self._added)])

    def find_unsettled(self, epoch: int, offset: int, end_offset: int) -> list[tuple[int, int]]:
        """Return which of these offsets were not settled before this run, as pairs of start and end."""
        starts, ends = self._starts.get(epoch, ()), self._ends.get(epoch, ())
        found = []
        for place in range(max(0, bisect_right(starts, offset) - 1), len(starts)):
            if starts[place] >= end_offset:
                break
            if offset < starts[place]:
                found.append((offset, starts[place]))
            offset = max(offset, ends[place])
        return [*found, (offset, end_offset)] if offset < end_offset else found

    def add(self, settled: EpochRange, is_compacted: Callable[[EpochRange], bool]) -> None:
        """Add records. ``is_compacted`` says whether compaction left a gap: its offsets count as settled, too.

        Any other gap stays unsettled: another salvage may have records that this one could not read.
        """
        epoch, start, end = settled
        last = self._added[-1] if self._added else None
        gap = EpochRange(epoch, last.end_offset, start) if last is not None and last.epoch == epoch else None
        if (
            last is not None
            and gap is not None
            and (not gap.records or (gap.records > 0 and self._may_fill and is_compacted(gap)))
        ):
            self._added[-1] = EpochRange(epoch, last.start_offset, end)
        else:
            self._added.append(settled)
        self._may_fill = True

    def leave_unsettled(self) -> None:
        """Leave a record for a later run: the next ``add`` must not fill it like a gap."""
        self._may_fill = False
