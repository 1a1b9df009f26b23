# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A run topic without a leader: which replica is elected, and which one may miss the last entries."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Any

import pytest

from ansible_collections.kafkaops.recovery.plugins.module_utils._changes.cluster_journal import (
    ClusterJournal,
    JournalLostError,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._changes.journal_reader import JournalOptions
from ansible_collections.kafkaops.recovery.plugins.module_utils._changes.run_topic import RUN_TOPIC
from ansible_collections.kafkaops.recovery.plugins.module_utils._changes.topic_by_name import TopicUnavailableError
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.cluster import Cluster, Registration
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.elections import ElectionAnswer
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.partitions import Description
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.settings import Address
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.partition import (
    NO_LEADER,
    Broker,
    BrokerState,
    PartitionState,
    ReplicaLog,
    TopicPartition,
)
from unit.fakes.clock import FakeClock
from unit.fakes.topics import FakeTopics

OFFLINE = PartitionState(RUN_TOPIC, 0, "A" * 22, NO_LEADER, 4, (1, 2, 3), (1, 2), (), (), (1, 2))


class FakeOfflineTopic(FakeTopics):
    """A run topic without a leader. Some replicas answer, each with the epoch of its last record and its end."""

    def __init__(self, state: PartitionState, logs: dict[int, tuple[int, int]], *, returns_at_s: float = 1e9) -> None:
        super().__init__()
        self.state, self.logs, self.returns_at_s = state, logs, returns_at_s
        self.clock = FakeClock()

    def describe_partitions(
        self, names: Iterable[str] | None = None, span: tuple[TopicPartition, TopicPartition] | None = None
    ) -> Description:
        is_back = self.clock.monotonic() >= self.returns_at_s
        return Description((self.state._replace(leader_id=1) if is_back else self.state,), ())

    def probe_replicas(self, broker: Broker, partitions: Sequence[TopicPartition], *_: Any, **_options: Any) -> Any:
        epoch, end = self.logs[broker.broker_id]
        return [ReplicaLog(RUN_TOPIC, 0, broker.broker_id, 0, end, epoch, epoch, ())]

    def reorder(self, address: Address, orders: Any) -> dict[TopicPartition, str | None]:
        self.state = self.state._replace(replicas=tuple(*orders.values()))
        return dict.fromkeys(orders)

    def elect(
        self, address: Address, election_type: int, partitions: Collection[TopicPartition]
    ) -> dict[TopicPartition, ElectionAnswer]:
        self.sent.append("ElectLeaders")
        self.state = self.state._replace(leader_id=self.state.replicas[0])
        return {}

    def _state_of(self, broker_id: int) -> BrokerState:
        return BrokerState.ONLINE if broker_id in self.logs else BrokerState.FENCED

    def journal(self, *, discard_lost: bool) -> ClusterJournal:
        """Return the journal as a run has it that sees these brokers online."""
        address = Address("fake.invalid", 9092)
        cluster = Cluster("c", tuple(Registration(each, address, None, each not in self.logs) for each in (1, 2, 3)))
        brokers = tuple(
            Broker(each, "fake.invalid", 9092, None, each not in self.logs, self._state_of(each)) for each in (1, 2, 3)
        )
        return ClusterJournal(self, cluster, JournalOptions(discard_lost=discard_lost), brokers)


def recover(topic: FakeOfflineTopic, *, discard_lost: bool = False) -> str:
    return topic.journal(discard_lost=discard_lost).recover(topic.state)


@pytest.mark.parametrize(
    "state",
    [
        OFFLINE._replace(isr=(3,)),
        OFFLINE._replace(isr=(), elr=(3,)),
        OFFLINE._replace(isr=(), last_known_elr=(3,)),
    ],
    ids=["ISR", "ELR", "last known leader"],
)
def test_a_replica_that_had_all_entries_is_elected(state: PartitionState) -> None:
    topic = FakeOfflineTopic(state, {3: (4, 10)})
    assert recover(topic).endswith("had no leader: broker 3 was elected")
    assert topic.state.leader_id == 3


def test_a_replica_that_was_not_in_sync_is_elected_only_if_the_operator_allows_it() -> None:
    topic = FakeOfflineTopic(OFFLINE, {3: (4, 10)})
    with pytest.raises(JournalLostError, match=r"Broker 3 answers, and was not in sync. Brokers \[1, 2\] had all"):
        recover(topic)
    assert topic.sent == ["DescribeConfigs"]
    assert recover(topic, discard_lost=True).endswith("it may miss the last changes of that run")
    assert topic.state.leader_id == 3


def test_an_in_sync_broker_that_just_starts_is_waited_for() -> None:
    topic = FakeOfflineTopic(OFFLINE, {3: (4, 10)}, returns_at_s=10)
    assert "a broker returned" in recover(topic)
    assert topic.sent == ["DescribeConfigs"]


def test_without_any_replica_the_topic_is_named() -> None:
    with pytest.raises(JournalLostError, match=r"none of its replicas on brokers \[1, 2, 3\] answers"):
        recover(FakeOfflineTopic(OFFLINE, {}))


def test_a_replica_on_a_new_disk_is_not_elected_although_it_was_in_sync() -> None:
    topic = FakeOfflineTopic(OFFLINE._replace(isr=(3,)), {3: (0, 0)})
    with pytest.raises(JournalLostError, match="answers and has records"):
        recover(topic)
    assert "ElectLeaders" not in topic.sent
    topic.state = topic.state._replace(
        topic_id=topic.create_topic(Address("fake.invalid", 9092), RUN_TOPIC, [1, 2, 3], {})
    )
    assert recover(topic, discard_lost=True).endswith("was lost, and was deleted")


@pytest.mark.parametrize("discard_lost", [False, True])
@pytest.mark.parametrize("logs", [{}, {3: (4, 10)}, {1: (4, 10)}], ids=["no replica", "one", "one in sync"])
def test_a_topic_of_another_party_is_neither_elected_nor_deleted(
    logs: dict[int, tuple[int, int]], discard_lost: bool
) -> None:
    """Somebody names it as the journal, and its records cannot be read. A run topic flushes each record."""
    topic = FakeOfflineTopic(OFFLINE, logs)
    topic.create_topic(Address("fake.invalid", 9092), RUN_TOPIC, [1, 2, 3], {"flush.messages": "9223372036854775807"})
    topic.sent.clear()
    with pytest.raises(TopicUnavailableError, match=r"is not the journal, .* another topic \(journal_topic\)"):
        recover(topic, discard_lost=discard_lost)
    assert topic.sent == ["DescribeConfigs"]
