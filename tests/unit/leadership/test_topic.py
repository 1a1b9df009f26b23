# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The memory topic: its records, its writer, and a topic that another party created."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import pytest

from ansible_collections.kafkaops.recovery.plugins.module_utils._changes.journal import Journal, LockLostError
from ansible_collections.kafkaops.recovery.plugins.module_utils._changes.record import JournalError
from ansible_collections.kafkaops.recovery.plugins.module_utils._changes.run_state import new_holder
from ansible_collections.kafkaops.recovery.plugins.module_utils._changes.run_topic import RUN_TOPIC, RunTopics
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka import error_codes
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.settings import Address
from ansible_collections.kafkaops.recovery.plugins.module_utils._leadership.blacklist import Blacklist
from ansible_collections.kafkaops.recovery.plugins.module_utils._leadership.memory import (
    Memory,
    list_changes,
    order_changes,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._leadership.memory_topic import MemoryTopic
from ansible_collections.kafkaops.recovery.plugins.module_utils._leadership.orders import RememberedOrder
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.partition import TopicPartition
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.run import NullProgress
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.setting import Setting, SettingSource
from unit.fakes.clock import FakeClock
from unit.fakes.journals import open_journal
from unit.fakes.topics import CLUSTER_AUTHORIZATION_FAILED, TOPIC_AUTHORIZATION_FAILED, FakeTopics
from unit.leadership.well_cluster import Bastion

ADDRESSES = {each: Address(f"broker-{each}.invalid", 9092) for each in (1, 2, 3)}
MEMORY = Memory(Blacklist((1,)), "1", 4, {})
NOT_ENOUGH_REPLICAS = 19


@pytest.fixture
def topics() -> FakeTopics:
    topics = FakeTopics()
    topics.clock = FakeClock()
    return topics


@pytest.fixture
def journal(topics: FakeTopics) -> Iterator[Journal]:
    with open_journal(topics) as journal:
        yield journal


def _orders(partitions: Iterable[int]) -> dict[TopicPartition, RememberedOrder]:
    return {
        TopicPartition("orders", each): RememberedOrder(
            "orders", each, "0kfAK7wCTDmDzRwEXhGdqg", (1, 2), ((1, 2), (2, 1))
        )
        for each in partitions
    }


def test_records_are_read_back_and_the_newest_one_counts(topics: FakeTopics, journal: Journal) -> None:
    memory = MemoryTopic(topics, ADDRESSES, "t")
    assert memory.read() == Memory()
    store, _memory = memory.open(journal)
    all_orders = _orders(range(5000))
    store.write(order_changes(all_orders, all_orders))
    topics.lost["Produce"] = 1
    store.write(list_changes(MEMORY))
    store.write(order_changes(_orders([4999]), all_orders))
    assert memory.open(journal)[1] == Memory(Blacklist((1,)), "1", 4, _orders([4999]))
    assert topics.topics["t"].replicas == (1, 2, 3)


def test_what_was_read_is_not_read_again_unless_the_topic_was_re_created(topics: FakeTopics, journal: Journal) -> None:
    memory, (other, _memory) = MemoryTopic(topics, ADDRESSES, "t"), MemoryTopic(topics, ADDRESSES, "t").open(journal)
    other.write(order_changes(_orders([0, 1]), _orders([0, 1])))
    assert memory.read().orders == _orders([0, 1])
    assert memory.read() is memory.read()
    other.write(order_changes(_orders([1, 200]), _orders([0, 200])))
    assert memory.read().orders == _orders([1, 200])
    del topics.topics["t"]
    assert memory.read() == Memory()
    MemoryTopic(topics, ADDRESSES, "t").open(journal)[0].write(order_changes(_orders([3]), _orders([3])))
    assert memory.read().orders == _orders([3])


def test_a_topic_that_was_created_in_an_outage_gets_more_copies_later(topics: FakeTopics, journal: Journal) -> None:
    copies = []
    for brokers in ([1], [1, 2], [1, 2, 3]):
        MemoryTopic(topics, {each: ADDRESSES[each] for each in brokers}, "t").open(journal)
        copies.append([*topics.topics["t"].replicas])
    assert copies == [[1], [1, 2], [1, 2, 3]]
    topics.errors["AlterPartitionReassignments"] = CLUSTER_AUTHORIZATION_FAILED
    topics.topics["t"].replicas = (1,)
    MemoryTopic(topics, ADDRESSES, "t").open(journal)


def test_a_leader_that_is_hung_is_named(topics: FakeTopics, journal: Journal) -> None:
    """It is no broker without an address: it did not answer when the run looked at the brokers."""
    MemoryTopic(topics, {1: ADDRESSES[1]}, "t").open(journal)
    with pytest.raises(JournalError, match=r"topic t.* does not answer: broker 1, its leader, did not answer when"):
        MemoryTopic(topics, {2: ADDRESSES[2]}, "t").read()


@pytest.mark.parametrize("request_name", ["CreateTopics", "Produce"])
def test_a_topic_that_cannot_be_written_is_reported_before_anything_is_changed(
    topics: FakeTopics, journal: Journal, request_name: str
) -> None:
    topics.errors[request_name] = TOPIC_AUTHORIZATION_FAILED
    with pytest.raises(JournalError, match="TOPIC_AUTHORIZATION_FAILED"):
        MemoryTopic(topics, ADDRESSES, "t").open(journal)


def test_a_run_that_has_lost_the_lock_writes_nothing_more(topics: FakeTopics) -> None:
    lock = RunTopics(topics, ADDRESSES, ADDRESSES, RUN_TOPIC).acquire(new_holder(), NullProgress())
    journal = Journal(lock, ())
    store, _memory = MemoryTopic(topics, ADDRESSES, "t").open(journal)
    written = len(topics.topics["t"].records)
    del topics.topics[RUN_TOPIC]
    with pytest.raises(LockLostError):
        store.write(list_changes(MEMORY))
    with pytest.raises(LockLostError):
        MemoryTopic(topics, ADDRESSES, "t").open(journal)
    assert len(topics.topics["t"].records) == written
    lock.close(is_settled=False)


def _answer(topics: FakeTopics, answer: dict[str, Setting] | int) -> MemoryTopic:
    """Return a topic with this answer to DescribeConfigs, or with this error code."""

    def read_configs(*_arguments: object) -> dict[str, Setting]:
        if isinstance(answer, int):
            raise error_codes.request_refused_error("DescribeConfigs", answer)
        return answer

    topics.read_configs = read_configs  # type: ignore[assignment, method-assign]
    return MemoryTopic(topics, ADDRESSES, "t")


@pytest.mark.parametrize(
    "answer", [{"cleanup.policy": Setting("compact", SettingSource.BROKER)}, error_codes.UNKNOWN_TOPIC_OR_PARTITION]
)
def test_a_compacted_topic_or_a_missing_one_is_accepted(topics: FakeTopics, answer: dict[str, Setting] | int) -> None:
    _answer(topics, answer).read()


@pytest.mark.parametrize(
    ("answer", "fault"),
    [
        (
            {"cleanup.policy": Setting("delete", SettingSource.DEFAULT)},
            "topic t is delete, so the original orders.*kafka-configs.sh",
        ),
        ({"cleanup.policy": Setting("compact,delete", SettingSource.BROKER)}, "topic t is compact,delete, so "),
        ({}, "topic t is unknown, so "),
        (error_codes.TOPIC_AUTHORIZATION_FAILED, "TOPIC_AUTHORIZATION_FAILED .* needs DESCRIBE_CONFIGS on it"),
    ],
)
def test_a_topic_that_may_expire_is_refused(topics: FakeTopics, answer: dict[str, Setting] | int, fault: str) -> None:
    topic = _answer(topics, answer)
    with pytest.raises(JournalError, match=fault):
        topic.read()


def test_a_topic_that_one_broker_does_not_know_yet_is_not_taken_for_missing(topics: FakeTopics) -> None:
    """Another party has just created it, and its records expire."""
    topics.create_topic(next(iter(ADDRESSES.values())), "t", [1], {"cleanup.policy": "delete"})
    answers: list[dict[str, Setting] | int] = [
        error_codes.UNKNOWN_TOPIC_OR_PARTITION,
        error_codes.UNKNOWN_TOPIC_OR_PARTITION,
        {"cleanup.policy": Setting("delete", SettingSource.BROKER)},
    ]

    def read_configs(*_arguments: object) -> dict[str, Setting]:
        answer = answers.pop(0)
        if isinstance(answer, int):
            raise error_codes.request_refused_error("DescribeConfigs", answer)
        return answer

    topics.read_configs = read_configs  # type: ignore[assignment, method-assign]
    with pytest.raises(JournalError, match=r"topic t is delete"):
        MemoryTopic(topics, ADDRESSES, "t").read()


def test_a_topic_of_several_partitions_is_refused(bastion: Bastion) -> None:
    for number in range(2):
        bastion.cluster.add(number, (1, 2), leader=1)
    with pytest.raises(JournalError, match=r"topic orders has several partitions"):
        MemoryTopic(bastion.cluster, ADDRESSES, "orders").read()
