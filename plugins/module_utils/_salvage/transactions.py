# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""How the transactions in a log ended, by the markers that follow their records in the same log (KIP-98). Pure."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from enum import StrEnum

from .batch import BatchHeader, ControlType


class Outcome(StrEnum):
    """What became of the transaction that a record belongs to."""

    NONE = "none"
    """The record belongs to no transaction."""
    COMMITTED = "committed"
    ABORTED = "aborted"
    UNKNOWN = "unknown"
    """The log has no marker for it: the transaction was open, or its marker is on no disk that was read."""


_ENDS = {ControlType.COMMIT: Outcome.COMMITTED, ControlType.ABORT: Outcome.ABORTED}


class Markers:
    """The transaction markers of one log, added in order of offset."""

    def __init__(self) -> None:
        self._offsets: dict[int, list[int]] = defaultdict(list)
        self._ends: dict[int, list[Outcome]] = defaultdict(list)

    def add(self, header: BatchHeader, kind: ControlType) -> None:
        """Take a control batch. One that ends no transaction is ignored."""
        if kind in _ENDS:
            self._offsets[header.producer_id].append(header.base_offset)
            self._ends[header.producer_id].append(_ENDS[kind])

    def outcome(self, header: BatchHeader) -> Outcome:
        """Return what became of a batch's records. A producer has one transaction at a time."""
        if not header.is_transactional:
            return Outcome.NONE
        place = bisect_right(self._offsets.get(header.producer_id, ()), header.base_offset)
        ends = self._ends.get(header.producer_id, ())
        return ends[place] if place < len(ends) else Outcome.UNKNOWN
