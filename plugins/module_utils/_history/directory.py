# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Read the copy of the metadata log in a log directory of a controller or of a broker. Writes nothing.

Each node has one: ``__cluster_metadata-0`` in its first log directory. The node may run, or be stopped for good.

A copy does not say how much of its end is committed. So of an offline partition, only a history counts that ends as
the brokers say that the partition is now, in the same leader epoch: then everything up to that change is committed, and
no leader came and went after the end of the copy. What else happened after it is not known.
"""

from __future__ import annotations

import re
import time
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from .._disk.log_dir import LogDirError, list_segments, read_log_dir
from .._disk.segment import Damage, DamageKind, Segment, read_headers
from .._kafka.metadata_log import (
    FIRST_RECORD,
    MetadataBatch,
    MetadataLogError,
    MetadataLogRange,
    SnapshotId,
    decode_batches,
    ends_with_footer,
)
from .._model.metadata_history import MetadataHistory, PartitionMoment
from .._model.outage import utc_text
from .._model.partition import METADATA_TOPIC, PartitionState, TopicPartition
from .._model.reasons import plural

_SNAPSHOT = re.compile(r"(\d{20})-(\d{10})\.checkpoint")
_PIECE_BYTES = 1024 * 1024
_STALE_MS = 10_000
"""The active controller writes every 500 ms, and a node that runs gets it within a second."""


class _Mark(NamedTuple):
    """A batch begins here."""

    offset: int
    position: int


@dataclass(frozen=True, slots=True)
class _Index:
    """Where batches begin in a segment, about every MiB, and where the last valid one ends."""

    path: str
    marks: tuple[_Mark, ...]
    end: _Mark


class MetadataDirectory:
    """The metadata log in a log directory: the same methods as ``MetadataLog``."""

    def __init__(self, log_dir: str, cluster_id: str, piece_bytes: int = _PIECE_BYTES) -> None:
        """Open the copy. Of its segments, about ``piece_bytes`` are read at once.

        Raises MetadataLogError if there is no metadata log, or that of another cluster.
        """
        self._piece_bytes = piece_bytes
        self._path = Path(log_dir, f"{METADATA_TOPIC}-0")
        self.source = f"the metadata log in {self._path}"
        self.read_bytes = 0
        """Bytes of records so far."""
        try:
            found = read_log_dir(log_dir).cluster_id
            if found != cluster_id:
                raise MetadataLogError(f"{log_dir} is of cluster {found}, and not of {cluster_id}")
            self._segments = list_segments(str(self._path))
        except LogDirError as error:
            raise MetadataLogError(str(error)) from None
        if not self._segments:
            raise MetadataLogError(f"{self._path} has no segment of the metadata log")
        self._indexes: dict[str, _Index] = {}

    def range(self) -> MetadataLogRange:
        """Return where the copy begins and ends, and its newest complete snapshot. Raises MetadataLogError."""
        for before, after in pairwise(self._segments):
            end = self._index(before).end.offset
            if end != after.base_offset:
                raise MetadataLogError(
                    f"{self.source} is truncated: {before.path} ends at offset {end}, and the next segment begins at "
                    f"{after.base_offset}"
                )
        start, end = self._segments[0].base_offset, self._index(self._segments[-1]).end.offset
        if start == end and not self._snapshots():
            raise MetadataLogError(f"{self.source} has no records: the copy is not complete")
        snapshot = next((each for each in self._snapshots() if each.end_offset <= end), None)
        if start > FIRST_RECORD and (snapshot is None or snapshot.end_offset < start):
            raise MetadataLogError(
                f"{self.source} begins at offset {start}, and the snapshot of what was before is missing"
            )
        return MetadataLogRange(max(FIRST_RECORD, start) if snapshot else start, end, snapshot)

    def batches(self, start: int, end: int, stop: Callable[[], bool] = lambda: False) -> Iterator[MetadataBatch]:
        """Yield the batches that have an offset from ``start``, inclusive, to ``end``, exclusive.

        Raises MetadataLogError: a batch is damaged.
        """
        for segment in self._segments:
            if segment.base_offset >= end or (segment.end_offset is not None and segment.end_offset <= start):
                continue
            index = self._index(segment)
            first = max(bisect_right(index.marks, start, key=lambda each: each.offset) - 1, 0)
            edges = [*index.marks[first:], index.end]
            for mark, following in pairwise(edges):
                if mark.offset >= end or stop():
                    return
                for batch in decode_batches(self._read(index.path, mark.position, following.position)):
                    if batch.base_offset >= end:
                        return
                    if batch.next_offset > start:
                        yield batch

    def snapshot(self, snapshot: SnapshotId, max_bytes: int, stop: Callable[[], bool] = lambda: False) -> bytes | None:
        """Return the content of a snapshot. None if it has more than ``max_bytes``.

        Raises MetadataLogError: it cannot be read, or it is only a part. A config that is missing there would be taken
        for one that is not set, and a promise would be proven by the wrong value.
        """
        path = self._path / f"{snapshot.end_offset:020}-{snapshot.epoch:010}.checkpoint"
        try:
            size = path.stat().st_size
        except OSError as error:
            raise MetadataLogError(f"{path} cannot be read: {error.strerror}") from None
        if size > max_bytes or stop():
            return None
        content = self._read(str(path), 0, size)
        if not ends_with_footer(content):
            raise MetadataLogError(f"{path} is truncated: it has no footer. Copy it again")
        return content

    def _snapshots(self) -> list[SnapshotId]:
        """Return the snapshots, newest first. A node gives one this name when it is complete."""
        try:
            names = [_SNAPSHOT.fullmatch(each.name) for each in self._path.iterdir()]
        except OSError as error:
            raise MetadataLogError(f"{self._path} cannot be listed: {error.strerror}") from None
        return sorted((SnapshotId(int(each[1]), int(each[2])) for each in names if each), reverse=True)

    def _index(self, segment: Segment) -> _Index:
        if segment.path not in self._indexes:
            self._indexes[segment.path] = self._indexed(segment)
        return self._indexes[segment.path]

    def _indexed(self, segment: Segment) -> _Index:
        marks: list[_Mark] = []
        end = _Mark(segment.base_offset, 0)
        try:
            with open(segment.path, "rb", buffering=0) as file:
                for found in read_headers(file, segment):
                    if isinstance(found, Damage):
                        if found.kind is DamageKind.TORN_TAIL and segment is self._segments[-1]:
                            break  # the node writes just now, or it died while it wrote
                        raise MetadataLogError(f"{segment.path} is damaged at byte {found.position}: {found.kind}")
                    if not marks or found.position - marks[-1].position >= self._piece_bytes:
                        marks.append(_Mark(found.header.base_offset, found.position))
                    end = _Mark(found.header.next_offset, found.position + found.header.size)
        except OSError as error:
            raise MetadataLogError(f"{segment.path} cannot be read: {error.strerror}") from None
        return _Index(segment.path, tuple(marks), end)

    def _read(self, path: str, begin: int, end: int) -> bytes:
        try:
            with open(path, "rb") as file:
                file.seek(begin)
                content = file.read(end - begin)
        except OSError as error:
            raise MetadataLogError(f"{path} cannot be read: {error.strerror}") from None
        self.read_bytes += len(content)
        return content


def confirmed(
    history: MetadataHistory, states: Mapping[TopicPartition, PartitionState], source: str, now_ms: int | None = None
) -> tuple[MetadataHistory, list[str]]:
    """Return what of a copy's history the brokers confirm, and what is missing.

    A partition's history must end as the brokers describe it now.
    """
    now = round(time.time() * 1000) if now_ms is None else now_ms
    # A copy from the future shows that the clocks differ. Then its age is not known.
    is_stale = abs(now - history.ends_at_ms) > _STALE_MS
    partitions, differing = dict(history.partitions), []
    for partition, state in states.items():
        found = history.partitions.get(partition)
        if found is None or not found.moments or not _is_now(found.moments[-1], state, is_stale=is_stale):
            partitions.pop(partition, None)
            differing.append(str(partition))
    missing = []
    if differing:
        missing.append(
            f"{source} does not have the last change of {plural(len(differing), 'partition')}, such as "
            f"{differing[0]}: take the directory of a node that runs"
        )
    if is_stale:
        doubt = "what happened since is not known" if now > history.ends_at_ms else "this host's clock is behind it"
        missing.append(f"{source} ends at {utc_text(history.ends_at_ms)}: {doubt}")
    return replace(history, partitions=partitions, ends_early=is_stale), missing


def _is_now(last: PartitionMoment, state: PartitionState, *, is_stale: bool) -> bool:
    """Return whether the last change that a copy has is the last one of all.

    The same leader and ISR may come again, but each leader has an epoch of its own. Without a snapshot, no record may
    say the epoch: that is good enough for the copy of a node that runs, but not for an old one.
    """
    if last.leader_id != state.leader_id or last.isr is None or {*last.isr} != {*state.isr}:
        return False
    return not is_stale if last.leader_epoch is None else last.leader_epoch == state.leader_epoch
