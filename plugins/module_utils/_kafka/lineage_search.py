# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Find the lineage of one log by questions about its epochs. No I/O: the caller sends the questions.

epochs.py explains what an answer means. Epochs without records are left out of the lineage: a leader that died before
it wrote a record has its epoch in its log, but no record that other logs lack. Only a log without any record keeps its
newest epoch, which shows that it once had records, and that retention deleted them.
"""

from __future__ import annotations

from .._model.partition import EpochEnd

_LONG_LINEAGE = 5
"""Useful answers in one round. Most logs have fewer epochs, and half as many questions again waste fewer answers."""


class LineageSearch:
    """The search in one log. Ask ``next_questions`` and pass each answer to ``take_answer``, until there are none.

    The search first finds the newest epoch: from the partition's current epoch down by steps that double, and then by
    bisection. Then it goes from each epoch to the next older one, down to the log start offset. Most logs need two
    questions and one for each older epoch. A partition without a leader needs one less: no broker could write in its
    current epoch. If the oldest epoch starts above the log start offset (retention has just moved it, or the first
    records have a format without epochs), the offsets before it are returned as one older epoch.

    Each answer decides the next question, which is usually about the epoch just below. So the epochs below are asked
    about at the same time: two at first, then half as many again as were useful the last time, and in a long lineage
    twice as many. For a distant broker, the search asks about four times as many from the start, because there a round
    takes longer than answers that are not needed. The search skips such answers, so its result is the same as if the
    questions were asked one by one.
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
        """Begin a search. ``only_newest`` ends it once the newest epoch with records is known.

        That needs the answer about the next older epoch: the newest epoch of a log may have no records.
        """
        self._only_newest = only_newest
        self._start = log_start_offset
        self._end = log_end_offset
        self._newest_first: list[EpochEnd] = []
        self._above = current_leader_epoch + 1
        """The lowest epoch that is known or assumed to be newer than all epochs of the log."""
        self._best: EpochEnd | None = None
        """The newest answer so far in the search for the newest epoch."""
        self._best_question = -1
        """The epoch whose question ``_best`` answers."""
        self._step = 1
        self._jumped_from: int | None = None
        self._useful_answers = 1
        """Number of answers of the last round that the search needed."""
        first = max(0, current_leader_epoch - 1) if is_leaderless else current_leader_epoch
        self.question: int | None = first if log_end_offset > 0 and current_leader_epoch >= 0 else None

    @property
    def log_end_offset(self) -> int:
        """Return the given log end offset, or the end of the newest epoch if the log has grown since then."""
        return max([self._end, *(each.end_offset for each in self._newest_first[:1])])

    @property
    def lineage(self) -> tuple[EpochEnd, ...]:
        """Return the epochs with records, oldest first. The lineage is complete once ``question`` is None."""
        return tuple(reversed(self._newest_first))

    def next_questions(self, max_questions: int, *, is_distant: bool = False) -> range:
        """Return the epochs to ask about next, newest first. Empty when the search is over."""
        if self.question is None:
            return range(0)
        useful = self._useful_answers
        more = 4 * useful if is_distant else (3 * useful + 1) // 2 if useful < _LONG_LINEAGE else 2 * useful
        width = min(max_questions, max(2, more))
        self._useful_answers = 0
        return range(self.question, max(-1, self.question - width), -1)

    def take_answer(self, epoch: int, epoch_end: EpochEnd | None) -> None:
        """Take the answer about one epoch. None: the epoch is newer than all epochs of this log."""
        if epoch == self.question:
            self._useful_answers += 1
            self._take_next(epoch_end)

    def _take_next(self, epoch_end: EpochEnd | None) -> None:
        if self._newest_first:
            self._take_older(epoch_end)
        elif epoch_end is None:
            self._above = int(self.question or 0)
            self._ask_for_newest()
        else:
            self._best, self._best_question = epoch_end, int(self.question or 0)
            # Asked about an epoch below its oldest one, a broker returns that epoch itself, with the offset where its
            # oldest epoch starts. In a log without records this is the log end offset, so the answer settles nothing.
            is_settled = self._start < self._end or epoch_end.epoch < self._best_question
            if epoch_end.end_offset >= self._end and is_settled:
                self._take_newest(epoch_end)
            else:
                self._ask_for_newest()

    def _ask_for_newest(self) -> None:
        if self._above - 1 <= self._best_question:
            self._take_newest(self._best)
        elif self._best is not None:
            self.question = (self._best_question + self._above) // 2
        else:
            self.question = max(0, self._above - self._step)
            self._step *= 2

    def _take_newest(self, epoch_end: EpochEnd | None) -> None:
        self.question = None
        if epoch_end is not None:
            self._newest_first.append(epoch_end)
            self._ask_for_older(epoch_end.epoch)

    def _take_older(self, epoch_end: EpochEnd | None) -> None:
        question = int(self.question or 0)
        self.question = None
        if epoch_end is not None and epoch_end.epoch > question:
            epoch_end = None
        is_same_place = epoch_end is not None and epoch_end.end_offset == self._newest_first[-1].end_offset
        if self._jumped_from is not None and not is_same_place:
            jumped_from, self._jumped_from = self._jumped_from, None
            self._ask_for_older(jumped_from)
        elif epoch_end is None or epoch_end.end_offset <= self._start:
            return
        elif not is_same_place:
            if not self._only_newest:
                self._newest_first.append(epoch_end)
                self._ask_for_older(epoch_end.epoch)
        else:
            self._newest_first[-1] = epoch_end
            if epoch_end.epoch == question > 0:
                # The epoch has no records, or is below the log's oldest one. If the answer about epoch 0 is the same,
                # it is below, and no epoch between needs to be asked about.
                self._jumped_from, self.question = question, 0
            else:
                self._ask_for_older(epoch_end.epoch)

    def _ask_for_older(self, epoch: int) -> None:
        self.question = epoch - 1 if epoch > 0 and self._start < self._end else None
