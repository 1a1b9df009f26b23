# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Find groups whose saved committed offset is higher than the cluster's. Reads records of ``__consumer_offsets``.

Such records are never given back: the group's coordinator would not read them, and its later commits count. Keys and
values have the layout of Kafka's ``OffsetCommitKey`` and ``OffsetCommitValue``.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass

from .._kafka.cluster import Cluster
from .._kafka.errors import BrokerCallError, RequestRefusedError
from .._kafka.groups import committed_offsets, coordinated_groups
from .._kafka.wire import Wire
from .._model.fields import Offset, PartitionIndex, TopicName
from .._model.partition import TopicPartition
from .markers import TransactionOutcome
from .saved_run import SavedRun

_COMMIT_VERSIONS = (0, 1)
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


def read_commits(runs: Iterable[SavedRun]) -> dict[tuple[str, TopicPartition], int]:
    """Return the last committed offset of each group and partition, without deleted ones."""
    found: dict[tuple[str, TopicPartition], int] = {}
    for run in runs:
        if run.is_control or run.outcome in (TransactionOutcome.ABORTED, TransactionOutcome.UNKNOWN):
            continue
        for key, value in zip(run.keys, run.values, strict=True):
            group_partition = None if key is None else _parse_key(key)
            if group_partition is None:
                continue
            if value is None or len(value) < _SHORT.size + _LONG.size:
                found.pop(group_partition, None)
            else:
                found[group_partition] = _LONG.unpack_from(value, _SHORT.size)[0]
    return found


def find_newer_commits(
    wire: Wire, cluster: Cluster, saved: Mapping[tuple[str, TopicPartition], int]
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
            led = set(coordinated_groups(wire, each.address))
            found = committed_offsets(wire, each.address, [group for group in groups if group in led], partitions)
            known |= {(group, name): at for group, one in found.items() for name, at in one.offsets.items()}
    return tuple(
        NewerCommit(group, name.topic, name.partition, offset, known.get((group, name)))
        for (group, name), offset in sorted(saved.items())
        if offset > known.get((group, name), -1)
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
