# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A replay whose transactional id is still in use waits for a limited time, and says for what from the start."""

from __future__ import annotations

from collections.abc import Collection
from types import SimpleNamespace
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException

from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.group_commits import partition_of
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.partitions import Description
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.settings import Address
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.transactions import CoordinatedTransactions
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.partition import PartitionState, TopicPartition
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.setting import Setting, SettingSource
from ansible_collections.kafkaops.recovery.plugins.module_utils._salvage.transactional import (
    ProducerError,
    start_transactions,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._salvage.unfinished import (
    explain_unfinished,
    find_obstacle,
)
from unit.fakes.clock import FakeClock

ID = "kafkaops.recovery._kafkaops_salvage"
ORDERS, PAYMENTS = TopicPartition("orders", 0), TopicPartition("payments", 3)


def state(partition: TopicPartition, leader: int) -> PartitionState:
    return PartitionState(*partition, "id", leader, 4, (1, 2), (1,), None, None, ())


class FakeCluster:
    """Brokers 1 and 2; 2 coordinates the id, whose transaction is in this state with these partitions."""

    def __init__(self, transaction: str, *places: PartitionState, coordinator: int = 2) -> None:
        self.transaction, self.places, self.coordinator = transaction, places, coordinator

    def describe_cluster(self) -> Any:
        return SimpleNamespace(unfenced={each: Address(f"broker-{each}.invalid", 9092) for each in (1, 2)})

    def describe_partitions(self, names: Collection[str]) -> Description:
        known = [*self.places, state(TopicPartition("__transaction_state", 0), self.coordinator)]
        return Description(tuple(each for each in known if each.topic in names), ())

    def in_parallel(self, work: Any, keys: Collection[int]) -> dict[int, Any]:
        return {each: work(each) for each in keys}

    def coordinated_transactions(self, address: Address) -> CoordinatedTransactions:
        is_asked = address.host == "broker-2.invalid"
        return CoordinatedTransactions({9: (ID, self.transaction), 8: ("another", "Ongoing")} if is_asked else {})

    def transaction_partitions(self, _address: Address, _ids: Any) -> Any:
        return {ID: frozenset(each.topic_partition for each in self.places)}


@pytest.mark.parametrize(
    ("cluster", "expected"),
    [
        (
            FakeCluster("PrepareCommit", state(PAYMENTS, -1), state(ORDERS, 1)),
            "its last transaction is PrepareCommit, and its coordinator, broker 2, waits for orders-0 (leader 1), "
            "payments-3 (it has no leader: recover it first)",
        ),
        (
            FakeCluster("PrepareAbort"),
            "its last transaction is PrepareAbort, and its coordinator, broker 2, waits for its own topic",
        ),
        (FakeCluster("Empty"), ""),
        (FakeCluster("Empty", coordinator=-1), "__transaction_state-0 of 1 have no leader that is up"),
    ],
)
def test_what_the_last_transaction_waits_for_is_named(cluster: Any, expected: str) -> None:
    assert explain_unfinished(cluster, ID) == expected


SAFELY = " (kafkaops.recovery.check_readiness says whether a disk must be saved before)"


class FakeOutage:
    """Broker 1 is up, and 2 and 3 are down. ``__transaction_state`` has 4 partitions with these replicas, or none."""

    def __init__(
        self, isr: tuple[int, ...] = (), replicas: tuple[int, ...] = (1, 2, 3), *, exists: bool = True
    ) -> None:
        own = partition_of(ID, 4)
        others = [state(TopicPartition("__transaction_state", each), -1) for each in range(4) if each != own]
        leader = isr[0] if isr else -1
        of_id = PartitionState("__transaction_state", own, "id", leader, 4, replicas, isr, None, None, ())
        self.states = (of_id, *others) if exists else ()

    def describe_cluster(self) -> Any:
        all_of = {each: Address(f"broker-{each}.invalid", 9092) for each in (1, 2, 3)}
        return SimpleNamespace(unfenced={1: all_of[1]}, addresses=all_of)

    def describe_partitions(self, _names: Collection[str]) -> Description:
        return Description(self.states, ())

    def min_insync_replicas(self, topics: Collection[str], _living: object) -> dict[str, int]:
        return dict.fromkeys(topics, 2)

    def broker_config(self, _address: Address, _broker_id: int, name: str) -> Setting:
        assert name == "transaction.state.log.min.isr"
        return Setting("2", SettingSource.DEFAULT)


@pytest.mark.parametrize(
    ("cluster", "expected"),
    [
        (
            FakeOutage(()),
            f"has transactional id {ID}, and no leader: start brokers 2, 3{SAFELY}, or recover it",
        ),
        (FakeOutage((1,)), "and 1 of its replicas in sync where it needs 2: start 1 of brokers 2, 3" + SAFELY),
        (FakeOutage((1, 2)), ""),
        (FakeOutage((1,), (1,)), ""),
        (
            FakeOutage(exists=False),
            "__transaction_state will need 2 replicas in sync (transaction.state.log.min.isr): start 1 of brokers 2, 3"
            + SAFELY,
        ),
    ],
)
def test_the_brokers_are_named_that_transactions_need(cluster: Any, expected: str) -> None:
    """Only the partition of the id counts. The others have no leader here."""
    found = find_obstacle(cluster, ID)
    assert found.endswith(expected)
    assert bool(found) == bool(expected)


def start(*codes: int) -> list[str]:
    """Refuse to start with these errors, one after another, and then with the last one again. 0 is a success."""
    told: list[str] = []
    left = [*codes]

    def init(_timeout_s: float) -> None:
        code = left.pop(0) if len(left) > 1 else left[0]
        if code:
            raise KafkaException(KafkaError(code, retriable=code == KafkaError.CONCURRENT_TRANSACTIONS))

    try:
        start_transactions(init, ID, 60, lambda: "it waits for orders-0", told.append, FakeClock())
    except ProducerError as error:
        told.append(f"failed: {error}")
    return told


def test_an_id_that_is_in_use_is_waited_for_and_the_reason_told() -> None:
    (told,) = start(KafkaError.CONCURRENT_TRANSACTIONS, 0)
    assert told.startswith(f"waiting up to 60 s for transactional id {ID}: CONCURRENT_TRANSACTIONS: ")
    assert told.endswith("; it waits for orders-0")


def test_the_wait_is_bounded_and_its_reason_stays_in_the_error() -> None:
    told = start(KafkaError.CONCURRENT_TRANSACTIONS)
    assert 2 < len(told) < 200
    assert f"failed: transactional id {ID} cannot be used: CONCURRENT_TRANSACTIONS: " in told[-1]
    assert "; it waits for orders-0. Transactions need WRITE and DESCRIBE" in told[-1]


def test_an_error_that_stays_is_not_waited_for() -> None:
    (told,) = start(KafkaError.TRANSACTIONAL_ID_AUTHORIZATION_FAILED)
    assert told.startswith(f"failed: transactional id {ID} cannot be used: TRANSACTIONAL_ID_AUTHORIZATION_FAILED")
