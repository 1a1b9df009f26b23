# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Records are decoded as kafka-python wrote them, and nothing else is taken for records."""

from __future__ import annotations

import struct
from contextlib import suppress

import pytest
from crc32c import crc32c
from hypothesis import given
from hypothesis import strategies as st
from kafka.record.default_records import DefaultRecordBatchBuilder

from ansible_collections.kafkaops.recovery.plugins.module_utils._salvage.batch import (
    CRC_FROM,
    HEADER_BYTES,
    BatchError,
    BatchRecord,
    header_at,
    records_of,
)

_LOG_APPEND_TIME = 0x08
_BYTES = st.none() | st.binary(max_size=200)
_RECORDS = st.lists(
    st.tuples(st.integers(0, 2**50), _BYTES, _BYTES, st.lists(st.tuples(st.text(max_size=5), _BYTES), max_size=3)),
    min_size=1,
    max_size=20,
)


def a_batch(records: list[tuple[int, bytes | None, bytes | None, list[tuple[str, bytes | None]]]]) -> bytes:
    builder = DefaultRecordBatchBuilder(2, 0, False, -1, -1, -1, 10**9)
    for number, (timestamp, key, value, headers) in enumerate(records):
        builder.append(number, timestamp, key, value, headers)
    content = bytearray(builder.build())
    struct.pack_into(">q", content, 0, 1000)
    return bytes(content)


def read(raw: bytes) -> list[BatchRecord]:
    return list(records_of(header_at(raw, 0), raw))


@given(_RECORDS)
def test_records_are_read_as_they_were_written(
    records: list[tuple[int, bytes | None, bytes | None, list[tuple[str, bytes | None]]]],
) -> None:
    expected = [BatchRecord(1000 + number, *each) for number, each in enumerate(records)]
    assert read(a_batch(records)) == expected


def test_the_broker_s_time_counts_where_it_is_the_broker_s() -> None:
    raw = bytearray(a_batch([(5, b"k", b"v", []), (9, None, None, [])]))
    raw[CRC_FROM + 1] |= _LOG_APPEND_TIME
    struct.pack_into(">I", raw, CRC_FROM - 4, crc32c(bytes(raw[CRC_FROM:])))
    assert [each.timestamp_ms for each in read(bytes(raw))] == [9, 9]


@given(_RECORDS, st.data())
def test_what_is_damaged_is_refused_or_has_as_many_records(
    records: list[tuple[int, bytes | None, bytes | None, list[tuple[str, bytes | None]]]], data: st.DataObject
) -> None:
    """Never another error than a BatchError, whatever the bytes are."""
    raw = bytearray(a_batch(records))
    at = data.draw(st.integers(HEADER_BYTES, len(raw) - 1))
    raw[at] = data.draw(st.integers(0, 255))
    with suppress(BatchError):
        assert len(read(bytes(raw))) == len(records)


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"", "index out of range"),
        (b"\x02", "index out of range"),
        (b"\x80" * 12, "more than ten bytes"),
        (b"\x0c\0\0\0\x01\x02", "1 bytes are to follow byte 6, and 0 do"),
        (b"\x0c\0\0\0\x01\x0aab", "5 bytes are to follow"),
        (b"\x0e\0\0\0\x01\x01\0", "ends at byte 7, and not at 8"),
        (b"\x0c\0\0\0\x01\x01\x01", "ends at byte 7"),
        (b"\x0c\0\0\0\x01\x01\0more", "4 bytes follow the last record"),
        (b"\x10\0\0\0\x01\x01\x02\x01\x01", "a header has no name"),
        (b"\x12\0\0\0\x01\x01\x02\x02\xff\x01", "invalid start byte"),
    ],
)
def test_what_is_no_record_is_named(content: bytes, why: str) -> None:
    header = header_at(a_batch([(1, None, None, [])]), 0)
    with pytest.raises(BatchError, match=f"the batch at offset 1000 does not decode: .*{why}"):
        list(records_of(header._replace(length=HEADER_BYTES - 12 + len(content)), bytes(HEADER_BYTES) + content))
