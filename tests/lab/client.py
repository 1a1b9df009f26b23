# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The tests' oracle: it reads the state of a cluster with clients that are not under test.

Topics, consuming and elections go through confluent-kafka; what it cannot do (another broker's view, a follower's log
end offset, thousands of partitions in one Produce request) is asked of that broker itself. All of it uses the INTERNAL
listener, so nothing passes a proxy.
"""

from __future__ import annotations

import base64
import os
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from confluent_kafka import Consumer, ElectionType, KafkaError, KafkaException, TopicPartition
from confluent_kafka.admin import (
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    AdminClient,
    ResourcePatternType,
    ResourceType,
)
from confluent_kafka.cimpl import NewTopic

from lab import jars, process, settings, versions, wire
from lab.waiting import wait_until

if TYPE_CHECKING:
    from lab.cluster import Cluster
    from lab.node import Broker

_NO_LEADER = -1
_IS_NEW_LEADER = (KafkaError.NOT_LEADER_FOR_PARTITION, KafkaError.OFFSET_NOT_AVAILABLE)
_NOT_LEADER_OR_FOLLOWER = 6
_REQUEST_BYTES = 32 * 1024 * 1024


@dataclass(frozen=True)
class PartitionState:
    """One partition as one broker sees it (DescribeTopicPartitions, KIP-966); ``leader`` is None when offline."""

    leader: int | None
    leader_epoch: int
    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    elr: tuple[int, ...]
    last_known_elr: tuple[int, ...]
    offline_replicas: tuple[int, ...]


class Client:
    """Creates, writes, reads and inspects topics of one cluster. Raises KafkaException and OSError."""

    def __init__(self, cluster: Cluster, *, timeout: float = 60.0) -> None:
        self._cluster = cluster
        self._timeout = timeout

    def create_topic(
        self, name: str, assignment: Mapping[int, Sequence[int]], config: Mapping[str, object] | None = None
    ) -> None:
        """Create a topic, ``assignment`` mapping each partition to its replicas; returns when every broker knows it.

        Partitions count from 0. Thousands in one topic are fine.
        """
        new_topic = NewTopic(
            name,
            num_partitions=len(assignment),
            replica_assignment=[list(assignment[partition]) for partition in range(len(assignment))],
            config={key: str(value) for key, value in (config or {}).items()},
        )
        admin = self._admin()  # has to live until the answer is here
        created = admin.create_topics([new_topic], request_timeout=self._timeout, operation_timeout=self._timeout)
        created[name].result(self._timeout)
        for broker in self._cluster.live_brokers:
            wait_until(
                partial(self._all_led, name, len(assignment), broker),
                self._timeout,
                what=f"broker {broker.node_id} sees leaders of all {len(assignment)} partitions of {name}",
            )

    def delete_topic(self, name: str) -> None:
        """Delete a topic; returns when no broker knows it any more."""
        admin = self._admin()
        admin.delete_topics([name], request_timeout=self._timeout)[name].result(self._timeout)
        for broker in self._cluster.live_brokers:
            wait_until(
                lambda node=broker: name not in wire.topics(node.host, node.ports[settings.INTERNAL]),  # type: ignore[misc]
                self._timeout,
                what=f"broker {broker.node_id} has forgotten {name}",
            )

    def produce(
        self,
        topic: str,
        partitions: int | Iterable[int],
        count: int,
        *,
        label: str = "record",
        record_bytes: int = 0,
    ) -> list[str]:
        """Write ``count`` records to each partition with acks=all, and return the values of one partition, in order.

        A value is the record's identity: ``label-number``, numbered from 0 in each call. Each leader gets one
        request, however many partitions it leads (librdkafka would send one for each). Raises RuntimeError when a
        broker refuses, TimeoutError when a partition has no leader.

        With ``record_bytes``, random text makes each value that long, and a request has some megabytes.
        """
        values = [f"{label}-{number}" for number in range(count)]
        missing = {partitions} if isinstance(partitions, int) else set(partitions)
        at_once = max(1, _REQUEST_BYTES // (count * record_bytes)) if record_bytes else len(missing)

        def written() -> bool:
            wanted = sorted(missing)
            for some in (wanted[start : start + at_once] for start in range(0, len(wanted), at_once)):
                padded = [_padded(each, record_bytes) for each in values] if record_bytes else values
                missing.difference_update(self._produce_once(topic, set(some), padded))
            return not missing

        wait_until(written, self._timeout, what=f"every wanted partition of {topic} takes {count} {label} records")
        return values

    def _produce_once(self, topic: str, partitions: set[int], values: list[str]) -> set[int]:
        """Return the partitions that accepted the records. Partitions without a leader accept none."""
        taken: set[int] = set()
        states = self.describe(topic)
        for broker in self._cluster.live_brokers:
            led = [partition for partition in partitions if states[partition].leader == broker.node_id]
            if not led:
                continue
            errors = wire.produce(broker.host, broker.ports[settings.INTERNAL], topic, led, values)
            failed = {partition: code for partition, code in errors.items() if code != _NOT_LEADER_OR_FOLLOWER}
            if failed:
                raise RuntimeError(f"{topic}: broker {broker.node_id} answered with error codes by partition {failed}.")
            taken.update(set(led) - set(errors))
        return taken

    def consume_all(self, topic: str, partition: int) -> list[str]:
        """Return the values of all committed records of a partition, in order. The partition must have a leader."""
        config = {"group.id": "lab", "enable.auto.commit": "false", "enable.partition.eof": "true"}
        consumer = Consumer({**self._config(), **config})
        try:
            low, high = self._watermarks(consumer, TopicPartition(topic, partition))
            consumer.assign([TopicPartition(topic, partition, low)])
            values: list[str] = []
            at = low
            while at < high:
                for message in consumer.consume(10_000, timeout=1.0):
                    error, offset = message.error(), message.offset() or 0
                    if error is None:
                        values.append((message.value() or b"").decode())
                        at = offset + 1
                    elif error.code() == KafkaError._PARTITION_EOF:
                        # After the last record there may be transaction markers, which a consumer does not get.
                        at = max(at, offset)
                    else:
                        raise KafkaException(error)
            return values
        finally:
            consumer.close()

    def leader_log_ends(self, consumer: Consumer, topic: str, partitions: Iterable[int]) -> dict[int, int]:
        """Return the log end offsets of the leaders, as a consumer gets them."""
        return {each: self._watermarks(consumer, TopicPartition(topic, each))[1] for each in partitions}

    def _watermarks(self, consumer: Consumer, partition: TopicPartition) -> tuple[int, int]:
        """Retry until a broker that was just elected knows that it leads, and how far its followers are."""

        def ask() -> list[tuple[int, int]]:
            try:
                return [consumer.get_watermark_offsets(partition, self._timeout)]
            except KafkaException as error:
                if error.args[0].code() in _IS_NEW_LEADER:
                    return []
                raise

        return wait_until(ask, self._timeout, what=f"the leader of {partition} reports its log end offset")[0]

    def describe(self, topic: str, *, broker: int | None = None) -> dict[int, PartitionState]:
        """Return every partition's state as one broker sees it, by default the first live one."""
        node = self._cluster.brokers[broker] if broker is not None else self._cluster.live_brokers[0]
        states: dict[int, PartitionState] = {}
        for partition in wire.topic_partitions(node.host, node.ports[settings.INTERNAL], topic, timeout=self._timeout):
            states[partition.partition_index] = PartitionState(
                leader=None if partition.leader_id == _NO_LEADER else partition.leader_id,
                leader_epoch=partition.leader_epoch,
                replicas=tuple(partition.replica_nodes),
                isr=tuple(partition.isr_nodes),
                elr=tuple(partition.eligible_leader_replicas or ()),
                last_known_elr=tuple(partition.last_known_elr or ()),
                offline_replicas=tuple(partition.offline_replicas),
            )
        return states

    def leader(self, topic: str, partition: int = 0) -> int | None:
        """Return the leader's broker id, None when the partition is offline."""
        return self.describe(topic)[partition].leader

    def log_end_offsets(self, topic: str, partitions: Iterable[int], broker: int) -> dict[int, int | None]:
        """Return the log end offsets that one broker holds, asked of it as the debugging replica (-2).

        Answered without a leader, too. None for a partition that the broker refused to describe.
        """
        node = self._cluster.brokers[broker]
        return wire.log_end_offsets(
            node.host, node.ports[settings.INTERNAL], topic, list(partitions), timeout=self._timeout
        )

    def log_end_offset(self, topic: str, partition: int, broker: int) -> int | None:
        """Return one of ``log_end_offsets``."""
        return self.log_end_offsets(topic, [partition], broker)[partition]

    def elect_unclean(self, topic: str, partitions: Iterable[int]) -> None:
        """Ask for unclean elections; the first unfenced replica in order wins. Raises KafkaException."""
        wanted = [TopicPartition(topic, partition) for partition in partitions]
        if not wanted:
            raise ValueError("An election over no partitions would mean every partition.")
        admin = self._admin()
        result = admin.elect_leaders(ElectionType.UNCLEAN, wanted)  # its timeouts raise SystemError in 2.16.1
        for error in result.result(self._timeout).values():
            if error is not None:
                raise KafkaException(error)

    def allow(self, user: str, operation: str, **resource: str) -> None:
        """Grant an operation, such as ``DESCRIBE``; returns when every broker knows.

        ``resource`` is one of ``topic``, ``group`` and ``transactional_id`` with its name, or else the cluster.
        """
        binding = _binding(user, operation, resource)
        admin = self._admin()
        admin.create_acls([binding], request_timeout=self._timeout)[binding].result(self._timeout)
        self._wait_for_acl(binding, is_there=True)

    def revoke(self, user: str, operation: str, **resource: str) -> None:
        """Revoke what ``allow`` granted; returns when every broker knows."""
        binding = _binding(user, operation, resource)
        admin = self._admin()
        wanted = AclBindingFilter(
            binding.restype,
            binding.name,
            binding.resource_pattern_type,
            binding.principal,
            binding.host,
            binding.operation,
            binding.permission_type,
        )
        admin.delete_acls([wanted], request_timeout=self._timeout)[wanted].result(self._timeout)
        self._wait_for_acl(binding, is_there=False)

    def _wait_for_acl(self, binding: AclBinding, *, is_there: bool) -> None:
        for broker in self._cluster.live_brokers:
            wait_until(
                lambda host=broker.host, port=broker.ports[settings.INTERNAL]: (  # type: ignore[misc]
                    wire.knows_acl(host, port, binding) is is_there
                ),
                self._timeout,
                what=f"broker {broker.node_id} knows {binding}: {is_there}",
            )

    def run_tool(self, main_class: str, *args: str, timeout: float = 120.0) -> subprocess.CompletedProcess[str]:
        """Run one of Kafka's own command-line classes, by the name that it has in 3.9."""
        version = self._cluster.version
        command = process.java_command(jars.tools(version), versions.tool_class(main_class, version), *args)
        return subprocess.run(
            command, capture_output=True, text=True, timeout=timeout, check=False, stdin=subprocess.DEVNULL
        )

    def _config(self) -> dict[str, str | int | float | bool]:
        return {"bootstrap.servers": self._cluster.bootstrap(settings.INTERNAL), "log_level": 0}

    def _admin(self) -> AdminClient:
        return AdminClient(self._config())

    def _all_led(self, topic: str, partitions: int, broker: Broker) -> bool:
        states = self.describe(topic, broker=broker.node_id)
        return len(states) == partitions and all(state.leader is not None for state in states.values())


def _padded(value: str, size: int) -> str:
    return f"{value}-{base64.b64encode(os.urandom(size)).decode()}"[:size]


def _binding(user: str, operation: str, resource: Mapping[str, str]) -> AclBinding:
    kinds = {
        "topic": ResourceType.TOPIC,
        "group": ResourceType.GROUP,
        "transactional_id": ResourceType.TRANSACTIONAL_ID,
    }
    ((kind, name),) = resource.items() or (("cluster", "kafka-cluster"),)
    return AclBinding(
        kinds.get(kind, ResourceType.BROKER),
        name,
        ResourcePatternType.LITERAL,
        f"User:{user}",
        "*",
        AclOperation[operation],
        AclPermissionType.ALLOW,
    )
