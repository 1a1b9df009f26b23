# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Read the state of partitions from the metadata (DescribeTopicPartitions, API key 75, KIP-966).

Partitions that do not exist are distinguished from partitions that are hidden from our principal.

Answers are decoded without kafka-python's objects (bulk.py): an election reads each of its partitions nine times, and a
survey reads all partitions.
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

from .._model.partition import TIER_TOPIC, Cause, PartitionState, TopicPartition
from . import error_codes
from .bulk import BulkAnswer, BulkRequest, RequestVersion, UnusualAnswerError, read_size, read_text, skip_empty_tags
from .connection import Connection
from .errors import BrokerCallError
from .messages import uuid_text
from .settings import Address
from .wire import Wire

with suppress(ImportError):  # a missing library is reported before the module starts (_module/run.py)
    from kafka.protocol.admin import DescribeTopicPartitionsRequest, DescribeTopicPartitionsResponse


PAGE_SIZE = 2000
"""Kafka's own limit of partitions for each page (max.request.partition.size.limit)."""
_VERSION = 0
"""The only version."""


@dataclass(frozen=True, slots=True)
class TopicError:
    """A topic that was requested by name and that the broker did not describe."""

    topic: str
    code: int

    @property
    def is_unauthorized(self) -> bool:
        return self.code == error_codes.TOPIC_AUTHORIZATION_FAILED

    @property
    def is_unknown(self) -> bool:
        return self.code == error_codes.UNKNOWN_TOPIC_OR_PARTITION

    def __str__(self) -> str:
        return error_codes.explain_error("DescribeTopicPartitions", self.code)


@dataclass(frozen=True, slots=True)
class Description:
    """The partitions in order of topic and number, and the topics that were refused."""

    partitions: tuple[PartitionState, ...]
    refused: tuple[TopicError, ...]


def describe_partitions(
    wire: Wire,
    topics: Iterable[str] | None = None,
    span: tuple[TopicPartition, TopicPartition] | None = None,
) -> Description:
    """Describe these topics, or all that our principal may see. In the second case unauthorized topics are missing.

    All pages of one description come from one broker, so they are consistent. ``span`` is the first and the last
    partition that the caller wants, in order of name and number. Reading begins at the first one, and ends with the
    page that has the last one; if both are of one topic, with the last one itself. Without ``span``, to read a few of a
    topic's 100,000 partitions takes as long as to read all of them.

    Raises NoBrokerAnswersError, or BrokerCallError if that broker fails between two pages.
    """
    # Kafka compares the cursor with the names, so they must be in order.
    names = sorted(set(topics)) if topics is not None else []
    if topics is not None and not names:
        return Description((), ())
    start = (span[0].topic, span[0].partition) if span and span[0].partition else None
    end = (span[1].topic, span[1].partition) if span else None
    limit = PAGE_SIZE
    if span and span[0].topic == span[1].topic:
        limit = min(limit, span[1].partition - span[0].partition + 1)
    answer, source = wire.call_current(lambda: _make_request(names, start, limit), "DescribeTopicPartitions")
    page: _Page = answer.value
    partitions: dict[tuple[str, int], PartitionState] = {}
    refused: dict[str, TopicError] = {}
    while True:
        refused |= {each.topic: each for each in page.refused}
        partitions |= {state[:2]: state for state in page.states}
        if page.following is None or (end and page.following > end):
            break
        page = _read_next_page(wire, source, names, page.following)
    return Description(
        tuple(partitions[key] for key in sorted(partitions)), tuple(refused[name] for name in sorted(refused))
    )


def read_first_partitions(connection: Connection, topic: str, count: int) -> tuple[PartitionState, ...]:
    """Return the first partitions of a topic that one broker knows; none if it knows no topic of this name.

    Raises BrokerCallError.
    """
    page: _Page = connection.call(_make_request([topic], None, count)).value
    return tuple(page.states)


class _Page(NamedTuple):
    """One answer."""

    states: list[PartitionState]
    refused: list[TopicError]
    following: tuple[str, int] | None
    """Topic and number of the next page's first partition. None after the last page."""


def _read_next_page(wire: Wire, source: Address, names: Sequence[str], position: tuple[str, int]) -> _Page:
    page: _Page = wire.call(source, _make_request([name for name in names if name >= position[0]], position)).value
    if page.following is not None and page.following <= position:
        raise BrokerCallError(
            str(source),
            Cause.BAD_ANSWER,
            f"its pages do not advance beyond {position}",
            request="DescribeTopicPartitions",
        )
    return page


def _make_request(names: Sequence[str], position: tuple[str, int] | None, limit: int = PAGE_SIZE) -> BulkRequest[_Page]:
    message = DescribeTopicPartitionsRequest
    request = message(
        topics=[message.TopicRequest(name=name) for name in names],
        response_partition_limit=limit,
        cursor=message.Cursor(topic_name=position[0], partition_index=position[1]) if position else None,
    )
    body = bytes(request.encode(version=_VERSION))
    return BulkRequest(
        message, DescribeTopicPartitionsResponse, {_VERSION: RequestVersion(body, _read_answer)}, _convert_answer
    )


