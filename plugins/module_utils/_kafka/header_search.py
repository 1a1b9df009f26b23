# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Find the lineage of one log by the headers of its batches, if its epoch checkpoint lacks it. No I/O.

A broker answers questions about epochs from ``leader-epoch-checkpoint``. If this file is missing, empty or older than
the log, the answers are those of an empty or of another log, although the records are there (tried on 3.9.2 to 4.4.0).
Each batch has the epoch of the leader that wrote it, so a broker that recovers a log rebuilds the file from them, too.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from .._model.partition import EpochEnd
from . import error_codes
from .batch_headers import NO_EPOCH, BatchEpoch, HeaderAnswer

MOST_READS = 4000
"""A bound for one log: about 100 epochs of a log of 10^12 records."""
MOST_BYTES = 256 * 1024 * 1024
"""A bound for one log. A broker sends whole batches, each at most of the topic's max.message.bytes."""


@dataclass(frozen=True, slots=True)
class _Read:
    """A batch, and the lowest offset that was asked for when the broker sent it: there is no batch in between."""

    low: int
    batch: BatchEpoch


class HeaderSearch:
    """The search in one log. Read ``next_offsets`` and pass each answer to ``take_answer``, until there are none.

    Epochs never decrease along a log. So the search reads the first and the last batch, and then bisects between two
    batches of different epochs: a log of one epoch needs two reads, whatever its length.
    """

    def __init__(self, log_start_offset: int, log_end_offset: int, hints: Iterable[int] = ()) -> None:
        """Begin a search in a log with records. ``hints`` are further offsets to read, such as the ends of epochs."""
        self._start, self._end = log_start_offset, log_end_offset
        self._reads: list[_Read] = []
        first = {log_start_offset, log_end_offset - 1, *hints}
        self._offsets = sorted(each for each in first if log_start_offset <= each < log_end_offset)
        self._left, self._bytes_left = MOST_READS, MOST_BYTES
        self.error = ""
        """Why the lineage could not be found. Empty if it was, or while the search goes on."""

    def next_offsets(self) -> Sequence[int]:
        """Return the offsets to read next. Empty when the search is over."""
        return () if self.error else tuple(self._offsets)

    def take_answer(self, offset: int, answer: HeaderAnswer) -> None:
        """Take the answer about one offset of ``next_offsets``. After an error, further answers are ignored."""
        if self.error:
            return
        self._offsets.remove(offset)
        self._left -= 1
        self._bytes_left -= answer.size_bytes
        batch = answer.batch
        if answer.error_code:
            self.error = f"offset {offset} cannot be read: {error_codes.explain_error('Fetch', answer.error_code)}"
        elif batch is None or batch.next_offset <= offset:
            self.error = f"the broker sends no batch from offset {offset} on"
        elif batch.epoch <= NO_EPOCH:
            self.error = f"the records from offset {batch.base_offset} on have no leader epoch (a format before 0.11)"
        else:
            self._insert(_Read(min(offset, batch.base_offset), batch))
        if not self.error and not self._offsets:
            self._offsets = [*self._find_next()]

    def agrees_with(self, lineage: Sequence[EpochEnd]) -> bool:
        """Return whether all batches that were read have the epoch that this lineage says."""
        ends = [each.end_offset for each in lineage]
        for read in self._reads:
            batch = read.batch
            for offset in (max(batch.base_offset, self._start), min(batch.next_offset, self._end) - 1):
                place = bisect_right(ends, offset)
                if place == len(lineage) or lineage[place].epoch != batch.epoch:
                    return False
        return True

    @property
    def lineage(self) -> tuple[EpochEnd, ...]:
        """Return the epochs of the log, oldest first; empty after an error. An epoch ends where the next one begins."""
        if self.error or not self._reads:
            return ()
        changes = [
            EpochEnd(one.batch.epoch, other.batch.base_offset)
            for one, other in pairwise(self._reads)
            if one.batch.epoch != other.batch.epoch
        ]
        return (*changes, EpochEnd(self._reads[-1].batch.epoch, self._end))

    @property
    def last_batch(self) -> BatchEpoch | None:
        """Return the batch at the log end. None if it was not read."""
        last = self._reads[-1].batch if self._reads and not self.error else None
        return last if last is not None and last.next_offset >= self._end else None

    def _insert(self, read: _Read) -> None:
        same = [each for each in self._reads if each.batch == read.batch]
        low = min([read.low, *(each.low for each in same)])
        others = [each for each in self._reads if each.batch != read.batch]
        self._reads = sorted([*others, _Read(low, read.batch)], key=lambda each: each.batch.base_offset)

    def _find_next(self) -> Iterable[int]:
        for one, other in pairwise(self._reads):
            if one.batch.epoch > other.batch.epoch:
                self.error = (
                    f"the leader epoch falls from {one.batch.epoch} at offset {one.batch.base_offset} to "
                    f"{other.batch.epoch} at offset {other.batch.base_offset}: the log is damaged"
                )
                return
        gaps = [
            (one.batch.next_offset, other.low)
            for one, other in pairwise(self._reads)
            if one.batch.epoch != other.batch.epoch and one.batch.next_offset < other.low
        ]
        if gaps and (self._left < len(gaps) or self._bytes_left <= 0):
            self.error = (
                f"more than {MOST_READS} batches or {MOST_BYTES >> 20} MiB would have to be read to find its epochs"
            )
            return
        yield from ((after + before) // 2 for after, before in gaps)
