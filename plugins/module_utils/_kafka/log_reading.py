# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Fetch batches of one partition from a broker as they are on its disk, and verify their checksums."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple, TypeAlias

from .._model.partition import Cause, TopicPartition, grouped
from .._model.run import KafkaOpsError
from . import error_codes
from .errors import BrokerCallError
from .messages import fetch_request
from .record_batch import (
    HEADER_BYTES,
    BatchHeader,
    BatchRecord,
    ControlType,
    decode_records,
    has_valid_checksum,
    read_control_type,
    read_header,
)

_MAX_BYTES = 8 * 1024 * 1024
_READ_COMMITTED = 1
_LOOK_EVERY_S = 0.1
SETTLE_S = 60.0
"""How long to wait for open transactions. Our own can be read some milliseconds after their commit is acknowledged."""

Tell: TypeAlias = Callable[[str], object]
"""Says what is waited for."""
Ask: TypeAlias = Callable[[Any], Any]
"""Sends a request to the broker and returns its answer. Raises BrokerCallError."""


class OpenTransactionError(KafkaOpsError):
    """A log cannot be read to its end, because a transaction is open in it."""


class Fetched(NamedTuple):
    """One batch as it is on the broker's disk."""

    header: BatchHeader
    raw: bytes


class ReadAnswer(NamedTuple):
    """The complete batches of one Fetch response, and the offsets that the broker returned with them."""

    batches: list[Fetched]
    aborted: dict[int, list[int]]
    """First offsets of aborted transactions, by producer id."""
    high_watermark: int
    last_stable_offset: int


def fetch(
    ask: Ask, partition: TopicPartition, offset: int, *, replica_id: int = -1, isolation_level: int = 0
) -> ReadAnswer:
    """Fetch the batches from ``offset`` on. The first batch may begin before it.

    Raises RequestRefusedError, or BrokerCallError, also if the checksum of a batch is wrong.
    """
    response = ask(fetch_request(partition, offset, _MAX_BYTES, replica_id, isolation_level))
    answers = [each for topic in response.responses for each in topic.partitions]
    code = response.error_code or (answers[0].error_code if len(answers) == 1 else error_codes.UNKNOWN_SERVER_ERROR)
    if code:
        raise error_codes.request_refused_error("Fetch", code, str(partition))
    (answer,) = answers
    aborted = grouped((each.producer_id, each.first_offset) for each in answer.aborted_transactions or ())
    batches = list(_batches(partition, bytes(answer.records or b"")))
    return ReadAnswer(batches, aborted, answer.high_watermark, answer.last_stable_offset)


def _batches(partition: TopicPartition, content: bytes) -> Iterator[Fetched]:
    position = 0
    while position + HEADER_BYTES <= len(content):
        header = read_header(content, position)
        if not header.is_plausible:
            raise _bad_answer(partition, f"the answer has something else than a batch of format 2 at byte {position}")
        if position + header.size > len(content):
            return
        raw = content[position : position + header.size]
        if not has_valid_checksum(header, raw):
            raise _bad_answer(partition, f"the batch at offset {header.base_offset} does not have its checksum")
        yield Fetched(header, raw)
        position += header.size


def _bad_answer(partition: TopicPartition, detail: str) -> BrokerCallError:
    return BrokerCallError(str(partition), Cause.BAD_ANSWER, detail, request="Fetch")


class LogRecord(NamedTuple):
    """One record of a log, with the leader epoch in which it was written."""

    epoch: int
    record: BatchRecord


class CommittedLog:
    """Reads the committed records of a log. Each call of ``read`` continues where the last one stopped."""

    def __init__(self, ask: Ask, partition: TopicPartition, offset: int, tell: Tell = str) -> None:
        self._ask = ask
        self._partition = partition
        self._tell = tell
        self.next_offset = offset
        self.is_open = False
        """Whether the last ``read`` ended before a transaction that is open."""
        self.has_gaps = False
        """Whether offsets were missing in what was read: the log cleaner removes records, not their offsets."""

    def read(self, wait_s: float | None) -> Iterator[LogRecord]:
        """Yield every committed record up to the high watermark of now. Others may be written faster than this reads.

        If a transaction is open before that, wait so many seconds for its end; or, with None, end before it.

        Raises OpenTransactionError (the transaction is still open then), BrokerCallError or RequestRefusedError.
        """
        self.is_open = False
        deadline = time.monotonic() + (wait_s or 0)
        told_at = -1
        end: int | None = None
        while end is None or self.next_offset < end:
            answer = fetch(self._ask, self._partition, self.next_offset, isolation_level=_READ_COMMITTED)
            end = answer.high_watermark if end is None else end
            yield from self._committed(answer)
            if answer.batches:
                self._move_past(answer)
                continue
            if answer.last_stable_offset >= end:
                return
            self.is_open = wait_s is None
            if self.is_open:
                return
            what = f"{self._partition} has an open transaction from offset {answer.last_stable_offset} on"
            if time.monotonic() >= deadline:
                raise OpenTransactionError(
                    f"{what}, and the records after it cannot be read: wait for its end, or abort it "
                    "(kafka-transactions.sh abort)"
                )
            if answer.last_stable_offset != told_at:
                told_at = answer.last_stable_offset
                self._tell(f"waiting up to {wait_s:.0f} s: {what}")
            time.sleep(_LOOK_EVERY_S)

    def read_unsettled(self) -> Iterator[tuple[BatchRecord, bool]]:
        """Yield every further record up to the high watermark of now, and whether it belongs to a transaction.

        This transaction may be open, or may have ended in any way. Raises BrokerCallError or RequestRefusedError.
        """
        end: int | None = None
        while end is None or self.next_offset < end:
            answer = fetch(self._ask, self._partition, self.next_offset)
            end = answer.high_watermark if end is None else end
            if not answer.batches:
                return
            for header, raw in answer.batches:
                for record in () if header.is_control else decode_records(header, raw):
                    if record.offset >= self.next_offset:
                        yield record, header.is_transactional
            self._move_past(answer)

    def _move_past(self, answer: ReadAnswer) -> None:
        self.has_gaps = self.has_gaps or _has_gaps(answer.batches, self.next_offset)
        self.next_offset = max(self.next_offset, answer.batches[-1].header.next_offset)

    def _committed(self, answer: ReadAnswer) -> Iterator[LogRecord]:
        open_aborted: set[int] = set()
        pending = {producer: sorted(offsets) for producer, offsets in answer.aborted.items()}
        for header, raw in answer.batches:
            firsts = pending.get(header.producer_id, [])
            while firsts and firsts[0] < header.next_offset:
                firsts.pop(0)
                open_aborted.add(header.producer_id)
            if header.is_control:
                if read_control_type(header, raw) is ControlType.ABORT:
                    open_aborted.discard(header.producer_id)
                continue
            if header.is_transactional and header.producer_id in open_aborted:
                continue
            for record in decode_records(header, raw):
                if record.offset >= self.next_offset:
                    yield LogRecord(header.leader_epoch, record)


def _has_gaps(batches: Sequence[Fetched], offset: int) -> bool:
    """Return whether batches lack an offset from this one on. The first batch may begin before it."""
    for header, _raw in batches:
        if header.base_offset > offset or header.record_count <= header.last_offset_delta:
            return True
        offset = header.next_offset
    return False
