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

from ansible_collections.kafkaops.recovery.plugins.module_utils.kafka import error_codes
from ansible_collections.kafkaops.recovery.plugins.module_utils.kafka.addresses import Address
from ansible_collections.kafkaops.recovery.plugins.module_utils.kafka.errors import BrokerCallError
from ansible_collections.kafkaops.recovery.plugins.module_utils.kafka.wire import Wire
from ansible_collections.kafkaops.recovery.plugins.module_utils.model.partition import TopicPartition
from ansible_collections.kafkaops.recovery.plugins.module_utils.model.replica_log import Cause

with suppress(ImportError):  # a missing library is told by name before anything is done (glue/failures.py)
    from kafka.errors import CorruptRecordError
    from kafka.protocol.consumer import FetchRequest
    from kafka.record.memory_records import MemoryRecords

_VERSION = 12
"""The last version that names topics."""
_CONSUMER = -1
_READ_COMMITTED = 1
_MAX_BYTES = 8 * 1024 * 1024
_NO_SESSION_EPOCH = -1

Record: TypeAlias = "tuple[bytes | None, bytes | None]"
"""Key and value; a value of None deletes the key."""


@dataclass(frozen=True, slots=True)
class CommittedRecords:
    """Every record up to the last stable offset, in order."""

    records: tuple[Record, ...]
    is_settled: bool
    """False when a transaction is open: its records are not there, nor any after them, committed or not."""


def committed_records(wire: Wire, leader: Address, partition: TopicPartition) -> CommittedRecords:
    """Reads a partition from its beginning.

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
        """Where the next fetch goes on, once the records were read; None when there was no whole batch."""

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
        except CorruptRecordError as fault:
            raise BrokerCallError(str(self._leader), Cause.BAD_ANSWER, str(fault), request="Fetch") from None

    def _is_committed(self, batch: Any) -> bool:
        while self._pending and self._pending[0].first_offset <= batch.last_offset:
            self._aborted.add(self._pending.pop(0).producer_id)
        if batch.is_control_batch:
            if any(marker.abort for marker in batch):
                self._aborted.discard(batch.producer_id)
            return False
        return not (batch.is_transactional and batch.producer_id in self._aborted)


def _fetch(wire: Wire, leader: Address, partition: TopicPartition, offset: int) -> Any:
    message = FetchRequest
    request = message(
        replica_id=_CONSUMER,
        max_wait_ms=0,
        min_bytes=0,
        max_bytes=_MAX_BYTES,
        isolation_level=_READ_COMMITTED,
        session_id=0,
        session_epoch=_NO_SESSION_EPOCH,
        topics=[
            message.FetchTopic(
                topic=partition.topic,
                partitions=[
                    message.FetchTopic.FetchPartition(
                        partition=partition.partition,
                        current_leader_epoch=-1,
                        fetch_offset=offset,
                        last_fetched_epoch=-1,
                        log_start_offset=-1,
                        partition_max_bytes=_MAX_BYTES,
                    )
                ],
            )
        ],
        forgotten_topics_data=[],
        rack_id="",
        min_version=_VERSION,
        max_version=_VERSION,
    )
    response = wire.call(leader, request)
    if response.error_code:
        raise error_codes.refusal("Fetch", response.error_code)
    answers = [each for topic in response.responses for each in topic.partitions]
    if len(answers) != 1:
        raise BrokerCallError(str(leader), Cause.BAD_ANSWER, f"{len(answers)} partitions, not 1", request="Fetch")
    if answers[0].error_code:
        raise error_codes.refusal(f"Fetch of {partition}", answers[0].error_code)
    return answers[0]
