# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The requests that every run needs: the cluster's metadata and the collection's own topics. ``port`` has all others.

They are apart because a check of a healthy cluster needs no more, and Ansible packs all files that a module imports.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from typing import TypeVar

from .._model.partition import Broker, PartitionState, TopicPartition, grouped, in_batches
from .._model.quorum import SeenLeader
from .._model.run import Clock, KafkaOpsError
from .._model.setting import Setting
from . import configs, log_dirs, quorum, reassignments, topics
from .applied_metadata import PATIENCE_S
from .cluster import Cluster, Registration, describe_cluster, probe_broker, probe_brokers
from .errors import BrokerCallError, CallError
from .partitions import Description, PartitionStates, describe_partitions, read_first_partitions, select_states
from .settings import Address, ConnectionSettings
from .wire import Wire

Key = TypeVar("Key")
Value = TypeVar("Value")

_LEADERLESS = (
    "perhaps no controller leads: then nothing can be elected, and this metadata may be old. The playbook "
    "kafkaops.recovery.check_quorum says whether to wait, or to start, replace or recover controllers "
    '(docs/runbook.md, "No controller leads"). {}'
)


class BaseKafka:
    """Sends requests over the connections of one run."""

    clock: Clock = time

    def __init__(self, wire: Wire) -> None:
        self.wire = wire

    @property
    def settings(self) -> ConnectionSettings:
        """The connection settings, for callers that open a connection of their own."""
        return self.wire.settings

    def in_parallel(self, work: Callable[[Key], Value], keys: Iterable[Key]) -> dict[Key, Value | BrokerCallError]:
        """Call ``work`` for every key in parallel. A BrokerCallError becomes the value."""
        return self.wire.in_parallel(work, keys)

    def ask_replicas(
        self,
        addresses: Mapping[int, Address],
        replicas: Iterable[tuple[TopicPartition, int]],
        ask: Callable[[Address, Sequence[TopicPartition]], Mapping[TopicPartition, Value]],
        until: float = math.inf,
    ) -> dict[tuple[TopicPartition, int], Value]:
        """Ask brokers about their replicas: all brokers in parallel, each in batches of partitions.

        A replica without an answer is missing: its broker has no address or failed, or its turn came after ``until``,
        in seconds of the monotonic clock.
        """
        led = grouped((broker_id, partition) for partition, broker_id in replicas if broker_id in addresses)
        found: dict[tuple[TopicPartition, int], Value] = {}

        def ask_broker(broker_id: int) -> None:
            for some in in_batches(led[broker_id]):
                if self.clock.monotonic() > until:
                    return
                answer = ask(addresses[broker_id], some)
                found.update(((partition, broker_id), each) for partition, each in answer.items())

        self.in_parallel(ask_broker, led)
        return found

    # The cluster and its metadata.

    def notes_on_views(self) -> tuple[str, ...]:
        """Return a text for each broker whose metadata was old and not used, and one if perhaps no controller leads."""
        views = self.wire.views
        return (*views.stale.values(), *([_LEADERLESS.format(views.leaderless)] if views.leaderless else []))

    def unconfirmed_view(self) -> str:
        """Return why it is unknown whether the metadata that was read last is current. Empty if it is current."""
        return self.wire.views.unconfirmed

    def seen_leader(self) -> SeenLeader | None:
        """Return the quorum's leader when this run asked first. None if that is unknown."""
        return self.wire.views.seen_leader

    def controller_time_ms(self) -> int | None:
        """Return the active controller's POSIX time in milliseconds. None if it does not return it (DescribeQuorum)."""
        answer, _source = self.wire.call_any(quorum.describe_quorum_request, "DescribeQuorum")
        quorum.quorum_state(answer)  # raises what was refused
        return quorum.leader_time_ms(answer)

    def cluster_time(self) -> datetime | None:
        """Return the active controller's time, in UTC. None if it is not known.

        What several hosts compare must not be of their own clocks.
        """
        try:
            time_ms = self.controller_time_ms()
        except (KafkaOpsError, IndexError):
            return None
        return None if time_ms is None else datetime.fromtimestamp(time_ms / 1000, UTC)

    def find_late(self, addresses: Mapping[int, Address], patience_s: float = PATIENCE_S) -> dict[int, str]:
        """Return which of these brokers apply metadata late, and what they lack. Those that do not answer are left out.

        Waits for so long until they apply what is committed.
        """
        late = self.wire.views.find_late(self.wire, {*addresses.values()}, patience_s)
        return {broker_id: late[address] for broker_id, address in addresses.items() if address in late}

    def describe_cluster(self) -> Cluster:
        """Return the cluster id, the controller and the brokers (DescribeCluster)."""
        return describe_cluster(self.wire)

    def probe_brokers(self, cluster: Cluster, mentioned: frozenset[int] = frozenset()) -> tuple[Broker, ...]:
        """Connect to all registered brokers in parallel and return each one's state."""
        return probe_brokers(self.wire, cluster, mentioned)

    def probe_broker(self, registration: Registration) -> Broker:
        """Connect to one registered broker and return its state."""
        return probe_broker(self.wire, registration)

    def describe_partitions(
        self, names: Iterable[str] | None = None, span: tuple[TopicPartition, TopicPartition] | None = None
    ) -> Description:
        """Return the state of the partitions of these topics, or of all visible topics (DescribeTopicPartitions)."""
        return describe_partitions(self.wire, names, span)

    def first_partitions_at(self, address: Address, topic: str, count: int) -> tuple[PartitionState, ...]:
        """Return the first partitions of a topic that one broker knows; none if it knows no topic of this name.

        Brokers apply metadata late, each at its own pace. Raises BrokerCallError.
        """
        return self.wire.with_connection(address, partial(read_first_partitions, topic=topic, count=count))

    def hidden_among(self, topics: Collection[str]) -> tuple[str, ...]:
        """Return those of the topics that exist, and that our principal may not see."""
        refused = self.describe_partitions(sorted(topics)).refused if topics else ()
        return tuple(each.topic for each in refused if each.is_unauthorized)

    def read_partition_states(self, partitions: Collection[TopicPartition]) -> PartitionStates:
        """Return the states of these partitions, and which of their topics are hidden."""
        wanted = {*partitions}
        span = (min(wanted), max(wanted)) if wanted else None
        return select_states(self.describe_partitions({each.topic for each in wanted}, span), wanted)

    def read_partition_state(self, partition: TopicPartition) -> PartitionState | None:
        """Return the state of one partition, or None if it does not exist."""
        return self.read_partition_states([partition]).state_of(partition)

    def describe_log_dirs(self, address: Address, partitions: Sequence[TopicPartition]) -> log_dirs.LogDirs:
        """Return the log directory and the size of each of these replicas of one broker (DescribeLogDirs).

        The answer has all directories that are offline, also if no replica is asked for.
        """
        return self.wire.with_connection(address, partial(log_dirs.describe_log_dirs, partitions=partitions))

    def describe_all_log_dirs(self, address: Address) -> log_dirs.LogDirs:
        """Return all replicas of this broker, also of topics that are hidden from us (DescribeLogDirs)."""
        return self.wire.with_connection(address, partial(log_dirs.describe_log_dirs, partitions=None))

    # Configs.

    def read_configs(
        self, address: Address | None, kind: int, resource: str, names: Sequence[str]
    ) -> dict[str, Setting]:
        """Return configs of a broker or a topic, with their sources."""
        return configs.read_configs(self.wire, address, kind, resource, names)

    def read_broker_configs(
        self, addresses: Mapping[int, Address], names: Sequence[str]
    ) -> Mapping[int, Mapping[str, Setting] | CallError]:
        """Return configs of all these brokers, with their sources, or why a broker did not return them."""
        return configs.read_broker_configs(self.wire, addresses, names)

    def write_configs(self, address: Address, kind: int, resource: str, edits: Mapping[str, str | None]) -> None:
        """Set configs of a broker or a topic, or delete them (None): all or none."""
        configs.write_configs(self.wire, address, kind, resource, edits)

    # Our own topics. Their records have separate connections, so that no other request delays a heartbeat.

    def create_topic(self, address: Address, name: str, replicas: Sequence[int], config: Mapping[str, str]) -> str:
        """Create a topic with one partition on these brokers and return its id (CreateTopics)."""
        return topics.create_topic(self.wire, address, name, replicas, config)

    def check_topic_creation(
        self, address: Address, name: str, replicas: Sequence[int], config: Mapping[str, str]
    ) -> None:
        """Let the controller check the creation of such a topic without creating it (CreateTopics)."""
        topics.check_topic_creation(self.wire, address, name, replicas, config)

    def create_spread_topic(self, address: Address, topic: topics.NewTopic) -> str:
        """Create a topic whose replicas the controller places, and return its id (CreateTopics)."""
        return topics.create_spread_topic(self.wire, address, topic)

    def assign(self, address: Address, partition: TopicPartition, replicas: Sequence[int]) -> str | None:
        """Request another replica set (AlterPartitionReassignments). Return the error text or None."""
        return reassignments.assign(self.wire, address, partition, replicas)

    def delete_topic(self, address: Address, topic_id: str) -> None:
        """Delete the topic of this id (DeleteTopics)."""
        topics.delete_topic(self.wire, address, topic_id)

    def append_records(self, leader: Address, partition: TopicPartition, records: Sequence[topics.Record]) -> int:
        """Append records and return the first one's offset when every in-sync replica has them (Produce)."""
        return topics.append_records(self.wire.separate_wire, leader, partition, records)

    def read_records(self, leader: Address, topic_id: str, offset: int, partition: int = 0) -> topics.TopicRecords:
        """Return the records of a partition of this topic, from an offset on (Fetch)."""
        return topics.read_records(self.wire.separate_wire, leader, topic_id, offset, partition)
