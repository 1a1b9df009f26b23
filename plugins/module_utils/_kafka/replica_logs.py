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
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from math import ceil, inf
from types import MappingProxyType
from typing import Any, TypeAlias

from .._model.partition import (
    Broker,
    BrokerState,
    Cause,
    EpochEnd,
    ReplicaLog,
    TopicPartition,
    in_batches,
)
from .._model.run import Clock
from .cluster import check_identity
from .connection import Connection
from .epochs import Questions, epochs_request, questions_about
from .errors import BrokerCallError
from .header_reading import in_requests, read_headers
from .held_replicas import HeldOffset, OffsetAnswer, offsets_request
from .lockstep import Exchange, Requests, in_lockstep
from .log_dirs import LogDirs, log_dirs_request
from .native import NativeSource, NotOfferedError, check_same_broker_epoch, replica_log_ends
from .own_cluster import OwnCluster
from .replica_answers import ReplicaAnswers
from .settings import Address, ConnectionSettings
from .wire import Wire

_PAUSE_S = 0.5
_STATE_CAUSES = {
    BrokerState.FENCED: Cause.FENCED,
    BrokerState.UNREACHABLE: Cause.UNREACHABLE,
    BrokerState.HUNG: Cause.HUNG,
    BrokerState.NOT_AUTHORIZED: Cause.NOT_AUTHORIZED,
    BrokerState.GIVEN_UP: Cause.GIVEN_UP,
}
# A broker that has just started may not know its replicas yet, so these causes are asked about again a few times.
_TRANSIENT = frozenset({Cause.MISSING, Cause.ERROR, Cause.BAD_ANSWER})
_MAX_LOOKS = 3
_DISTANT_S = 0.025
"""A broker that lets us wait longer in each step is distant."""
_BATCHES_AT_ONCE = 4
"""Batches to ask a distant broker about together. A near one is asked batch by batch: if it hangs, fewer are lost."""
_QUESTIONS_AT_ONCE = 32_000
"""Epochs of a batch to ask about before the first answer arrives: two megabytes in each direction."""


def silent_rows(broker: Broker, partitions: Sequence[TopicPartition]) -> list[ReplicaLog]:
    """Return the rows of a broker that is not asked. Each row has the cause and error of the broker's state."""
    cause = _STATE_CAUSES.get(broker.state, Cause.ERROR)
    return [ReplicaLog.failed(each, broker.broker_id, cause, broker.cause) for each in partitions]


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
    checked: Collection[TopicPartition] = (),
    tiered: Mapping[str, bool] = MappingProxyType({}),
    is_retried: bool = True,
    cluster_id: str | None = None,
    open_wire: Callable[..., Wire] = Wire,
    clock: Clock = time,
) -> list[ReplicaLog]:
    """Ask one broker about all the given replicas, and return one row for each, in the given order.

    An error of the broker becomes the cause in its rows, never an exception. The broker is asked again until
    ``deadline`` (by ``clock``), unless that cannot help: it refuses our principal, or the controller fences it.
    ``is_retried`` False: it is not asked again after an error. A broker of another cluster than ``cluster_id``, if that
    is given, is asked nothing.

    All rows come over one connection. If it breaks, the broker may have restarted: its answers are void, and everything
    is asked again. The same holds if its broker epoch changes, which only an answer to ``native`` contains. When the
    deadline passes, the batches that are complete by then are kept.

    For the partitions in ``only_newest``, only the newest epoch with records is found, because a long lineage takes one
    request for each epoch. If all partitions are in it, log directories and sizes are not asked. If its value for a
    partition is the expected newest epoch, and the log still ends where that epoch ends, one question about it is
    enough, and the log start is not asked.

    The epochs of a log come from its epoch checkpoint. If they do not reach the log's end, they are read from the
    headers of its batches. Those of the partitions in ``checked`` are compared with headers in any case: a checkpoint
    that is older than its log looks complete. If the headers do not show the epochs of a log with records either, its
    row has no lineage, no cause, and an error that says why.

    ``tiered`` maps topics to whether they are tiered, if that is known. A replica of a tiered topic is also asked where
    the log on its disk starts, and for the last offset in the tier.
    """
    if broker.host is None or broker.port is None:
        return silent_rows(broker, partitions)
    address = Address(broker.host, broker.port)
    failure = BrokerCallError(str(address), Cause.DEADLINE, "the deadline passed before this broker was asked")
    rows: list[ReplicaLog] | None = None
    looks = 0
    with open_wire(settings, own_cluster=OwnCluster(cluster_id)) as wire:
        while clock.monotonic() < deadline:
            with closing(wire.fresh_connection(address)) as connection:
                probe = _Probe(
                    settings, connection, broker.broker_id, deadline, clock, native, only_newest, checked, tiered
                )
                try:
                    rows = probe.rows(partitions)
                except BrokerCallError as error:
                    is_hung, is_over = error.cause is Cause.HUNG, clock.monotonic() >= deadline
                    if is_over and (is_hung or error.cause is Cause.UNREACHABLE):
                        # Cut short by the deadline. If there was an attempt before, its error says more.
                        failure = error if failure.cause is Cause.DEADLINE else failure
                        if is_hung and rows is None:
                            rows = probe.complete_rows(partitions, error)
                    else:
                        failure = error
                        if not is_hung and not is_over:
                            # The broker may have restarted since the attempt before.
                            rows = None
                    if broker.is_fenced or not is_retried or _is_final(error):
                        break
                else:
                    looks += 1
                    if looks >= _MAX_LOOKS or not any(row.cause in _TRANSIENT for row in rows):
                        break
            clock.sleep(max(0.0, min(_PAUSE_S, deadline - clock.monotonic())))
    if rows is not None:
        return rows
    return [ReplicaLog.failed(each, broker.broker_id, failure.cause, str(failure)) for each in partitions]


