# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Decode and encode the control records of a metadata log that name its voters (KIP-853). No I/O.

Source: Kafka's ``VotersRecord.json``, ``KRaftVersionRecord.json``, ``ControlRecordType`` and ``DefaultRecordBatch``,
the same in Kafka 3.9 to 4.4.
"""

from __future__ import annotations

import io
import struct
from collections.abc import Sequence
from contextlib import suppress
from functools import cache
from typing import Any

from .._model.quorum import Endpoint, VoterNode
from .messages import define_struct, parse_uuid
from .metadata_records import MetadataRecordError, id_text
from .record_batch import CONTROL_KEY, CONTROL_VERSION, HEADER_BYTES, LENGTH_END, MAGIC

with suppress(ImportError):  # a missing library is reported before the module starts (_module/run.py)
    from crc32c import crc32c
    from kafka.record.util import encode_varint

KRAFT_VERSION = 5
KRAFT_VOTERS = 6
_RECORD_VERSION = 0
_CONTROL_ATTRIBUTE = 0x20
_AFTER_CRC = struct.Struct(">hiqqqhii")
_BEFORE_CRC = struct.Struct(">qiib")
_NO_PRODUCER = -1

_VOTERS = """
    Version int16
    Voters []Voter
      VoterId int32
      VoterDirectoryId uuid
      Endpoints []Endpoint
        Name string mapKey, Host string, Port uint16
      KRaftVersionFeature KRaftVersionFeature
        MinSupportedVersion int16, MaxSupportedVersion int16
"""


def decode_kraft_version(value: bytes) -> int:
    """Return the level of ``kraft.version`` in a KRaftVersionRecord. Raises MetadataRecordError."""
    try:
        _version, level = struct.unpack_from(">hh", value)
    except struct.error as error:
        raise MetadataRecordError(f"a KRaftVersionRecord cannot be decoded: {error}") from None
    return int(level)


def decode_voters(value: bytes) -> tuple[VoterNode, ...]:
    """Return the voters in a VotersRecord, in order of their id. Raises MetadataRecordError."""
    try:
        found = _struct().decode(io.BytesIO(value), version=0, compact=True, tagged=True)
        voters = [_voter(each) for each in found["voters"]]
    except Exception as error:  # noqa: BLE001  # kafka-python raises whatever the bytes lead it to
        raise MetadataRecordError(f"a VotersRecord cannot be decoded: {type(error).__name__}: {error}") from None
    return tuple(sorted(voters, key=lambda each: each.voter_id))


def encode_voters_batch(voters: Sequence[VoterNode], *, offset: int, epoch: int, time_ms: int) -> bytes:
    """Return a control batch of one VotersRecord, as a leader of this epoch would append it at this offset.

    ``time_ms`` is the time of the batch in POSIX milliseconds.
    """
    value = _struct().encode(
        {
            "version": _RECORD_VERSION,
            "voters": [
                {
                    "voter_id": each.voter_id,
                    "voter_directory_id": parse_uuid(each.directory_id),
                    "endpoints": [{"name": one.name, "host": one.host, "port": one.port} for one in each.endpoints],
                    "k_raft_version_feature": {
                        "min_supported_version": each.min_kraft_version,
                        "max_supported_version": each.max_kraft_version,
                    },
                }
                for each in voters
            ],
        },
        version=0,
        compact=True,
        tagged=True,
    )
    record = _record(CONTROL_KEY.pack(CONTROL_VERSION, KRAFT_VOTERS), value)
    head = _AFTER_CRC.pack(_CONTROL_ATTRIBUTE, 0, time_ms, time_ms, _NO_PRODUCER, _NO_PRODUCER, -1, 1)
    content = head + record
    length = HEADER_BYTES - LENGTH_END + len(record)
    return _BEFORE_CRC.pack(offset, length, epoch, MAGIC) + struct.pack(">I", crc32c(content)) + content


def _record(key: bytes, value: bytes) -> bytes:
    """Return one record of a batch: no attributes, no deltas, no headers."""
    body = b"\0" + b"\0\0" + _varint(len(key)) + key + _varint(len(value)) + value + b"\0"
    return _varint(len(body)) + body


def _varint(number: int) -> bytes:
    found = bytearray()
    encode_varint(number, found.append)
    return bytes(found)


def _voter(found: Any) -> VoterNode:
    feature = found["k_raft_version_feature"]
    return VoterNode(
        found["voter_id"],
        id_text(found["voter_directory_id"]),
        tuple(Endpoint(each["name"], each["host"], each["port"]) for each in found["endpoints"]),
        feature["min_supported_version"],
        feature["max_supported_version"],
    )


@cache
def _struct() -> Any:
    return define_struct("VotersRecord", _VOTERS)
