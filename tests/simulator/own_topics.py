# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Topics of one partition that clients create, write, read by their id and delete: the lock and the journal of a run.

A topic has the replicas that it was created with, and the first one leads it. Its records are kept as they were sent.
"""

from __future__ import annotations

import struct
from typing import Any

from simulator import messages
from simulator.world import Log, Partition, Topic, World

_NONE = 0
_UNKNOWN_TOPIC_OR_PARTITION = 3
_TOPIC_ALREADY_EXISTS = 36
_UNKNOWN_TOPIC_ID = 100
_LAST_OFFSET_DELTA = 23
"""Its place in a batch of format 2."""


def create(world: World, request: Any) -> Any:
    """Answer CreateTopics."""
    message = messages.CREATE_TOPICS.response
    results = []
    for asked in request.topics:
        with world.lock:
            exists = asked.name in world.topics
            replicas = tuple(asked.assignments[0].broker_ids) if asked.assignments else tuple(world.broker_ids[:1])
            state = Partition(replicas, {each: Log((), 0) for each in replicas}, replicas[0], 0, replicas)
            topic = Topic(asked.name, {0: state})
            if not exists and not request.validate_only:
                world.topics = {**world.topics, asked.name: topic}
                world.written[topic.topic_id] = b""
                world.generation += 1
        results.append(
            message.CreatableTopicResult(
                name=asked.name,
                topic_id=topic.topic_id,
                error_code=_TOPIC_ALREADY_EXISTS if exists else _NONE,
                error_message=None,
                topic_config_error_code=_NONE,
                num_partitions=1,
                replication_factor=len(replicas),
                configs=[],
            )
        )
    return message(throttle_time_ms=0, topics=results)


def delete(world: World, request: Any) -> Any:
    """Answer DeleteTopics by topic id."""
    message = messages.DELETE_TOPICS.response
    results = []
    for asked in request.topics:
        with world.lock:
            is_known = world.written.pop(asked.topic_id, None) is not None
            world.topics = {name: each for name, each in world.topics.items() if each.topic_id != asked.topic_id}
            world.generation += 1
        results.append(
            message.DeletableTopicResult(
                name=None,
                topic_id=asked.topic_id,
                error_code=_NONE if is_known else _UNKNOWN_TOPIC_ID,
                error_message=None,
            )
        )
    return message(throttle_time_ms=0, responses=results)


def produce(world: World, request: Any) -> Any:
    """Answer Produce: append one batch to a topic."""
    message = messages.PRODUCE.response
    topic_message = message.TopicProduceResponse
    results = []
    for asked in request.topic_data:
        with world.lock:
            topic = world.topics.get(asked.name)
            written = world.written.get(topic.topic_id) if topic else None
            offset = -1 if written is None else _end_of(written)
            if topic is not None and written is not None:
                batch = bytes(asked.partition_data[0].records)
                world.written[topic.topic_id] = written + struct.pack(">q", offset) + batch[8:]
        partition = topic_message.PartitionProduceResponse(
            index=0,
            error_code=_UNKNOWN_TOPIC_OR_PARTITION if written is None else _NONE,
            base_offset=offset,
            log_append_time_ms=-1,
            log_start_offset=0,
            record_errors=[],
            error_message=None,
        )
        results.append(topic_message(name=asked.name, partition_responses=[partition]))
    return message(responses=results, throttle_time_ms=0)


def fetch(world: World, request: Any) -> Any:
    """Answer Fetch by topic id: all batches from the one with the offset on."""
    message = messages.FETCH.response
    topic_message = message.FetchableTopicResponse
    results = []
    for asked in request.topics:
        with world.lock:
            written = world.written.get(asked.topic_id)
        partition = topic_message.PartitionData(
            partition_index=0,
            error_code=_UNKNOWN_TOPIC_ID if written is None else _NONE,
            high_watermark=_end_of(written or b""),
            last_stable_offset=_end_of(written or b""),
            log_start_offset=0,
            diverging_epoch=None,
            aborted_transactions=None,
            preferred_read_replica=-1,
            records=_from_offset(written or b"", asked.partitions[0].fetch_offset),
        )
        results.append(topic_message(topic_id=asked.topic_id, partitions=[partition]))
    return message(throttle_time_ms=0, error_code=_NONE, session_id=0, responses=results)


def _from_offset(written: bytes, offset: int) -> bytes:
    position = 0
    for start, next_offset, following in _batches(written):
        if next_offset > offset:
            return written[start:]
        position = following
    return written[position:]


def _end_of(written: bytes) -> int:
    return max((next_offset for _start, next_offset, _following in _batches(written)), default=0)


def _batches(written: bytes) -> list[tuple[int, int, int]]:
    """Return each batch's position, the offset after it, and the position after it."""
    found, position = [], 0
    while position < len(written):
        base, length = struct.unpack_from(">qi", written, position)
        (delta,) = struct.unpack_from(">i", written, position + _LAST_OFFSET_DELTA)
        found.append((position, base + delta + 1, position + 12 + length))
        position += 12 + length
    return found
