# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The control batch with new voters: the bytes that Kafka itself writes, and reads."""

from __future__ import annotations

import struct

import pytest
from crc32c import crc32c

from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.metadata_records import MetadataRecordError
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.record_batch import (
    control_type,
    decode_records,
    has_valid_checksum,
    read_header,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.voters_record import (
    KRAFT_VOTERS,
    decode_voters,
    encode_voters_batch,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.quorum import Endpoint, VoterNode

_BY_KAFKA = bytes.fromhex(
    "0000"  # version
    "0200000065000102030405060708090a0b0c0d0e0f"  # one voter, its id and its directory id
    "020b434f4e54524f4c4c45520f63312e6578616d706c652e636f6d238500"  # one endpoint
    "000000010000"  # kraft.version 0 to 1
    "00"
)
"""Written by Kafka 4.3.1: StorageTool format --initial-controllers 101@c1.example.com:9093:AAECAwQFBgcICQoLDA0ODw."""
_VOTER = VoterNode(101, "AAECAwQFBgcICQoLDA0ODw", (Endpoint("CONTROLLER", "c1.example.com", 9093),), 0, 1)


def test_a_record_that_kafka_wrote_is_read() -> None:
    assert decode_voters(_BY_KAFKA) == (_VOTER,)


def test_the_batch_has_the_bytes_that_kafka_writes() -> None:
    content = encode_voters_batch([_VOTER], offset=4711, epoch=7, time_ms=1_700_000_000_000)
    record = b"\0\0\0" + b"\x08\0\0\0\x06" + bytes([2 * len(_BY_KAFKA)]) + _BY_KAFKA + b"\0"
    size = 2 * len(record)
    sized = bytes([size & 0x7F | 0x80, size >> 7]) + record
    after_crc = struct.pack(">hiqqqhii", 0x20, 0, 1_700_000_000_000, 1_700_000_000_000, -1, -1, -1, 1) + sized
    assert content[:12] == struct.pack(">qi", 4711, len(content) - 12)
    assert content[12:17] == struct.pack(">ib", 7, 2)
    assert content[17:21] == struct.pack(">I", crc32c(after_crc))
    assert content[21:] == after_crc


def test_the_batch_is_one_valid_control_batch() -> None:
    content = encode_voters_batch([_VOTER], offset=4711, epoch=7, time_ms=1)
    header = read_header(content, 0)
    assert header.is_control
    assert (header.size, header.next_offset) == (len(content), 4712)
    assert has_valid_checksum(header, content)
    (record,) = decode_records(header, content)
    assert control_type(record.key) == KRAFT_VOTERS
    assert decode_voters(record.value or b"") == (_VOTER,)


def test_a_record_without_its_end_is_an_error() -> None:
    with pytest.raises(MetadataRecordError, match="VotersRecord cannot be decoded"):
        decode_voters(_BY_KAFKA[:30])
