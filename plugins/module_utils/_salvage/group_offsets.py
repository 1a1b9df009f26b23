# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Find groups whose saved committed offset is higher than the cluster's. Reads records of ``__consumer_offsets``.

Such records are never replayed: the group's coordinator would not read them, and its later commits count. Module
group_recovery commits their offsets instead. Keys and values have the layout of Kafka's ``OffsetCommitKey`` and
``OffsetCommitValue``.
"""

from __future__ import annotations

import struct
import uuid
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

from .._kafka import groups as live_groups
from .._kafka.bulk import UnusualAnswerError, read_varint
from .._kafka.cluster import Cluster
from .._kafka.errors import BrokerCallError, RequestRefusedError
from .._kafka.groups import Commit
from .._kafka.messages import uuid_text
from .._kafka.wire import Wire
from .._model.fields import Offset, PartitionIndex, TopicName
from .._model.partition import OFFSETS_TOPIC, SHARE_STATE_TOPIC, TopicPartition
from .manifest import ManifestError, find_file_problems, read_manifest
from .options import resolve_place
from .saved_rows import read_saved_runs
from .saved_run import SavedRun, committed_records

_COMMIT_VERSIONS = (0, 1)
_WITH_EPOCH, _FLEXIBLE = (3, 4), (4,)
"""Versions of the value with a leader epoch, and with compact strings."""
_TOPIC_ID_TAG, _UUID_BYTES = 0, 16
_SHORT, _INT, _LONG = struct.Struct(">h"), struct.Struct(">i"), struct.Struct(">q")


@dataclass(frozen=True, slots=True)
class NewerCommit:
    """A saved committed offset that is higher than the cluster's."""

    group: str
    topic: TopicName
    partition: PartitionIndex
    saved_offset: Offset
    committed_offset: Offset | None
    """None if the cluster has none, or if the coordinator did not answer."""


def read_commits(runs: Iterable[SavedRun]) -> dict[tuple[str, TopicPartition], Commit]:
    """Return the last commit of each group and partition, without deleted ones."""
    found: dict[tuple[str, TopicPartition], Commit] = {}
    for key, value in committed_records(runs):
        group_partition = _parse_key(key)
        if group_partition is None:
            continue
        if value is None or len(value) < _SHORT.size + _LONG.size:
            found.pop(group_partition, None)
        else:
            found[group_partition] = _parse_value(value)
    return found


def _parse_value(value: bytes) -> Commit:
    """Return the commit of a value. Its layout is known up to version 4; of a newer one, only the offset is."""
    version = _SHORT.unpack_from(value)[0]
    offset, at = _LONG.unpack_from(value, _SHORT.size)[0], _SHORT.size + _LONG.size
    epoch, metadata, topic_id = -1, "", None
    with suppress(struct.error, UnicodeDecodeError, IndexError, UnusualAnswerError):
        if version in _WITH_EPOCH:
            (epoch,) = _INT.unpack_from(value, at)
            at += _INT.size
        if version in _FLEXIBLE:
            length, at = read_varint(memoryview(value), at)
            metadata = value[at : at + length - 1].decode()
            topic_id = _find_topic_id(value, at + length - 1 + _LONG.size)
        elif version <= max(_WITH_EPOCH):
            metadata, _at = _read_string(value, at)
    return Commit(offset, epoch, metadata, topic_id)


def _find_topic_id(value: bytes, at: int) -> str | None:
    """Return the topic id among the tagged fields, which begin here. Consumers of Kafka 4.1 and later commit it."""
    view = memoryview(value)
    count, at = read_varint(view, at)
    for _number in range(count):
        tag, at = read_varint(view, at)
        size, at = read_varint(view, at)
        if tag == _TOPIC_ID_TAG and size == _UUID_BYTES and at + size <= len(value):
            return uuid_text(uuid.UUID(bytes=value[at : at + size]))
        at += size
    return None


def find_newer_commits(
    wire: Wire, cluster: Cluster, saved: Mapping[tuple[str, TopicPartition], Commit]
) -> tuple[NewerCommit, ...]:
    """Return the saved offsets that are higher than the coordinators', in order of group, topic and partition."""
    if not saved:
        return ()
    known: dict[tuple[str, TopicPartition], int] = {}
    groups = sorted({group for group, _partition in saved})
    partitions = sorted({partition for _group, partition in saved})
    for each in cluster.registrations:
        # The groups of a coordinator that does not answer have no committed offset here.
        with suppress(BrokerCallError, RequestRefusedError):
            led = live_groups.group_states(wire, each.address)
            found = live_groups.read_commits(
                wire, each.address, [group for group in groups if group in led], partitions
            )
            known |= {(group, name): at for group, one in found.items() for name, at in one.offsets.items()}
    return tuple(
        NewerCommit(group, name.topic, name.partition, commit.offset, known.get((group, name)))
        for (group, name), commit in sorted(saved.items(), key=lambda each: each[0])
        if commit.offset > known.get((group, name), -1)
    )


def _parse_key(key: bytes) -> tuple[str, TopicPartition] | None:
    """Return the group and partition of a key; None if the record is no offset commit."""
    with suppress(struct.error, UnicodeDecodeError):
        if _SHORT.unpack_from(key)[0] not in _COMMIT_VERSIONS:
            return None
        group, at = _read_string(key, _SHORT.size)
        topic, at = _read_string(key, at)
        return group, TopicPartition(topic, _INT.unpack_from(key, at)[0])
    return None


def _read_string(data: bytes, at: int) -> tuple[str, int]:
    """Return a string and the position after it."""
    (length,) = _SHORT.unpack_from(data, at)
    start = at + _SHORT.size
    return data[start : start + length].decode(), start + length


@dataclass(frozen=True, slots=True)
class SavedOffsets:
    """What a salvage holds about the committed offsets of groups."""

    cluster_id: str
    salvage_id: str
    commits: Mapping[tuple[str, TopicPartition], Commit]
    """The last commit of each group and partition."""
    first_lost: Mapping[TopicPartition, int]
    """The first offset of each partition that the salvage holds, or that losers held, and that the leader lacked."""
    share_log: Mapping[int, Sequence[tuple[bytes, bytes | None]]]
    """The records of each partition of __share_group_state, with a key. Most of them are changes (share_state.py)."""


def read_saved_offsets(place: str) -> SavedOffsets:
    """Verify the files of a salvage directory and read its commits.

    ``place`` is a local path or a URI. Raises KafkaOpsError, also if a file differs from the manifest.
    """
    from .remote import local_copy  # noqa: PLC0415 - PySpark takes half a second to import

    with local_copy(resolve_place(place)) as directory:
        manifest = read_manifest(directory)
        problems = find_file_problems(directory, manifest.files)
        if problems:
            raise ManifestError("; ".join(problems))
        commits = read_commits(read_saved_runs(directory, manifest.files, {OFFSETS_TOPIC}, contents=True))
        share_log: dict[int, list[tuple[bytes, bytes | None]]] = {}
        for run in read_saved_runs(directory, manifest.files, {SHARE_STATE_TOPIC}, contents=True):
            share_log.setdefault(run.partition, []).extend(committed_records([run]))
    first_lost: dict[TopicPartition, int] = {}
    held = ((each.topic_partition, each.ranges) for each in manifest.held)
    saved = ((each.topic_partition, each.ranges) for each in manifest.partitions)
    for name, ranges in (*held, *saved):
        for part in ranges:
            first_lost[name] = min(part.start_offset, first_lost.get(name, part.start_offset))
    return SavedOffsets(manifest.cluster_id, manifest.salvage_id, commits, first_lost, share_log)
