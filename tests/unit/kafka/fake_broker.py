# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A broker with the replicas of a test, whose answers a test can falsify."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from kafka.protocol.admin import (
    DescribeConfigsRequest,
    DescribeConfigsResponse,
    DescribeLogDirsRequest,
    DescribeLogDirsResponse,
)
from kafka.protocol.consumer import FetchRequest, FetchResponse, ListOffsetsRequest, ListOffsetsResponse

from ansible_collections.kafkaops.recovery.plugins.module_utils._model.partition import TopicPartition
from unit.kafka.fake_epoch_cache import FakeEpochCache

LATEST, EARLIEST, EARLIEST_LOCAL, LATEST_TIERED = -1, -2, -4, -5
OFFSET_OUT_OF_RANGE = 1
UNKNOWN_TOPIC_OR_PARTITION = 3

Distortion = Callable[[Any], None]
"""Changes a response in place."""


@dataclass(frozen=True)
class FakeReplica:
    """One replica on a broker's disk."""

    cache: FakeEpochCache
    current_leader_epoch: int = 9
    size_bytes: int = 1000
    log_dir: str = "/data"
    has_future: bool = False
    local_start: int = -1
    last_tiered: int = -1


@dataclass
class FakeBroker:
    """Answers as a broker with these replicas does. ``distortions`` act on responses, by the request's class."""

    replicas: Mapping[TopicPartition, FakeReplica]
    distortions: dict[type, Distortion] = field(default_factory=dict)
    errors: dict[type, int] = field(default_factory=dict)
    """The error code of every partition in the answers to such requests."""
    is_another: bool = False
    """Whether another broker answers at this address."""
    offline_log_dirs: tuple[str, ...] = ()

    def answer(self, request: Any) -> Any:
        """Take a kafka-python request and returns the response."""
        honest: dict[type, Callable[[Any], Any]] = {
            DescribeConfigsRequest: self._configs,
            ListOffsetsRequest: self._offsets,
            FetchRequest: self._fetch,
            DescribeLogDirsRequest: self._log_dirs,
        }
        response = honest[type(request)](request)
        self.distortions.get(type(request), lambda _response: None)(response)
        return response

    def _configs(self, request: Any) -> Any:
        message = DescribeConfigsResponse
        code, text = (42, "Unexpected broker id") if self.is_another else (0, None)
        return message(
            results=[
                message.DescribeConfigsResult(
                    error_code=code,
                    error_message=text,
                    resource_type=4,
                    resource_name=resource.resource_name,
                    configs=[],
                )
                for resource in request.resources
            ]
        )

    def _offsets(self, request: Any) -> Any:
        message = ListOffsetsResponse
        topic_message = message.ListOffsetsTopicResponse
        return message(
            topics=[
                topic_message(
                    name=topic.name, partitions=[self._offset(topic.name, asked) for asked in topic.partitions]
                )
                for topic in request.topics
            ]
        )

    def _offset(self, topic: str, asked: Any) -> Any:
        replica, code = self._look_up(ListOffsetsRequest, topic, asked.partition_index)
        offset = -1
        if replica is not None:
            offset = {
                EARLIEST: replica.cache.log_start_offset,
                LATEST: replica.cache.log_end_offset,
                EARLIEST_LOCAL: replica.local_start,
                LATEST_TIERED: replica.last_tiered,
            }[asked.timestamp]
        return ListOffsetsResponse.ListOffsetsTopicResponse.ListOffsetsPartitionResponse(
            partition_index=asked.partition_index,
            error_code=code,
            offset=offset,
            leader_epoch=replica.current_leader_epoch if replica else -1,
        )

    def _fetch(self, request: Any) -> Any:
        message = FetchResponse
        return message(
            error_code=0,
            responses=[
                message.FetchableTopicResponse(
                    topic=topic.topic,
                    partitions=[self._diverging_epoch(topic.topic, asked) for asked in topic.partitions],
                )
                for topic in request.topics
            ],
        )

    def _diverging_epoch(self, topic: str, asked: Any) -> Any:
        message = FetchResponse.FetchableTopicResponse.PartitionData
        replica, code = self._look_up(FetchRequest, topic, asked.partition)
        found = replica.cache.ask(asked.last_fetched_epoch) if replica else None
        if replica and found is None:
            code = OFFSET_OUT_OF_RANGE
        return message(
            partition_index=asked.partition,
            error_code=code,
            high_watermark=0,
            diverging_epoch=message.EpochEndOffset(epoch=found.epoch, end_offset=found.end_offset) if found else None,
            aborted_transactions=None,
            records=None,
        )

    def _look_up(self, request_class: type, topic: str, number: int) -> tuple[FakeReplica | None, int]:
        replica = self.replicas.get(TopicPartition(topic, number))
        code = self.errors.get(request_class, 0 if replica else UNKNOWN_TOPIC_OR_PARTITION)
        return (None if code else replica), code

    def _log_dirs(self, request: Any) -> Any:
        message = DescribeLogDirsResponse
        result = message.DescribeLogDirsResult
        asked = {TopicPartition(topic.topic, number) for topic in request.topics for number in topic.partitions}
        held = {each: replica for each, replica in self.replicas.items() if each in asked}
        directories = {"/data", *self.offline_log_dirs, *(replica.log_dir for replica in held.values())}
        return message(
            error_code=0,
            results=[
                result(
                    error_code=56 if directory in self.offline_log_dirs else 0,
                    log_dir=directory,
                    topics=[
                        result.DescribeLogDirsTopic(
                            name=partition.topic, partitions=_on_disk(partition.partition, replica)
                        )
                        for partition, replica in held.items()
                        if replica.log_dir == directory
                    ],
                )
                for directory in sorted(directories)
            ],
        )


def _on_disk(number: int, replica: FakeReplica) -> list[Any]:
    message = DescribeLogDirsResponse.DescribeLogDirsResult.DescribeLogDirsTopic.DescribeLogDirsPartition
    return [
        message(partition_index=number, partition_size=size, offset_lag=0, is_future_key=is_future)
        for size, is_future in [(1, True)] * replica.has_future + [(replica.size_bytes, False)]
    ]
