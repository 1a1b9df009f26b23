# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Read what became of committed offsets since an election, from the present ``__consumer_offsets``. Only reads.

A saved offset must not undo what clients, operators or Kafka did since: a later commit, a reset, a deletion of the
group or of its offsets, an expiry. All of these are records after the offset at which the two logs diverge.

The log cleaner keeps the last record of each key, but removes one that deletes (a tombstone), delete.retention.ms after
it has cleaned its segment for the first time. So a deletion may leave no record behind, which is said as unknown.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field

from .._kafka.cluster import Cluster
from .._kafka.errors import CallError
from .._kafka.group_commits import partition_of
from .._kafka.groups import Commit
from .._kafka.offset_records import CommitLog, OffsetKey, parse_commit, parse_key
from .._kafka.port import Kafka
from .._kafka.record_batch import BatchError
from .._model.partition import OFFSETS_TOPIC, TopicPartition
from .decide import LEAVE_OUT, Since
from .divergence import PresentLog
from .plan import UnknownCommits
from .present import PresentGroups

_DELETE_RETENTION = "delete.retention.ms"
_DELETED = Since("it was deleted, or expired, since the election")
_GROUP_DELETED = Since("the group was deleted, or its offsets expired, since the election")
_GROUP_GONE = Since(
    "the group was deleted since the election, by somebody or by Kafka, which deletes a group without offsets",
    is_known=False,
)
_PENDING = Since("an open transaction may have an offset of the group here", is_known=False)
_LAST_DELETED = Since(
    "all offsets that the group had after the election were deleted, or expired: perhaps with the group",
    is_known=False,
)
"""Kafka 3.9 writes no record about a group that never had members."""


@dataclass(slots=True)
class CommitChanges:
    """What a partition of ``__consumer_offsets`` says about the time since an election."""

    commits: dict[tuple[str, TopicPartition], Commit | None] = field(default_factory=dict)
    """The last commit of each group and partition. None if it was deleted."""
    deleted: set[str] = field(default_factory=set)
    """Groups that were deleted together with committed offsets."""
    gone: set[str] = field(default_factory=set)
    """Groups that were deleted when they had no committed offset."""
    lessened: set[str] = field(default_factory=set)
    """Groups of which a committed offset was deleted."""
    pending: set[tuple[str, TopicPartition]] = field(default_factory=set)
    """What is in transactions that are open, or that ended after an open one began."""
    missing: str = ""
    """Why there may have been more. Empty if this is all."""
    lacks_only_deletions: bool = False
    """Whether ``missing`` is about deletions only."""
    _deletions: dict[str, tuple[int, bool]] = field(default_factory=dict)
    """Of each group's last tombstone: the next offset, and whether one right before it deleted a commit."""

    def add(self, offset: int, key: OffsetKey, value: bytes | None) -> None:
        """Take the next record into account. Kafka writes the tombstones of a group that it deletes in a row."""
        next_offset, has_commit = self._deletions.get(key.group, (-1, False))
        if key.partition is not None:
            self.commits[key.group, key.partition] = parse_commit(value)
        if value is None:
            if key.partition is not None:
                self.lessened.add(key.group)
            has_commit = key.partition is not None or (has_commit and next_offset == offset)
            self._deletions[key.group] = offset + 1, has_commit
            if key.is_group:
                (self.deleted if has_commit else self.gone).add(key.group)
        elif key.is_group and next_offset == offset:
            # It was not deleted: it changed its type, such as from classic to consumer.
            self.gone.discard(key.group)

    def since(self, group: str, name: TopicPartition, present: Mapping[TopicPartition, Commit]) -> Since | None:
        """Return what became of a committed offset; None if nothing did. ``present`` are those of the group."""
        if (group, name) in self.commits:
            last = self.commits[group, name]
            if last is None:
                return _DELETED
            return Since(f"the group has committed {last.offset} since the election, or somebody has reset it")
        if (group, name) in self.pending:
            return _PENDING
        if name in present and (self.lacks_only_deletions or not self.missing):
            return None
        if group in self.deleted:
            return _GROUP_DELETED
        if group in self.gone:
            return _GROUP_GONE
        if group in self.lessened and not present:
            return _LAST_DELETED
        return Since(self.missing, is_known=False) if self.missing else None


