# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Writes records in transactions, which keep what was given back in the same step."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from .._changes.record import JournalError
from .._kafka.errors import BrokerCallError, RequestRefusedError
from .._model.partition import TopicPartition
from .._model.run import KafkaOpsError, Progress
from .headers import origin_headers
from .log_reading import OpenTransactionError
from .part import Part
from .replay_progress import ProgressTopic, ReplayProgressError
from .saved_rows import SavedRow
from .transactional import Outgoing, ProducerError, TransactionalProducer

_BYTES_AT_ONCE = 16 * 1024 * 1024
_RECORDS_AT_ONCE = 20_000
_STOPPED = "the run was asked to stop; run it again, and it continues"
_MEGABYTE = 1_000_000


class _StopError(KafkaOpsError):
    """Nothing more can be written, whatever partition it is of."""


@dataclass(slots=True)
class Writing:
    """One run's writes."""

    producer: TransactionalProducer
    kept: ProgressTopic
    parts: Mapping[TopicPartition, Part]
    require_lock: Callable[[], None]
    """Raises JournalError when this run may not write any more."""
    progress: Progress
    stop: threading.Event
    _rows: list[SavedRow] = field(default_factory=list)
    _bytes: int = 0
    _given: int = 0
    _given_bytes: int = 0
    _began: float = 0.0

    def write(self, rows: Iterable[SavedRow], cluster_id: str, throttle_bytes_per_second: int) -> None:
        """Write all that is to be given back. What fails is noted in its part."""
        at_once = min(_BYTES_AT_ONCE, throttle_bytes_per_second or _BYTES_AT_ONCE)
        total = sum(each.counts.to_give for each in self.parts.values() if not each.failure)
        for each in self.parts.values():
            each.counts.left_out.clear()
        self._began = time.monotonic()
        try:
            for row in rows:
                part = self.parts.get(row.topic_partition)
                if part is None or part.failure:
                    continue
                self._rows.append(row)
                self._bytes += row.size
                if self._bytes >= at_once or len(self._rows) >= _RECORDS_AT_ONCE:
                    self._flush(cluster_id)
                    self._tell(total)
                    self._wait(throttle_bytes_per_second)
            self._flush(cluster_id)
        except _StopError as error:
            for each in self.parts.values():
                each.failure = each.failure or (str(error) if each.counts.given < each.counts.to_give else "")

    def _flush(self, cluster_id: str) -> None:
        rows, self._rows, self._bytes = self._rows, [], 0
        if self.stop.is_set():
            raise _StopError(_STOPPED)
        by_part: dict[TopicPartition, list[SavedRow]] = {}
        for row in rows:
            by_part.setdefault(row.topic_partition, []).append(row)
        outgoing = {name: self._outgoing(self.parts[name], some, cluster_id) for name, some in by_part.items()}
        self._transact({name: some for name, some in outgoing.items() if not self.parts[name].failure})

    def _outgoing(self, part: Part, rows: Sequence[SavedRow], cluster_id: str) -> list[Outgoing]:
        if part.newer is not None:
            try:
                # Whatever was written meanwhile is newer, too.
                part.newer.read_on()
            except (OpenTransactionError, BrokerCallError, RequestRefusedError) as error:
                part.failure = str(error)
                return []
        return [
            Outgoing(
                part.target.name,
                row.partition,
                row.key,
                row.value,
                [*row.headers, *origin_headers(cluster_id, row)],
                row.timestamp_ms,
            )
            for row in rows
            if part.takes(row)
        ]

    def _transact(self, outgoing: Mapping[TopicPartition, list[Outgoing]]) -> None:
        """Write one transaction. Where it fails, each partition gets one of its own, so that one keeps none back."""
        if not outgoing:
            return
        parts = [self.parts[name] for name in outgoing]
        for part in parts:
            part.ledger.given = part.counts.given_before + part.counts.given + len(outgoing[part.topic_partition])
            part.ledger.superseded = part.counts.superseded
        try:
            kept = self.kept.records({part.place: part.ledger for part in parts})
            self.require_lock()
            self.producer.write([each for some in outgoing.values() for each in some] + kept)
        except (ReplayProgressError, ProducerError) as error:
            if isinstance(error, ProducerError) and error.is_final:
                raise _StopError(str(error)) from None
            if len(outgoing) == 1:
                parts[0].failure = str(error)
                return
            for name, some in outgoing.items():
                self._transact({name: some})
            return
        except JournalError as error:
            raise _StopError(str(error)) from None
        for part in parts:
            some = outgoing[part.topic_partition]
            size = sum(len(each.key or b"") + len(each.value or b"") for each in some)
            part.counts.given += len(some)
            part.counts.given_bytes += size
            self._given += len(some)
            self._given_bytes += size

    def _tell(self, total: int) -> None:
        seconds = max(1e-3, time.monotonic() - self._began)
        left = (total - self._given) * seconds / self._given if self._given else 0
        text = f"giving records back, {self._given_bytes / seconds / _MEGABYTE:.1f} MB a second"
        self.progress.step(f"{text}, about {left:.0f} s left" if self._given else text, self._given, total)

    def _wait(self, throttle_bytes_per_second: int) -> None:
        if throttle_bytes_per_second:
            due = self._began + self._given_bytes / throttle_bytes_per_second
            self.stop.wait(max(0.0, due - time.monotonic()))
