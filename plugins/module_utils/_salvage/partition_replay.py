# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Decide which saved records of one partition are given back."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from hashlib import blake2b

from .._kafka.log_reading import SETTLE_S, Ask, CommittedLog
from .._model.log_contents import EpochRange, Stretches, intersect, subtract
from .._model.partition import TopicPartition
from .gaps import CompactedGaps
from .held_again import Held
from .ledger import Ledger
from .markers import TransactionOutcome
from .replay_progress import LedgerKey
from .replayed import Counts, LeftOut
from .saved import SavedRecords
from .saved_run import SavedRun, read_origin
from .targets import TargetTopic


def hash_key(key: bytes) -> bytes:
    """Return a short hash that stands for a key in memory."""
    return blake2b(key, digest_size=16).digest()


class NewerKeys:
    """The newest record of each wanted key in the leader's log, as (leader epoch, offset).

    A record that was given back counts with the epoch and offset that it had when it was saved. So the next saved
    record of the same key may be given back, and a record of a newer salvage is not overwritten by an older one.
    """

    def __init__(
        self,
        ask: Ask,
        partition: TopicPartition,
        offset: int,
        wanted: Collection[bytes],
        origin: Mapping[str, bytes],
        *,
        wait_s: float | None = SETTLE_S,
    ) -> None:
        """Begin at ``offset``: no record before it is newer than a saved one. ``wanted`` has hashes of keys.

        ``origin`` names the partition in records that were given back (``name_origin``).
        ``wait_s`` is that of CommittedLog.read.
        """
        self._log = CommittedLog(ask, partition, offset)
        self._wanted = wanted
        self._origin = origin
        self._wait_s = wait_s
        self._newest: dict[bytes, tuple[int, int]] = {}

    def read_to_end(self) -> None:
        """Read to the current end of the log.

        Raises OpenTransactionError, BrokerCallError or RequestRefusedError.
        """
        for epoch, record in self._log.read(self._wait_s):
            if record.key is None:
                continue
            key_hash = hash_key(record.key)
            if key_hash in self._wanted:
                position = read_origin(record.headers, self._origin) or (epoch, record.offset)
                self._newest[key_hash] = max(position, self._newest.get(key_hash, position))

    def has_newer_record(self, key: bytes, epoch: int, offset: int) -> bool:
        found = self._newest.get(hash_key(key))
        return found is not None and found > (epoch, offset)


@dataclass(slots=True)
class PartitionReplay:
    """The replay of one partition's saved records."""

    saved: SavedRecords
    target: TargetTopic
    ledger_key: LedgerKey
    ledger: Ledger
    include_unknown: bool
    gaps: CompactedGaps
    newer: NewerKeys | None = None
    """Set if the target topic is compacted."""
    held: Stretches = ()
    """Saved offsets that the leader of the original partition holds again."""
    counts: Counts = field(default_factory=Counts)
    failure: str = ""

    @property
    def topic_partition(self) -> TopicPartition:
        return self.saved.topic_partition

    def set_held(self, found: Held) -> None:
        """Set which saved records the original topic has. If this is unknown, a replay to that topic fails."""
        self.held = found.ranges
        if self.is_for_side_topic:
            return
        if found.is_of_other_topic:
            self.failure = self.failure or f"topic {self.saved.topic} was deleted or re-created during the replay"
        elif found.reason:
            self.failure = self.failure or (
                f"{found.reason}. Until this is known, records that the topic has already could be written twice"
            )

    def take(self, run: SavedRun) -> list[SavedRun]:
        """Return the records to write now. Add settled records to the ledger, and count those that are left out."""
        unsettled = self.ledger.find_unsettled(run.epoch, run.offset, run.next_offset)
        return [one for offsets in unsettled for one in self._take_piece_by_piece(run.between(*offsets))]

    def _take_piece_by_piece(self, run: SavedRun) -> list[SavedRun]:
        """Divide a run into the offsets that the original topic holds, and the others."""
        whole = (EpochRange(run.epoch, run.offset, run.next_offset),)
        held = intersect(whole, self.held)
        pieces = [(each, each in held) for each in sorted([*held, *subtract(whole, held)])]
        return [
            one
            for each, is_held in pieces
            for one in self._take(run.between(each.start_offset, each.end_offset), is_held=is_held)
        ]

    def _take(self, run: SavedRun, *, is_held: bool) -> list[SavedRun]:
        if is_held and self.is_for_side_topic:
            self.counts.held_too += 0 if run.is_control or run.is_undecodable else run.records
        reason = self._find_reason_to_leave_out(run, is_held=is_held and not self.is_for_side_topic)
        if reason in (LeftOut.UNKNOWN, LeftOut.UNDECODABLE) or (is_held and not self.is_for_side_topic):
            # Another salvage may know the outcome, and the operator may allow such records later. What the topic holds
            # may be lost again.
            self.ledger.leave_unsettled()
        else:
            settled = EpochRange(run.epoch, run.offset, run.next_offset)
            self.ledger.add(settled, self.gaps.has)
        if reason is not None:
            self.counts.leave_out(reason, run.records)
        if reason is not None or run.is_control:
            return []
        return self._select_by_key(run) if self.target.is_compacted else [run]

    @property
    def is_for_side_topic(self) -> bool:
        return self.target.name != self.saved.topic

    def _find_reason_to_leave_out(self, run: SavedRun, *, is_held: bool) -> LeftOut | None:
        if run.is_undecodable:
            return LeftOut.UNDECODABLE
        if run.is_control:
            return None
        if run.outcome == TransactionOutcome.ABORTED:
            return LeftOut.ABORTED
        if is_held:
            return LeftOut.HELD
        if not run.has_known_outcome and not self.include_unknown:
            return LeftOut.UNKNOWN
        return None

    def _select_by_key(self, run: SavedRun) -> list[SavedRun]:
        """Return the records that a compacted topic needs: those with a key that has no newer record."""
        found = []
        for offset, key in enumerate(run.keys, run.offset):
            if key is None:
                self.counts.leave_out(LeftOut.NO_KEY)
            elif self.newer is not None and self.newer.has_newer_record(key, run.epoch, offset):
                self.counts.leave_out(LeftOut.NEWER_KEY)
            else:
                found.append(run.between(offset, offset + 1))
        return found


def collect_key_hashes(runs: Iterable[SavedRun]) -> dict[TopicPartition, set[bytes]]:
    """Return the hashes of the keys of each partition's records."""
    found: dict[TopicPartition, set[bytes]] = {}
    for run in runs:
        found.setdefault(run.topic_partition, set()).update(hash_key(key) for key in run.keys if key is not None)
    return found


def count_settled(ledger: Ledger, run: SavedRun) -> int:
    """Return how many records of a run earlier runs have settled, without those that consumers would not get."""
    if run.is_control or run.is_undecodable or run.outcome == TransactionOutcome.ABORTED:
        return 0
    unsettled = ledger.find_unsettled(run.epoch, run.offset, run.next_offset)
    return run.records - sum(run.between(*offsets).records for offsets in unsettled)
