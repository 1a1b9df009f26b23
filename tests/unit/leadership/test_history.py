# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A broker does not lead again while its log begins after that of the present leader."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

import pytest

from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.errors import BrokerCallError
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.held_replicas import Answers, OffsetAnswer
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.log_dirs import LogDirs, ReplicaOnDisk
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.settings import Address
from ansible_collections.kafkaops.recovery.plugins.module_utils._leadership.blacklist import Blacklist
from ansible_collections.kafkaops.recovery.plugins.module_utils._leadership.decide import (
    Decision,
    OrderStatus,
    decide,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._leadership.history import keep_history
from ansible_collections.kafkaops.recovery.plugins.module_utils._leadership.memory import Memory
from ansible_collections.kafkaops.recovery.plugins.module_utils._leadership.orders import Order, RememberedOrder
from ansible_collections.kafkaops.recovery.plugins.module_utils._leadership.view import Config, LeadershipView
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.partition import Cause, TopicPartition
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.retention import FOR_EVER, Retention
from unit.fakes.answers import FakeAnswers
from unit.leadership.worlds import TOPIC_ID, a_state

PARTITION = TopicPartition("orders", 0)
DRAINED, ORIGINAL = (2, 3, 1), (1, 2, 3)
LIVING = {each: Address(f"b{each}.invalid", 9092) for each in ORIGINAL}
UNKNOWN_TOPIC = 3
NOW = datetime(2026, 11, 30, tzinfo=UTC)
WEEK_MS = 7 * 24 * 3600 * 1000


@dataclass(kw_only=True)
class FakeStarts(FakeAnswers):
    """Brokers that answer where their log of the partition begins."""

    starts: Mapping[int, Answers | BrokerCallError]
    asked: list[int] = field(default_factory=list)
    first_kept: int | None = None
    """The leader's first record that is not older than the retention. None if it does not answer."""
    size_bytes: int = 0
    """The size of each log."""

    def cluster_time(self) -> datetime | None:
        return NOW

    def offsets_at(self, address: Address, times_ms: Mapping[TopicPartition, int]) -> Answers:
        assert address == LIVING[2], "the leader"
        assert times_ms == {PARTITION: round(NOW.timestamp() * 1000) - WEEK_MS}
        if self.first_kept is None:
            raise BrokerCallError("ListOffsets", Cause.HUNG, "no answer")
        return at(self.first_kept)

    def describe_log_dirs(self, address: Address, _partitions: Sequence[TopicPartition]) -> LogDirs:
        assert address == LIVING[1], "the broker that returns"
        return LogDirs({PARTITION: (ReplicaOnDisk("/data", self.size_bytes, False),)}, {}, "")

    def log_start_offsets(self, address: Address, _partitions: Sequence[TopicPartition]) -> Answers:
        (broker,) = (each for each, known in LIVING.items() if known == address)
        self.asked.append(broker)
        found = self.starts[broker]
        if isinstance(found, BrokerCallError):
            raise found
        return found


def at(offset: int, error_code: int = 0) -> Answers:
    return {PARTITION: [OffsetAnswer(error_code, offset, 7)]}


def decided(
    kafka: FakeStarts, *, listed: Order = (), leader: int = 2, is_drained: bool = True, living: Order = ORIGINAL
) -> Decision:
    """Take brokers off the list, and return what is decided for the partition."""
    state = a_state(DRAINED if is_drained else ORIGINAL, leader=leader)
    memory = RememberedOrder("orders", 0, TOPIC_ID, ORIGINAL, (ORIGINAL, DRAINED)) if is_drained else None
    decisions = {PARTITION: decide(state, memory, listed)}
    view = LeadershipView(
        Memory(), Config(None, False, ()), Blacklist((1,)), Blacklist(listed), decisions, (), {PARTITION: state}
    )
    return keep_history(kafka, view, {each: LIVING[each] for each in living}).decisions[PARTITION]


def test_an_order_that_prefers_a_log_that_begins_later_is_left_alone() -> None:
    kafka = FakeStarts(starts={1: at(500), 2: at(100)})
    found = decided(kafka)
    assert found.outcome.status is OrderStatus.LEFT_ALONE
    assert found.outcome.replicas_after == DRAINED
    assert found.remember is not None
    assert found.outcome.reason.startswith(
        "the log on broker 1, which would be preferred again, begins at offset 500, and the log on broker 2, which "
        "leads, at 100: if broker 1 led, all replicas would delete the records before 500."
    )
    # The returning broker is asked first: a leader's log start only rises.
    assert kafka.asked == [1, 2]


@pytest.mark.parametrize("start", [0, 99, 100])
def test_a_log_that_begins_with_the_leaders_or_before_may_lead(start: int) -> None:
    assert decided(FakeStarts(starts={1: at(start), 2: at(100)})).outcome.status is OrderStatus.WOULD_RESTORE


@pytest.mark.parametrize(
    "starts",
    [
        {1: at(-1, UNKNOWN_TOPIC), 2: at(100)},
        {1: at(100), 2: at(-1, UNKNOWN_TOPIC)},
        {1: {}, 2: at(100)},
    ],
    ids=["an error of the returning broker", "an error of the leader", "no answer"],
)
def test_a_restore_waits_for_an_answer(starts: Mapping[int, Answers]) -> None:
    found = decided(FakeStarts(starts=starts)).outcome
    assert (found.status, found.replicas_after) == (OrderStatus.LEFT_ALONE, DRAINED)
    assert "does not say where its log begins" in found.reason


def test_a_restore_waits_for_a_broker_that_is_down() -> None:
    kafka = FakeStarts(starts={2: at(100)})
    found = decided(kafka, living=(2, 3)).outcome
    assert found.status is OrderStatus.LEFT_ALONE
    assert found.reason.startswith("broker 1, which would be preferred again, does not say where its log begins")
    assert kafka.asked == [2]


def test_a_drain_of_another_broker_does_not_wait() -> None:
    """Broker 1 is down and off the list. The leaders of broker 2 must move, whoever is first in the order."""
    assert (
        decided(FakeStarts(starts={2: at(100)}), listed=(2,), living=(2, 3)).outcome.status is OrderStatus.WOULD_REORDER
    )


def test_nobody_is_asked_if_no_broker_returns() -> None:
    kafka = FakeStarts(starts={})
    assert decided(kafka, listed=(1,)).outcome.status is OrderStatus.IN_ORDER
    assert decided(kafka, listed=(1,), leader=1, is_drained=False).outcome.status is OrderStatus.WOULD_REORDER
    assert decided(kafka, leader=1).outcome.status is OrderStatus.WOULD_RESTORE
    assert kafka.asked == []


@pytest.mark.parametrize(
    ("retention", "first_kept", "size_bytes", "status"),
    [
        # The broker's retention has run, and the leader's has not yet.
        (Retention(WEEK_MS, FOR_EVER), 500, 0, OrderStatus.WOULD_RESTORE),
        (Retention(WEEK_MS, FOR_EVER), -1, 0, OrderStatus.WOULD_RESTORE),
        (Retention(FOR_EVER, 1000), None, 1000, OrderStatus.WOULD_RESTORE),
        (Retention(WEEK_MS, 1000), None, 1000, OrderStatus.WOULD_RESTORE),
        # Records that are to be kept are missing.
        (Retention(WEEK_MS, FOR_EVER), 499, 0, OrderStatus.LEFT_ALONE),
        (Retention(FOR_EVER, 1000), None, 999, OrderStatus.LEFT_ALONE),
        (Retention(WEEK_MS, 1000), None, 999, OrderStatus.LEFT_ALONE),
        (Retention(FOR_EVER, FOR_EVER), None, 0, OrderStatus.LEFT_ALONE),
    ],
)
def test_records_that_retention_deletes_anyway_do_not_count(
    retention: Retention, first_kept: int | None, size_bytes: int, status: OrderStatus
) -> None:
    kafka = FakeStarts(
        starts={1: at(500), 2: at(100)},
        retentions={"orders": retention},
        first_kept=first_kept,
        size_bytes=size_bytes,
    )
    assert decided(kafka).outcome.status is status
