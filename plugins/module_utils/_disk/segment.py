# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Read one log segment file batch by batch, without its indexes, in bounded memory.

Bytes that cannot be read are reported as ``Damage``, and reading continues after them. Headers alone show which epochs
and offsets a file holds. Only the checksums show whether the records are intact.
"""

from __future__ import annotations

import errno
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import BinaryIO, NamedTuple, TypeAlias

from .._kafka.record_batch import (
    HEADER_BYTES,
    MAGIC,
    MAGIC_AT,
    BatchHeader,
    has_valid_checksum,
    read_header,
)
from .._model.fields import Offset, SizeBytes
from .failing_file import FailingFile

_CHUNK_BYTES = 4 * 1024 * 1024
_HEADER_CHUNK_BYTES, _HEADER_PIECE_BYTES = 1024 * 1024, 4096
_MAGIC_BYTE = bytes([MAGIC])
_NOTHING = memoryview(b"")
_FAR_BYTES = 128 * 1024
"""If the next header is farther away than this, reading it alone is faster than reading everything up to it."""
_FARTHEST = 2**31
"""All offsets of a segment are less than this above its base offset, because its index has 4 bytes for them."""


@dataclass(frozen=True, slots=True)
class Segment:
    """One segment file. ``size`` is in bytes, as the directory listing said."""

    path: str
    base_offset: int
    size: int
    end_offset: int | None = None
    """Base offset of the next segment; None for the last segment."""


class DamageKind(StrEnum):
    """Why bytes of a segment could not be read."""

    TORN_TAIL = "torn_tail"
    """The file ends within a batch or with other bytes: the broker died while it wrote."""
    CORRUPT = "corrupt"
    """A batch has a wrong checksum, or a header that contradicts the neighboring batches."""
    OLD_FORMAT = "old_format"
    """Message format v0 or v1, which Kafka 3.0 and later do not write."""
    UNREADABLE = "unreadable"
    """The disk refused to read some of these bytes (EIO)."""


@dataclass(frozen=True, slots=True)
class Damage:
    """Bytes that were skipped. They may have had the offsets from ``from_offset`` to ``to_offset``, exclusive."""

    kind: DamageKind
    position: SizeBytes
    size: SizeBytes
    from_offset: Offset
    to_offset: Offset | None
    """None if no batch follows in this file."""


class Batch(NamedTuple):
    """A batch of a segment file."""

    position: int
    header: BatchHeader
    data: memoryview
    """The whole batch, header included. Its checksum is valid. Empty if only headers are read."""


Found: TypeAlias = "Batch | Damage"


def read_segment(file: BinaryIO, segment: Segment) -> Iterator[Found]:
    """Yield all batches of a segment file in order, and the damages between them.

    A file that is still growing is read up to ``segment.size``.
    """
    return _Reader(file, segment, headers_only=False).found()


def read_headers(file: BinaryIO, segment: Segment) -> Iterator[Found]:
    """Yield the same by the headers alone, without reading the records."""
    return _Reader(file, segment, headers_only=True).found()


class _Reader:
    def __init__(self, file: BinaryIO, segment: Segment, *, headers_only: bool) -> None:
        self._file = FailingFile(file)
        self._size = segment.size
        self._headers_only = headers_only
        self._lowest = segment.base_offset
        self._highest = segment.base_offset + _FARTHEST if segment.end_offset is None else segment.end_offset
        self._epoch = -1
        self._position = 0
        self._buffer = memoryview(b"")
        self._buffer_at = 0

    def found(self) -> Iterator[Found]:
        while self._position < self._size:
            header = self._read_header_at(self._position)
            if header is not None and self._fits_position(header, self._position):
                data = _NOTHING if self._headers_only else self._read_bytes(self._position, header.size)
                is_intact = self._headers_only or has_valid_checksum(header, data)
                if is_intact and not self._contradicts_next_header(header):
                    yield Batch(self._position, header, data)
                    self._move_past(header)
                    continue
            yield self._skip_damage(header)

    def _move_past(self, header: BatchHeader) -> None:
        self._position += header.size
        self._lowest = header.next_offset
        self._epoch = header.leader_epoch

    def _fits_position(self, header: BatchHeader, position: int) -> bool:
        return (
            header.is_plausible
            and self._lowest <= header.base_offset < header.next_offset <= self._highest
            and header.leader_epoch >= self._epoch
            and position + header.size <= self._size
        )

    def _contradicts_next_header(self, header: BatchHeader) -> bool:
        """Compare base offset and epoch, which no checksum covers, with those of the next batch."""
        following = self._read_header_at(self._position + header.size)
        if following is None or not following.is_plausible:
            return False
        is_offset_wrong = self._lowest <= following.base_offset < header.next_offset
        is_epoch_wrong = self._epoch <= following.leader_epoch < header.leader_epoch
        return is_offset_wrong or is_epoch_wrong

    def _skip_damage(self, header: BatchHeader | None) -> Damage:
        """Continue at the next batch: where the length in the header says, or where a search finds one."""
        start, from_offset = self._position, self._lowest
        if header is not None and self._is_old_format(header):
            return self._skip_old_format(header)
        following = self._find_next_batch(header)
        if following is None:
            self._position = self._size
            kind = self._damage_kind(start, DamageKind.TORN_TAIL)
            return Damage(kind, start, self._size - start, from_offset, None)
        self._position, next_header = following
        kind = self._damage_kind(start, DamageKind.CORRUPT)
        return Damage(kind, start, self._position - start, from_offset, next_header.base_offset)

    def _skip_old_format(self, header: BatchHeader | None) -> Damage:
        """Continue after all messages of format 0 or 1 that follow each other: a file may have millions of them."""
        start = self._position
        while header is not None and self._is_old_format(header):
            self._position += header.size
            header = self._read_header_at(self._position)
        is_batch = header is not None and self._fits_position(header, self._position)
        to_offset = header.base_offset if header is not None and is_batch else None
        return Damage(DamageKind.OLD_FORMAT, start, self._position - start, self._lowest, to_offset)

    def _is_old_format(self, header: BatchHeader) -> bool:
        """Return whether this is a message of format 0 or 1, and no garbage with zeros: what follows must fit, too."""
        if not self._may_be_old_format(header):
            return False
        end = self._position + header.size
        following = self._read_header_at(end)
        if following is None:  # the file ends there, or within a header
            return end <= self._size and self._search_next_batch(self._position + 1) is None
        return self._may_be_old_format(following) or self._batch_at(end) is not None

    def _may_be_old_format(self, header: BatchHeader) -> bool:
        return header.magic in range(MAGIC) and header.length > 0 and self._lowest <= header.base_offset < self._highest

    def _damage_kind(self, start: int, of_content: DamageKind) -> DamageKind:
        return DamageKind.UNREADABLE if self._file.has_refused(start, self._position) else of_content

    def _find_next_batch(self, header: BatchHeader | None) -> tuple[int, BatchHeader] | None:
        if header is not None and header.length > 0:
            following = self._batch_at(self._position + header.size)
            if following is not None:
                return following
        return self._search_next_batch(self._position + 1)

    def _search_next_batch(self, start: int) -> tuple[int, BatchHeader] | None:
        """Find the next position with a plausible header, a higher offset and a valid checksum."""
        begin = start + MAGIC_AT
        while begin < self._size:
            piece = self._file.read(begin, min(_CHUNK_BYTES, self._size - begin))
            if not piece:
                break
            at = piece.find(_MAGIC_BYTE)
            while at >= 0:
                found = self._batch_at(begin + at - MAGIC_AT)
                if found is not None:
                    return found
                at = piece.find(_MAGIC_BYTE, at + 1)
            begin += len(piece)
        return None

    def _batch_at(self, position: int) -> tuple[int, BatchHeader] | None:
        """Return the position and the header if an intact batch begins there."""
        header = self._read_header_at(position)
        if header is None or not self._fits_position(header, position):
            return None
        return (position, header) if has_valid_checksum(header, self._read_bytes(position, header.size)) else None

    def _read_header_at(self, position: int) -> BatchHeader | None:
        if position + HEADER_BYTES > self._size:
            return None
        return read_header(self._read_bytes(position, HEADER_BYTES), 0)

    def _read_bytes(self, position: int, count: int) -> memoryview:
        """Return ``count`` bytes. The caller has checked that the file has them. Reads ahead in larger pieces."""
        start = position - self._buffer_at
        if start < 0 or start + count > len(self._buffer):
            # Begin at the current batch, so that reading the header after it does not discard and reread the batch.
            is_near = not self._headers_only and self._position <= position <= self._position + _CHUNK_BYTES
            self._buffer_at = self._position if is_near else position
            start = position - self._buffer_at
            self._buffer = memoryview(self._file.read(self._buffer_at, max(start + count, self._piece_bytes(position))))
            if len(self._buffer) < start + count:
                raise OSError(errno.EIO, "the file became shorter while it was read")
        return self._buffer[start : start + count]

    def _piece_bytes(self, position: int) -> int:
        if not self._headers_only:
            return _CHUNK_BYTES
        return _HEADER_PIECE_BYTES if position - self._position >= _FAR_BYTES else _HEADER_CHUNK_BYTES
