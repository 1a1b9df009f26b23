# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Topics of one partition in memory, whose requests and responses a test can drop."""

from __future__ import annotations

import base64
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import cast

from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka import error_codes
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.base_port import Key, Value
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.errors import BrokerCallError
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.partitions import Description, TopicError
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.port import Kafka
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.settings import Address, ConnectionSettings
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.topics import Record, TopicRecords
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.wire import Wire
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.partition import (
    Cause,
    PartitionState,
    TopicPartition,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.setting import Setting, SettingSource
from unit.fakes.answers import one_by_one

SETTINGS = ConnectionSettings(bootstrap_servers=(Address("fake.invalid", 9092),), request_timeout_ms=1000)
CLUSTER_AUTHORIZATION_FAILED, DELETION_DISABLED, POLICY_VIOLATION, TOPIC_AUTHORIZATION_FAILED = 31, 73, 44, 29


@dataclass
class _Topic:
    topic_id: str
    replicas: tuple[int, ...]
    configs: dict[str, str]
    records: list[Record] = field(default_factory=list)


class FakeTopics(Kafka):
    """The requests that the run topic needs, from memory."""

    def __init__(self) -> None:
        super().__init__(cast(Wire, None))
        self.topics: dict[str, _Topic] = {}
        self.errors: dict[str, int] = {}
        """Error codes by request, for all of its requests from now on."""
        self.lost: dict[str, int] = {}
        """The number of next responses that are lost after the request was executed."""
        self.are_shown = True
        """Whether brokers know the topics yet. With False, their metadata is old."""
        self.one_shows_them = False
        """Whether a broker that leads nothing, and is not asked first, knows the topics all the same."""
        self.policy_min_replicas = 1
        """What the controller's policy for new topics requires (create.topic.policy.class.name)."""
        self.follower_is_in_sync = True
        self.leader_epoch = 0
        """That of every topic."""
        self.late_brokers: set[int] = set()
        """Brokers that apply metadata late."""
        self.sent: list[str] = []
        self._number = 0
        self._lock = threading.RLock()

    @property
    def settings(self) -> ConnectionSettings:
        return SETTINGS

    def find_late(self, addresses: Mapping[int, Address], patience_s: float = 0) -> dict[int, str]:
        return {each: "it ends at offset 8" for each in addresses if each in self.late_brokers}

    def create_topic(self, _address: Address, name: str, replicas: Sequence[int], config: Mapping[str, str]) -> str:
        with self._lock:
            self._begin("CreateTopics")
            if len(replicas) < self.policy_min_replicas:
                raise error_codes.request_refused_error("CreateTopics", POLICY_VIOLATION)
            if name in self.topics:
                raise error_codes.request_refused_error("CreateTopics", error_codes.TOPIC_ALREADY_EXISTS)
            self._number += 1
            topic_id = base64.urlsafe_b64encode(self._number.to_bytes(16, "big")).decode().rstrip("=")
            self.topics[name] = _Topic(topic_id, tuple(replicas), {**config})
            self._end("CreateTopics")
            return topic_id

    def read_configs(
        self, _address: Address | None, _kind: int, resource: str, names: Sequence[str]
    ) -> dict[str, Setting]:
        with self._lock:
            self._begin("DescribeConfigs")
            if resource not in self.topics:
                raise error_codes.request_refused_error("DescribeConfigs", error_codes.UNKNOWN_TOPIC_OR_PARTITION)
            configs = self.topics[resource].configs
            return {name: Setting(configs[name], SettingSource.BROKER) for name in names if name in configs}

    def write_configs(self, _address: Address, _kind: int, resource: str, edits: Mapping[str, str | None]) -> None:
        with self._lock:
            self._begin("IncrementalAlterConfigs")
            self.topics[resource].configs |= {name: value for name, value in edits.items() if value is not None}
            self._end("IncrementalAlterConfigs")

    def assign(self, _address: Address, partition: TopicPartition, replicas: Sequence[int]) -> None:
        with self._lock:
            self._begin("AlterPartitionReassignments")
            self.topics[partition.topic].replicas = tuple(replicas)
            self._end("AlterPartitionReassignments")

    def delete_topic(self, _address: Address, topic_id: str) -> None:
        with self._lock:
            self._begin("DeleteTopics")
            name = next((name for name, each in self.topics.items() if each.topic_id == topic_id), None)
            if name is None:
                raise error_codes.request_refused_error("DeleteTopics", error_codes.UNKNOWN_TOPIC_ID)
            del self.topics[name]
            self._end("DeleteTopics")

    def append_records(self, _leader: Address, partition: TopicPartition, records: Sequence[Record]) -> int:
        with self._lock:
            self._begin("Produce")
            if partition.topic not in self.topics or not self.are_shown:
                raise error_codes.request_refused_error("Produce", error_codes.UNKNOWN_TOPIC_OR_PARTITION)
            log = self.topics[partition.topic].records
            log += records
            self._end("Produce")
            return len(log) - len(records)

    def read_records(self, _leader: Address, topic_id: str, offset: int, _partition: int = 0) -> TopicRecords:
        with self._lock:
            self._begin("Fetch")
            for topic in self.topics.values():
                if topic.topic_id == topic_id and self.are_shown:
                    if offset > len(topic.records):
                        raise error_codes.request_refused_error("Fetch", error_codes.OFFSET_OUT_OF_RANGE)
                    found = [*enumerate(topic.records)][offset:]
                    return TopicRecords(tuple(found), len(topic.records))
            raise error_codes.request_refused_error("Fetch", error_codes.UNKNOWN_TOPIC_ID)

    def in_parallel(self, work: Callable[[Key], Value], keys: Iterable[Key]) -> dict[Key, Value | BrokerCallError]:
        return one_by_one(work, keys)

    def first_partitions_at(self, _address: Address, topic: str, count: int) -> tuple[PartitionState, ...]:
        with self._lock:
            is_shown = topic in self.topics and (self.are_shown or self.one_shows_them)
            return (self._described(topic),)[:count] if is_shown else ()

    def describe_partitions(
        self, names: Iterable[str] | None = None, span: tuple[TopicPartition, TopicPartition] | None = None
    ) -> Description:
        with self._lock:
            states, refused = [], []
            for name in names or ():
                if name in self.topics and self.are_shown:
                    states.append(self._described(name))
                else:
                    code = self.errors.get("Describe", error_codes.UNKNOWN_TOPIC_OR_PARTITION)
                    refused.append(TopicError(name, code))
            return Description(tuple(states), tuple(refused))

    def _described(self, name: str) -> PartitionState:
        topic = self.topics[name]
        replicas = topic.replicas
        isr = replicas if self.follower_is_in_sync else replicas[:1]
        return PartitionState(name, 0, topic.topic_id, replicas[0], self.leader_epoch, replicas, isr, (), (), ())

    def _begin(self, request: str) -> None:
        self.sent.append(request)
        if request in self.errors:
            raise error_codes.request_refused_error(request, self.errors[request])

    def _end(self, request: str) -> None:
        if self.lost.get(request, 0):
            self.lost[request] -= 1
            raise BrokerCallError("fake.invalid:9092", Cause.HUNG, "no response within 1000 ms", request=request)
