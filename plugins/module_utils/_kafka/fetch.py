# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A Fetch request for the records of one partition (Fetch, API key 1), without a fetch session."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from .._model.partition import TopicPartition
from .messages import parse_uuid

with suppress(ImportError):  # a missing library is named before anything is done (_module/run.py)
    from kafka.protocol.consumer import FetchRequest

CONSUMER = -1
"""The replica id of a consumer: reads up to the high watermark. Never send an id >= 0, which is a follower's."""
FUTURE_REPLICA = -3
"""Kafka's own id of a replica that moves to another log directory.

It reads up to the log end offset, from a replica that does not lead, too. A consumer, and Kafka's debugging consumer
(-2), get nothing above the high watermark, and no error. A follower that loses its leader may not have learnt the last
one, and a broker that was killed starts with the one that it wrote down last.
"""
_BY_NAME_VERSION = 12
"""The last version that names topics."""
_BY_ID_VERSION = 13
_NO_SESSION_EPOCH = -1


def fetch_request(  # noqa: PLR0917  # the protocol's own fields
    partition: TopicPartition,
    offset: int,
    max_bytes: int,
    replica_id: int = CONSUMER,
    isolation_level: int = 0,
    topic_id: str | None = None,
) -> Any:
    """Return a request that is answered at once with batches from ``offset`` on, at most ``max_bytes`` of them.

    With ``topic_id`` (Kafka's text form) the request names the topic by its id: a re-created topic is not read.
    """
    message = FetchRequest
    version = _BY_NAME_VERSION if topic_id is None else _BY_ID_VERSION
    name = {"topic": partition.topic} if topic_id is None else {"topic_id": parse_uuid(topic_id)}
    wanted = message.FetchTopic.FetchPartition(
        partition=partition.partition,
        current_leader_epoch=-1,
        fetch_offset=offset,
        last_fetched_epoch=-1,
        log_start_offset=-1,
        partition_max_bytes=max_bytes,
    )
    return message(
        replica_id=replica_id,
        max_wait_ms=0,
        min_bytes=0,
        max_bytes=max_bytes,
        isolation_level=isolation_level,
        session_id=0,
        session_epoch=_NO_SESSION_EPOCH,
        topics=[message.FetchTopic(**name, partitions=[wanted])],
        forgotten_topics_data=[],
        rack_id="",
        min_version=version,
        max_version=version,
    )
