# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Find the replicas that only the recovered log takes for in sync: newer records took them out of the ISR.

The recovered controller may elect such a replica, as cleanly as any other. All others then delete what it lacks, also
records that producers with acks=all know as stored.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from .._kafka.metadata_records import RecordType, can_decode, decode_record, key_of_change, read_head
from .._model.log_contents import EpochRange, Stretches, intersect
from .._model.partition import grouped
from .beyond import Overtaken

_UNCHANGED = -2
"""The leader in a change that does not change it."""


class _Sync(NamedTuple):
    isr: Iterable[int] = ()
    elr: Iterable[int] = ()
    leader: int = -1

    @property
    def in_sync(self) -> tuple[int, ...]:
        """Return the brokers that hold all committed records, the leader first."""
        return tuple(sorted({*self.isr, *self.elr}, key=lambda each: (each != self.leader, each)))


@dataclass
class PartitionChanges:
    """The records about each partition: what both logs have, and what the recovered log lacks."""

    snapshot_end: int
    """The offset up to which the newest snapshot covers the log. 0 without one."""
    forgotten: Stretches
    log_start: int = 0
    """Where the log begins. What is forgotten before that is only in the snapshot."""
    _kept: dict[bytes, list[bytes]] = field(default_factory=dict)
    _newer: dict[bytes, list[bytes]] = field(default_factory=dict)
    _covering: dict[bytes, bytes] = field(default_factory=dict)
    """From a snapshot that has forgotten changes already."""

    def take_snapshot(self, values: Iterable[bytes]) -> None:
        """Take records of the newest snapshot. Raises MetadataRecordError."""
        covers = any(each.start_offset < self.snapshot_end for each in self.forgotten)
        for key, value, _is_base in _of_partitions(values):
            if covers:
                self._covering[key] = value
            else:
                self._kept[key] = [value]

    def take(self, values: Iterable[bytes], offsets: EpochRange) -> None:
        """Take the records of a batch of the log, in order. Raises MetadataRecordError."""
        is_forgotten = bool(intersect(self.forgotten, (offsets,)))
        if not is_forgotten and offsets.end_offset <= self.snapshot_end:
            return
        for key, value, is_base in _of_partitions(values):
            if is_forgotten:
                self._newer.setdefault(key, []).append(value)
            elif is_base:
                self._kept[key] = [value]
            else:
                self._kept.setdefault(key, []).append(value)

    def find(self, topic: Callable[[Any], str]) -> tuple[Overtaken, ...]:
        """Return the overtaken replicas. ``topic`` names a topic by its id. Raises MetadataRecordError."""
        found = []
        # A change that is only in the snapshot cannot be told from an older one.
        is_hidden = any(each.start_offset < self.log_start for each in self.forgotten)
        for key in {**self._newer, **(self._covering if is_hidden else {})}:
            newer = self._newer.get(key, [])
            if key in self._covering:
                # Which replicas were in sync before is unknown: any of them may have been.
                base = [self._covering[key]]
                before = _Sync(_decode(base[0])["replicas"])
            elif key in self._kept:
                base = self._kept[key]
                before = _fold(base)
            else:  # The recovered log does not have the partition.
                continue
            in_sync = _fold([*base, *newer]).in_sync
            stale = tuple(sorted({*before.in_sync} - {*in_sync}))
            if stale:
                fields = _decode([*base, *newer][-1])
                found.append(((stale, in_sync), f"{topic(fields['topic_id'])}-{fields['partition_id']}"))
        return tuple(
            Overtaken(stale, in_sync, tuple(sorted(names)))
            for (stale, in_sync), names in sorted(grouped(found).items())
        )


def _of_partitions(values: Iterable[bytes]) -> Iterator[tuple[bytes, bytes, bool]]:
    """Yield the key of each record about a partition, the record, and whether it says all of the partition."""
    for value in values:
        head = read_head(value)
        if head.number in (RecordType.PARTITION, RecordType.PARTITION_CHANGE) and can_decode(head):
            yield key_of_change(value, head), value, head.number == RecordType.PARTITION


def _fold(values: Iterable[bytes]) -> _Sync:
    now = _Sync()
    for fields in map(_decode, values):
        given = {name: fields[name] for name in ("isr", "leader") if fields[name] not in (None, _UNCHANGED)}
        if fields["eligible_leader_replicas"] is not None:
            given["elr"] = fields["eligible_leader_replicas"]
        now = now._replace(**given)
    return now


def _decode(value: bytes) -> dict[str, Any]:
    return decode_record(value, read_head(value))
