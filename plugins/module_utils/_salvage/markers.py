# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Decide from one log how its transactions ended. Does no I/O.

A transaction ended as its marker says: the next control record of the same producer in the same log (KIP-98). This is
proven only if everything between a record and that marker was read. Otherwise the bytes that are missing may have had
the real marker, and the next one that can be read belongs to a later transaction. So the outcome is unknown

- if the log has no later marker of the producer;
- if bytes, a batch or a segment between the record and the marker are missing or damaged;
- if the producer's next control record has an unknown type or version, or does not decode;
- if that marker has an older producer epoch than the record: a broker never writes one (KIP-360).

What is missing before a record changes nothing. So a log may begin in the middle of a transaction.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from enum import StrEnum
from typing import NamedTuple

from .._kafka.record_batch import BatchHeader, ControlType


class TransactionOutcome(StrEnum):
    """How the transaction of a record ended."""

    NONE = "none"
    """The record belongs to no transaction."""
    COMMITTED = "committed"
    ABORTED = "aborted"
    UNKNOWN = "unknown"
    """No marker that could be read proves how it ended (see above)."""


_ENDS = {ControlType.COMMIT: TransactionOutcome.COMMITTED, ControlType.ABORT: TransactionOutcome.ABORTED}


class Gap(NamedTuple):
    """A place in a log where batches may be missing. ``offset`` is the first offset that was not read."""

    offset: int


class _Marker(NamedTuple):
    offset: int
    producer_epoch: int
    outcome: TransactionOutcome


class Markers:
    """The transaction markers and the gaps of one log, added in order of offset."""

    def __init__(self) -> None:
        self._markers: dict[int, list[_Marker]] = defaultdict(list)
        self._gaps: list[int] = []

    def add(self, header: BatchHeader, kind: ControlType) -> None:
        """Add a control batch."""
        outcome = _ENDS.get(kind, TransactionOutcome.UNKNOWN)
        self._markers[header.producer_id].append(_Marker(header.base_offset, header.producer_epoch, outcome))

    def add_gap(self, gap: Gap) -> None:
        """Add a place where a marker may be missing."""
        self._gaps.append(gap.offset)

    def outcome(self, header: BatchHeader) -> TransactionOutcome:
        """Return how the transaction of a batch ended. A producer has one transaction at a time."""
        if not header.is_transactional:
            return TransactionOutcome.NONE
        markers = self._markers.get(header.producer_id, ())
        place = bisect_right(markers, header.base_offset, key=lambda each: each.offset)
        if place == len(markers):
            return TransactionOutcome.UNKNOWN
        marker = markers[place]
        has_gap = bisect_right(self._gaps, header.base_offset) < bisect_right(self._gaps, marker.offset)
        if has_gap or marker.producer_epoch < header.producer_epoch:
            return TransactionOutcome.UNKNOWN
        return marker.outcome
