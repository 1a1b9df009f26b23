# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What the metadata says of partitions (DescribeTopicPartitions, API key 75, KIP-966).

Missing partitions are distinguished from hidden ones. Only reads.

Answers are read by column: an election looks at each of its partitions nine times, and a survey at all that there are.
"""

from __future__ import annotations

import struct
import uuid
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from itertools import accumulate
from typing import Any, NamedTuple

from .._model.partition import Cause, PartitionState, TopicPartition
from . import error_codes
from .bulk import BulkAnswer, BulkRequest, RequestVersion, UnusualAnswerError, read_size, read_text, skip_empty_tags
from .errors import BrokerCallError
from .messages import uuid_text
from .settings import Address
from .wire import Wire

with suppress(ImportError):  # a missing library is named before anything is done (_module/run.py)
    from kafka.protocol.admin import DescribeTopicPartitionsRequest, DescribeTopicPartitionsResponse


PAGE_SIZE = 2000
"""Kafka's own limit of partitions a page (max.request.partition.size.limit)."""
_VERSION = 0
"""The only one there is."""


@dataclass(frozen=True, slots=True)
class TopicError:
    """A topic that was asked for by name and not described."""

    topic: str
    code: int

    @property
    def is_unauthorised(self) -> bool:
        return self.code == error_codes.TOPIC_AUTHORIZATION_FAILED

    @property
    def is_unknown(self) -> bool:
        return self.code == error_codes.UNKNOWN_TOPIC_OR_PARTITION

    def __str__(self) -> str:
        return error_codes.explain_error("DescribeTopicPartitions", self.code)


@dataclass(frozen=True, slots=True)
class Description:
    """Partitions in order of topic and number, and the topics that were refused."""

    partitions: tuple[PartitionState, ...]
    refused: tuple[TopicError, ...]


def describe_partitions(
    wire: Wire,
    topics: Iterable[str] | None = None,
    span: tuple[TopicPartition, TopicPartition] | None = None,
) -> Description:
    """Describe the named topics, or all that our principal may see: unauthorized topics are silently absent then.

    Pages of one description come from one broker, so that they are of one view of the metadata. ``span`` is the first
    and the last partition that the caller wants, in order of name and number: nothing is read of what lies before, and
    no further page of what lies behind; where both are of one topic, nothing at all. Without it, a few of a topic's
    100,000 partitions cost as much as all of them.

    Raises NoBrokerAnswersError, or BrokerCallError when that broker fails between two pages.
    """
    # Kafka reads the cursor by name, so the names must be in order.
    names = sorted(set(topics)) if topics is not None else []
    if topics is not None and not names:
        return Description((), ())
    start = (span[0].topic, span[0].partition) if span and span[0].partition else None
    end = (span[1].topic, span[1].partition) if span else None
    limit = PAGE_SIZE
    if span and span[0].topic == span[1].topic:
        limit = min(limit, span[1].partition - span[0].partition + 1)
    answer, asked = wire.call_current(lambda: _request(names, start, limit), "DescribeTopicPartitions")
    page: _Page = answer.value
    partitions: dict[tuple[str, int], PartitionState] = {}
    refused: dict[str, TopicError] = {}
    while True:
        refused |= {each.topic: each for each in page.refused}
        partitions |= {state[:2]: state for state in page.states}
        if page.following is None or (end and page.following > end):
            break
        page = _next_page(wire, asked, names, page.following)
    return Description(
        tuple(partitions[key] for key in sorted(partitions)), tuple(refused[name] for name in sorted(refused))
    )


class _Page(NamedTuple):
    """What one answer says."""

    states: list[PartitionState]
    refused: list[TopicError]
    following: tuple[str, int] | None
    """Topic and number of the next page's first partition; None for no such page."""


def _next_page(wire: Wire, asked: Address, names: Sequence[str], place: tuple[str, int]) -> _Page:
    page: _Page = wire.call(asked, _request([name for name in names if name >= place[0]], place)).value
    if page.following is not None and page.following <= place:
        raise BrokerCallError(
            str(asked), Cause.BAD_ANSWER, f"its pages do not advance beyond {place}", request="DescribeTopicPartitions"
        )
    return page


def _request(names: Sequence[str], place: tuple[str, int] | None, limit: int = PAGE_SIZE) -> BulkRequest[_Page]:
    message = DescribeTopicPartitionsRequest
    request = message(
        topics=[message.TopicRequest(name=name) for name in names],
        response_partition_limit=limit,
        cursor=message.Cursor(topic_name=place[0], partition_index=place[1]) if place else None,
    )
    body = bytes(request.encode(version=_VERSION))
    return BulkRequest(message, DescribeTopicPartitionsResponse, {_VERSION: RequestVersion(body, _read)}, _page)


def _page(response: Any) -> _Page:
    """Take kafka-python's reading of an answer."""
    cursor = response.next_cursor
    return _Page(
        [state for topic in response.topics if not topic.error_code for state in _states(topic)],
        [TopicError(topic.name, topic.error_code) for topic in response.topics if topic.error_code],
        None if cursor is None else (cursor.topic_name, cursor.partition_index),
    )


