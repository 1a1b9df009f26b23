# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Segments written with kafka-python's writer of record batches."""

from __future__ import annotations

import io
import struct
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from crc32c import crc32c
from kafka.record.default_records import DefaultRecordBatchBuilder

from ansible_collections.kafkaops.recovery.plugins.module_utils._disk.segment import (
    Batch,
    Damage,
    Segment,
    read_segment,
)

_BASE_OFFSET_AND_LENGTH = 12
_CRC_AT, _ATTRIBUTES_AT = 17, 21
_CONTROL = 0x20


def batch(
    base_offset: int, values: Sequence[bytes | None], *, epoch: int = 0, codec: int = 0, key: bytes | None = None
) -> bytes:
    """Return one batch. ``epoch`` is the partition leader epoch, which a broker writes."""
    builder = DefaultRecordBatchBuilder(2, codec, False, -1, -1, -1, 10**9)
    for number, value in enumerate(values):
        builder.append(number, 1_700_000_000_000 + number, key, value, [])
    content = bytearray(builder.build())
    struct.pack_into(">q", content, 0, base_offset)
    struct.pack_into(">i", content, _BASE_OFFSET_AND_LENGTH, epoch)
    return bytes(content)


def a_batch(
    offset: int,
    *keys: bytes,
    epoch: int = 5,
    producer: int = -1,
    producer_epoch: int = 0,
    headers: Any = (),
    control: int | None = None,
    version: int = 0,
) -> bytes:
    """Return a batch. With a producer id it is transactional. ``control`` 0 aborts, 1 commits."""
    builder = DefaultRecordBatchBuilder(2, 0, producer >= 0, producer, producer_epoch, -1, 10**9)
    for number, key in enumerate([struct.pack(">hh", version, control)] if control is not None else keys):
        builder.append(number, 1_700_000_000_000, key, b"value", list(headers))
    content = bytearray(builder.build())
    struct.pack_into(">q", content, 0, offset)
    struct.pack_into(">i", content, 12, epoch)
    if control is not None:
        content[_ATTRIBUTES_AT + 1] |= _CONTROL
        struct.pack_into(">I", content, _CRC_AT, crc32c(bytes(content[_ATTRIBUTES_AT:])))
    return bytes(content)


def read(content: bytes, base_offset: int = 0, *, tmp_path: Path) -> list[Batch | Damage]:
    """Return the batches and damages of a segment with this content."""
    one = segment(content, base_offset, tmp_path=tmp_path)
    with open(one.path, "rb", buffering=0) as file:
        return list(read_segment(file, one))


def segment(content: bytes, base_offset: int = 0, *, tmp_path: Path) -> Segment:
    path = tmp_path / f"{base_offset:020}.log"
    path.write_bytes(content)
    return Segment(str(path), base_offset, len(content))


def ranges(found: Sequence[Batch | Damage]) -> list[tuple[int, int]]:
    """Return base and next offset of the batches."""
    return [(each.header.base_offset, each.header.next_offset) for each in found if isinstance(each, Batch)]


def damages(found: Sequence[Batch | Damage]) -> list[Damage]:
    return [each for each in found if isinstance(each, Damage)]


def joined(*parts: bytes) -> bytes:
    return io.BytesIO(b"".join(parts)).getvalue()
