# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Ask one broker what each of its replicas holds (KAFKA-20098).

All values come from public RPCs. If the operator gives an API key for the proposal's own GetReplicaLogInfo, the log
ends come from there. It has neither log starts nor lineages, so the rows are the same either way.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import ceil
from types import MappingProxyType
from typing import TypeAlias

from .._model.partition import Broker, BrokerState, Cause, EpochEnd, ReplicaLog, TopicPartition
from .._model.run import Clock
from .cluster import check_identity
from .epochs import NoEpochEnd, Questions, epoch_ends
from .errors import BrokerCallError
from .held_replicas import (
    OffsetAnswer,
    last_tiered_offsets,
    local_start_offsets,
    log_end_offsets,
    log_start_offsets,
)
from .lineage_search import LineageSearch
from .log_dirs import LogDirs, describe_log_dirs
from .messages import in_batches
from .native import NativeSource, NotOfferedError, check_same_broker_epoch, replica_log_ends
from .replica_errors import epoch_error, offset_error
from .settings import Address, ConnectionSettings
from .wire import Connection, Wire

_PAUSE_S = 0.5
_STATE_CAUSES = {
    BrokerState.FENCED: Cause.FENCED,
    BrokerState.UNREACHABLE: Cause.UNREACHABLE,
    BrokerState.HUNG: Cause.HUNG,
    BrokerState.NOT_AUTHORISED: Cause.NOT_AUTHORISED,
    BrokerState.GIVEN_UP: Cause.GIVEN_UP,
}
# A broker that has just started may not know its replicas yet, so these causes are asked about again a few times.
_TRANSIENT = frozenset({Cause.MISSING, Cause.ERROR, Cause.BAD_ANSWER})
_MAX_LOOKS = 3
_QUESTIONS_AT_ONCE = 16_000
"""Epochs to ask about before the first answer arrives: one megabyte in each direction."""


def silent_rows(broker: Broker, partitions: Sequence[TopicPartition]) -> list[ReplicaLog]:
    """Return the rows of a broker that is not asked. Each row has the cause and error of the broker's state."""
    cause = _STATE_CAUSES.get(broker.state, Cause.ERROR)
    return [_failed_row(each, broker.broker_id, cause, broker.cause) for each in partitions]


@dataclass(frozen=True, slots=True)
class NativeQuestion:
    """What GetReplicaLogInfo needs: its API key, and the topic ids, in Kafka's text form, by topic name."""

    source: NativeSource
    topic_ids: Mapping[str, str]


