# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Finds the epoch lineage of one log by asking about some epochs at a time. No I/O: the caller carries the questions.

What an answer means is in epochs.py. Epochs that hold no records are left out of the lineage: a leader that was
elected and died before it wrote anything has an epoch in its log and nothing that another log could lose to it. Only a
log without any record keeps its newest epoch: it shows that retention, and not lack of data, emptied the log.
"""

from __future__ import annotations

from .._model.partition import EpochEnd


class LineageSearch:
    """The search over one log. Ask ``next_questions``, ``take`` each answer in that order, until there are none.

    First the newest epoch, by steps down from the partition's current epoch that double, then by halving; then from
    epoch to older epoch down to the log start offset. Most logs take two questions and one for each older epoch, or one
    less where the partition is known to be leaderless: in its current epoch nobody could write. Where
    the oldest epoch starts above the log start offset (retention has moved that meanwhile, or the first records are of
    a format without epochs), what lies between is returned as one older epoch.

    One answer decides the next question, which mostly is about the epoch just below. So those below are asked about
    at the same time: two at first, and then twice as many as were of use the last time. An answer that does not come to
    the point is dropped, so that the search is the same one as if its questions were asked one by one.
    """

    def __init__(
        self,
        log_start_offset: int,
        log_end_offset: int,
        current_leader_epoch: int,
        *,
        is_leaderless: bool = False,
        only_newest: bool = False,
    ) -> None:
        """``only_newest`` ends the search once the newest epoch with records is known.

        That takes the answer for the next older one: a broker that was elected and wrote nothing has an epoch without
        records at its log's end.
        """
        self._only_newest = only_newest
        self._start = log_start_offset
        self._end = log_end_offset
        self._newest_first: list[EpochEnd] = []
        self._above = current_leader_epoch + 1
        """The lowest epoch known, or taken, to be newer than all of the log's."""
        self._floor: EpochEnd | None = None
        """The best answer of the search for the newest epoch, and the epoch that was asked for it."""
        self._asked_floor = -1
        self._step = 1
        self._leapt_from: int | None = None
        self._of_use = 1
        """Answers of the last round that came to the point."""
        first = max(0, current_leader_epoch - 1) if is_leaderless else current_leader_epoch
        self.question: int | None = first if log_end_offset > 0 and current_leader_epoch >= 0 else None

    @property
    def log_end_offset(self) -> int:
        """Return the listed log end offset, or the newest epoch's end where the log has grown since then."""
        return max([self._end, *(each.end_offset for each in self._newest_first[:1])])

    @property
    def lineage(self) -> tuple[EpochEnd, ...]:
        """Return the epochs with records, oldest first. Complete when the question is None."""
        return tuple(reversed(self._newest_first))

    def next_questions(self, most: int) -> range:
        """Return the epochs to ask about at once, newest first, at most so many; none when the search is over."""
        if self.question is None:
            return range(0)
        width = min(most, 2 * max(1, self._of_use))
        self._of_use = 0
        return range(self.question, max(-1, self.question - width), -1)

    def take(self, epoch: int, epoch_end: EpochEnd | None) -> None:
        """Take the answer about one of the epochs; None for "newer than every epoch of this log"."""
        if epoch == self.question:
            self._of_use += 1
            self._answer(epoch_end)

    def _answer(self, epoch_end: EpochEnd | None) -> None:
        if self._newest_first:
            self._take_older(epoch_end)
        elif epoch_end is None:
            self._above = int(self.question or 0)
            self._ask_for_newest()
        else:
            self._floor, self._asked_floor = epoch_end, int(self.question or 0)
            # Below the oldest epoch a broker echoes the question: in a log without records every echo ends at its end.
            is_settled = self._start < self._end or epoch_end.epoch < self._asked_floor
            if epoch_end.end_offset >= self._end and is_settled:
                self._take_newest(epoch_end)
            else:
                self._ask_for_newest()

    def _ask_for_newest(self) -> None:
        if self._above - 1 <= self._asked_floor:
            self._take_newest(self._floor)
        elif self._floor is not None:
            self.question = (self._asked_floor + self._above) // 2
        else:
            self.question = max(0, self._above - self._step)
            self._step *= 2

    def _take_newest(self, epoch_end: EpochEnd | None) -> None:
        self.question = None
        if epoch_end is not None:
            self._newest_first.append(epoch_end)
            self._ask_for_older(epoch_end.epoch)

    def _take_older(self, epoch_end: EpochEnd | None) -> None:
        asked = int(self.question or 0)
        self.question = None
        if epoch_end is not None and epoch_end.epoch > asked:
            epoch_end = None
        is_same_place = epoch_end is not None and epoch_end.end_offset == self._newest_first[-1].end_offset
        if self._leapt_from is not None and not is_same_place:
            leapt_from, self._leapt_from = self._leapt_from, None
            self._ask_for_older(leapt_from)
        elif epoch_end is None or epoch_end.end_offset <= self._start:
            return
        elif not is_same_place:
            if not self._only_newest:
                self._newest_first.append(epoch_end)
                self._ask_for_older(epoch_end.epoch)
        else:
            self._newest_first[-1] = epoch_end
            if epoch_end.epoch == asked > 0:
                # An empty epoch, or only an echo: then the answer for 0 is the same, and nothing between need be asked.
                self._leapt_from, self.question = asked, 0
            else:
                self._ask_for_older(epoch_end.epoch)

    def _ask_for_older(self, epoch: int) -> None:
        self.question = epoch - 1 if epoch > 0 and self._start < self._end else None
