# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Read a copy of the controllers' metadata log on a disk: identity, voters, epochs, checksums, content. Writes nothing.

A copy may be in use: then it is read up to the end that its newest segment had when the reading began.
"""

from __future__ import annotations

import hashlib
import os
import re
import struct
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NamedTuple

from .._disk.log_dir import LogDirError, is_in_use, list_segments, read_log_dir
from .._disk.segment import Batch, Damage, DamageKind, Segment, read_segment
from .._kafka.metadata_records import MetadataRecordError, RecordType, read_head
from .._kafka.record_batch import SNAPSHOT_FOOTER, BatchError, BatchHeader, control_type, decode_records
from .._kafka.voters_record import KRAFT_VERSION, KRAFT_VOTERS, decode_kraft_version, decode_voters
from .._model.log_contents import EpochRange, Stretches
from .._model.quorum import VoterNode
from .beyond import Overtaken
from .contents import MetadataImage
from .copy import CopyState, LogCopy, Snapshot
from .node import METADATA_DIR, NodeFileError, NodeProperties, read_vote
from .overtaken import PartitionChanges

_SNAPSHOT = re.compile(r"(\d{20})-(\d{10})\.checkpoint")
_BATCH = struct.Struct(">qiI")
_MOST_LINES = 200
_MOST_DAMAGES = 5


@dataclass
class CopyReading:
    """What a reading of one copy found."""

    copy: LogCopy
    beyond: list[str] = field(default_factory=list)
    """What the records say that another copy lacks."""
    beyond_count: int = 0
    overtaken: tuple[Overtaken, ...] = ()
    """The replicas that these records took out of the ISR."""
    checksum_at_mark: str | None = None
    """The checksum over everything before the offset ``mark``. None if no batch ends there."""
    blocked_by: str | None = None
    """The snapshot that ends where a metadata transaction begins."""
    read_up_to: int = 0
    """The end offset of the segments."""
    since_mark: list[str] = field(default_factory=list)
    """What the records after the mark say."""


@dataclass
class _State:
    image: MetadataImage = field(default_factory=MetadataImage)
    voters: tuple[VoterNode, ...] = ()
    kraft_version: int = 0
    checksum: hashlib._Hash = field(default_factory=hashlib.sha256)
    lineage: list[EpochRange] = field(default_factory=list)
    last_ms: int = -1
    has_footer: bool = False

    def digest(self) -> str:
        return f"sha256:{self.checksum.hexdigest()}"

    def take(self, batch: Batch) -> None:
        """Apply a batch. Raises MetadataRecordError or BatchError."""
        header = batch.header
        self.checksum.update(_BATCH.pack(header.base_offset, header.leader_epoch, header.crc))
        self.last_ms = header.max_timestamp
        records = list(decode_records(header, batch.data))
        if not header.is_control:
            self.image.apply([each.value or b"" for each in records])
            return
        for each in records:
            kind = control_type(each.key)
            if kind == KRAFT_VOTERS:
                self.voters = decode_voters(each.value or b"")
            elif kind == KRAFT_VERSION:
                self.kraft_version = decode_kraft_version(each.value or b"")
            self.has_footer = self.has_footer or kind == SNAPSHOT_FOOTER


def read_copy(
    host: str,
    log_dir: str,
    properties: NodeProperties | None,
    *,
    lacking: Stretches = (),
    mark: int | None = None,
    is_ours: bool = False,
) -> CopyReading:
    """Read the copy of the metadata log in a log directory. Problems of the disk are in the result's ``state``.

    Args:
        host: the name of this host in the inventory.
        log_dir: the directory with ``meta.properties`` and ``__cluster_metadata-0``.
        properties: of the node, if they were given.
        lacking: ranges whose records are to be described.
        mark: an offset: return the checksum up to it, and describe what follows.
        is_ours: this process holds the lock of the directory. To look at the lock would release it.
    """
    copy = LogCopy(host=host, properties_file=None, log_dir=log_dir, state=CopyState.MISSING)
    if properties is not None:
        copy = replace(
            copy,
            properties_file=properties.path,
            node_id=properties.node_id,
            roles=properties.roles,
            static_voters=properties.static_voters,
            advertised=properties.advertised,
            listener_names=properties.listener_names,
        )
    metadata_dir = str(Path(log_dir, METADATA_DIR))
    if not Path(log_dir, "meta.properties").is_file() or not Path(metadata_dir).is_dir():
        what = f"{log_dir} has no meta.properties or no {METADATA_DIR}"
        return CopyReading(replace(copy, reason=f"{what}: the disk is empty, or it is not the one that the node used"))
    try:
        identity = read_log_dir(log_dir)
        copy = replace(
            copy,
            state=CopyState.WHOLE,
            cluster_id=identity.cluster_id,
            directory_id=identity.directory_id,
            is_running=not is_ours and is_in_use(log_dir),
            vote=read_vote(metadata_dir),
        )
        if copy.node_id is not None and identity.node_id != copy.node_id:
            reason = f"{log_dir} is the disk of node {identity.node_id}, and {copy.properties_file} is that of node "
            return CopyReading(replace(copy, state=CopyState.DAMAGED, reason=f"{reason}{copy.node_id}"))
        copy = replace(copy, node_id=identity.node_id)
        return _read_log(copy, metadata_dir, _Wanted(lacking, mark))
    except (LogDirError, NodeFileError) as error:
        return CopyReading(replace(copy, state=CopyState.UNREADABLE, reason=str(error)))
    except OSError as error:
        reason = f"{error.filename or metadata_dir} could not be read: {error.strerror}"
        return CopyReading(replace(copy, state=CopyState.UNREADABLE, reason=reason))


class _Wanted(NamedTuple):
    """What is asked for besides the copy itself; see ``read_copy``."""

    lacking: Stretches
    mark: int | None


def _read_log(copy: LogCopy, metadata_dir: str, wanted: _Wanted, removed: tuple[str, ...] = ()) -> CopyReading:
    """Read a log as Kafka does when it starts: if it ends before its newest snapshot, all of it is cut off.

    A log with damage stays damaged: it may have held more. A snapshot with which no controller starts as the leader is
    left out if the log goes on from an earlier one, or from the beginning.
    """
    segments = list_segments(metadata_dir)
    found = _LogReader(copy, metadata_dir, segments, wanted, removed).read()
    snapshot = found.copy.snapshot
    if found.blocked_by is not None and found.copy.state is CopyState.WHOLE:
        names = (*removed, found.blocked_by)
        without = _read_log(copy, metadata_dir, wanted, names)
        if without.copy.state is CopyState.WHOLE and not without.copy.is_blocked:
            if without.copy.snapshots_to_remove:
                return without
            paths = tuple(str(Path(metadata_dir, each)) for each in names)
            return replace(without, copy=replace(without.copy, snapshots_to_remove=paths))
        return replace(found, copy=replace(found.copy, is_blocked=True))
    is_cut = snapshot is not None and bool(segments) and found.read_up_to < snapshot.end_offset
    if not is_cut or found.copy.state is not CopyState.WHOLE:
        return found
    found = _LogReader(copy, metadata_dir, (), wanted, removed).read()
    return replace(found, copy=replace(found.copy, ends_before_snapshot=True))


class _LogReader:
    """Reads the log of one copy once, from the newest snapshot on."""

    def __init__(
        self,
        copy: LogCopy,
        metadata_dir: str,
        segments: Sequence[Segment],
        wanted: _Wanted,
        removed: Collection[str],
    ) -> None:
        self._reading = CopyReading(copy)
        self._removed = removed
        self._segments = segments
        self._metadata_dir = metadata_dir
        self._lacking, self._mark = wanted
        self._state = _State()
        self._damages: list[str] = []
        self._snapshot: Snapshot | None = None
        self._snapshot_name = ""
        self._expected = 0
        self._valid_bytes = self._torn_bytes = 0
        self._changes = PartitionChanges(0, wanted.lacking)

    def read(self) -> CopyReading:
        segments = self._segments
        self._expected = segments[0].base_offset if segments else 0
        self._snapshot, snapshot_error = self._read_snapshot()
        if snapshot_error:
            self._damages.append(snapshot_error)
        elif self._snapshot is not None and self._snapshot.end_offset == self._mark:
            self._reading.checksum_at_mark = self._state.digest()  # The log may have no batch before it.
        for segment in segments:
            self._read_segment(segment, is_last=segment is segments[-1])
        end = max(self._expected, self._snapshot.end_offset if self._snapshot else 0)
        start = segments[0].base_offset if segments else end
        self._reading.read_up_to = self._expected
        self._changes.log_start = start
        if start > 0 and (self._snapshot is None or self._snapshot.end_offset < start):
            self._damages.append(f"the log starts at offset {start}, and no complete snapshot covers the rest")
        copy, state = self._reading.copy, self._state
        try:
            self._reading.overtaken = self._changes.find(state.image.topic)
        except MetadataRecordError as error:
            self._damages.append(str(error))
        self._reading.copy = replace(
            copy,
            state=CopyState.DAMAGED if self._damages else CopyState.WHOLE,
            reason="; ".join(self._damages[:_MOST_DAMAGES]),
            kraft_version=state.kraft_version,
            voters=state.voters,
            log_start_offset=start,
            log_end_offset=end,
            lineage_ranges=tuple(state.lineage),
            snapshot=self._snapshot,
            segment=segments[-1].path if segments else None,
            segment_bytes=self._valid_bytes,
            torn_bytes=0 if copy.is_running else self._torn_bytes,
            last_batch_ms=state.last_ms,
            # A log that is closed in order gets a snapshot of its producers at its end; a crash leaves none there.
            stopped_cleanly=None if copy.is_running else Path(self._metadata_dir, f"{end:020}.snapshot").exists(),
            checksum=state.digest(),
            contents=state.image.contents(),
        )
        return self._reading

    def _read_snapshot(self) -> tuple[Snapshot | None, str]:
        """Apply the newest snapshot, and return it. Otherwise say what is wrong with it.

        To compare the log up to ``mark``, the newest one before it is taken, if the log goes on from there. The name
        of a snapshot is final only after its content is on the disk, so an incomplete one is damaged.
        """
        found = [
            (int(match[1]), int(match[2]), match[0])
            for match in map(_SNAPSHOT.fullmatch, os.listdir(self._metadata_dir))
            if match and match[0] not in self._removed
        ]
        if self._mark is not None:
            earlier = [each for each in found if self._expected <= each[0] <= self._mark]
            found = earlier if earlier or self._expected == 0 else found
        if not found:
            return None, ""
        end, epoch, name = max(found)
        self._changes.snapshot_end = end
        path = Path(self._metadata_dir, name)
        size = path.stat().st_size
        with open(path, "rb", buffering=0) as file:
            for each in read_segment(file, Segment(str(path), 0, size)):
                if isinstance(each, Damage):
                    return None, f"{path}: {each.kind} from byte {each.position} on"
                try:
                    self._state.take(each)
                    if self._lacking:
                        self._changes.take_snapshot(_values(each))
                except (MetadataRecordError, BatchError) as error:
                    return None, f"{path}: {error}"
        if not self._state.has_footer:
            return None, f"{path} has no end"
        self._snapshot_name = name
        return Snapshot(end, epoch, size), ""

    def _read_segment(self, segment: Segment, *, is_last: bool) -> None:
        self._valid_bytes = self._torn_bytes = 0
        with open(segment.path, "rb", buffering=0) as file:
            for found in read_segment(file, segment):
                if isinstance(found, Batch):
                    self._take(segment, found)
                elif found.kind is DamageKind.TORN_TAIL and is_last:
                    self._torn_bytes = found.size
                else:
                    self._damages.append(f"{segment.path}: {found.kind} from byte {found.position} on")
        if segment.end_offset is not None and segment.end_offset != self._expected:
            self._damages.append(f"{segment.path}: offsets {self._expected} to {segment.end_offset - 1} are missing")
            self._expected = segment.end_offset

    def _take(self, segment: Segment, batch: Batch) -> None:
        header, state = batch.header, self._state
        if header.base_offset != self._expected:
            missing = f"{self._expected} to {header.base_offset - 1}"
            self._damages.append(f"{segment.path}: offsets {missing} are missing")
        self._expected = header.next_offset
        self._valid_bytes = batch.position + header.size
        _extend(state.lineage, header.offsets)
        is_in_snapshot = self._snapshot is not None and header.next_offset <= self._snapshot.end_offset
        try:
            values = _values(batch)
            if self._snapshot is not None and header.base_offset == self._snapshot.end_offset and _begins(values):
                self._reading.blocked_by = self._snapshot_name
            self._describe(header, values)  # before a deletion takes a topic's name away
            if not is_in_snapshot:
                state.take(batch)
            if self._lacking:
                self._changes.take(values, header.offsets)
        except (MetadataRecordError, BatchError) as error:
            self._damages.append(f"offset {header.base_offset}: {error}")
        if header.next_offset == self._mark:
            self._reading.checksum_at_mark = state.digest()

    def _describe(self, header: BatchHeader, values: Sequence[bytes]) -> None:
        """Add what the records say to the lists that they belong to."""
        reading, describe = self._reading, self._state.image.describe
        is_lacking = any(
            each.epoch == header.leader_epoch and each.start_offset <= header.base_offset < each.end_offset
            for each in self._lacking
        )
        if is_lacking:
            reading.beyond_count += header.last_offset_delta + 1
        if is_lacking and len(reading.beyond) < _MOST_LINES:
            reading.beyond += filter(None, map(describe, values))
        if self._mark is not None and header.base_offset >= self._mark and len(reading.since_mark) < _MOST_LINES:
            reading.since_mark += filter(None, map(describe, values))


def _extend(lineage: list[EpochRange], found: EpochRange) -> None:
    last = lineage[-1] if lineage else None
    if last is not None and last.epoch == found.epoch:
        lineage[-1] = last._replace(end_offset=found.end_offset)
    else:
        lineage.append(found)


def _begins(values: Sequence[bytes]) -> bool:
    """Return whether a metadata transaction (KIP-868) begins with the first record. Raises MetadataRecordError."""
    return bool(values) and read_head(values[0]).number == RecordType.BEGIN_TRANSACTION


def _values(batch: Batch) -> list[bytes]:
    """Return the metadata records of a batch. Raises BatchError."""
    header = batch.header
    return [] if header.is_control else [each.value or b"" for each in decode_records(header, batch.data)]