def probe_replicas(
    settings: ConnectionSettings,
    broker: Broker,
    partitions: Sequence[TopicPartition],
    deadline: float,
    native: NativeQuestion | None = None,
    *,
    only_newest: Mapping[TopicPartition, EpochEnd | None] = MappingProxyType({}),
    tiered: Mapping[str, bool] = MappingProxyType({}),
    is_retried: bool = True,
    open_wire: Callable[[ConnectionSettings], Wire] = Wire,
    clock: Clock = time,
) -> list[ReplicaLog]:
    """Ask one broker about all the given replicas, and return one row for each, in the given order.

    An error of the broker becomes the cause in its rows, never an exception. The broker is asked again until
    ``deadline`` (by ``clock``), unless that cannot help: it refuses our principal, another broker answers at its
    address, or the controller fences it. ``is_retried`` False: it is not asked again after an error.

    All rows come over one connection. If it breaks, the broker may have restarted: its answers are void, and everything
    is asked again. The same holds if its broker epoch changes, which only an answer to ``native`` contains. When the
    deadline passes, the batches that are complete by then are kept.

    For the partitions in ``only_newest``, only the newest epoch with records is found, because a long lineage takes one
    request for each epoch. If all partitions are in it, log directories and sizes are not asked. If its value for a
    partition is the expected newest epoch, and the log still ends where that epoch ends, one question about it is
    enough, and the log start is not asked.

    ``tiered`` maps topics to whether they are tiered, if that is known. A replica of a tiered topic is also asked where
    the log on its disk starts, and for the last offset in the tier.
    """
    if broker.host is None or broker.port is None:
        return silent_rows(broker, partitions)
    address = Address(broker.host, broker.port)
    failure = BrokerCallError(str(address), Cause.DEADLINE, "the deadline passed before this broker was asked")
    rows: list[ReplicaLog] | None = None
    looks = 0
    with open_wire(settings) as wire:
        while clock.monotonic() < deadline:
            connection = wire.fresh_connection(address)
            probe = _Probe(
                settings, connection, broker.broker_id, deadline, clock, native, only_newest=only_newest, tiered=tiered
            )
            try:
                rows = probe.rows(partitions)
                looks += 1
            except BrokerCallError as error:
                # No answer, or no connection, in the time that was left.
                is_cut_short = error.cause in (Cause.HUNG, Cause.UNREACHABLE) and clock.monotonic() >= deadline
                if failure.cause is Cause.DEADLINE or not is_cut_short:
                    # Otherwise the error of the attempt before says more than the deadline.
                    failure = error
                if error.cause is not Cause.HUNG and clock.monotonic() < deadline:
                    # The broker may have restarted since the attempt before.
                    rows = None
                if rows is None and error.cause is Cause.HUNG and clock.monotonic() >= deadline:
                    rows = probe.complete_rows(partitions, error)
                if broker.is_fenced or not is_retried or _is_final(error):
                    break
            finally:
                connection.close()
            if rows is not None and (looks >= _MAX_LOOKS or not any(row.cause in _TRANSIENT for row in rows)):
                break
            clock.sleep(max(0.0, min(_PAUSE_S, deadline - clock.monotonic())))
    if rows is not None:
        return rows
    return [_failed_row(each, broker.broker_id, failure.cause, str(failure)) for each in partitions]


def _is_final(error: BrokerCallError) -> bool:
    return error.cause in (Cause.NOT_AUTHORISED, Cause.WRONG_BROKER) or isinstance(error, NotOfferedError)


