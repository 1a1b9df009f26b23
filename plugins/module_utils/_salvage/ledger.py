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
        self._before = union([done])
        for each in self._before:
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
        return union([self._before, tuple(self._added)])

    def has(self, epoch: int, offset: int) -> bool:
        """Return whether the record was dealt with before this run."""
        place = bisect_right(self._starts.get(epoch, ()), offset) - 1
        return place >= 0 and offset < self._ends[epoch][place]

    def add(self, epoch: int, offset: int, batch: int, *, fill: bool) -> None:
        """Take a record as dealt with. ``batch`` is the base offset of its batch.

        What compaction removed between two records of a batch counts as dealt with; with ``fill``, also between two
        batches. A gap between batches is otherwise left open: another salvage may have what this one could not read.
        """
        place, last = (epoch, batch), self._added[-1] if self._added else None
        may_fill = self._last_batch is not None and (fill or self._last_batch == place)
        gap = offset - last.end_offset if last is not None and last.epoch == epoch else -1
        if last is not None and (gap == 0 or (gap > 0 and may_fill)):
            self._added[-1] = EpochRange(epoch, last.start_offset, offset + 1)
        else:
            self._added.append(EpochRange(epoch, offset, offset + 1))
        self._last_batch = place

    def leave_open(self) -> None:
        """Note that a record is left for a later run: it is not to be taken for a gap."""
        self._last_batch = None