def _is_final(error: BrokerCallError) -> bool:
    # Another broker at its address is not final: a proxy or a load balancer may have an old target for a while.
    return error.cause is Cause.NOT_AUTHORIZED or isinstance(error, NotOfferedError)


@dataclass(slots=True)
class _Probe:
    """One attempt to ask a broker about all replicas, over one connection."""

    settings: ConnectionSettings
    connection: Connection
    broker_id: int
    deadline: float
    clock: Clock
    native: NativeQuestion | None
    only_newest: Mapping[TopicPartition, EpochEnd | None]
    checked: Collection[TopicPartition]
    tiered: Mapping[str, bool]
    broker_epoch: int | None = None
    complete: list[ReplicaLog] = field(default_factory=list)
    """The rows of the batches that the broker has answered completely."""
    shortest_wait_s: float = inf
    """The shortest wait for the answers of a step."""

    @property
    def is_distant(self) -> bool:
        return _DISTANT_S < self.shortest_wait_s < inf

    def complete_rows(self, partitions: Sequence[TopicPartition], error: BrokerCallError) -> list[ReplicaLog] | None:
        """Return the complete rows, and failed rows for the rest. None if no row is complete.

        Without a last answer the broker epoch may have changed, so with ``native`` no row is valid.
        """
        if not self.complete or self.native is not None:
            return None
        known = {row.topic_partition for row in self.complete}
        rest = [each for each in partitions if each not in known]
        return [*self.complete, *(ReplicaLog.failed(each, self.broker_id, error.cause, str(error)) for each in rest)]

    def rows(self, partitions: Sequence[TopicPartition]) -> list[ReplicaLog]:
        check_identity(self.connection, self.broker_id, timeout_ms=self._limit_ms())
        batches = [*in_batches(partitions)]
        while batches:
            at_once = _BATCHES_AT_ONCE if self.is_distant else 1
            for rows in in_lockstep(self._call, map(self._batch, batches[:at_once])):
                self.complete += rows
            batches = batches[at_once:]
        if self.native is not None:
            # A proxy may keep our connection open while the broker behind it restarts. The broker epoch shows that.
            self._native_log_ends(self.native, partitions[:1])
        return self.complete

    def _native_log_ends(
        self, native: NativeQuestion, partitions: Sequence[TopicPartition]
    ) -> Mapping[TopicPartition, Sequence[OffsetAnswer]]:
        answer = replica_log_ends(self.connection, native.source, native.topic_ids, partitions, limit_ms=self._limit_ms)
        check_same_broker_epoch(self.connection, self.broker_epoch, answer.broker_epoch)
        self.broker_epoch = answer.broker_epoch
        return answer.logs

    def _limit_ms(self) -> int:
        return min(self.settings.request_timeout_ms, self._left_ms())

    def _left_ms(self) -> int:
        # Rounded up, so that a call cut short by the deadline ends after it and not just before.
        return max(1, ceil((self.deadline - self.clock.monotonic()) * 1000))

    def _call(self, requests: Requests) -> list[Any]:
        # Without the CPU time of this process: a gather from many brokers keeps it busy, and that is no distance.
        began = self.clock.monotonic() - time.process_time()
        answers = self.connection.call_pipelined(requests, self._limit_ms(), self._left_ms())
        waited_s = self.clock.monotonic() - time.process_time() - began
        self.shortest_wait_s = min(self.shortest_wait_s, waited_s)
        return [each.value for each in answers]

    def _batch(self, partitions: Sequence[TopicPartition]) -> Exchange[list[ReplicaLog]]:
        """Ask about one batch. Each question goes only to the replicas whose answers so far leave it open."""
        all_answers = {each: ReplicaAnswers() for each in partitions}
        yield from self._ask_ends(all_answers)
        yield from self._confirm_newest({each: answers for each, answers in all_answers.items() if not answers.error})
        unconfirmed = {each: answers for each, answers in all_answers.items() if not (answers.error or answers.lineage)}
        if unconfirmed:
            yield from self._ask_starts(unconfirmed)
            yield from self._ask_tiered(
                {each: found for each, found in unconfirmed.items() if self.tiered.get(each.topic)}
            )
            yield from self._ask_lineages({each: answers for each, answers in unconfirmed.items() if not answers.error})
        yield from self._read_headers(all_answers)
        disk = LogDirs({}, {}, "")
        if any(each not in self.only_newest for each in partitions):
            (disk,) = yield [log_dirs_request(partitions)]
        return [
            answers.to_row(each, self.broker_id, disk, is_tiered=self.tiered.get(each.topic))
            for each, answers in all_answers.items()
        ]

    def _ask_ends(self, asked: _Asked) -> Exchange[None]:
        ends: Mapping[TopicPartition, Sequence[OffsetAnswer]]
        if self.native is None:
            request = "ListOffsets (log end)"
            (ends,) = yield [offsets_request([*asked], HeldOffset.LOG_END)]
        else:
            ends, request = self._native_log_ends(self.native, [*asked]), "GetReplicaLogInfo"
        for each, answers in asked.items():
            answers.take_end(ends.get(each, ()), request)

    def _confirm_newest(self, asked: _Asked) -> Exchange[None]:
        """Ask for the end of the expected newest epoch, in the logs that still end where it ends.

        If the epoch ends at the log end offset, it is the newest one with records. Any other answer confirms nothing.
        """
        expected = {
            each: newest
            for each, answers in asked.items()
            if (newest := self.only_newest.get(each)) is not None and newest.end_offset == answers.end
        }
        if not expected:
            return
        questions = questions_about({each: newest.epoch for each, newest in expected.items()})
        (found,) = yield [epochs_request(questions)]
        for each, newest in expected.items():
            if found.get(each.topic, {}).get(each.partition) == newest:
                asked[each].lineage = (newest,)

    def _ask_starts(self, asked: _Asked) -> Exchange[None]:
        (starts,) = yield [offsets_request([*asked], HeldOffset.LOG_START)]
        for each, answers in asked.items():
            answers.take_start(starts.get(each, ()))

    def _ask_tiered(self, asked: _Asked) -> Exchange[None]:
        if not asked:
            return
        both = (HeldOffset.LOCAL_START, HeldOffset.LAST_TIERED)
        local_starts, last_tiered = yield [offsets_request([*asked], which) for which in both]
        for each, answers in asked.items():
            answers.take_tiered(local_starts.get(each, ()), last_tiered.get(each, ()))

    def _ask_lineages(self, asked: _Asked) -> Exchange[None]:
        """Search all lineages together, in rounds: each round has the next questions of all logs."""
        searching: _Searching = defaultdict(dict)
        for each, answers in asked.items():
            answers.begin_search(only_newest=each in self.only_newest)
            searching[each.topic][each.partition] = answers
        while questions := _next_questions(searching, is_distant=self.is_distant):
            answers_of_round = yield [*map(epochs_request, questions)]
            for request, found in zip(questions, answers_of_round, strict=True):
                for topic, epochs in request.items():
                    ends, of_topic = found.get(topic, {}), searching[topic]
                    for number, epoch in epochs.items():
                        of_topic[number].take_epoch(epoch, ends.get(number))

    def _read_headers(self, asked: _Asked) -> Exchange[None]:
        """Read headers of batches, in rounds, where the epochs are missing or are to be checked."""
        reading = {
            each: search
            for each, answers in asked.items()
            if (
                search := answers.begin_reading(
                    is_checked=each in self.checked or self._is_unexpected(each, answers),
                    only_newest=each in self.only_newest,
                )
            )
        }
        yield from read_headers(reading)
        for each, search in reading.items():
            asked[each].take_headers(search)

    def _is_unexpected(self, partition: TopicPartition, answers: ReplicaAnswers) -> bool:
        """Return whether the checkpoint denies the expected newest epoch, although the log ends where that one ends."""
        expected = self.only_newest.get(partition)
        if expected is None or expected.end_offset != answers.end:
            return False
        return answers.known_lineage()[-1:] != (expected,)


_Asked: TypeAlias = Mapping[TopicPartition, ReplicaAnswers]
_Searching: TypeAlias = dict[str, dict[int, ReplicaAnswers]]
"""By topic and partition number."""


def _next_questions(searching: _Searching, *, is_distant: bool) -> list[Questions]:
    """Drop the searches that are over. Return the first questions of all the others, then the second questions, ..."""
    for topic, of_topic in [*searching.items()]:
        searching[topic] = {
            number: each for number, each in of_topic.items() if each.search and each.search.question is not None
        }
        if not searching[topic]:
            del searching[topic]
    max_questions = max(1, _QUESTIONS_AT_ONCE // max(1, sum(map(len, searching.values()))))
    return in_requests(
        ((topic, number), answers.search.next_questions(max_questions, is_distant=is_distant))
        for topic, of_topic in searching.items()
        for number, answers in of_topic.items()
        if answers.search
    )
