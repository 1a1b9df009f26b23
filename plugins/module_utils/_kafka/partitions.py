# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What the metadata says of partitions (DescribeTopicPartitions, API key 75, KIP-966).

Missing partitions are distinguished from hidden ones. Only reads.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from .._model.partition import Cause, PartitionState, TopicPartition
from . import error_codes
from .errors import BrokerCallError
from .messages import uuid_text
from .settings import Address
from .wire import Wire

with suppress(ImportError):  # a missing library is named before anything is done (_module/run.py)
    from kafka.protocol.admin import DescribeTopicPartitionsRequest


PAGE_SIZE = 2000
"""Kafka's own limit of partitions a page (max.request.partition.size.limit)."""


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
        return error_codes.explained("DescribeTopicPartitions", self.code)


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
    pages, asked = wire.call_current(lambda: _request(names, start, limit), "DescribeTopicPartitions")
    partitions: dict[tuple[str, int], PartitionState] = {}
    refused: dict[str, TopicError] = {}
    page = pages
    while True:
        for topic in page.topics:
            if topic.error_code:
                refused[topic.name] = TopicError(topic.name, topic.error_code)
                continue
            for state in _states(topic):
                partitions[state.topic, state.partition] = state
        if page.next_cursor is None:
            break
        if end and (page.next_cursor.topic_name, page.next_cursor.partition_index) > end:
            break
        page = _next_page(wire, asked, names, page.next_cursor)
    return Description(
        tuple(partitions[key] for key in sorted(partitions)), tuple(refused[name] for name in sorted(refused))
    )


def _next_page(wire: Wire, asked: Address, names: Sequence[str], cursor: Any) -> Any:
    place = (cursor.topic_name, cursor.partition_index)
    page = wire.call(asked, _request([name for name in names if name >= place[0]], place))
    following = page.next_cursor
    if following is not None and (following.topic_name, following.partition_index) <= place:
        raise BrokerCallError(
            str(asked), Cause.BAD_ANSWER, f"its pages do not advance beyond {place}", request="DescribeTopicPartitions"
        )
    return page


def _request(
    names: Sequence[str], place: tuple[str, int] | None, limit: int = PAGE_SIZE
) -> DescribeTopicPartitionsRequest:
    message = DescribeTopicPartitionsRequest
    return message(
        topics=[message.TopicRequest(name=name) for name in names],
        response_partition_limit=limit,
        cursor=message.Cursor(topic_name=place[0], partition_index=place[1]) if place else None,
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


@dataclass(frozen=True, slots=True)
class Sight:
    """What the metadata contains about some partitions."""

    states: dict[TopicPartition, PartitionState]
    hidden: Mapping[str, TopicError]
    """Topics of whose partitions nothing is known. What is neither here nor in ``states`` does not exist."""

    def why_hidden(self, topic: str) -> str:
        """Return why the topic's partitions are unknown; empty where they are known."""
        return f"topic {topic} cannot be looked at: {self.hidden[topic]}" if topic in self.hidden else ""

    def only(self, partition: TopicPartition) -> PartitionState | None:
        """Return one partition; None when it is known not to exist.

        Raises RequestRefusedError where it is hidden.
        """
        hidden = self.hidden.get(partition.topic)
        if hidden is not None:
            raise error_codes.refusal("DescribeTopicPartitions", hidden.code, f"topic {partition.topic}")
        return self.states.get(partition)


def sight_of(description: Description, partitions: Collection[TopicPartition]) -> Sight:
    """Return what a description of their topics says about the given partitions."""
    wanted = set(partitions)
    return Sight(
        {each.topic_partition: each for each in description.partitions if each.topic_partition in wanted},
        # Only a topic that is known not to exist is missing. Any other refusal says nothing about its partitions.
        {each.topic: each for each in description.refused if not each.is_unknown},
    )
