# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Read one replica of a partition from start to end, and check every batch (Fetch, API key 1, KIP-392).

From version 11 on, a broker answers a consumer's Fetch from its own replica, leader or not, up to the high watermark.
It sends what is on its disk unchecked. So this check finds the damage that a follower or the log cleaner would find.
"""

from __future__ import annotations

import threading
import time
from contextlib import suppress
from dataclasses import dataclass

from .._model.partition import TopicPartition
from . import error_codes
from .connection import Connection
from .held_replicas import HeldOffset, held_offsets
from .messages import fetch_request
from .record_batch import CRC_FROM, HEADER_BYTES, LENGTH_AT, LENGTH_END, MAGIC, MAGIC_AT, read_header

with suppress(ImportError):  # a missing library is reported before the module starts (_module/run.py)
    from kafka.record.util import calc_crc32c


_CHUNK_BYTES = 1024 * 1024
_MAX_EMPTY_ANSWERS = 20
_PAUSE_S = 0.2
_DAMAGE_ERRORS = frozenset({error_codes.UNKNOWN_SERVER_ERROR, 2, error_codes.KAFKA_STORAGE_ERROR})
"""2 is CORRUPT_MESSAGE. The broker itself fails at the damage when it looks for an offset."""


@dataclass(frozen=True, slots=True)
class CopyCheck:
    """The result of reading a replica."""

    damage: str
    """What is wrong and at which offset. Empty if nothing was found."""
    read_bytes: int
    is_complete: bool
    """False if it was not read to its end, for the reason in ``note``. The rest may be damaged."""
    note: str = ""


def check_copy(connection: Connection, partition: TopicPartition, max_bytes: int, stop: threading.Event) -> CopyCheck:
    """Read a broker's replica from its log start offset to the high watermark, at most ``max_bytes`` of it.

    That may take hours. ``stop`` ends it after the current chunk. Raises BrokerCallError.
    """
    starts = held_offsets(connection, [partition], HeldOffset.LOG_START).get(partition, [])
    if len(starts) != 1 or starts[0].error_code:
        why = (
            error_codes.explain_error("ListOffsets", starts[0].error_code) if starts else "it is left out of the answer"
        )
        return CopyCheck("", 0, is_complete=False, note=f"its log start offset could not be read: {why}")
    offset, read, empty = starts[0].offset, 0, 0
    while read < max_bytes:
        if stop.is_set():
            return CopyCheck("", read, is_complete=False, note="the run was asked to stop")
        answer = connection.call(fetch_request(partition, offset, _CHUNK_BYTES)).responses[0].partitions[0]
        if answer.error_code in _DAMAGE_ERRORS:
            return CopyCheck(
                f"the broker cannot read it at offset {offset}: {error_codes.describe_error(answer.error_code)}",
                read,
                is_complete=True,
            )
        if answer.error_code:
            why = error_codes.explain_error("Fetch", answer.error_code)
            return CopyCheck("", read, is_complete=False, note=f"it could not be read at offset {offset}: {why}")
        if offset >= answer.high_watermark:
            return CopyCheck("", read, is_complete=True)
        records = bytes(answer.records or b"")
        following, damage, is_old = _check(records, offset)
        read += len(records)
        if is_old:
            return CopyCheck("", read, is_complete=False, note=f"at offset {following} begins an old record format")
        if damage:
            return CopyCheck(damage, read, is_complete=True)
        if following > offset:
            offset, empty = following, 0
            continue
        # The broker sent no batch, although the log continues: the high watermark may have just moved.
        empty += 1
        if empty > _MAX_EMPTY_ANSWERS:
            return CopyCheck("", read, is_complete=False, note=f"the broker sends nothing for offset {offset}")
        time.sleep(_PAUSE_S)
    return CopyCheck("", read, is_complete=False, note=f"only the first {read} bytes were read")


def _check(records: bytes, offset: int) -> tuple[int, str, bool]:
    """Return the offset after the last good batch, what is wrong with the next one, and whether its format is old.

    The last batch of an answer may be incomplete, which is no damage.
    """
    position = 0
    while len(records) - position > MAGIC_AT:
        magic = records[position + MAGIC_AT]
        length = int.from_bytes(records[position + LENGTH_AT : position + LENGTH_END], "big", signed=True)
        if magic < MAGIC and length > 0:  # zeros where the disk lost a batch are no message
            return offset, "", True
        where = f"the batch after offset {offset - 1}"
        if magic > MAGIC:
            return offset, f"{where} has magic {magic}, which no version of Kafka writes", False
        if len(records) - position < HEADER_BYTES:
            break
        header = read_header(records, position)
        base, end = header.base_offset, position + header.size
        if length < HEADER_BYTES - LENGTH_END or header.last_offset_delta < 0 or header.next_offset < offset:
            return offset, f"{where} has an invalid header (length {length}, base offset {base})", False
        if end > len(records):
            break
        if calc_crc32c(records[position + CRC_FROM : end]) != header.crc:
            return offset, f"{where} has a wrong checksum", False
        offset, position = max(offset, header.next_offset), end
    return offset, "", False
