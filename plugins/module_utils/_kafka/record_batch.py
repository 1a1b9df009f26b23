# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Decode record batches of format v2 (magic 2, KIP-98): header, checksum, codecs, records, transaction markers.

The layout is that of Kafka's ``DefaultRecordBatch``. The checksum covers everything from the attributes on. It does not
cover base offset, length and leader epoch, so a reader has to compare these with the neighboring batches.
"""

from __future__ import annotations

import gzip
import struct
import zlib
from collections.abc import Iterator
from contextlib import suppress
from enum import StrEnum
from typing import Any, NamedTuple

from .._model.log_contents import EpochRange
from .._model.run import KafkaOpsError
from .bulk import UnusualAnswerError, read_varint

with suppress(ImportError):  # a missing library is reported before the module starts (_module/run.py)
    import pyarrow as pa
    from aiokafka.errors import CorruptRecordException  # type: ignore[import-untyped]  # it ships no types
    from aiokafka.record.default_records import DefaultRecordBatch  # type: ignore[import-untyped]
    from crc32c import crc32c


_HEADER = struct.Struct(">qiibIhiqqqhii")
HEADER_BYTES = _HEADER.size
LENGTH_AT = 8
LENGTH_END = 12
"""Bytes of base offset and length, which the length does not count."""
MAGIC_AT = 16
CRC_FROM = 21
MAGIC = 2
_SMALLEST_LENGTH = HEADER_BYTES - LENGTH_END

_CODEC_MASK = 0x07
_LOG_APPEND_TIME = 0x08
_TRANSACTIONAL = 0x10
_CONTROL = 0x20
_KNOWN_ATTRIBUTES = 0x7F
SNAPSHOT_HEADER, SNAPSHOT_FOOTER = 3, 4
CONTROL_KEY = struct.Struct(">hh")
CONTROL_VERSION = 0
_XERIAL_MAGIC = b"\x82SNAPPY\x00"
_XERIAL_HEADER = 16
_BLOCK_LENGTH = struct.Struct(">i")


class BatchError(KafkaOpsError):
    """A batch has a valid checksum and cannot be decoded. The message says why."""


class Compression(StrEnum):
    """How the records of a batch are compressed. The position in this enum is Kafka's number of the codec."""

    NONE = "none"
    GZIP = "gzip"
    SNAPPY = "snappy"
    LZ4 = "lz4"
    ZSTD = "zstd"


_CODECS = tuple(Compression)


class ControlType(StrEnum):
    """Type of a control record (KIP-98)."""

    ABORT = "abort"
    COMMIT = "commit"
    OTHER = "other"
    """Another type or version, or no control record: it does not say how a transaction ended."""


class BatchHeader(NamedTuple):
    """The 61 bytes before the records, field by field. Timestamps are milliseconds."""

    base_offset: int
    length: int
    leader_epoch: int
    magic: int
    crc: int
    attributes: int
    last_offset_delta: int
    base_timestamp: int
    max_timestamp: int
    producer_id: int
    producer_epoch: int
    base_sequence: int
    record_count: int

    @property
    def size(self) -> int:
        """Bytes of the whole batch, header included."""
        return LENGTH_END + self.length

    @property
    def next_offset(self) -> int:
        return self.base_offset + self.last_offset_delta + 1

    @property
    def offsets(self) -> EpochRange:
        """The offsets of the batch, compacted ones included."""
        return EpochRange(self.leader_epoch, self.base_offset, self.next_offset)

    @property
    def is_transactional(self) -> bool:
        return bool(self.attributes & _TRANSACTIONAL)

    @property
    def is_control(self) -> bool:
        return bool(self.attributes & _CONTROL)

    @property
    def has_log_append_time(self) -> bool:
        return bool(self.attributes & _LOG_APPEND_TIME)

    @property
    def is_plausible(self) -> bool:
        """Whether these bytes can be the header of a batch of format v2."""
        return (
            self.magic == MAGIC
            and self.length >= _SMALLEST_LENGTH
            and self.base_offset >= 0
            and self.leader_epoch >= -1
            and self.last_offset_delta >= 0
            and self.record_count >= 0
            and not self.attributes & ~_KNOWN_ATTRIBUTES
        )


class BatchRecord(NamedTuple):
    """One record. If the batch has log append time, ``timestamp_ms`` comes from the broker's clock."""

    offset: int
    timestamp_ms: int
    key: bytes | None
    value: bytes | None
    headers: list[tuple[str, bytes | None]]


