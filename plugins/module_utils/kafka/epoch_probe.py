# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Which leader epochs a replica's log holds (Fetch, API key 1, version 12, KIP-320 and KIP-595's diverging epoch).

An ordinary consumer's Fetch (replica id -1, so that it never poses as a follower) at an offset beyond any log, with
last_fetched_epoch E, makes a broker tell where its log departs from a log that ends in E:

- error 1 (OFFSET_OUT_OF_RANGE): E is larger than every epoch of the log;
- no error, diverging_epoch (e, end): e is the largest epoch <= E of the log, and end is where e ends. Where no epoch
  is <= E, e is E itself and end is where the log's first epoch starts.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from ansible_collections.kafkaops.recovery.plugins.module_utils.kafka.batches import by_topic
from ansible_collections.kafkaops.recovery.plugins.module_utils.kafka.wire import Connection
from ansible_collections.kafkaops.recovery.plugins.module_utils.model.partition import TopicPartition
from ansible_collections.kafkaops.recovery.plugins.module_utils.model.replica_log import EpochEnd

with suppress(ImportError):  # a missing library is told by name before anything is done (glue/failures.py)
    from kafka.protocol.consumer import FetchRequest

_VERSION = 12
"""The last version that names topics, and the first that has diverging epochs."""
_CONSUMER = -1
_BEYOND_ANY_LOG = 2**62
_NO_SESSION_EPOCH = -1


@dataclass(frozen=True, slots=True)
class EpochAnswer:
    """One partition's answer. ``epoch_end`` is None when the broker gave an error or no diverging epoch."""

    error_code: int
    epoch_end: EpochEnd | None
    high_watermark: int


def epoch_ends(
    connection: Connection, epochs: Mapping[TopicPartition, int], *, timeout_ms: int | None = None
) -> dict[TopicPartition, list[EpochAnswer]]:
    """Asks, for each partition, about one epoch (>= 0), all in one request.

    Raises BrokerCallError.
    """
    message = FetchRequest
    topic_message = message.FetchTopic
    request = message(
        replica_id=_CONSUMER,
        max_wait_ms=0,
        min_bytes=0,
        max_bytes=1,
        isolation_level=0,
        session_id=0,
        session_epoch=_NO_SESSION_EPOCH,
        topics=[
            topic_message(
                topic=topic,
                partitions=[
                    topic_message.FetchPartition(
                        partition=number,
                        current_leader_epoch=-1,
                        fetch_offset=_BEYOND_ANY_LOG,
                        last_fetched_epoch=epochs[TopicPartition(topic, number)],
                        log_start_offset=-1,
                        partition_max_bytes=1,
                    )
                    for number in numbers
                ],
            )
            for topic, numbers in by_topic(epochs).items()
        ],
        forgotten_topics_data=[],
        rack_id="",
        min_version=_VERSION,
        max_version=_VERSION,
    )
    return _answers(connection.call(request, timeout_ms=timeout_ms))


def _answers(response: Any) -> dict[TopicPartition, list[EpochAnswer]]:
    answers: dict[TopicPartition, list[EpochAnswer]] = {}
    for topic in response.responses:
        for partition in topic.partitions:
            diverging = partition.diverging_epoch
            known = partition.error_code == 0 and diverging is not None and diverging.epoch >= 0
            answers.setdefault(TopicPartition(topic.topic, partition.partition_index), []).append(
                EpochAnswer(
                    partition.error_code,
                    EpochEnd(diverging.epoch, diverging.end_offset) if known else None,
                    partition.high_watermark,
                )
            )
    return answers