def _convert_answer(response: Any) -> _Page:
    """Convert an answer that kafka-python decoded."""
    cursor = response.next_cursor
    return _Page(
        [state for topic in response.topics if not topic.error_code for state in _convert_states(topic)],
        [TopicError(topic.name, topic.error_code) for topic in response.topics if topic.error_code],
        None if cursor is None else (cursor.topic_name, cursor.partition_index),
    )


def _convert_states(topic: Any) -> Iterator[PartitionState]:
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
            elr=_tuple_or_none(partition.eligible_leader_replicas),
            last_known_elr=_tuple_or_none(partition.last_known_elr),
            offline_replicas=tuple(partition.offline_replicas),
            is_internal=bool(topic.is_internal) or topic.name == TIER_TOPIC,
        )


def _tuple_or_none(brokers: Sequence[int] | None) -> tuple[int, ...] | None:
    return None if brokers is None else tuple(brokers)


_INT16 = struct.Struct(">h")
_INT32 = struct.Struct(">i")
_UUID_SIZE = 16
_ONE_BYTE = 0x80
_FIRST_LIST = 14
"""Position of a partition's first list, after error code, number, leader and leader epoch."""


def _read_answer(view: memoryview) -> BulkAnswer[_Page]:
    """Decode an answer. Raises UnusualAnswerError if a required field is null or there are tagged fields."""
    data = bytes(view)
    states: list[PartitionState] = []
    refused: list[TopicError] = []
    topics, position = read_size(view, _INT32.size)
    for _topic in range(topics):
        (code,) = _INT16.unpack_from(data, position)
        name, position = read_text(view, position + _INT16.size)
        topic_id = uuid_text(uuid.UUID(bytes=data[position : position + _UUID_SIZE]))
        is_internal = bool(data[position + _UUID_SIZE]) or name == TIER_TOPIC
        count, position = read_size(view, position + _UUID_SIZE + 1)
        found, position = _read_states(data, position, count, name, topic_id, is_internal=is_internal)
        if code:
            refused.append(TopicError(name, code))
        else:
            states += found
        position = skip_empty_tags(data, position + _INT32.size)  # skip topic_authorized_operations
    following = None
    if data[position] == 1:
        topic, position = read_text(view, position + 1)
        following = (topic, _INT32.unpack_from(data, position)[0])
        position = skip_empty_tags(data, position + _INT32.size)
    else:
        position += 1
    if skip_empty_tags(data, position) != len(data):
        raise UnusualAnswerError
    return BulkAnswer(_INT32.unpack_from(data)[0], _Page(states, refused, following))


def _read_states(
    data: bytes, position: int, count: int, topic: str, topic_id: str, *, is_internal: bool
) -> tuple[list[PartitionState], int]:
    states = []
    for _partition in range(count):
        # Each of the five lists begins with its size + 1, or 0 for null.
        sizes, here = [], position + _FIRST_LIST
        for _list in range(5):
            size = data[here]
            sizes.append(size)
            here += 4 * size - 3 if size else 1
        unpacked, (second, third, fourth, fifth, end), has_elr, has_last_known = _shape(*sizes)
        values = unpacked.unpack_from(data, position)
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
        position += unpacked.size
    return states, position


@cache
def _shape(*sizes: int) -> tuple[struct.Struct, tuple[int, ...], bool, bool]:
    """Return the struct of a partition with lists of these sizes, where each list ends, and which ELR is not null."""
    replicas, isr, elr, last_known, offline = sizes
    if max(sizes) >= _ONE_BYTE or not (replicas and isr and offline):
        raise UnusualAnswerError
    numbers = [max(0, size - 1) for size in sizes]
    lists = "".join(f"x{number}i" for number in numbers)
    return struct.Struct(f">hiii{lists}B"), tuple(accumulate(numbers, initial=4))[1:], bool(elr), bool(last_known)


@dataclass(frozen=True, slots=True)
class PartitionStates:
    """The states of some partitions, and the topics among them that are hidden."""

    states: dict[TopicPartition, PartitionState]
    hidden: Mapping[str, TopicError]
    """Topics whose partitions are unknown. A partition of another topic that is not in ``states`` does not exist."""

    def why_hidden(self, topic: str) -> str:
        """Return why the topic's partitions are unknown. Empty if they are known."""
        return f"topic {topic} cannot be looked at: {self.hidden[topic]}" if topic in self.hidden else ""

    def state_of(self, partition: TopicPartition) -> PartitionState | None:
        """Return the state of one partition. None if it does not exist.

        Raises RequestRefusedError if it is hidden.
        """
        hidden = self.hidden.get(partition.topic)
        if hidden is not None:
            raise error_codes.request_refused_error("DescribeTopicPartitions", hidden.code, f"topic {partition.topic}")
        return self.states.get(partition)


def select_states(description: Description, partitions: Collection[TopicPartition]) -> PartitionStates:
    """Select the states of the given partitions from a description of their topics."""
    wanted = set(partitions)
    return PartitionStates(
        {each.topic_partition: each for each in description.partitions if each[:2] in wanted},
        # After any refusal but "unknown topic", the partitions of a topic may exist.
        {each.topic: each for each in description.refused if not each.is_unknown},
    )