def read_header(data: bytes | memoryview, position: int) -> BatchHeader:
    """Read the header at a position. Raises struct.error if fewer than ``HEADER_BYTES`` bytes are left."""
    return BatchHeader._make(_HEADER.unpack_from(data, position))


def has_valid_checksum(header: BatchHeader, batch: bytes | memoryview) -> bool:
    """Compare the CRC-32C of a whole batch with the checksum in its header."""
    return bool(crc32c(batch[CRC_FROM:]) == header.crc)


def decode_records(header: BatchHeader, batch: bytes | memoryview) -> Iterator[BatchRecord]:
    """Decode the records of a batch whose checksum was verified.

    Raises BatchError: the codec is unknown, or the compressed payload or a record does not decode.
    """
    for record in _decode(header, batch):
        yield BatchRecord(record.offset, record.timestamp, record.key, record.value, record.headers)


def read_control_type(header: BatchHeader, batch: bytes | memoryview) -> ControlType:
    """Return the type of the one record of a control batch. Raises BatchError."""
    record = next(_decode(header, batch), None)
    kind = control_type(record.key) if record is not None else None
    markers: dict[int | None, ControlType] = {0: ControlType.ABORT, 1: ControlType.COMMIT}
    return markers.get(kind, ControlType.OTHER)


def control_type(key: bytes | None) -> int | None:
    """Return Kafka's number of a control record's type. None if the key has another version."""
    if key is None or len(key) < CONTROL_KEY.size:
        return None
    version, kind = CONTROL_KEY.unpack_from(key)
    return kind if version == CONTROL_VERSION else None


def _decode(header: BatchHeader, batch: bytes | memoryview) -> Iterator[Any]:
    """Yield the records as aiokafka decodes them, from an uncompressed batch: its own codecs need one more library.

    kafka-python could decode them too, but takes twelve times as long, because it has no C code.
    """
    payload = _decompress_payload(header, batch[HEADER_BYTES : header.size])
    plain = header._replace(attributes=header.attributes & ~_CODEC_MASK, length=_SMALLEST_LENGTH + len(payload))
    try:
        yield from DefaultRecordBatch(_HEADER.pack(*plain) + payload)
    except (CorruptRecordException, UnicodeDecodeError, struct.error) as error:
        raise BatchError(f"the batch at offset {header.base_offset} does not decode: {error}") from None


def _decompress_payload(header: BatchHeader, payload: bytes | memoryview) -> bytes:
    number = header.attributes & _CODEC_MASK
    if number >= len(_CODECS):
        raise BatchError(f"the batch at offset {header.base_offset} has codec {number}, which no version of Kafka has")
    codec = _CODECS[number]
    try:
        return _decompress(codec, bytes(payload))
    except (OSError, EOFError, ValueError, OverflowError, zlib.error, struct.error, pa.ArrowException) as error:
        raise BatchError(f"the batch at offset {header.base_offset} is no valid {codec}: {error}") from None


def _decompress(codec: Compression, payload: bytes) -> bytes:
    match codec:
        case Compression.NONE:
            return payload
        case Compression.GZIP:
            return gzip.decompress(payload)  # of several members, too, as Java does
        case Compression.SNAPPY:
            return b"".join(_snappy_blocks(payload))
        case _:
            return bytes(pa.CompressedInputStream(pa.BufferReader(payload), codec.value).read())


def _snappy_blocks(payload: bytes) -> Iterator[bytes]:
    """Yield the decompressed blocks: several in snappy-java's stream format (Java clients), else one raw block."""
    if not payload.startswith(_XERIAL_MAGIC):
        yield _snappy_block(payload)
        return
    position = _XERIAL_HEADER
    while position < len(payload):
        (length,) = _BLOCK_LENGTH.unpack_from(payload, position)
        position += _BLOCK_LENGTH.size
        yield _snappy_block(payload[position : position + length])
        position += length


def _snappy_block(block: bytes) -> bytes:
    """Decompress a raw block, which begins with its decompressed size. Raises ValueError if it does not."""
    try:
        size, _position = read_varint(block, 0)
    except (IndexError, UnusualAnswerError):
        raise ValueError("the block has no size") from None
    return bytes(pa.Codec("snappy").decompress(block, size))
