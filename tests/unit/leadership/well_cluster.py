# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A fake cluster whose partitions have leaders, and a topic that remembers its orders.

It lags, loses responses and refuses requests on demand. Tests with real brokers are in tests/integration.
"""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field

from ansible_collections.kafkaops.recovery.plugins.module_utils._changes.journal import Journal
from ansible_collections.kafkaops.recovery.plugins.module_utils._changes.journal_reader import JournalOptions
from ansible_collections.kafkaops.recovery.plugins.module_utils._changes.keyed_topic import OpenKeyedTopic
from ansible_collections.kafkaops.recovery.plugins.module_utils._changes.record import OrderChange
from ansible_collections.kafkaops.recovery.plugins.module_utils._changes.sender import Writer
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka import error_codes
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.elections import PREFERRED, ElectionAnswer
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.held_replicas import Answers, OffsetAnswer
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.settings import Address
from ansible_collections.kafkaops.recovery.plugins.module_utils._leadership.election import (
    MoveReport,
    move_leaders,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._leadership.memory import Memory
from ansible_collections.kafkaops.recovery.plugins.module_utils._leadership.memory_topic import MemoryTopic
from ansible_collections.kafkaops.recovery.plugins.module_utils._leadership.move_finder import MoveOptions
from ansible_collections.kafkaops.recovery.plugins.module_utils._leadership.orders import Order
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.partition import PartitionState, TopicPartition
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.run import NullProgress
from unit.fakes.cluster import MEMORY_TOPIC, FakeCluster
from unit.fakes.journals import open_journal
from unit.leadership.worlds import TOPIC_ID

PREFERRED_LEADER_NOT_AVAILABLE = 80


@dataclass
class WellCluster(FakeCluster):
    """Follows Kafka's rules of preferred elections."""

    log_starts: dict[tuple[TopicPartition, int], int] = field(default_factory=dict)
    """The log starts that are not 0, by broker id."""

    def log_start_offsets(self, address: Address, partitions: Sequence[TopicPartition]) -> Answers:
        (broker_id,) = (each for each, known in self.describe_cluster().unfenced.items() if known == address)
        starts = {each: self.log_starts.get((each, broker_id), 0) for each in partitions}
        return {each: [OffsetAnswer(0, start, 0)] for each, start in starts.items()}

    def add(self, number: int, replicas: Order, *, leader: int, isr: Order | None = None) -> TopicPartition:
        """Add a partition of the topic."""
        partition = TopicPartition("orders", number)
        self.states[partition] = PartitionState(
            "orders", number, TOPIC_ID, leader, 0, replicas, isr or replicas, None, None, ()
        )
        return partition

    def memory(self) -> Memory:
        return self.memory_topic().read()

    def memory_topic(self) -> MemoryTopic:
        return MemoryTopic(self, self.describe_cluster().living(), MEMORY_TOPIC)

    def reorder(
        self, address: Address, orders: Mapping[TopicPartition, Sequence[int]]
    ) -> dict[TopicPartition, str | None]:
        known = {each: {order.original, *order.ours} for each, order in self.memory().orders.items()}
        for change in self.pending():
            if isinstance(change, OrderChange):
                known[change.topic_partition] = {change.original, change.changed}
        for partition, order in orders.items():
            assert sorted(order) == sorted(self.states[partition].replicas), "the replica set is never changed"
            assert tuple(order) in known[partition], "the memory or the journal has the order first"
        asked = {each: str(list(order)) for each, order in orders.items()}
        codes = self._write("reorder", address, asked, lambda each: self.set_replicas(each, tuple(orders[each])))
        return {each: error_codes.describe_error(code) if code else None for each, code in codes.items()}

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


@dataclass
class Bastion:
    """The host from which a run works on the cluster."""

    cluster: WellCluster
    stop: threading.Event = field(default_factory=threading.Event)

    def writer(self) -> Writer:
        return Writer(self.cluster, [*self.cluster.describe_cluster().living().values()], 3, 1.0)

    @contextmanager
    def memory(self) -> Iterator[OpenKeyedTopic]:
        """Return the memory's topic, under the lock of the cluster."""
        with self.opened() as (_journal, store, _memory):
            yield store

    @contextmanager
    def opened(self) -> Iterator[tuple[Journal, OpenKeyedTopic, Memory]]:
        """Return the journal, the memory's topic and the memory, under the lock of the cluster."""
        with self.journal() as journal:
            yield journal, *self.cluster.memory_topic().open(journal)

    def journal(self) -> AbstractContextManager[Journal]:
        """Return the journal, under the lock of the cluster."""
        return open_journal(self.cluster)

    def move_leaders(
        self, *, away_from: Collection[int] = (), back_to: Collection[int] = (), check_mode: bool = False
    ) -> MoveReport:
        options = MoveOptions(
            from_brokers=frozenset(away_from),
            to_brokers=frozenset(back_to),
            patterns=(),
            max_moves=1000,
            memory_topic=MEMORY_TOPIC,
            journal=JournalOptions(),
            attempts=3,
            verify_timeout_ms=1000,
            check_mode=check_mode,
            fencing_wait_ms=20_000,
        )
        return move_leaders(self.cluster, options, NullProgress(), self.stop)
