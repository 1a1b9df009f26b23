# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A cluster in memory whose partitions have leaders, and which has the local file for a memory of its orders.

Real brokers are in tests/integration; this one lags, loses and refuses on demand.
"""

from __future__ import annotations

import threading
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

import pytest

from ansible_collections.kafkaops.recovery.plugins.module_utils._changes.orders import Writer
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka import error_codes, partitions, reassignments
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.addresses import Address
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.elections import PREFERRED, ElectionAnswer
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.wire import Wire
from ansible_collections.kafkaops.recovery.plugins.module_utils._leadership import detours as leadership_detours
from ansible_collections.kafkaops.recovery.plugins.module_utils._leadership import election as leadership_election
from ansible_collections.kafkaops.recovery.plugins.module_utils._leadership import memory_homes as leadership_memory
from ansible_collections.kafkaops.recovery.plugins.module_utils._leadership import view as leadership_view
from ansible_collections.kafkaops.recovery.plugins.module_utils._leadership.election import (
    MoveOptions,
    MoveReport,
    move_leaders,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._leadership.memory import (
    Memory,
    memory_path,
    read_memory_file,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._leadership.memory_homes import Home, Homes
from ansible_collections.kafkaops.recovery.plugins.module_utils._leadership.orders import Order
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.partition import PartitionState, TopicPartition
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.run import NullProgress
from unit.journals import CLUSTER_ID, in_file
from unit.leadership.worlds import TOPIC_ID
from unit.operations.fake_cluster import FakeCluster

PREFERRED_LEADER_NOT_AVAILABLE = 80
_FUNCTIONS = ("describe_cluster", "describe_partitions", "elect", "reorder", "running_reassignments")


@dataclass
class WellCluster(FakeCluster):
    """Follows Kafka's rules of preferred elections."""

    def replace_rooms(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Put this cluster in the place of the functions of _kafka that _leadership calls without the port."""
        for name in _FUNCTIONS:
            for module in (leadership_election, leadership_detours, leadership_view, partitions, reassignments):
                if hasattr(module, name):
                    answer = getattr(self, name)
                    monkeypatch.setattr(module, name, lambda _wire, *args, answer=answer, **more: answer(*args, **more))
        monkeypatch.setattr(leadership_election, "_living", lambda _wire, _cluster: self._addresses())
        monkeypatch.setattr(leadership_memory, "read_topic", lambda *_arguments: None)

    def add(self, number: int, replicas: Order, *, leader: int, isr: Order | None = None) -> TopicPartition:
        """One more partition of the topic."""
        partition = TopicPartition("orders", number)
        self.states[partition] = PartitionState(
            "orders", number, TOPIC_ID, leader, 0, replicas, isr or replicas, None, None, ()
        )
        return partition

    def memory(self) -> Memory:
        return read_memory_file(memory_path(self.journal_dir, CLUSTER_ID))

    def reorder(
        self, address: Address, orders: Mapping[TopicPartition, Sequence[int]]
    ) -> dict[TopicPartition, str | None]:
        remembered = self.memory().orders
        for partition, order in orders.items():
            assert sorted(order) == sorted(self.states[partition].replicas), "the replica set is never changed"
            assert tuple(order) in (remembered[partition].original, *remembered[partition].ours), "the memory is first"
        asked = {each: str(list(order)) for each, order in orders.items()}
        codes = self._write("reorder", address, asked, lambda each: self._reorder(each, tuple(orders[each])))
        return {each: error_codes.described(code) if code else None for each, code in codes.items()}

    def elect(
        self, address: Address, election_type: int, partitions: Collection[TopicPartition]
    ) -> dict[TopicPartition, ElectionAnswer]:
        assert election_type == PREFERRED
        codes = self._write("elect", address, dict.fromkeys(partitions, "preferred"), self._prefer)
        return {each: ElectionAnswer(code, None) for each, code in codes.items()}

    def _prefer(self, partition: TopicPartition) -> int:
        state = self.states[partition]
        preferred = state.replicas[0]
        if state.leader_id == preferred:
            return error_codes.ELECTION_NOT_NEEDED
        if preferred not in state.isr or preferred not in self.unfenced:
            return PREFERRED_LEADER_NOT_AVAILABLE
        self.change(partition, leader_id=preferred, leader_epoch=state.leader_epoch + 1)
        return 0

    def _addresses(self) -> dict[int, Address]:
        return {each.broker_id: each.address for each in self.describe_cluster().registrations}


@dataclass
class Bastion:
    """Where somebody works on the cluster from."""

    cluster: WellCluster
    stop: threading.Event = field(default_factory=threading.Event)

    @property
    def wire(self) -> Wire:
        """Nothing is sent over it: the functions that would do so are the cluster's."""
        return self.cluster.wire

    def writer(self) -> Writer:
        return Writer(self.cluster, [*self.cluster._addresses().values()], 3, 1.0)

    def homes(self) -> Homes:
        file = memory_path(self.cluster.journal_dir, CLUSTER_ID)
        return Homes(self.wire, self.cluster._addresses(), Home.FILE, "", file)

    def move_leaders(
        self, *, away_from: Collection[int] = (), back_to: Collection[int] = (), check_mode: bool = False
    ) -> MoveReport:
        options = MoveOptions(
            from_brokers=frozenset(away_from),
            to_brokers=frozenset(back_to),
            patterns=(),
            max_moves=1000,
            memory=Home.FILE,
            memory_topic="",
            journal=in_file(self.cluster.journal_dir),
            attempts=3,
            verify_timeout_ms=1000,
            check_mode=check_mode,
        )
        return move_leaders(self.wire, options, NullProgress(), self.stop)
