# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Which saved records were dealt with already, by (epoch, offset). Pure; standard library only.

Two salvages of one incident may both hold a record: a dead broker's disk and the follower that had it from there. The
same epoch and offset are the same record (``_model.log_contents``), so it is given back once.
"""

from __future__ import annotations

from bisect import bisect_right

from .._model.log_contents import EpochRange, Stretches, union

MOST_STRETCHES = 20_000
"""Of one partition: as text, they must fit in one record of Kafka's default size."""


class Ledger:
    """The offsets of one partition that were given back, or will not be. Grows in the order of a log."""

    def __init__(self, done: Stretches = (), given: int = 0, superseded: int = 0) -> None:
        self._starts: dict[int, list[int]] = {}
        self._ends: dict[int, list[int]] = {}
        self._settled_before = union([done])
        for each in self._settled_before:
            self._starts.setdefault(each.epoch, []).append(each.start_offset)
            self._ends.setdefault(each.epoch, []).append(each.end_offset)
        self._added: list[EpochRange] = []
        self._last_batch: tuple[int, int] | None = None
        """Epoch and base offset; None where what follows is not to be joined."""
        self.given = given
        """Records that were given back, by all runs."""
        self.superseded = superseded
        """Records that a compacted topic does not need, by all runs."""

    @property
    def done(self) -> Stretches:
        return union([self._settled_before, tuple(self._added)])

    def lacking(self, epoch: int, offset: int, end_offset: int) -> list[tuple[int, int]]:
        """Return which of these offsets were not dealt with before this run: stretches, each with its end."""
        starts, ends = self._starts.get(epoch, ()), self._ends.get(epoch, ())
        found = []
        for place in range(max(0, bisect_right(starts, offset) - 1), len(starts)):
            if starts[place] >= end_offset:
                break
            if offset < starts[place]:
                found.append((offset, starts[place]))
            offset = max(offset, ends[place])
        return [*found, (offset, end_offset)] if offset < end_offset else found

    def add(self, done: EpochRange, batch: int, last_batch: int, *, fill: bool) -> None:
        """Take records as dealt with. The base offsets are of the batches of the first one and of the last one.

        What compaction removed between two records of a batch counts as dealt with; with ``fill``, also between two
        batches. A gap between batches is otherwise left open: another salvage may have what this one could not read.
        """
        place, last = (done.epoch, batch), self._added[-1] if self._added else None
        may_fill = self._last_batch is not None and (fill or self._last_batch == place)
        gap = done.start_offset - last.end_offset if last is not None and last.epoch == done.epoch else -1
        if last is not None and (gap == 0 or (gap > 0 and may_fill)):
            self._added[-1] = EpochRange(done.epoch, last.start_offset, done.end_offset)
        else:
            self._added.append(done)
        self._last_batch = (done.epoch, last_batch)

    def leave_unsettled(self) -> None:
        """Note that a record is left for a later run: it is not to be taken for a gap."""
        self._last_batch = None
