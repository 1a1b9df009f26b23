# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Record batches become rows of a salvage's files."""

from __future__ import annotations

import gzip
import struct
from typing import Any

import pytest
from kafka.record.default_records import DefaultRecordBatchBuilder

from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.record_batch import (
    HEADER_BYTES,
    LENGTH_AT,
    LENGTH_END,
    read_header,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.log_contents import EpochRange
from ansible_collections.kafkaops.recovery.plugins.module_utils._salvage.markers import TransactionOutcome
from ansible_collections.kafkaops.recovery.plugins.module_utils._salvage.rows import ROW_SCHEMA, Origin, RowBuffer
from unit.salvage.batches import batch

ORIGIN = Origin("cluster", "id", "orders", 4, 1, None)


def rows(*batches: bytes, wanted: tuple[EpochRange, ...] = (EpochRange(0, 0, 10**6),)) -> list[dict[str, Any]]:
    buffer = RowBuffer(ORIGIN, wanted)
    found = []
    for raw in batches:
        buffer.add(read_header(raw, 0), raw, TransactionOutcome.COMMITTED)
        found += list(buffer.batches())
    found += list(buffer.batches(last=True))
    assert list(buffer.batches(last=True)) == []
    assert all(each.schema == ROW_SCHEMA for each in found)
    return [row for each in found for row in each.to_pylist()]


def test_a_row_has_all_fields_of_batch_and_record() -> None:
    builder = DefaultRecordBatchBuilder(2, 0, False, -1, -1, -1, 10**9)
    builder.append(0, 5, None, b"v", [("one", b"1"), ("none", None)])
    builder.append(1, 7, b"k", None, [])
    raw = bytes(builder.build())
    first, second = rows(raw)
    assert first == {
        "cluster_id": "cluster",
        "topic_id": "id",
        "topic": "orders",
        "partition": 4,
        "offset": 0,
        "leader_epoch": 0,
        "timestamp_ms": 5,
        "timestamp_type": "create_time",
        "key": None,
        "value": b"v",
        "headers": [{"key": "one", "value": b"1"}, {"key": "none", "value": None}],
        "producer_id": -1,
        "producer_epoch": -1,
        "is_transactional": False,
        "transaction": "committed",
        "control_type": None,
        "origin_broker": 1,
        "origin_directory_id": None,
        "batch_base_offset": 0,
        "batch_checksum": read_header(raw, 0).crc,
        "decode_error": None,
        "raw_batch": raw,
        "batch_rows": 2,
    }
    own = {"offset": 1, "timestamp_ms": 7, "key": b"k", "value": None, "headers": []}
    assert second == first | own | {"raw_batch": None, "batch_rows": None}


def test_only_wanted_records_become_rows() -> None:
    raw = [batch(10, [b"a", b"b", b"c"]), batch(13, [b"d"], epoch=1), batch(14, [b"e"], epoch=1)]
    found = rows(*raw, wanted=(EpochRange(0, 11, 20), EpochRange(1, 14, 15)))
    assert [(row["offset"], row["value"], row["batch_rows"]) for row in found] == [
        (11, b"b", 2),
        (12, b"c", None),
        (14, b"e", 1),
    ]
    assert [row["raw_batch"] for row in found] == [raw[0], None, raw[2]]


def test_a_batch_that_does_not_decode_becomes_one_row() -> None:
    whole = batch(10, [b"a", b"b"])
    broken = whole[:HEADER_BYTES] + b"\xff" * (len(whole) - HEADER_BYTES)
    (row, other) = rows(broken, batch(12, [b"c"]))
    names = ("offset", "key", "value", "headers", "control_type", "raw_batch", "batch_rows")
    assert [row[name] for name in names] == [10, None, None, None, None, broken, 1]
    assert "the batch at offset 10 does not decode" in row["decode_error"]
    assert (other["value"], other["headers"], other["decode_error"]) == (b"c", [], None)


@pytest.mark.parametrize("codec", range(1, 5))
def test_a_compressed_batch_that_does_not_decode_becomes_one_row(codec: int) -> None:
    """To a reader of snappy, these bytes name a size that no machine has."""
    header = bytearray(batch(10, [bytes(20)])[:HEADER_BYTES])
    header[22] |= codec
    (row,) = rows(bytes(header) + b"\xff" * 9 + b"\x7f" + bytes(9))
    assert "the batch at offset 10 is no valid" in row["decode_error"]


def test_all_members_of_a_gzip_payload_are_read() -> None:
    """As Java's GZIPInputStream does."""
    whole = batch(10, [b"a", b"b"])
    header, payload = bytearray(whole[:HEADER_BYTES]), whole[HEADER_BYTES:]
    members = gzip.compress(payload[:5]) + gzip.compress(payload[5:])
    header[22] |= 1
    struct.pack_into(">i", header, LENGTH_AT, HEADER_BYTES - LENGTH_END + len(members))
    found = rows(bytes(header) + members)
    assert [(each["value"], each["decode_error"]) for each in found] == [(b"a", None), (b"b", None)]


def test_a_large_batch_is_split_into_several_tables() -> None:
    buffer = RowBuffer(ORIGIN, (EpochRange(0, 0, 10**6),))
    raw = batch(0, [b"x"] * 12_000)
    buffer.add(read_header(raw, 0), raw, TransactionOutcome.NONE)
    pieces = list(buffer.batches())
    assert [each.num_rows for each in pieces] == [5000, 5000, 2000]
    assert [offset for each in pieces for offset in each.column("offset").to_pylist()] == list(range(12_000))
