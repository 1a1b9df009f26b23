# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""All requests that operations send to Kafka, as methods of one object.

An operation receives a ``Kafka``, and does no other I/O with this package. Unit tests pass a subclass that answers from
memory. Units and errors of a method are documented at the function that it calls.
"""

from __future__ import annotations

import threading
from collections.abc import Collection, Mapping, Sequence
from functools import partial
from types import MappingProxyType

from .._model.partition import Broker, EpochEnd, Reassignment, ReplicaLog, TopicPartition
from .._model.replaced_disk import LogBeginning
from .._model.retention import Retention
from .._model.setting import Setting
from . import (
    capabilities,
    configs,
    controllers,
    copy_reading,
    elections,
    epochs,
    group_commits,
    groups,
    held_replicas,
    log_beginnings,
    log_dir_space,
    log_reading,
    min_isr,
    reassignments,
    share_groups,
    transactions,
)
from .base_port import BaseKafka
from .errors import ErrorTexts
from .header_reading import BatchAnswers, Questions, ask_batches
from .held_replicas import HeldOffset
from .replica_logs import probe_replicas
from .settings import Address
from .wire import Wire


class Kafka(BaseKafka):
    """Sends requests over the connections of one run."""

    def __init__(self, wire: Wire) -> None:
        super().__init__(wire)
        self._controller_side: controllers.ControllerSide | None = None
        self._looking_for_controllers = threading.Lock()

    def read_batches(self, questions: Questions) -> BatchAnswers:
        """Return the batches at these offsets of replicas, and the brokers that did not answer."""
        return ask_batches(self.wire, self.describe_cluster().addresses, questions)

    def running_reassignments(self, partitions: Collection[TopicPartition]) -> dict[TopicPartition, Reassignment]:
        """Return the running reassignments of these partitions (ListPartitionReassignments)."""
        return reassignments.running_reassignments(self.wire, partitions)

    def all_reassignments(self) -> dict[TopicPartition, Reassignment]:
        """Return all running reassignments (ListPartitionReassignments without names)."""
        return reassignments.running_reassignments(self.wire, None)

    # Our principal's permissions, and what brokers support.

    def cluster_operations(self) -> frozenset[str]:
        """Return the operations on the cluster that our principal may do (DescribeCluster)."""
        return capabilities.cluster_operations(self.wire)

    def topic_operations(self, names: Sequence[str] | None = None) -> dict[str, capabilities.TopicAccess]:
        """Return our principal's access to these topics, or to all topics that it may see (Metadata)."""
        return capabilities.topic_operations(self.wire, names)

    def group_operations(self, coordinator: Address, groups: Sequence[str]) -> dict[str, frozenset[str]]:
        """Return the operations on groups that our principal may do (DescribeGroups)."""
        return capabilities.group_operations(self.wire, coordinator, groups)

    def read_capabilities(self, address: Address) -> capabilities.BrokerCapabilities:
        """Return which requests and features a broker supports (ApiVersions)."""
        return capabilities.read_capabilities(self.wire, address)

    # Replica orders, replica sets and elections.

    def reorder(self, address: Address, orders: Mapping[TopicPartition, Sequence[int]]) -> ErrorTexts:
        """Request new orders of the same replicas (AlterPartitionReassignments)."""
        return reassignments.reorder(self.wire, address, orders)

    def reorder_without(self, address: Address, orders: Mapping[TopicPartition, Sequence[int]]) -> ErrorTexts:
        """Request new orders without unregistered brokers (AlterPartitionReassignments)."""
        return reassignments.reassign(self.wire, address, orders)

    def reassign(self, address: Address, targets: Mapping[TopicPartition, Sequence[int]]) -> ErrorTexts:
        """Request other replica sets (AlterPartitionReassignments)."""
        return reassignments.reassign(self.wire, address, targets)

    def cancel(self, address: Address, partition: TopicPartition) -> str | None:
        """Cancel a running reassignment. Return the error text or None."""
        return reassignments.cancel(self.wire, address, partition)

    def elect(self, address: Address, election_type: int, partitions: Collection[TopicPartition]) -> elections.Answers:
        """Request elections of exactly these partitions (ElectLeaders)."""
        return elections.elect(self.wire, address, election_type, partitions)

    def elect_designated(self, address: Address, leaders: Mapping[TopicPartition, int]) -> elections.Answers:
        """Request the election of these leaders by the proposal's own RPC (KAFKA-20098)."""
        return elections.elect_designated(self.wire, address, leaders)

    def offers_designated_election(self, addresses: Collection[Address]) -> bool:
        """Return whether all these brokers have the proposal's own RPC."""
        return elections.offers_designated_election(self.wire, addresses)

    # The contents of a broker's replicas.

    def probe_replicas(
        self,
        broker: Broker,
        partitions: Sequence[TopicPartition],
        deadline: float,
        *,
        only_newest: Mapping[TopicPartition, EpochEnd | None] = MappingProxyType({}),
        checked: Collection[TopicPartition] = (),
        is_retried: bool = True,
    ) -> list[ReplicaLog]:
        """Ask one broker what its replicas of these partitions hold."""
        return probe_replicas(
            self.settings,
            broker,
            partitions,
            deadline,
            only_newest=only_newest,
            checked=checked,
            is_retried=is_retried,
            cluster_id=self.wire.own_cluster.cluster_id,
        )

    def log_end_offsets(self, address: Address, partitions: Sequence[TopicPartition]) -> held_replicas.Answers:
        """Return the log end offset of each of this broker's replicas (ListOffsets)."""
        return self._held_offsets(address, partitions, HeldOffset.LOG_END)

    def log_start_offsets(self, address: Address, partitions: Sequence[TopicPartition]) -> held_replicas.Answers:
        """Return the log start offset of each of this broker's replicas (ListOffsets)."""
        return self._held_offsets(address, partitions, HeldOffset.LOG_START)

    def read_log_beginnings(
        self, address: Address, broker_id: int, partitions: Sequence[TopicPartition]
    ) -> list[LogBeginning]:
        """Return how the logs of these replicas of one broker begin (ListOffsets, Fetch, DescribeLogDirs)."""
        ask = partial(log_beginnings.read_log_beginnings, broker_id=broker_id, partitions=partitions)
        return self.wire.with_connection(address, ask)

    def newest_records(self, address: Address, partitions: Sequence[TopicPartition]) -> held_replicas.Answers:
        """Return the newest record of each of this broker's replicas, with its timestamp (ListOffsets, KIP-734)."""
        return self._held_offsets(address, partitions, HeldOffset.NEWEST)

    def _held_offsets(
        self, address: Address, partitions: Sequence[TopicPartition], which: HeldOffset
    ) -> held_replicas.Answers:
        return self.wire.with_connection(
            address, partial(held_replicas.held_offsets, partitions=partitions, which=which)
        )

    def offsets_at(self, address: Address, times_ms: Mapping[TopicPartition, int]) -> held_replicas.Answers:
        """Return the first record of each of this broker's replicas at its time or after it (ListOffsets)."""
        return self.wire.with_connection(address, partial(held_replicas.offsets_at, times_ms=times_ms))

    def describe_log_dir_space(self, address: Address) -> tuple[log_dir_space.LogDirSpace, ...]:
        """Return the log directories of this broker with their space (DescribeLogDirs)."""
        return self.wire.with_connection(address, log_dir_space.describe_log_dir_space)

    def check_copy(
        self, address: Address, partition: TopicPartition, max_bytes: int, stop: threading.Event
    ) -> copy_reading.CopyCheck:
        """Read one broker's replica of a partition and check every batch (Fetch)."""
        read = partial(copy_reading.check_copy, partition=partition, max_bytes=max_bytes, stop=stop)
        return self.wire.with_connection(address, read)

    # Configs.

    def topic_configs(self, names: Sequence[str], name: str) -> dict[str, Setting]:
        """Return one config of each topic (DescribeConfigs)."""
        return configs.topic_configs(self.wire, names, name)

    def read_retentions(self, topics: Collection[str]) -> dict[str, Retention]:
        """Return how each topic deletes old records (DescribeConfigs). Topics with hidden configs are missing."""
        return configs.read_retentions(self.wire, topics)

    def min_insync_replicas(self, topics: Collection[str], living: Mapping[int, Address]) -> dict[str, int]:
        """Return the greatest min.insync.replicas that a topic has on the living brokers. Unknown ones are left out."""
        return self.read_min_isrs(topics, living).by_topic

    def read_min_isrs(self, topics: Collection[str], living: Mapping[int, Address]) -> min_isr.MinIsrs:
        """Return the min.insync.replicas of topics, and of the living brokers."""
        return min_isr.read_min_isrs(self.wire, topics, living)

    def broker_config(self, address: Address, broker_id: int, name: str) -> Setting | None:
        """Return the effective value of one config of this broker."""
        return configs.broker_config(self.wire, address, broker_id, name)

    def broker_numbers(self, addresses: Mapping[int, Address], name: str) -> list[int | None]:
        """Return the effective number that each broker has for one config. None for one that does not say it."""
        return configs.broker_numbers(self.wire, addresses, name)

    def controller_side(self) -> controllers.ControllerSide:
        """Return the controllers' own listeners, as far as they are known. The first call looks for them."""
        with self._looking_for_controllers:
            if self._controller_side is None:
                self._controller_side = controllers.find_controllers(self.wire)
            return self._controller_side

    def controller_configs(self, name: str) -> controllers.ControllerConfigs:
        """Return one config of all controllers, as far as they can be asked."""
        return controllers.controller_configs(self.wire, self.controller_side(), name)

    def cluster_default(self, name: str) -> Setting | None:
        """Return one config of the cluster default. None if it is not set."""
        return configs.cluster_default(self.wire, name)

    def write_cluster_default(self, address: Address, name: str, value: str | None) -> None:
        """Set one config of the cluster default, or delete it (None)."""
        configs.write_cluster_default(self.wire, address, name, value)

    # Producers and consumer groups.

    def open_transactions(
        self, address: Address, partitions: Collection[TopicPartition]
    ) -> dict[TopicPartition, tuple[transactions.OpenTransaction, ...]]:
        """Return the open transactions of each of this broker's replicas (DescribeProducers)."""
        return transactions.open_transactions(self.wire, address, partitions)

    def coordinated_transactions(self, address: Address) -> transactions.CoordinatedTransactions:
        """Return the transactions that this broker coordinates (ListTransactions)."""
        return transactions.coordinated_transactions(self.wire, address, clock=self.clock)

    def why_ids_may_be_hidden(self, coordinator: Address) -> str:
        """Return why this broker may hide transactional ids; empty if it hides none (DescribeTransactions and ACLs)."""
        return transactions.why_ids_may_be_hidden(self.wire, coordinator)

    def transaction_partitions(
        self, coordinator: Address, transactional_ids: Collection[str]
    ) -> dict[str, frozenset[TopicPartition]]:
        """Return the partitions of each id's present transaction (DescribeTransactions)."""
        return transactions.transaction_partitions(self.wire, coordinator, transactional_ids)

    def end_transaction(
        self,
        leader: Address,
        partition: TopicPartition,
        transaction: transactions.OpenTransaction,
        *,
        commits: bool,
    ) -> str | None:
        """Commit or abort a transaction in one partition. Return the error text or None (WriteTxnMarkers)."""
        return transactions.end_transaction(self.wire, leader, partition, transaction, commits=commits)

    def share_start_offsets(self, coordinator: Address, names: Sequence[str]) -> dict[str, share_groups.ShareOffsets]:
        """Return the start offsets of each share group (DescribeShareGroupOffsets)."""
        return share_groups.share_start_offsets(self.wire, coordinator, names)

    def share_group_states(self, address: Address) -> dict[str, str]:
        """Return the state of each share group that this broker coordinates (ListGroups)."""
        return groups.group_states(self.wire, address, is_share=True, clock=self.clock)

    def set_share_start_offsets(
        self, coordinator: Address, group: str, starts: Mapping[TopicPartition, int]
    ) -> ErrorTexts:
        """Set where a share group starts (AlterShareGroupOffsets)."""
        return share_groups.set_share_start_offsets(self.wire, coordinator, group, starts)

    def group_states(self, address: Address) -> dict[str, str]:
        """Return the state of each group, except share groups, that this broker coordinates (ListGroups)."""
        return groups.group_states(self.wire, address, clock=self.clock)

    def read_commits(
        self, coordinator: Address, names: Sequence[str], partitions: Collection[TopicPartition] | None = None
    ) -> dict[str, groups.GroupCommits]:
        """Return what each group committed for these partitions, or for all (OffsetFetch)."""
        return groups.read_commits(self.wire, coordinator, names, partitions)

    def write_commits(
        self, coordinator: Address, group: str, commits: Mapping[TopicPartition, groups.Commit]
    ) -> ErrorTexts:
        """Commit for a group without members (OffsetCommit)."""
        return group_commits.write_commits(self.wire, coordinator, group, commits)

    def committed_log(self, leader: Address, partition: TopicPartition, offset: int) -> log_reading.CommittedLog:
        """Return the reader of a leader's committed records from an offset on (Fetch)."""
        return log_reading.CommittedLog(partial(self.wire.separate_wire.call, leader), partition, offset)

    def epoch_ends(self, address: Address, asked: Mapping[TopicPartition, int]) -> epochs.Answers:
        """Return where one epoch of each of these replicas of a broker ends (Fetch, see ``epochs``)."""
        answers: epochs.Answers = self.wire.call(address, epochs.epochs_request(epochs.questions_about(asked))).value
        return answers
