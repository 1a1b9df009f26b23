# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Write records in transactions. Each transaction also stores in the ledgers which records it gives back."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice, repeat

from .._changes.record import JournalError
from .._kafka.errors import BrokerCallError, RequestRefusedError
from .._kafka.log_reading import OpenTransactionError
from .._model.partition import TopicPartition, grouped
from .._model.run import KafkaOpsError, Progress, garbage_collection_paused
from .held_again import HeldAgain
from .pace import MOST_BYTES, Pace
from .partition_replay import PartitionReplay
from .replay_progress import ProgressTopic, ReplayProgressError
from .saved_run import SavedRun, add_origin_headers
from .transactional import Outgoing, ProducerError, TransactionalProducer

_RECORDS_AT_ONCE = 20_000
_STOPPED = "the run was asked to stop; run it again, and it continues"
_MEGABYTE = 1_000_000


class _StopError(KafkaOpsError):
    """Nothing more can be written to any partition."""


@dataclass(slots=True)
class ReplayWriter:
    """Writes the records of one run."""

    producer: TransactionalProducer
    progress_topic: ProgressTopic
    parts: Mapping[TopicPartition, PartitionReplay]
    cluster_id: str
    throttle_bytes_per_second: int
    """0 for no limit."""
    require_lock: Callable[[], None]
    """Raises JournalError if this run has lost the lock and must not write any more."""
    progress: Progress
    stop: threading.Event
    held_again: HeldAgain | None = None
    """Set if records are given back to their original topics."""
    pace: Pace = field(default_factory=Pace)
    _given: int = 0
    _given_bytes: int = 0
    _began: float = 0.0

    def write(self, runs: Iterable[SavedRun]) -> None:
        """Write all records to give back. If a partition fails, its ``failure`` says why."""
        total = sum(each.counts.to_give for each in self.parts.values() if not each.failure)
        for each in self.parts.values():
            each.counts.left_out.clear()
            each.counts.held_too = 0
        self._began = time.monotonic()
        try:
            self._report_progress(total)
            # Every record has several objects until its transaction ends. The garbage collector would visit them all.
            with garbage_collection_paused():
                transactions = _ReadAhead(self._transactions(runs))
                for transaction in transactions:
                    self._write_transaction(transaction, transactions.read)
                    self._report_progress(total)
                    self._wait()
        except _StopError as error:
            for each in self.parts.values():
                each.failure = each.failure or (str(error) if each.counts.given < each.counts.to_give else "")

    def _transactions(self, runs: Iterable[SavedRun]) -> Iterator[list[SavedRun]]:
        """Yield the records of each transaction, without those of partitions that have failed."""
        limit = self.throttle_bytes_per_second or MOST_BYTES
        most_bytes = min(limit, self.pace.next_bytes)
        transaction: list[SavedRun] = []
        size = records = 0
        for run in runs:
            part, rest = self.parts.get(run.topic_partition), run
            while part is not None and not part.failure and rest.records:
                head = rest.take_first(most_bytes - size, _RECORDS_AT_ONCE - records)
                rest = rest.between(head.next_offset, rest.next_offset)
                transaction.append(head)
                size += head.size_with_headers
                records += head.records
                if size >= most_bytes or records >= _RECORDS_AT_ONCE:
                    yield transaction
                    transaction, size, records = [], 0, 0
                    most_bytes = min(limit, self.pace.next_bytes)
        yield transaction

    def _write_transaction(self, runs: Sequence[SavedRun], meanwhile: Callable[[], None]) -> None:
        if self.stop.is_set():
            raise _StopError(_STOPPED)
        # A partition may have failed since its records were read.
        by_part = grouped((each.topic_partition, each) for each in runs if not self.parts[each.topic_partition].failure)
        self._find_held_again(by_part)
        by_part = {name: some for name, some in by_part.items() if not self.parts[name].failure}
        batches = {name: self._select(self.parts[name], some) for name, some in by_part.items()}
        self._write_all_or_each(
            {name: batch for name, batch in batches.items() if not self.parts[name].failure}, meanwhile
        )

    def _find_held_again(self, partitions: Collection[TopicPartition]) -> None:
        """Look again which records the topics have: since the last transaction, another leader may have been elected.

        A partition for which this is unknown fails.
        """
        if self.held_again is None or not partitions:
            return
        try:
            self.held_again.look(partitions)
        except KafkaOpsError as error:
            for each in partitions:
                self.parts[each].failure = str(error)
            return
        for each in partitions:
            self.parts[each].set_held(self.held_again[each])

    def _select(self, part: PartitionReplay, runs: Sequence[SavedRun]) -> _Batch:
        """Return the records that the partition still needs. If its log cannot be read, it fails."""
        if part.newer is not None:
            try:
                # Records that were written since the last transaction are newer too.
                part.newer.read_to_end()
            except (OpenTransactionError, BrokerCallError, RequestRefusedError) as error:
                part.failure = str(error)
                return _Batch(part.target.name, (), self.cluster_id)
        return _Batch(part.target.name, [one for run in runs for one in part.take(run)], self.cluster_id)

    def _write_all_or_each(self, batches: Mapping[TopicPartition, _Batch], meanwhile: Callable[[], None]) -> None:
        """Write one transaction. If it fails, write each partition in a transaction of its own.

        So one partition that cannot be written does not stop the others.
        """
        if not batches:
            return
        parts = [self.parts[name] for name in batches]
        for part in parts:
            part.ledger.given = part.counts.given_before + part.counts.given + batches[part.topic_partition].count
            part.ledger.superseded = part.counts.superseded
        try:
            ledgers = self.progress_topic.records({part.ledger_key: part.ledger for part in parts})
            self.require_lock()
            began = time.monotonic()
            self.producer.write([*batches.values(), ledgers], meanwhile)
            self.pace.record(sum(each.size for each in batches.values()), time.monotonic() - began)
        except (ReplayProgressError, ProducerError) as error:
            if isinstance(error, ProducerError) and error.is_final:
                raise _StopError(str(error)) from None
            if len(batches) == 1:
                parts[0].failure = str(error)
                return
            for name, batch in batches.items():
                self._write_all_or_each({name: batch}, meanwhile)
            return
        except JournalError as error:
            raise _StopError(str(error)) from None
        for part in parts:
            batch = batches[part.topic_partition]
            part.counts.given += batch.count
            part.counts.given_bytes += batch.size
            self._given += batch.count
            self._given_bytes += batch.size

    def _report_progress(self, total: int) -> None:
        text = "giving records back"
        if self._given:
            seconds = max(1e-3, time.monotonic() - self._began)
            text += f", {self._given_bytes / seconds / _MEGABYTE:.1f} MB a second"
        if 0 < self._given < total:
            text += f", about {(total - self._given) * seconds / self._given:.0f} s left"
        self.progress.step(text, self._given, total)

    def _wait(self) -> None:
        if self.throttle_bytes_per_second:
            due = self._began + self._given_bytes / self.throttle_bytes_per_second
            self.stop.wait(max(0.0, due - time.monotonic()))


class _ReadAhead:
    """Iterates over transactions. ``read`` reads the next one ahead of time."""

    def __init__(self, transactions: Iterator[list[SavedRun]]) -> None:
        self._transactions = transactions
        self._next: list[list[SavedRun]] = []

    def read(self) -> None:
        if not self._next:
            self._next = [*islice(self._transactions, 1)]

    def __iter__(self) -> Iterator[list[SavedRun]]:
        while True:
            self.read()
            if not self._next:
                return
            yield self._next.pop()


@dataclass(frozen=True, slots=True)
class _Batch:
    """The records of one partition in one transaction. Each iteration builds them again."""

    topic: str
    runs: Sequence[SavedRun]
    cluster_id: str

    @property
    def count(self) -> int:
        return sum(each.records for each in self.runs)

    @property
    def size(self) -> int:
        """Bytes of keys and values."""
        return sum(each.size for each in self.runs)

    def __iter__(self) -> Iterator[Outgoing]:
        for run in self.runs:
            where = repeat(self.topic, run.records), repeat(run.partition, run.records)
            what = run.keys, run.values, add_origin_headers(self.cluster_id, run), run.timestamps_ms
            yield from zip(*where, *what, strict=True)