@dataclass(slots=True)
class _Probe:
    """One attempt to ask a broker about all replicas, over one connection."""

    settings: ConnectionSettings
    connection: Connection
    broker_id: int
    deadline: float
    clock: Clock
    native: NativeQuestion | None = None
    broker_epoch: int | None = None
    only_newest: Mapping[TopicPartition, EpochEnd | None] = field(default_factory=dict)
    tiered: Mapping[str, bool] = field(default_factory=dict)
    complete: list[ReplicaLog] = field(default_factory=list)
    """The rows of the batches that the broker has answered completely."""

    def complete_rows(self, partitions: Sequence[TopicPartition], error: BrokerCallError) -> list[ReplicaLog] | None:
        """Return the complete rows, and failed rows for the rest. None if no row is complete.

        Without a last answer the broker epoch may have changed, so with ``native`` no row is valid.
        """
        if not self.complete or self.native is not None:
            return None
        known = {TopicPartition(row.topic, row.partition) for row in self.complete}
        rest = [each for each in partitions if each not in known]
        return [*self.complete, *(_failed_row(each, self.broker_id, error.cause, str(error)) for each in rest)]

    def rows(self, partitions: Sequence[TopicPartition]) -> list[ReplicaLog]:
        check_identity(self.connection, self.broker_id, timeout_ms=self._limit_ms())
        for batch in in_batches(partitions):
            self.complete += self._batch(batch)
        if self.native is not None:
            # A proxy may keep our connection open while the broker behind it restarts. The broker epoch shows that.
            self._native_log_ends(self.native, partitions[:1])
        return self.complete

    def _log_ends(self, partitions: Sequence[TopicPartition]) -> Mapping[TopicPartition, Sequence[OffsetAnswer]]:
        if self.native is None:
            return log_end_offsets(self.connection, partitions, timeout_ms=self._limit_ms())
        return self._native_log_ends(self.native, partitions)

    def _native_log_ends(
        self, native: NativeQuestion, partitions: Sequence[TopicPartition]
    ) -> Mapping[TopicPartition, Sequence[OffsetAnswer]]:
        answer = replica_log_ends(self.connection, native.source, native.topic_ids, partitions, limit_ms=self._limit_ms)
        if self.broker_epoch is not None:
            check_same_broker_epoch(self.connection, self.broker_epoch, answer.broker_epoch)
        self.broker_epoch = answer.broker_epoch
        return answer.logs

    def _limit_ms(self) -> int:
        return min(self.settings.request_timeout_ms, self._left_ms())

    def _left_ms(self) -> int:
        # Rounded up, so that a call cut short by the deadline ends after it and not just before.
        return max(1, ceil((self.deadline - self.clock.monotonic()) * 1000))

    def _batch(self, partitions: Sequence[TopicPartition]) -> list[ReplicaLog]:
        answered = {each: _Answer() for each in partitions}
        ends = self._log_ends(partitions)
        name = "ListOffsets (log end)" if self.native is None else "GetReplicaLogInfo"
        for each, answer in answered.items():
            answer.take_end(ends.get(each, ()), name)
        self._confirm_newest({each: answer for each, answer in answered.items() if answer.error is None})
        usable = [each for each, answer in answered.items() if answer.error is None and not answer.lineage]
        if usable:
            starts = log_start_offsets(self.connection, usable, timeout_ms=self._limit_ms())
            for each in usable:
                answered[each].take_start(starts.get(each, ()))
            self._ask_tiered({each: answered[each] for each in usable if self.tiered.get(each.topic)})
            self._ask_lineages({each: answered[each] for each in usable if answered[each].error is None})
        if all(each in self.only_newest for each in partitions):
            disk = LogDirs({}, {}, "")
        else:
            disk = describe_log_dirs(self.connection, partitions, timeout_ms=self._limit_ms())
        return [
            _make_row(each, self.broker_id, answer, disk, self.tiered.get(each.topic))
            for each, answer in answered.items()
        ]

    def _confirm_newest(self, answered: Mapping[TopicPartition, _Answer]) -> None:
        """Ask for the end of the expected newest epoch, in the logs that still end where it ends.

        If the epoch ends at the log end offset, it is the newest one with records. Any other answer confirms nothing.
        """
        expected = {
            each: newest
            for each, answer in answered.items()
            if (newest := self.only_newest.get(each)) is not None and newest.end_offset == answer.end
        }
        if not expected:
            return
        questions: Questions = {}
        for each, newest in expected.items():
            questions.setdefault(each.topic, {})[each.partition] = newest.epoch
        (found,) = epoch_ends(self.connection, [questions], limit_ms=self._limit_ms(), total_limit_ms=self._left_ms())
        for each, newest in expected.items():
            if found.get(each.topic, {}).get(each.partition) == newest:
                answered[each].lineage = (newest,)

    def _ask_tiered(self, answered: Mapping[TopicPartition, _Answer]) -> None:
        """Ask for the offsets that only tiered topics have. They stay None if the broker does not return them."""
        if not answered:
            return
        starts = local_start_offsets(self.connection, [*answered], timeout_ms=self._limit_ms())
        ends = last_tiered_offsets(self.connection, [*answered], timeout_ms=self._limit_ms())
        for each, answer in answered.items():
            answer.local_start = _known_offset(starts.get(each, ()))
            answer.last_tiered = _known_offset(ends.get(each, ()))

    def _ask_lineages(self, answered: Mapping[TopicPartition, _Answer]) -> None:
        searches: _Searches = defaultdict(dict)
        for each, answer in answered.items():
            searches[each.topic][each.partition] = answer.start_search(only_newest=each in self.only_newest)
        while requests := _next_requests(searches):
            found = epoch_ends(self.connection, requests, limit_ms=self._limit_ms(), total_limit_ms=self._left_ms())
            for request, answers in zip(requests, found, strict=True):
                for topic, epochs in request.items():
                    by_number, searching = answers.get(topic, {}), searches[topic]
                    for number, epoch in epochs.items():
                        search = searching.get(number)
                        if search is None:
                            continue
                        epoch_end = by_number.get(number)
                        error = epoch_error(epoch_end, epoch)
                        if error:
                            failed = answered[TopicPartition(topic, number)]
                            failed.error, failed.search = error, None
                            del searching[number]
                        else:
                            search.take_answer(epoch, None if isinstance(epoch_end, NoEpochEnd) else epoch_end)


