# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Ask for the batches at offsets of replicas, and return the leader epochs in their headers (Fetch, version 12).

The request is that of a future replica, which a broker answers up to the log end offset (messages.py). The epoch
checkpoint of the log is not used for the answer. A broker sends no part of the first batch. If that is larger than the
limit, it sends nothing, except for the first partition of a request: there it sends the whole batch (KIP-74).
"""

from __future__ import annotations

import struct
from typing import Any, NamedTuple, TypeAlias

from .bulk import BulkAnswer, BulkRequest, UnusualAnswerError, read_varint, skip_empty_tags
from .bulk_fetch import QUESTION, fetch_request, read_fetch
from .messages import FUTURE_REPLICA

_NO_LIMIT = 2**31 - 1
_ANSWER = struct.Struct(">ih24xB4x")
"""Partition, error code, number of aborted transactions. Offsets and the preferred read replica are skipped."""
_HEADER = struct.Struct(">qiibIhi30xi")
"""Base offset, length of the rest, leader epoch, magic, CRC, attributes, delta of the last offset, number of records.

Timestamps and the producer are skipped. The CRC is of all that follows it.
"""
_HAS_DELETE_HORIZON = 1 << 6
"""An attribute: a log cleaner has put the time into the batch until which it keeps tombstones (KIP-534)."""
_PREFIX = 12
"""Bytes of base offset and length."""
_FIRST_MAGIC_WITH_EPOCHS = 2
NO_EPOCH = -1
"""The leader epoch of a batch that has none: it was written before Kafka 0.11, in the formats 0 and 1."""


class BatchEpoch(NamedTuple):
    """One batch: its leader epoch, its first offset, and the offset after its last one."""

    epoch: int
    base_offset: int
    next_offset: int
    checksum: int | None = None
    """None if a log cleaner may have rewritten the batch."""

    def differs(self, other: BatchEpoch, offset: int) -> bool:
        """Return whether two batches with this offset, or after it, are certainly no copies of one batch."""
        if max(self.base_offset, other.base_offset) > offset:
            return False
        if self[:3] != other[:3]:
            return True
        return None not in {self.checksum, other.checksum} and self.checksum != other.checksum


def describe_batch(epoch: int, base: int, last: int, crc: int, attributes: int, count: int) -> BatchEpoch:  # noqa: PLR0917
    """Return a batch by the fields of its header."""
    is_as_written = count == last + 1 and not attributes & _HAS_DELETE_HORIZON
    return BatchEpoch(epoch, base, base + last + 1, crc if is_as_written else None)


class HeaderAnswer(NamedTuple):
    """The answer about one offset. ``batch`` is None if the broker sent none, or an error."""

    error_code: int
    batch: BatchEpoch | None
    size_bytes: int


Offsets: TypeAlias = "dict[str, dict[int, int]]"
"""By topic and partition number."""
Headers: TypeAlias = "dict[str, dict[int, HeaderAnswer]]"
"""By topic and partition number. A partition that is missing was left out by the broker."""


def headers_request(offsets: Offsets, max_bytes: int) -> BulkRequest[Headers]:
    """Ask for the batch that has the offset or, if compaction removed it, for the next one, of each partition.

    ``max_bytes`` is the limit for one partition.
    """
    questions = {
        topic: [QUESTION.pack(number, -1, offset, -1, -1, max_bytes, 0) for number, offset in by_number.items()]
        for topic, by_number in offsets.items()
    }
    return fetch_request(FUTURE_REPLICA, _NO_LIMIT, questions, _read_answer, _convert_answer)


def _read_answer(view: memoryview) -> BulkAnswer[Headers]:
    answers: Headers = {}

    def read_partitions(view: memoryview, position: int, count: int, topic: str) -> int:
        by_number = answers.setdefault(topic, {})
        for _partition in range(count):
            number, code, aborted = _ANSWER.unpack_from(view, position)
            if aborted > 1:
                raise UnusualAnswerError
            size, position = read_varint(view, position + _ANSWER.size)
            size = max(0, size - 1)  # 0 is null
            by_number[number] = HeaderAnswer(code, _read_header(view[position : position + size]), size)
            position = skip_empty_tags(view, position + size)
        return position

    return BulkAnswer(read_fetch(view, read_partitions), answers)


def _convert_answer(response: Any) -> Headers:
    answers: Headers = {}
    for topic in response.responses:
        for each in topic.partitions:
            records = bytes(each.records or b"")
            answer = HeaderAnswer(each.error_code, _read_header(records), len(records))
            answers.setdefault(topic.topic, {})[each.partition_index] = answer
    return answers


def _read_header(records: bytes | memoryview) -> BatchEpoch | None:
    if len(records) < _HEADER.size:
        return None
    base, length, epoch, magic, crc, attributes, last, count = _HEADER.unpack_from(records)
    if magic < _FIRST_MAGIC_WITH_EPOCHS:
        return BatchEpoch(NO_EPOCH, base, base + 1)
    if last < 0 or length < _HEADER.size - _PREFIX:
        return None
    return describe_batch(epoch, base, last, crc, attributes, count)
