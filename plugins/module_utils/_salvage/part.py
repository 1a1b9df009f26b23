# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Decides of each saved record whether it is given back."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from .._model.partition import TopicPartition
from .ledger import Ledger
from .newer_keys import NewerKeys, digest_of
from .read_back import SavedRecords
from .replay_progress import Place
from .replayed import Counts, LeftOut, Replayed, ReplayStatus
from .saved_rows import SavedRow
from .targets import TargetTopic
from .transactions import Outcome


@dataclass(slots=True)
class Part:
    """The saved records of one partition, while they are given back."""

    saved: SavedRecords
    target: TargetTopic
    place: Place
    ledger: Ledger
    include_unknown: bool
    is_compacted: bool
    """Of the topic that the records came from."""
    newer: NewerKeys | None = None
    """Of a compacted topic that they go back to."""
    counts: Counts = field(default_factory=Counts)
    failure: str = ""

    @property
    def topic_partition(self) -> TopicPartition:
        return self.saved.topic_partition

    def takes(self, row: SavedRow) -> bool:
        """Return whether the record is to be written now; counts why not, and notes what was dealt with."""
        if self.ledger.has(row.epoch, row.offset):
            return False
        why = self._why_not(row)
        if why in (LeftOut.UNKNOWN, LeftOut.UNDECODABLE):
            # Another salvage may know more, and the operator may opt in later.
            self.ledger.leave_open()
        else:
            self.ledger.add(row.epoch, row.offset, row.batch, fill=self.is_compacted)
        if why is not None:
            self.counts.leave_out(why)
        return why is None and not row.is_control

    def _why_not(self, row: SavedRow) -> LeftOut | None:
        if row.is_undecodable:
            return LeftOut.UNDECODABLE
        if row.is_control:
            return None
        if row.outcome == Outcome.ABORTED:
            return LeftOut.ABORTED
        if row.outcome == Outcome.UNKNOWN and not self.include_unknown:
            return LeftOut.UNKNOWN
        if self.target.is_compacted:
            if row.key is None:
                return LeftOut.NO_KEY
            if self.newer is not None and self.newer.has_newer(row.key, row.epoch, row.offset):
                return LeftOut.NEWER_KEY
        return None

    def result(self, status: ReplayStatus, reason: str = "") -> Replayed:
        counts = self.counts
        return Replayed(
            self.saved.topic,
            self.saved.partition,
            self.saved.topic_id,
            self.target.name,
            status,
            reason,
            self.saved.records,
            counts.to_give,
            counts.given,
            counts.given_bytes,
            counts.given_before,
            counts.superseded,
            dict(counts.left_out),
        )


def wanted_keys(rows: Iterable[SavedRow]) -> dict[TopicPartition, set[bytes]]:
    """Return digests of the keys of each partition's rows."""
    found: dict[TopicPartition, set[bytes]] = {}
    for row in rows:
        if row.key is not None:
            found.setdefault(row.topic_partition, set()).add(digest_of(row.key))
    return found
