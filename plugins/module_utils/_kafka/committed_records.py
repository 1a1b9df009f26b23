# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Reads a whole partition, committed records only (Fetch, API key 1, version 12, isolation level read_committed).

Not by a client's consumer: confluent-kafka's looks for a group coordinator even where it joins no group, which makes a
cluster without __consumer_offsets create it. A look must change nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, TypeAlias

from .._model.partition import TopicPartition
from .._model.replica_log import Cause
from . import error_codes
from .addresses import Address
from .errors import BrokerCallError
from .fetch import fetch_request
from .wire import Wire

with suppress(ImportError):  # a missing library is named before anything is done (_module/run.py)
    from kafka.errors import CorruptRecordError
    from kafka.record.memory_records import MemoryRecords


_READ_COMMITTED = 1
_MAX_BYTES = 8 * 1024 * 1024

Record: TypeAlias = "tuple[bytes | None, bytes | None]"
"""Key and value; a value of None deletes the key."""


@dataclass(frozen=True, slots=True)
class CommittedRecords:
    """Every record up to the last stable offset, in order."""

    records: tuple[Record, ...]
    is_settled: bool
    """False when a transaction is open: its records are not there, nor any after them, committed or not."""


def committed_records(wire: Wire, leader: Address, partition: TopicPartition) -> CommittedRecords:
    """Read a partition from its beginning.

    For compacted topics: nothing else has all of its log, from offset 0.

    Raises BrokerCallError or RequestRefusedError.
    """
    offset = 0
    records: list[Record] = []
    while True:
        answer = _fetch(wire, leader, partition, offset)
        reader = _BatchReader(leader, answer)
        records += reader.records()
        if reader.next_offset is None or reader.next_offset >= answer.last_stable_offset:
            return CommittedRecords(tuple(records), answer.last_stable_offset == answer.high_watermark)
        offset = reader.next_offset


class _BatchReader:
    """One answer's record batches, without those of aborted transactions and without control batches."""

    def __init__(self, leader: Address, answer: Any) -> None:
        self._leader = leader
        self._content = answer.records
        self._pending = sorted(answer.aborted_transactions or (), key=lambda each: each.first_offset)
        self._aborted: set[int] = set()
        self.next_offset: int | None = None
        """The offset of the next fetch, after the records were read; None where there was no complete batch."""

    def records(self) -> Iterator[Record]:
        if not self._content:
            return
        try:
            for batch in MemoryRecords(self._content):
                if not batch.validate_crc():
                    raise CorruptRecordError(f"checksum of the batch at offset {batch.base_offset}")
                self.next_offset = batch.next_offset
                if self._is_committed(batch):
                    yield from ((record.key, record.value) for record in batch)
        except CorruptRecordError as error:
            raise BrokerCallError(str(self._leader), Cause.BAD_ANSWER, str(error), request="Fetch") from None

    def _is_committed(self, batch: Any) -> bool:
        while self._pending and self._pending[0].first_offset <= batch.last_offset:
            self._aborted.add(self._pending.pop(0).producer_id)
        if batch.is_control_batch:
            if any(marker.abort for marker in batch):
                self._aborted.discard(batch.producer_id)
            return False
        return not (batch.is_transactional and batch.producer_id in self._aborted)


def _fetch(wire: Wire, leader: Address, partition: TopicPartition, offset: int) -> Any:
    request = fetch_request(partition, offset, _MAX_BYTES, isolation_level=_READ_COMMITTED)
    response = wire.call(leader, request)
    if response.error_code:
        raise error_codes.refusal("Fetch", response.error_code)
    answers = [each for topic in response.responses for each in topic.partitions]
    if len(answers) != 1:
        raise BrokerCallError(str(leader), Cause.BAD_ANSWER, f"{len(answers)} partitions, not 1", request="Fetch")
    if answers[0].error_code:
        raise error_codes.refusal(f"Fetch of {partition}", answers[0].error_code)
    return answers[0]