_Searches: TypeAlias = "dict[str, dict[int, LineageSearch]]"
"""By topic and partition number."""


def _next_requests(searches: _Searches) -> list[Questions]:
    """Drop the searches that are over. Return the first questions of all the others, then the second questions, ..."""
    for topic, searching in [*searches.items()]:
        searches[topic] = {number: each for number, each in searching.items() if each.question is not None}
        if not searches[topic]:
            del searches[topic]
    max_questions = max(1, _QUESTIONS_AT_ONCE // max(1, sum(map(len, searches.values()))))
    requests: list[Questions] = []
    for topic, searching in searches.items():
        for number, search in searching.items():
            for index, epoch in enumerate(search.next_questions(max_questions)):
                if index == len(requests):
                    requests.append({})
                requests[index].setdefault(topic, {})[number] = epoch
    return requests


class _Answer:
    """The answers about one replica so far. Mutable and without a dataclass, because a gather has a million of them."""

    __slots__ = ("end", "epoch", "error", "last_tiered", "lineage", "local_start", "search", "start")

    def __init__(self) -> None:
        self.end: int | None = None
        self.epoch: int | None = None
        self.start: int | None = None
        self.local_start: int | None = None
        self.last_tiered: int | None = None
        self.search: LineageSearch | None = None
        self.lineage: tuple[EpochEnd, ...] = ()
        """The newest epoch, if it was confirmed without a search."""
        self.error: tuple[Cause, str] | None = None

    def take_end(self, answers: Sequence[OffsetAnswer], request: str) -> None:
        self.error = offset_error(answers, request)
        if self.error is None:
            self.end, self.epoch = answers[0].offset, answers[0].current_leader_epoch

    def take_start(self, answers: Sequence[OffsetAnswer]) -> None:
        self.error = offset_error(answers, "ListOffsets (log start)")
        if self.error is not None:
            return
        start, end = answers[0].offset, self.end or 0
        if start > end:
            self.error = (Cause.BAD_ANSWER, f"log start offset {start} lies beyond log end offset {end}")
        else:
            self.start = start

    def start_search(self, *, only_newest: bool) -> LineageSearch:
        self.search = LineageSearch(
            self.start or 0, self.end or 0, self.epoch or 0, is_leaderless=True, only_newest=only_newest
        )
        return self.search


def _make_row(
    partition: TopicPartition, broker_id: int, answered: _Answer, disk: LogDirs, is_tiered: bool | None
) -> ReplicaLog:
    replicas = disk.replicas.get(partition, ())
    current = next((each for each in replicas if not each.is_future), None)
    error = answered.error
    if error is None and current is not None and current.log_dir in disk.offline:
        error = (Cause.LOG_DIR_OFFLINE, f"{current.log_dir}: {disk.offline[current.log_dir]}")
    lineage = answered.search.lineage if answered.search else answered.lineage
    return ReplicaLog(
        partition.topic,
        partition.partition,
        broker_id,
        answered.start,
        answered.search.log_end_offset if answered.search else answered.end,
        answered.epoch,
        lineage[-1].epoch if lineage else None,
        lineage,
        current.size_bytes if current else None,
        current.log_dir if current else None,
        any(each.is_future for each in replicas) if len(replicas) > 1 or current is None else False,
        error[0] if error else None,
        error[1] if error else "",
        is_tiered,
        answered.local_start,
        answered.last_tiered,
    )


def _known_offset(answers: Sequence[OffsetAnswer]) -> int | None:
    known = len(answers) == 1 and not answers[0].error_code and answers[0].offset >= 0
    return answers[0].offset if known else None


def _failed_row(partition: TopicPartition, broker_id: int, cause: Cause, error: str) -> ReplicaLog:
    return ReplicaLog(partition.topic, partition.partition, broker_id, cause=cause, error=error)
