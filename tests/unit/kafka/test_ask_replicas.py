# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Brokers that are asked about their replicas in batches: what is missing if one fails, or the time is over."""

from __future__ import annotations

from collections.abc import Sequence

from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.errors import BrokerCallError
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.settings import Address
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.partition import (
    PARTITIONS_PER_REQUEST,
    Cause,
    TopicPartition,
)
from unit.fakes.clock import FakeClock
from unit.fakes.cluster import FakeCluster

A, B = Address("a.invalid", 9092), Address("b.invalid", 9092)
PARTITIONS = [TopicPartition("orders", number) for number in range(PARTITIONS_PER_REQUEST + 1)]
FIRST, LAST = PARTITIONS[0], PARTITIONS[-1]


def cluster() -> FakeCluster:
    found = FakeCluster({}, set(), set(), {})
    found.clock = FakeClock()
    return found


def test_each_replica_has_the_answer_of_its_broker() -> None:
    found = cluster().ask_replicas(
        {1: A, 2: B}, [(FIRST, 1), (FIRST, 2)], lambda address, some: dict.fromkeys(some, address.host)
    )
    assert found == {(FIRST, 1): A.host, (FIRST, 2): B.host}


def test_a_batch_that_fails_leaves_the_answers_of_earlier_batches_and_of_other_brokers() -> None:
    def ask(address: Address, some: Sequence[TopicPartition]) -> dict[TopicPartition, int]:
        if address == A and LAST in some:
            raise BrokerCallError(str(A), Cause.HUNG, "no answer")
        return dict.fromkeys(some, len(some))

    found = cluster().ask_replicas({1: A, 2: B}, [*((each, 1) for each in PARTITIONS), (LAST, 2)], ask)
    assert found == {**{(each, 1): PARTITIONS_PER_REQUEST for each in PARTITIONS[:-1]}, (LAST, 2): 1}


def test_a_broker_without_an_address_is_not_asked() -> None:
    found = cluster().ask_replicas({1: A}, [(FIRST, 1), (FIRST, 7)], lambda _address, some: dict.fromkeys(some, 0))
    assert found == {(FIRST, 1): 0}


def test_a_batch_whose_turn_comes_too_late_is_not_sent() -> None:
    kafka = cluster()

    def ask(_address: Address, some: Sequence[TopicPartition]) -> dict[TopicPartition, int]:
        kafka.clock.sleep(2.0)
        return dict.fromkeys(some, 0)

    found = kafka.ask_replicas({1: A}, [(each, 1) for each in PARTITIONS], ask, kafka.clock.monotonic() + 1.0)
    assert found.keys() == {(each, 1) for each in PARTITIONS[:-1]}
