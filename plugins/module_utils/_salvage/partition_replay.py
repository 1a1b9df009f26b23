# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Decides which saved records of one partition are given back."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from hashlib import blake2b

from .._model.log_contents import EpochRange
from .._model.partition import TopicPartition
from .batch import Outcome
from .ledger import Ledger
from .log_reading import Ask, CommittedLog
from .replay_progress import LedgerKey
from .replayed import Counts, LeftOut, Replayed, ReplayStatus
from .saved import SavedRecords
from .saved_run import SavedRun, read_origin
from .targets import TargetTopic

_SETTLE_S = 60.0
"""Our own transactions are acknowledged some milliseconds before they can be read; others may take longer."""


def hash_key(key: bytes) -> bytes:
    """Return what stands for a key in memory."""
    return blake2b(key, digest_size=16).digest()


class NewerKeys:
    """The newest place of each wanted key in the log of a partition's leader, as (leader epoch, offset).

    A record that was given back stands for the place that it came from: giving the next saved record of its key back is
    then allowed, and one of a newer salvage is not overwritten by one of an older salvage.
    """

    def __init__(self, ask: Ask, partition: TopicPartition, offset: int, wanted: Collection[bytes]) -> None:
        """``offset`` is where the logs part: what lies before is in both. ``wanted`` are digests of keys."""
        self._log = CommittedLog(ask, partition, offset)
        self._wanted = wanted
        self._newest: dict[bytes, tuple[int, int]] = {}

    def read_on(self) -> None:
        """Read to the present end of the log.

        Raises OpenTransactionError, BrokerCallError or RequestRefusedError.
        """
        for epoch, record in self._log.read(time.monotonic() + _SETTLE_S):
            if record.key is None:
                continue
            digest = hash_key(record.key)
            if digest in self._wanted:
                place = read_origin(record.headers) or (epoch, record.offset)
                self._newest[digest] = max(place, self._newest.get(digest, place))

    def has_newer(self, key: bytes, epoch: int, offset: int) -> bool:
        found = self._newest.get(hash_key(key))
        return found is not None and found > (epoch, offset)


@dataclass(slots=True)
class PartitionReplay:
    """The saved records of one partition, while they are given back."""

    saved: SavedRecords
    target: TargetTopic
    place: LedgerKey
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

    def take(self, run: SavedRun) -> list[SavedRun]:
        """Return what of the run is to be written now; counts why not the rest, and notes what was dealt with."""
        lacking = self.ledger.lacking(run.epoch, run.offset, run.next_offset)
        return [one for between in lacking for one in self._take(run.between(*between))]

    def _take(self, run: SavedRun) -> list[SavedRun]:
        why = self._find_reason_to_leave_out(run)
        if why in (LeftOut.UNKNOWN, LeftOut.UNDECODABLE):
            # Another salvage may know more, and the operator may opt in later.
            self.ledger.leave_unsettled()
        else:
            done = EpochRange(run.epoch, run.offset, run.next_offset)
            self.ledger.add(done, run.first_batch, run.last_batch, fill=self.is_compacted)
        if why is not None:
            self.counts.leave_out(why, run.records)
        if why is not None or run.is_control:
            return []
        return self._select_by_key(run) if self.target.is_compacted else [run]

    def _find_reason_to_leave_out(self, run: SavedRun) -> LeftOut | None:
        if run.is_undecodable:
            return LeftOut.UNDECODABLE
        if run.is_control:
            return None
        if run.outcome == Outcome.ABORTED:
            return LeftOut.ABORTED
        if not run.has_known_outcome and not self.include_unknown:
            return LeftOut.UNKNOWN
        return None

    def _select_by_key(self, run: SavedRun) -> list[SavedRun]:
        """Return what a compacted topic needs of records that may be given back."""
        found = []
        for offset, key in enumerate(run.keys, run.offset):
            if key is None:
                self.counts.leave_out(LeftOut.NO_KEY)
            elif self.newer is not None and self.newer.has_newer(key, run.epoch, offset):
                self.counts.leave_out(LeftOut.NEWER_KEY)
            else:
                found.append(run.between(offset, offset + 1))
        return found

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


def collect_key_hashes(runs: Iterable[SavedRun]) -> dict[TopicPartition, set[bytes]]:
    """Return digests of the keys of each partition's records."""
    found: dict[TopicPartition, set[bytes]] = {}
    for run in runs:
        found.setdefault(run.topic_partition, set()).update(hash_key(key) for key in run.keys if key is not None)
    return found
