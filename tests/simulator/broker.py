# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The answers of one simulated broker: decoded requests in, responses to encode out."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from simulator import messages, own_topics
from simulator.messages import Api
from simulator.pages import page_of
from simulator.world import LOG_DIR, Log, Partition, World

_EARLIEST = -2
_LATEST = -1
_DEBUGGING_REPLICA = -2
_NO_TIME = -1
_NONE = 0
_OFFSET_OUT_OF_RANGE = 1
_CLUSTER_AUTHORIZATION_FAILED = 31
_UNKNOWN_TOPIC_OR_PARTITION = 3
_NOT_LEADER_OR_FOLLOWER = 6
_INVALID_REQUEST = 42
_UNSUPPORTED_VERSION = 35
_UNKNOWN_TOPIC_ID = 100
_BROKER_RESOURCE = 4
_DEFAULT_CONFIG = 5
_FALSE = frozenset({"unclean.leader.election.enable", "remote.storage.enable"})
"""Configs that are at Kafka's default everywhere."""
_UNCLEAN, _DESIGNATED = 1, 2
_DESIGNATED_VERSION = 3
_NATIVE_LIMIT = 1000

Answer = Callable[[Any], Any]


class Broker:
    """One broker of a world. ``answers`` are by API key."""

    def __init__(self, world: World, broker_id: int, ports: Mapping[int, int], apis: Mapping[int, Api]) -> None:
        self.broker_id = broker_id
        self._world = world
        self._ports = ports
        self._apis = apis
        self.answers: dict[int, Answer] = {
            messages.API_VERSIONS.key: self._api_versions,
            messages.CREATE_TOPICS.key: partial(own_topics.create, world),
            messages.DELETE_TOPICS.key: partial(own_topics.delete, world),
            messages.PRODUCE.key: partial(own_topics.produce, world),
            messages.LIST_OFFSETS.key: self._list_offsets,
            messages.FETCH.key: self._fetch,
            messages.DESCRIBE_CONFIGS.key: self._describe_configs,
            messages.DESCRIBE_LOG_DIRS.key: self._describe_log_dirs,
            messages.DESCRIBE_PRODUCERS.key: self._describe_producers,
            messages.LIST_GROUPS.key: self._list_groups,
            messages.ELECT_LEADERS.key: self._elect_leaders,
            messages.ALTER_REASSIGNMENTS.key: self._alter_reassignments,
            messages.LIST_REASSIGNMENTS.key: self._list_reassignments,
            messages.DESCRIBE_CLUSTER.key: self._describe_cluster,
            messages.DESCRIBE_QUORUM.key: self._refuse_quorum,
            messages.DESCRIBE_TOPIC_PARTITIONS.key: self._describe_topic_partitions,
        }
        for key in apis:
            self.answers.setdefault(key, self._replica_log_info)

    def _held(self, topic: str, number: int) -> tuple[Partition, Log] | None:
        return self._world.held(self.broker_id, topic, number)

    def _api_versions(self, _request: Any) -> Any:
        message = messages.API_VERSIONS.response
        return message(
            error_code=_NONE,
            throttle_time_ms=0,
            finalized_features_epoch=0,
            api_keys=[
                message.ApiVersion(api_key=key, min_version=api.min_version, max_version=api.max_version)
                for key, api in sorted(self._apis.items())
            ],
        )

    def _list_offsets(self, request: Any) -> Any:
        message = messages.LIST_OFFSETS.response
        topic_message = message.ListOffsetsTopicResponse
        return message(
            throttle_time_ms=0,
            topics=[
                topic_message(
                    name=topic.name,
                    partitions=[self._offset(request.replica_id, topic.name, each) for each in topic.partitions],
                )
                for topic in request.topics
            ],
        )

    def _offset(self, replica_id: int, topic: str, asked: Any) -> Any:
        held = self._held(topic, asked.partition_index)
        code, offset, epoch = _UNKNOWN_TOPIC_OR_PARTITION, -1, -1
        if held:
            partition, log = held
            if replica_id != _DEBUGGING_REPLICA and partition.leader != self.broker_id:
                code = _NOT_LEADER_OR_FOLLOWER
            else:
                code, offset, epoch = _NONE, log.log_end_offset, partition.leader_epoch
                if asked.timestamp == _EARLIEST:  # with the epoch of the first record, not the current one
                    offset, epoch = log.log_start_offset, log.first_epoch
        return messages.LIST_OFFSETS.response.ListOffsetsTopicResponse.ListOffsetsPartitionResponse(
            partition_index=asked.partition_index,
            error_code=code,
            timestamp=_NO_TIME,
            offset=offset,
            leader_epoch=epoch,
        )

    def _fetch(self, request: Any) -> Any:
        if request.API_VERSION == messages.FETCH_BY_ID_VERSION:
            return own_topics.fetch(self._world, request)
        message = messages.FETCH.response
        return message(
            throttle_time_ms=0,
            error_code=_NONE,
            session_id=0,
            responses=[
                message.FetchableTopicResponse(
                    topic=topic.topic, partitions=[self._probe(topic.topic, each) for each in topic.partitions]
                )
                for topic in request.topics
            ],
        )

    def _probe(self, topic: str, asked: Any) -> Any:
        """Answer a Fetch: an epoch probe, which is beyond the log's end and has an epoch, or a read of one batch."""
        message = messages.FETCH.response.FetchableTopicResponse.PartitionData
        held = self._held(topic, asked.partition)
        batch = held[1].batch_at(asked.fetch_offset) if held else b""
        found = held[1].diverging_epoch(asked.last_fetched_epoch) if held and not batch else None
        code = _NONE if found or batch else _OFFSET_OUT_OF_RANGE if held else _UNKNOWN_TOPIC_OR_PARTITION
        return message(
            partition_index=asked.partition,
            error_code=code,
            # A real broker reports the high watermark only if it could read the log.
            high_watermark=held[1].high_watermark if held and not code else -1,
            last_stable_offset=held[1].high_watermark if held and not code else -1,
            log_start_offset=held[1].log_start_offset if held and not code else -1,
            diverging_epoch=message.EpochEndOffset(epoch=found[0], end_offset=found[1]) if found else None,
            aborted_transactions=None,
            preferred_read_replica=-1,
            records=batch,
        )

    def _replica_log_info(self, request: Any) -> Any:
        native = next(api for key, api in self._apis.items() if self.answers[key] == self._replica_log_info)
        message = native.response
        asked = [(topic.topic_id, number) for topic in request.topic_partitions or () for number in topic.partitions]
        served: dict[Any, list[Any]] = {}
        for topic_id, number in asked[:_NATIVE_LIMIT]:
            served.setdefault(topic_id, []).append(self._log_info(message.TopicPartitionLogInfo, topic_id, number))
        return message(
            throttle_time_ms=0,
            broker_epoch=self._world.broker_epoch(self.broker_id),
            has_more_data=len(asked) > _NATIVE_LIMIT,
            topic_partition_log_info_list=[
                message.TopicPartitionLogInfo(topic_id=topic_id, partition_log_info=logs)
                for topic_id, logs in served.items()
            ],
        )

    def _log_info(self, message: Any, topic_id: Any, number: int) -> Any:
        topic = self._world.by_id.get(topic_id)
        held = self._held(topic.name, number) if topic else None
        code = _NONE if held else _UNKNOWN_TOPIC_OR_PARTITION if topic else _UNKNOWN_TOPIC_ID
        return message.PartitionLogInfo(
            partition=number,
            partition_leader_epoch=held[0].leader_epoch if held else -1,
            log_end_offset=held[1].log_end_offset if held else -1,
            error_code=code,
        )

    def _describe_configs(self, request: Any) -> Any:
        message = messages.DESCRIBE_CONFIGS.response
        return message(throttle_time_ms=0, results=[self._configs(message, each) for each in request.resources])

    def _configs(self, message: Any, resource: Any) -> Any:
        is_another = resource.resource_type == _BROKER_RESOURCE and resource.resource_name != str(self.broker_id)
        return message.DescribeConfigsResult(
            error_code=_INVALID_REQUEST if is_another else _NONE,
            error_message=f"Unexpected broker id, expected {self.broker_id}" if is_another else "",
            resource_type=resource.resource_type,
            resource_name=resource.resource_name,
            configs=[
                message.DescribeConfigsResult.DescribeConfigsResourceResult(
                    name=name, value="false", read_only=False, config_source=_DEFAULT_CONFIG, is_sensitive=False
                )
                for name in resource.configuration_keys or ()
                if name in _FALSE and not is_another
            ],
        )

    def _list_groups(self, _request: Any) -> Any:
        return messages.LIST_GROUPS.response(throttle_time_ms=0, error_code=_NONE, groups=[])

    def _describe_producers(self, request: Any) -> Any:
        """Return that there are none, of all replicas that this broker holds."""
        message = messages.DESCRIBE_PRODUCERS.response
        return message(
            throttle_time_ms=0,
            topics=[
                message.TopicResponse(
                    name=topic.name,
                    partitions=[
                        message.TopicResponse.PartitionResponse(
                            partition_index=number,
                            error_code=_NONE if self._held(topic.name, number) else _NOT_LEADER_OR_FOLLOWER,
                            error_message=None,
                            active_producers=[],
                        )
                        for number in topic.partition_indexes
                    ],
                )
                for topic in request.topics
            ],
        )

    def _describe_log_dirs(self, request: Any) -> Any:
        message = messages.DESCRIBE_LOG_DIRS.response
        result = message.DescribeLogDirsResult
        asked: dict[str, Sequence[int]] = {name: topic.numbers for name, topic in self._world.topics.items()}
        if request.topics is not None:
            asked = {topic.topic: topic.partitions for topic in request.topics}
        topics = [
            result.DescribeLogDirsTopic(name=topic, partitions=held)
            for topic, numbers in asked.items()
            if (held := [self._on_disk(topic, number) for number in numbers if self._held(topic, number)])
        ]
        return message(
            throttle_time_ms=0,
            error_code=_NONE,
            results=[result(error_code=_NONE, log_dir=LOG_DIR, topics=topics, total_bytes=2**40, usable_bytes=2**39)],
        )

    def _on_disk(self, topic: str, number: int) -> Any:
        message = (
            messages.DESCRIBE_LOG_DIRS.response.DescribeLogDirsResult.DescribeLogDirsTopic.DescribeLogDirsPartition
        )
        held = self._held(topic, number)
        return message(
            partition_index=number, partition_size=held[1].size_bytes if held else 0, offset_lag=0, is_future_key=False
        )

    def _describe_cluster(self, _request: Any) -> Any:
        message = messages.DESCRIBE_CLUSTER.response
        return message(
            throttle_time_ms=0,
            error_code=_NONE,
            error_message=None,
            endpoint_type=1,
            cluster_id=self._world.cluster_id,
            controller_id=self._world.broker_ids[0],
            brokers=[
                message.DescribeClusterBroker(
                    broker_id=broker_id,
                    host="127.0.0.1",
                    port=self._ports[broker_id],
                    rack=self._world.racks.get(broker_id),
                    is_fenced=broker_id in self._world.fenced,
                )
                for broker_id in (*self._world.broker_ids, *self._world.fenced)
            ],
            authorized_operations=None,
        )

    def _refuse_quorum(self, _request: Any) -> Any:
        """Answer as a controller does to a principal without DESCRIBE on the cluster: there is no quorum here."""
        return messages.DESCRIBE_QUORUM.response(
            error_code=_CLUSTER_AUTHORIZATION_FAILED, error_message=None, topics=[], nodes=[]
        )

    def _describe_topic_partitions(self, request: Any) -> Any:
        message = messages.DESCRIBE_TOPIC_PARTITIONS.response
        page = page_of(self._world, request)
        return message(
            throttle_time_ms=0,
            topics=[
                self._topic(message, name, _UNKNOWN_TOPIC_OR_PARTITION if numbers is None else _NONE, numbers or [])
                for name, numbers in page.topics
            ],
            next_cursor=message.Cursor(topic_name=page.following[0], partition_index=page.following[1])
            if page.following
            else None,
        )

    def _topic(self, message: Any, name: str, code: int, numbers: list[int]) -> Any:
        topic_message = message.DescribeTopicPartitionsResponseTopic
        topic = self._world.topics.get(name)
        more = {"topic_id": topic.topic_id} if topic else {}
        return topic_message(
            error_code=code,
            name=name,
            **more,
            is_internal=False,
            partitions=[self._state(topic_message, number, topic.partitions[number]) for number in numbers]
            if topic
            else [],
            topic_authorized_operations=-(2**31),  # not asked for
        )

    def _state(self, message: Any, number: int, partition: Partition) -> Any:
        dead = [each for each in partition.replicas if each not in self._world.broker_ids]
        return message.DescribeTopicPartitionsResponsePartition(
            error_code=_NONE if partition.leader >= 0 else 5,
            partition_index=number,
            leader_id=partition.leader,
            leader_epoch=partition.leader_epoch,
            replica_nodes=list(partition.replicas),
            isr_nodes=list(partition.isr),
            eligible_leader_replicas=list(partition.elr),
            last_known_elr=list(partition.last_known_elr),
            offline_replicas=dead,
        )

    def _list_reassignments(self, _request: Any) -> Any:
        return messages.LIST_REASSIGNMENTS.response(throttle_time_ms=0, error_code=_NONE, error_message=None, topics=[])

    def _alter_reassignments(self, request: Any) -> Any:
        message = messages.ALTER_REASSIGNMENTS.response
        topic_message = message.ReassignableTopicResponse
        return message(
            throttle_time_ms=0,
            allow_replication_factor_change=False,
            error_code=_NONE,
            error_message=None,
            responses=[
                topic_message(
                    name=topic.name,
                    partitions=[
                        topic_message.ReassignablePartitionResponse(
                            partition_index=each.partition_index,
                            error_code=self._world.reorder(topic.name, each.partition_index, tuple(each.replicas)),
                            error_message=None,
                        )
                        for each in topic.partitions
                    ],
                )
                for topic in request.topics
            ],
        )

    def _elect_leaders(self, request: Any) -> Any:
        message = self._apis[messages.ELECT_LEADERS.key].response
        result = message.ReplicaElectionResult
        return message(
            throttle_time_ms=0,
            error_code=_NONE,
            replica_election_results=[
                result(
                    topic=topic.topic,
                    partition_result=[
                        result.PartitionResult(
                            partition_id=number,
                            error_code=self._elect(request, topic, place, number),
                            error_message=None,
                        )
                        for place, number in enumerate(topic.partitions)
                    ],
                )
                for topic in request.topic_partitions
            ],
        )

    def _elect(self, request: Any, topic: Any, place: int, number: int) -> int:
        kind = request.election_type
        if kind == _DESIGNATED:
            return self._world.elect(topic.topic, number, unclean=True, designated=topic.designated_leaders[place])
        return self._world.elect(topic.topic, number, unclean=kind == _UNCLEAN)