@dataclass(frozen=True, slots=True)
class ChangeReader:
    """Reads partitions of ``__consumer_offsets`` from their leaders."""

    kafka: Kafka
    cluster: Cluster
    leaders: Mapping[TopicPartition, int]
    saved: Mapping[int, CommitLog]
    logs: Mapping[TopicPartition, PresentLog]

    def read(self) -> dict[int, CommitChanges]:
        """Return the changes in each partition that the salvage has records of."""
        answers = self.kafka.in_parallel(self._read, sorted(self.saved))
        return {
            number: CommitChanges(missing=_unread(number, str(each))) if isinstance(each, CallError) else each
            for number, each in answers.items()
        }

    def _read(self, number: int) -> CommitChanges:
        name, saved, found = TopicPartition(OFFSETS_TOPIC, number), self.saved[number], CommitChanges()
        log, leader = self.logs.get(name), self.cluster.addresses.get(self.leaders.get(name, -1))
        if log is None or leader is None:
            return CommitChanges(missing=_unread(number, "no leader answers"))
        # Compaction may have removed the first records that the salvage could have.
        first = min(saved.offset, log.end, log.end_of(saved.epoch) if saved.epoch >= 0 else log.end)
        reading = self.kafka.committed_log(leader, name, max(first, log.start))
        try:
            for _epoch, record in reading.read(None):
                if record.key is not None and (key := parse_key(record.key)) is not None:
                    found.add(record.offset, key, record.value)
            # An open transaction concerns only the groups whose offsets it has.
            for record, is_transactional in reading.read_unsettled() if reading.is_open else ():
                if record.key is None or (key := parse_key(record.key)) is None:
                    continue
                if not is_transactional:
                    found.add(record.offset, key, record.value)
                elif key.partition is not None:
                    found.pending.add((key.group, key.partition))
        except (CallError, BatchError) as error:
            found.missing = _unread(number, str(error))
            return found
        if log.start > first:
            found.missing = f"{name} begins at {log.start}, after the election: what was before is not known"
        elif reading.has_gaps and not self._keeps_deletions(saved):
            found.missing = f"{name} was compacted since the election, and deletions are not in it any more"
            found.lacks_only_deletions = True
        return found

    def _keeps_deletions(self, saved: CommitLog) -> bool:
        """Return whether the log still has every deletion since the newest saved record, and so since the election."""
        try:
            entry = self.kafka.topic_configs([OFFSETS_TOPIC], _DELETE_RETENTION).get(OFFSETS_TOPIC)
        except CallError:
            return False
        now = self.kafka.cluster_time()
        if entry is None or not entry.value or now is None or saved.last_timestamp_ms is None:
            return False
        return now.timestamp() * 1000 - saved.last_timestamp_ms < int(entry.value)


def _unread(number: int, why: str) -> str:
    return f"what was committed or deleted since the election is not known: {OFFSETS_TOPIC}-{number}: {why}"


def explain_unread(
    unread: Collection[TopicPartition], partitions: int, overwrite: Collection[str], present: PresentGroups
) -> Iterator[UnknownCommits]:
    """Yield of which groups a salvage may have newer offsets that cannot be read (SavedCommits.unread).

    ``partitions`` is the number of those of __consumer_offsets. Groups of ``overwrite`` do without these offsets.
    """
    for place in sorted(unread):
        groups = {
            each
            for each in present.answered
            if (each in present.share) == (place.topic != OFFSETS_TOPIC)
            and (each in present.share or partition_of(each, partitions) == place.partition)
        }
        if left := groups - {*overwrite}:
            why = f"{place}: not all of its saved records can be read, and others may have newer offsets. {LEAVE_OUT}"
            yield UnknownCommits(tuple(sorted(left)), why)
