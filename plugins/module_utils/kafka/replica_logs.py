# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What each replica of one broker holds, asked of the broker itself (KAFKA-20098).

By public RPCs, or, where an operator names it, log ends by the proposal's own GetReplicaLogInfo. That one tells neither
log start nor lineage, so these come from the public RPCs either way, and rows are the same.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil

from ansible_collections.kafkaops.recovery.plugins.module_utils.kafka import error_codes
from ansible_collections.kafkaops.recovery.plugins.module_utils.kafka.addresses import Address
from ansible_collections.kafkaops.recovery.plugins.module_utils.kafka.batches import in_batches
from ansible_collections.kafkaops.recovery.plugins.module_utils.kafka.epoch_probe import EpochAnswer, epoch_ends
from ansible_collections.kafkaops.recovery.plugins.module_utils.kafka.errors import BrokerCallError
from ansible_collections.kafkaops.recovery.plugins.module_utils.kafka.identity import check_identity
from ansible_collections.kafkaops.recovery.plugins.module_utils.kafka.lineage_search import LineageSearch
from ansible_collections.kafkaops.recovery.plugins.module_utils.kafka.list_offsets import (
    OffsetAnswer,
    log_end_offsets,
    log_start_offsets,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils.kafka.log_dirs import LogDirs, describe_log_dirs
from ansible_collections.kafkaops.recovery.plugins.module_utils.kafka.native_replica_logs import (
    NotOfferedError,
    check_same_life,
    replica_log_ends,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils.kafka.native_source import NativeSource
from ansible_collections.kafkaops.recovery.plugins.module_utils.kafka.settings import ConnectionSettings
from ansible_collections.kafkaops.recovery.plugins.module_utils.kafka.wire import Connection, Wire
from ansible_collections.kafkaops.recovery.plugins.module_utils.model.broker import Broker, BrokerState
from ansible_collections.kafkaops.recovery.plugins.module_utils.model.partition import TopicPartition
from ansible_collections.kafkaops.recovery.plugins.module_utils.model.replica_log import Cause, ReplicaLog

_CAUSES = {
    error_codes.UNKNOWN_TOPIC_OR_PARTITION: Cause.MISSING,
    error_codes.UNKNOWN_TOPIC_ID: Cause.MISSING,
    error_codes.NOT_LEADER_OR_FOLLOWER: Cause.MISSING,
    error_codes.TOPIC_AUTHORIZATION_FAILED: Cause.NOT_AUTHORISED,
    error_codes.CLUSTER_AUTHORIZATION_FAILED: Cause.NOT_AUTHORISED,
    error_codes.KAFKA_STORAGE_ERROR: Cause.LOG_DIR_OFFLINE,
}
_PAUSE_S = 0.5
_STATE_CAUSES = {
    BrokerState.FENCED: Cause.FENCED,
    BrokerState.UNREACHABLE: Cause.UNREACHABLE,
    BrokerState.HUNG: Cause.HUNG,
    BrokerState.NOT_AUTHORISED: Cause.NOT_AUTHORISED,
}
# A second look helps with these only for a moment: a broker that has just come up may not know its replicas yet.
_PASSING = frozenset({Cause.MISSING, Cause.ERROR, Cause.BAD_ANSWER})
_LOOKS_AT_PASSING = 3


def silent_rows(broker: Broker, partitions: Sequence[TopicPartition]) -> list[ReplicaLog]:
    """The rows of a broker that is not asked: each one names the broker's state and its cause."""
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
) -> list[ReplicaLog]:
    """Asks one broker for all the given replicas, and returns one row for each, in the order given.

    ``deadline`` is a time.monotonic() value. Trouble with the broker ends up in the rows, never in an exception. The
    broker is tried again until the deadline, except where that cannot help: it refuses us, another one answers at its
    address, or the controller fences it as well. All rows come over one connection: when it breaks the broker may have
    restarted, so what it said before is void and everything is asked again. So it is when its broker epoch changes,
    which only an answer to the ``native`` question tells.
    """
    if broker.host is None or broker.port is None:
        return silent_rows(broker, partitions)
    address = Address(broker.host, broker.port)
    failure = BrokerCallError(str(address), Cause.DEADLINE, "the deadline passed before this broker was asked")
    rows: list[ReplicaLog] | None = None
    looks = 0
    with Wire(settings) as wire:
        while time.monotonic() < deadline:
            connection = wire.fresh_connection(address)
            try:
                rows = _Probe(settings, connection, broker.broker_id, deadline, native).rows(partitions)
                looks += 1
            except BrokerCallError as fault:
                # Nothing came, or no connection could be made in what was left.
                is_cut_short = fault.cause in (Cause.HUNG, Cause.UNREACHABLE) and time.monotonic() >= deadline
                if failure.cause is Cause.DEADLINE or not is_cut_short:
                    # A look cut short by the deadline tells less than the one before.
                    failure = fault
                if fault.cause is not Cause.HUNG and time.monotonic() < deadline:
                    # It may have restarted since the look before.
                    rows = None
                if broker.is_fenced or _is_final(fault):
                    break
            finally:
                connection.close()
            if rows is not None and (looks >= _LOOKS_AT_PASSING or not any(row.cause in _PASSING for row in rows)):
                break
            time.sleep(max(0.0, min(_PAUSE_S, deadline - time.monotonic())))
    if rows is not None:
        return rows
    return [_failed(each, broker.broker_id, failure.cause, str(failure)) for each in partitions]


def _is_final(fault: BrokerCallError) -> bool:
    return fault.cause in (Cause.NOT_AUTHORISED, Cause.WRONG_BROKER) or isinstance(fault, NotOfferedError)


@dataclass(slots=True)
class _Probe:
    settings: ConnectionSettings
    connection: Connection
    broker_id: int
    deadline: float
    native: NativeQuestion | None = None
    broker_epoch: int | None = None

    def rows(self, partitions: Sequence[TopicPartition]) -> list[ReplicaLog]:
        check_identity(self.connection, self.broker_id, timeout_ms=self._limit_ms())
        rows = [row for batch in in_batches(partitions) for row in self._batch(batch)]
        if self.native is not None:
            # A proxy may hold our connection while the broker behind it restarts. Its epoch tells.
            self._native_log_ends(self.native, partitions[:1])
        return rows

    def _log_ends(self, partitions: Sequence[TopicPartition]) -> Mapping[TopicPartition, Sequence[OffsetAnswer]]:
        if self.native is None:
            return log_end_offsets(self.connection, partitions, timeout_ms=self._limit_ms())
        return self._native_log_ends(self.native, partitions)

    def _native_log_ends(
        self, native: NativeQuestion, partitions: Sequence[TopicPartition]
    ) -> Mapping[TopicPartition, Sequence[OffsetAnswer]]:
        answer = replica_log_ends(self.connection, native.source, native.topic_ids, partitions, limit_ms=self._limit_ms)
        if self.broker_epoch is not None:
            check_same_life(self.connection, self.broker_epoch, answer.broker_epoch)
        self.broker_epoch = answer.broker_epoch
        return answer.logs

    def _limit_ms(self) -> int:
        # Rounded up, so that a call cut short by the deadline ends after it and not just before.
        left_ms = ceil((self.deadline - time.monotonic()) * 1000)
        return max(1, min(self.settings.request_timeout_ms, left_ms))

    def _batch(self, partitions: Sequence[TopicPartition]) -> list[ReplicaLog]:
        told = {each: _Told() for each in partitions}
        ends = self._log_ends(partitions)
        name = "ListOffsets (log end)" if self.native is None else "GetReplicaLogInfo"
        for each, answer in told.items():
            answer.take_end(ends.get(each, ()), name)
        well = [each for each, answer in told.items() if answer.fault is None]
        if well:
            starts = log_start_offsets(self.connection, well, timeout_ms=self._limit_ms())
            for each in well:
                told[each].take_start(starts.get(each, ()))
            self._ask_lineages({each: told[each] for each in well if told[each].fault is None})
        disk = describe_log_dirs(self.connection, partitions, timeout_ms=self._limit_ms())
        return [_row(each, self.broker_id, answer, disk) for each, answer in told.items()]

    def _ask_lineages(self, told: Mapping[TopicPartition, _Told]) -> None:
        searches = {each: answer.start_search() for each, answer in told.items()}
        while True:
            questions = {each: search.question for each, search in searches.items() if search.question is not None}
            if not questions:
                break
            answers = epoch_ends(self.connection, questions, timeout_ms=self._limit_ms())
            for each, question in questions.items():
                answer = answers.get(each, [])
                fault = _epoch_fault(answer, question)
                if fault:
                    told[each].fault, told[each].search = fault, None
                    del searches[each]
                else:
                    searches[each].answer(answer[0].epoch_end)


class _Told:
    """What one replica told so far. Mutable, and made into a row at the end: a gather makes a million of them."""

    __slots__ = ("end", "epoch", "fault", "search", "start")

    def __init__(self) -> None:
        self.end: int | None = None
        self.epoch: int | None = None
        self.start: int | None = None
        self.search: LineageSearch | None = None
        self.fault: tuple[Cause, str] | None = None

    def take_end(self, answers: Sequence[OffsetAnswer], request: str) -> None:
        self.fault = _offset_fault(answers, request)
        if self.fault is None:
            self.end, self.epoch = answers[0].offset, answers[0].current_leader_epoch

    def take_start(self, answers: Sequence[OffsetAnswer]) -> None:
        self.fault = _offset_fault(answers, "ListOffsets (log start)")
        if self.fault is not None:
            return
        start, end = answers[0].offset, self.end or 0
        if start > end:
            self.fault = (Cause.BAD_ANSWER, f"log start offset {start} lies beyond log end offset {end}")
        else:
            self.start = start

    def start_search(self) -> LineageSearch:
        self.search = LineageSearch(self.start or 0, self.end or 0, self.epoch or 0, is_leaderless=True)
        return self.search


def _row(partition: TopicPartition, broker_id: int, told: _Told, disk: LogDirs) -> ReplicaLog:
    replicas = disk.replicas.get(partition, ())
    current = next((each for each in replicas if not each.is_future), None)
    fault = told.fault
    if fault is None and current is not None and current.log_dir in disk.offline:
        fault = (Cause.LOG_DIR_OFFLINE, f"{current.log_dir}: {disk.offline[current.log_dir]}")
    lineage = told.search.lineage if told.search else ()
    return ReplicaLog(
        partition.topic,
        partition.partition,
        broker_id,
        told.start,
        told.search.log_end_offset if told.search else told.end,
        told.epoch,
        lineage[-1].epoch if lineage else None,
        lineage,
        current.size_bytes if current else None,
        current.log_dir if current else None,
        any(each.is_future for each in replicas) if len(replicas) > 1 or current is None else False,
        fault[0] if fault else None,
        fault[1] if fault else "",
    )


def _failed(partition: TopicPartition, broker_id: int, cause: Cause, error: str) -> ReplicaLog:
    return ReplicaLog(partition.topic, partition.partition, broker_id, cause=cause, error=error)


def _count_fault(answers: Sequence[object], request: str) -> tuple[Cause, str] | None:
    if len(answers) == 1:
        return None
    found = "left it out of its answer" if not answers else f"answered it {len(answers)} times"
    return Cause.BAD_ANSWER, f"{request}: the broker {found}"


def _offset_fault(answers: Sequence[OffsetAnswer], request: str) -> tuple[Cause, str] | None:
    fault = _count_fault(answers, request)
    if fault:
        return fault
    code = answers[0].error_code
    if code:
        return _CAUSES.get(code, Cause.ERROR), f"{request}: {error_codes.described(code)}"
    if answers[0].offset < 0:
        return Cause.BAD_ANSWER, f"{request}: offset {answers[0].offset}"
    return None


def _epoch_fault(answers: Sequence[EpochAnswer], question: int) -> tuple[Cause, str] | None:
    fault = _count_fault(answers, "Fetch (epoch probe)")
    if fault:
        return fault
    code, end = answers[0].error_code, answers[0].epoch_end
    if code in (error_codes.NONE, error_codes.OFFSET_OUT_OF_RANGE):
        if code == error_codes.NONE and end is None:
            return Cause.BAD_ANSWER, "Fetch (epoch probe): no error and no diverging epoch"
        if end is not None and (end.epoch > question or end.end_offset < 0):
            told = f"asked about epoch {question}, the broker told the end of epoch {end.epoch} as {end.end_offset}"
            return Cause.BAD_ANSWER, f"Fetch (epoch probe): {told}"
        return None
    return _CAUSES.get(code, Cause.ERROR), f"Fetch (epoch probe): {error_codes.described(code)}"