def _states(topic: Any) -> Iterator[PartitionState]:
    topic_id = uuid_text(topic.topic_id)
    for partition in topic.partitions:
        yield PartitionState(
            topic=topic.name,
            partition=partition.partition_index,
            topic_id=topic_id,
            leader_id=partition.leader_id,
            leader_epoch=partition.leader_epoch,
            replicas=tuple(partition.replica_nodes),
            isr=tuple(partition.isr_nodes),
            elr=_optional(partition.eligible_leader_replicas),
            last_known_elr=_optional(partition.last_known_elr),
            offline_replicas=tuple(partition.offline_replicas),
            is_internal=bool(topic.is_internal),
        )


def _optional(brokers: Sequence[int] | None) -> tuple[int, ...] | None:
    return None if brokers is None else tuple(brokers)


_INT16 = struct.Struct(">h")
_INT32 = struct.Struct(">i")
_UUID_SIZE = 16
_ONE_BYTE = 0x80
_LEADER_END = 14
"""Where a partition's first list begins, after error code, number, leader and leader epoch."""


def _read(view: memoryview) -> BulkAnswer[_Page]:
    """Read an answer as kafka-python's schema says. Raises UnusualAnswerError for what is null or has tags."""
    data = bytes(view)
    states: list[PartitionState] = []
    refused: list[TopicError] = []
    topics, place = read_size(view, _INT32.size)
    for _topic in range(topics):
        (code,) = _INT16.unpack_from(data, place)
        name, place = read_text(view, place + _INT16.size)
        topic_id = uuid_text(uuid.UUID(bytes=data[place : place + _UUID_SIZE]))
        is_internal = bool(data[place + _UUID_SIZE])
        count, place = read_size(view, place + _UUID_SIZE + 1)
        found, place = _read_states(data, place, count, name, topic_id, is_internal=is_internal)
        if code:
            refused.append(TopicError(name, code))
        else:
            states += found
        place = skip_empty_tags(data, place + _INT32.size)  # after what our principal may do, which was not asked
    following = None
    if data[place] == 1:
        topic, place = read_text(view, place + 1)
        following = (topic, _INT32.unpack_from(data, place)[0])
        place = skip_empty_tags(data, place + _INT32.size)
    else:
        place += 1
    if skip_empty_tags(data, place) != len(data):
        raise UnusualAnswerError
    return BulkAnswer(_INT32.unpack_from(data)[0], _Page(states, refused, following))


def _read_states(
    data: bytes, place: int, count: int, topic: str, topic_id: str, *, is_internal: bool
) -> tuple[list[PartitionState], int]:
    states = []
    for _partition in range(count):
        # The size of each of the five lists says where the next one begins. They are one more than it, or 0 for null.
        sizes, here = [], place + _LEADER_END
        for _list in range(5):
            size = data[here]
            sizes.append(size)
            here += 4 * size - 3 if size else 1
        unpacked, (second, third, fourth, fifth, end), has_elr, has_last_known = _shape(*sizes)
        values = unpacked.unpack_from(data, place)
        if values[end]:
            raise UnusualAnswerError
        states.append(
            PartitionState(
                topic,
                values[1],
                topic_id,
                values[2],
                values[3],
                values[4:second],
                values[second:third],
                values[third:fourth] if has_elr else None,
                values[fourth:fifth] if has_last_known else None,
                values[fifth:end],
                is_internal,
            )
        )
        place += unpacked.size
    return states, place


@cache
def _shape(*sizes: int) -> tuple[struct.Struct, tuple[int, ...], bool, bool]:
    """Return how a partition with such lists is unpacked, where each list ends, and which of two are not null."""
    replicas, isr, elr, last_known, offline = sizes
    if max(sizes) >= _ONE_BYTE or not (replicas and isr and offline):
        raise UnusualAnswerError
    numbers = [max(0, size - 1) for size in sizes]
    lists = "".join(f"x{number}i" for number in numbers)
    return struct.Struct(f">hiii{lists}B"), tuple(accumulate(numbers, initial=4))[1:], bool(elr), bool(last_known)


@dataclass(frozen=True, slots=True)
class PartitionStates:
    """What the metadata contains about some partitions."""

    states: dict[TopicPartition, PartitionState]
    hidden: Mapping[str, TopicError]
    """Topics of whose partitions nothing is known. What is neither here nor in ``states`` does not exist."""

    def why_hidden(self, topic: str) -> str:
        """Return why the topic's partitions are unknown; empty where they are known."""
        return f"topic {topic} cannot be looked at: {self.hidden[topic]}" if topic in self.hidden else ""

    def state_of(self, partition: TopicPartition) -> PartitionState | None:
        """Return one partition; None when it is known not to exist.

        Raises RequestRefusedError where it is hidden.
        """
        hidden = self.hidden.get(partition.topic)
        if hidden is not None:
            raise error_codes.request_refused_error("DescribeTopicPartitions", hidden.code, f"topic {partition.topic}")
        return self.states.get(partition)


def select_states(description: Description, partitions: Collection[TopicPartition]) -> PartitionStates:
    """Return what a description of their topics says about the given partitions."""
    wanted = set(partitions)
    return PartitionStates(
        {each.topic_partition: each for each in description.partitions if each[:2] in wanted},
        # Only a topic that is known not to exist is missing. Any other refusal says nothing about its partitions.
        {each.topic: each for each in description.refused if not each.is_unknown},
    )
