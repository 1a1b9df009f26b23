# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What each replica of one broker holds, asked of the broker itself (KAFKA-20098).

By public RPCs, or, where an operator names it, log ends by the proposal's own GetReplicaLogInfo. It returns neither
log start nor lineage, so these come from the public RPCs either way, and rows are the same.
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
# A second look helps with these only for a moment: a broker that has just come up may not know its replicas yet.
_PASSING = frozenset({Cause.MISSING, Cause.ERROR, Cause.BAD_ANSWER})
_LOOKS_AT_PASSING = 3
_QUESTIONS_AT_ONCE = 16_000
"""Epochs asked about before the first answer is there: a megabyte in each direction."""


def silent_rows(broker: Broker, partitions: Sequence[TopicPartition]) -> list[ReplicaLog]:
    """Return the rows of a broker that is not asked. Each one names the broker's state and its cause."""
    cause = _STATE_CAUSES.get(broker.state, Cause.ERROR)
    return [_failed(each, broker.broker_id, cause, broker.cause) for each in partitions]


@dataclass(frozen=True, slots=True)
class NativeQuestion:
    """GetReplicaLogInfo, and the topic ids that it asks by, in Kafka's text form and by topic name."""

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
    """Ask one broker for all the given replicas, and return one row for each, in the order given.

    ``deadline`` is by ``clock``. Trouble with the broker ends up in the rows, never in an exception. The
    broker is tried again until the deadline, except where that cannot help: it refuses us, another one answers at its
    address, or the controller fences it as well. All rows come over one connection: when it breaks the broker may have
    restarted, so what it said before is void and everything is asked again. So it is when its broker epoch changes,
    which only an answer to the ``native`` question contains. What the deadline cuts short is not void: the batches
    that were complete by then are kept, as long as their connection stood.

    Of ``only_newest`` the newest epoch with records is asked, and no older one, and neither directory nor size where
    that is all that is asked: a deep lineage takes a request for each epoch. If that epoch and its end are given, and
    the log still ends there, one question about it confirms them, and the log start is not asked.

    ``tiered`` says by topic whether it is tiered, where that is known: such a replica is asked where its own disk
    starts, too, and what it knows of the tier.

    Without ``is_retried``, a broker with which there was trouble is not tried again.
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
                # Nothing came, or no connection could be made in what was left.
                is_cut_short = error.cause in (Cause.HUNG, Cause.UNREACHABLE) and clock.monotonic() >= deadline
                if failure.cause is Cause.DEADLINE or not is_cut_short:
                    # A look that the deadline cut short contains less than the one before.
                    failure = error
                if error.cause is not Cause.HUNG and clock.monotonic() < deadline:
                    # It may have restarted since the look before.
                    rows = None
                if rows is None and error.cause is Cause.HUNG and clock.monotonic() >= deadline:
                    rows = probe.complete_rows(partitions, error)
                if broker.is_fenced or not is_retried or _is_final(error):
                    break
            finally:
                connection.close()
            if rows is not None and (looks >= _LOOKS_AT_PASSING or not any(row.cause in _PASSING for row in rows)):
                break
            clock.sleep(max(0.0, min(_PAUSE_S, deadline - clock.monotonic())))
    if rows is not None:
        return rows
    return [_failed(each, broker.broker_id, failure.cause, str(failure)) for each in partitions]


def _is_final(error: BrokerCallError) -> bool:
    return error.cause in (Cause.NOT_AUTHORISED, Cause.WRONG_BROKER) or isinstance(error, NotOfferedError)


@dataclass(slots=True)
class _Probe:
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
        """Return the rows that are complete, and failed ones for the rest; None when none is.

        Without its last answer, a broker's epoch is not known to be the same: then the ``native`` rows are void.
        """
        if not self.complete or self.native is not None:
            return None
        known = {TopicPartition(row.topic, row.partition) for row in self.complete}
        rest = [each for each in partitions if each not in known]
        return [*self.complete, *(_failed(each, self.broker_id, error.cause, str(error)) for each in rest)]

    def rows(self, partitions: Sequence[TopicPartition]) -> list[ReplicaLog]:
        check_identity(self.connection, self.broker_id, timeout_ms=self._limit_ms())
        for batch in in_batches(partitions):
            self.complete += self._batch(batch)
        if self.native is not None:
            # A proxy may hold our connection while the broker behind it restarts. Its epoch shows that.
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
            _row(each, self.broker_id, answer, disk, self.tiered.get(each.topic)) for each, answer in answered.items()
        ]

    def _confirm_newest(self, answered: Mapping[TopicPartition, _Answer]) -> None:
        """Ask for the end of the newest epoch that is expected, of the logs that end there.

        That epoch is the newest one with records if it ends at the log end. Any other answer confirms nothing.
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
        """Ask what only tiered topics have. A replica that refuses is not worth less: that is unknown then."""
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
                            search.take(epoch, None if isinstance(epoch_end, NoEpochEnd) else epoch_end)


_Searches: TypeAlias = "dict[str, dict[int, LineageSearch]]"
"""By topic and partition number."""


def _next_requests(searches: _Searches) -> list[Questions]:
    """Drop the searches that are over. Return the first question of each of the others, then the second one, ..."""
    for topic, searching in [*searches.items()]:
        searches[topic] = {number: each for number, each in searching.items() if each.question is not None}
        if not searches[topic]:
            del searches[topic]
    most = max(1, _QUESTIONS_AT_ONCE // max(1, sum(map(len, searches.values()))))
    requests: list[Questions] = []
    for topic, searching in searches.items():
        for number, search in searching.items():
            for place, epoch in enumerate(search.next_questions(most)):
                if place == len(requests):
                    requests.append({})
                requests[place].setdefault(topic, {})[number] = epoch
    return requests


class _Answer:
    """What one replica answered so far. Mutable, and converted to a row at the end: a gather has a million of them."""

    __slots__ = ("end", "epoch", "error", "last_tiered", "lineage", "local_start", "search", "start")

    def __init__(self) -> None:
        self.end: int | None = None
        self.epoch: int | None = None
        self.start: int | None = None
        self.local_start: int | None = None
        self.last_tiered: int | None = None
        self.search: LineageSearch | None = None
        self.lineage: tuple[EpochEnd, ...] = ()
        """Of a log whose newest epoch was confirmed, that one."""
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


def _row(
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


def _failed(partition: TopicPartition, broker_id: int, cause: Cause, error: str) -> ReplicaLog:
    return ReplicaLog(partition.topic, partition.partition, broker_id, cause=cause, error=error)
