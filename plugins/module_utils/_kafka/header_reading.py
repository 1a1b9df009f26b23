# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Read headers of batches of many logs of one broker together: for searches, and at given offsets."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import NamedTuple, Protocol, TypeAlias

from .._model.partition import Cause, TopicPartition, grouped, in_batches, to_topic_partition
from .batch_headers import BatchEpoch, HeaderAnswer, Headers, Offsets, headers_request
from .connection import Connection
from .errors import BrokerCallError
from .lockstep import Exchange, in_lockstep
from .settings import Address
from .wire import Wire

_HEADER_BYTES = 4096
"""The limit for one batch at first, so that the answer about many logs is small."""
_FULL_BATCH_BYTES = 20 * 1024
"""The next limit: full batches of a producer with Kafka's default of ``batch.size``, 16384 bytes."""
_FULL_AT_ONCE = 250
_LARGE_AT_ONCE = 100
"""Larger batches are asked for one by one, so many before the first answer arrives: each one is sent as a whole."""
_NO_HEADER = HeaderAnswer(0, None, 0)
_Asked: TypeAlias = tuple[TopicPartition, int]
"""An offset of a log."""

Questions: TypeAlias = Mapping[int, Mapping[TopicPartition, Collection[int]]]
"""Offsets, by broker id and partition."""
Batches: TypeAlias = Mapping[int, Mapping[TopicPartition, Mapping[int, BatchEpoch]]]
"""The batch at each offset or after it, by broker id and partition. What was not answered is missing."""


class BatchAnswers(NamedTuple):
    """What brokers sent, and why others sent nothing, by broker id."""

    batches: Batches = MappingProxyType({})
    failed: Mapping[int, BrokerCallError] = MappingProxyType({})

    def at(self, broker_id: int, partition: TopicPartition, offset: int) -> BatchEpoch | None:
        """Return the batch at an offset or after it. None if the broker did not send one."""
        return self.batches.get(broker_id, {}).get(partition, {}).get(offset)


AskBatches: TypeAlias = Callable[[Questions], BatchAnswers]


class HeaderReader(Protocol):
    """What is read of one log: offsets to read next, until there are none, and the answers."""

    def next_offsets(self) -> Sequence[int]: ...
    def take_answer(self, offset: int, answer: HeaderAnswer) -> None: ...


class _BatchesAt:
    """The batches at some offsets of one log, or after them."""

    def __init__(self, offsets: Collection[int]) -> None:
        self._left = sorted(offsets)
        self.found: dict[int, BatchEpoch] = {}

    def next_offsets(self) -> Sequence[int]:
        return tuple(self._left)

    def take_answer(self, offset: int, answer: HeaderAnswer) -> None:
        self._left.remove(offset)
        if answer.batch is not None:
            self.found[offset] = answer.batch


def ask_batches(wire: Wire, addresses: Mapping[int, Address], questions: Questions) -> BatchAnswers:
    """Read batches of the replicas of several brokers, in parallel.

    ``addresses`` are by broker id.
    """
    found = wire.in_parallel(
        lambda broker_id: wire.with_connection(
            addresses[broker_id],
            partial(_read_batches, offsets=questions[broker_id], limit_ms=wire.settings.request_timeout_ms),
        ),
        [each for each in questions if each in addresses],
    )
    unknown = {
        each: BrokerCallError(f"broker {each}", Cause.UNREACHABLE, "the cluster gives no address of it")
        for each in questions
        if each not in addresses
    }
    return BatchAnswers(
        {broker_id: each for broker_id, each in found.items() if not isinstance(each, BrokerCallError)},
        {broker_id: each for broker_id, each in found.items() if isinstance(each, BrokerCallError)} | unknown,
    )


def _read_batches(
    connection: Connection, offsets: Mapping[TopicPartition, Collection[int]], limit_ms: int
) -> dict[TopicPartition, dict[int, BatchEpoch]]:
    """Return the batch at each offset of the broker's replicas, or after it. What it does not send is missing.

    ``limit_ms`` is for each request. Raises BrokerCallError.
    """
    reading = {each: _BatchesAt(some) for each, some in offsets.items()}
    for partitions in in_batches([*reading]):
        exchange = read_headers({each: reading[each] for each in partitions})
        in_lockstep(
            lambda requests: [
                each.value for each in connection.call_pipelined(requests, limit_ms, limit_ms * len(requests))
            ],
            [exchange],
        )
    return {each: one.found for each, one in reading.items()}


def read_headers(reading: Mapping[TopicPartition, HeaderReader]) -> Exchange[None]:
    """Carry out all searches, in rounds: each round reads the next offsets of all logs."""
    while rounds := in_requests((each, search.next_offsets()) for each, search in reading.items()):
        answers = yield [headers_request(offsets, _HEADER_BYTES) for offsets in rounds]
        full = _take(reading, rounds, answers)
        large: list[_Asked] = []
        for some in in_batches(full, _FULL_AT_ONCE):
            requests = in_requests(grouped(some).items())
            answers = yield [headers_request(offsets, _FULL_BATCH_BYTES) for offsets in requests]
            large += _take(reading, requests, answers)
        for some in in_batches(large, _LARGE_AT_ONCE):
            answers = yield [headers_request({each.topic: {each.partition: offset}}, 1) for each, offset in some]
            for (each, offset), found in zip(some, answers, strict=True):
                reading[each].take_answer(offset, found.get(each.topic, {}).get(each.partition, _NO_HEADER))


def _take(
    reading: Mapping[TopicPartition, HeaderReader], requests: Sequence[Offsets], answers: Sequence[Headers]
) -> list[_Asked]:
    """Pass each answer to its search. Return what was not answered, because the batch is larger than the limit."""
    larger: list[_Asked] = []
    for offsets, found in zip(requests, answers, strict=True):
        for topic, by_number in offsets.items():
            for number, offset in by_number.items():
                each = to_topic_partition((topic, number))
                answer = found.get(topic, {}).get(number, _NO_HEADER)
                if answer.batch is None and not answer.error_code:
                    larger.append((each, offset))
                else:
                    reading[each].take_answer(offset, answer)
    return larger


def in_requests(asked: Iterable[tuple[tuple[str, int], Iterable[int]]]) -> list[dict[str, dict[int, int]]]:
    """Return the offsets or epochs of each partition in requests that have the partition once."""
    requests: list[dict[str, dict[int, int]]] = []
    for (topic, number), questions in asked:
        for index, question in enumerate(questions):
            if index == len(requests):
                requests.append({})
            requests[index].setdefault(topic, {})[number] = question
    return requests
