# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Read records of ``__consumer_offsets``, and define what a salvage holds of them. No I/O.

Keys and values have the layout of Kafka's ``OffsetCommitKey``, ``OffsetCommitValue``, and of the keys of groups. All
keys begin with a version, which says what the record is about (CoordinatorRecordType), and the name of a group.
"""

from __future__ import annotations

import struct
import uuid
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import NamedTuple

from .._model.partition import TopicPartition
from .bulk import UnusualAnswerError, read_varint
from .groups import Commit
from .messages import uuid_text
from .transactions import LostMarker

_COMMIT_VERSIONS = (0, 1)
_GROUP_VERSIONS = frozenset({2, 3, 11, 17})
"""Classic, consumer, share and streams groups: the record that a group exists with."""
_WITH_EPOCH, _FLEXIBLE = (3, 4), (4,)
"""Versions of the value with a leader epoch, and with compact strings."""
_TOPIC_ID_TAG, _UUID_BYTES = 0, 16
_SHORT, _INT, _LONG = struct.Struct(">h"), struct.Struct(">i"), struct.Struct(">q")


class OffsetKey(NamedTuple):
    """What a record of ``__consumer_offsets`` is about."""

    group: str
    partition: TopicPartition | None
    """That of a committed offset. None in all other records."""
    is_group: bool
    """Whether a group exists as long as it has this record."""


class CommitLog(NamedTuple):
    """Records of a partition of ``__consumer_offsets`` that its leader lacked."""

    offset: int
    """That of the first one. Compaction may have removed some before it."""
    epoch: int = -1
    """The oldest leader epoch of them. -1 is not known."""
    last_timestamp_ms: int | None = None
    """The newest time of them, by the coordinator's clock. None is not known."""


@dataclass(frozen=True, slots=True)
class LostLogs:
    """What the logs of the topics of now lack, by all salvages together."""

    first_lost: dict[TopicPartition, int] = field(default_factory=dict)
    """The first offset of each partition that a salvage holds, or that losers held, and that the leader lacked."""
    lost_epochs: dict[TopicPartition, int] = field(default_factory=dict)
    """The oldest leader epoch of what these logs lacked. -1 is not known."""
    markers: dict[tuple[TopicPartition, int], LostMarker] = field(default_factory=dict)
    """The markers of transactions that the leaders lacked, by partition and producer id. Salvages agree on them."""


class LostLog(NamedTuple):
    """What a salvage holds of a partition, or what losers held of it, and what its leader lacked."""

    name: TopicPartition
    topic_id: str | None
    """The id of its topic (Kafka's text). None is not known: it counts as that of now."""
    first_lost: int
    epoch: int
    """The oldest leader epoch of it. -1 is not known."""
    markers: Mapping[int, LostMarker] = MappingProxyType({})
    """By producer id."""


@dataclass(frozen=True, slots=True)
class SavedCommits:
    """What one salvage or several hold about groups."""

    salvage_ids: tuple[str, ...] = ()
    commits: Mapping[tuple[str, TopicPartition], Commit] = field(default_factory=dict)
    """The last commit of each group and partition."""
    lost_logs: Sequence[LostLog] = ()
    """Of the topics of now, and of former ones of their names."""
    since_ms: int = 0
    """No commit is older than this, by the coordinators' clocks. 0 is not known."""
    commit_logs: Mapping[int, CommitLog] = field(default_factory=dict)
    """The logs that the commits are from: partitions of __consumer_offsets."""
    share_log: Mapping[int, Sequence[tuple[bytes, bytes | None]]] = field(default_factory=dict)
    """The records of each partition of __share_group_state, with a key. Most of them are changes (share_state.py)."""
    unsettled: Mapping[tuple[str, TopicPartition], int] = field(default_factory=dict)
    """The highest offset in a transaction of unknown outcome, if no commit is known after it."""
    unread: Collection[TopicPartition] = ()
    """Partitions of __consumer_offsets and __share_group_state with records that could not be read or decoded."""

    @property
    def groups(self) -> set[str]:
        return {group for group, _partition in (*self.commits, *self.unsettled)}

    def lost_of(self, topic_ids: Mapping[str, str]) -> LostLogs:
        """Return what the logs of the topics of now lack. ``topic_ids`` are theirs, by name.

        A former topic of the same name had another log, so its offsets and markers say nothing about this one.
        """
        own = [each for each in self.lost_logs if each.topic_id in {None, topic_ids.get(each.name.topic)}]
        found = LostLogs()
        contradicted = set[tuple[TopicPartition, int]]()
        for name, _topic_id, first, epoch, markers in own:
            found.first_lost[name] = min(first, found.first_lost.get(name, first))
            found.lost_epochs[name] = min(epoch, found.lost_epochs.get(name, epoch))
            for producer, marker in markers.items():
                # After two outages, the same transaction may have ended twice.
                if found.markers.setdefault((name, producer), marker)[1:] != marker[1:]:
                    contradicted.add((name, producer))
        for place in contradicted:
            del found.markers[place]
        return found


def parse_key(key: bytes) -> OffsetKey | None:
    """Return what a record is about; None if that cannot be read."""
    with suppress(struct.error, UnicodeDecodeError):
        version = _SHORT.unpack_from(key)[0]
        group, at = _read_string(key, _SHORT.size)
        if version not in _COMMIT_VERSIONS:
            return OffsetKey(group, None, version in _GROUP_VERSIONS)
        topic, at = _read_string(key, at)
        return OffsetKey(group, TopicPartition(topic, _INT.unpack_from(key, at)[0]), is_group=False)
    return None


def parse_commit(value: bytes | None) -> Commit | None:
    """Return the commit of a value; None if it deletes the commit, or is below 0, which coordinators take for none.

    The layout is known up to version 4; of a newer one, only the offset is.
    """
    if value is None or len(value) < _SHORT.size + _LONG.size:
        return None
    version = _SHORT.unpack_from(value)[0]
    offset, at = _LONG.unpack_from(value, _SHORT.size)[0], _SHORT.size + _LONG.size
    if offset < 0:
        return None
    epoch, metadata, topic_id = -1, "", None
    with suppress(struct.error, UnicodeDecodeError, IndexError, UnusualAnswerError):
        if version in _WITH_EPOCH:
            (epoch,) = _INT.unpack_from(value, at)
            at += _INT.size
        if version in _FLEXIBLE:
            length, at = read_varint(value, at)
            metadata = value[at : at + length - 1].decode()
            topic_id = _find_topic_id(value, at + length - 1 + _LONG.size)
        elif version <= max(_WITH_EPOCH):
            metadata, _at = _read_string(value, at)
    return Commit(offset, epoch, metadata, topic_id)


def _find_topic_id(value: bytes, at: int) -> str | None:
    """Return the topic id among the tagged fields, which begin here. Consumers of Kafka 4.1 and later commit it."""
    count, at = read_varint(value, at)
    for _number in range(count):
        tag, at = read_varint(value, at)
        size, at = read_varint(value, at)
        if tag == _TOPIC_ID_TAG and size == _UUID_BYTES and at + size <= len(value):
            return uuid_text(uuid.UUID(bytes=value[at : at + size]))
        at += size
    return None


def _read_string(data: bytes, at: int) -> tuple[str, int]:
    """Return a string and the position after it."""
    (length,) = _SHORT.unpack_from(data, at)
    start = at + _SHORT.size
    return data[start : start + length].decode(), start + length
