# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A broker whose disk hangs: it answers, and as the leader of the run topic it takes no record."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from ansible_collections.kafkaops.recovery.plugins.module_utils._changes.record import JournalError
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.errors import BrokerCallError
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.settings import Address
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.topics import Record
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.partition import Cause, TopicPartition
from unit.changes.test_run_topic import ADDRESSES, CHANGE, TOPIC, acquire, journal_of
from unit.fakes.clock import FakeClock
from unit.fakes.topics import FakeTopics


class FakeHungDisks(FakeTopics):
    """Some brokers take no record."""

    def __init__(self, clock: FakeClock, *hung: int) -> None:
        super().__init__()
        self.clock = clock
        self.hung = {ADDRESSES[each] for each in hung}

    def append_records(self, leader: Address, partition: TopicPartition, records: Sequence[Record]) -> int:
        if leader in self.hung:
            raise BrokerCallError(str(leader), Cause.HUNG, "no response within 1000 ms", request="Produce")
        return super().append_records(leader, partition, records)


def test_another_broker_leads_the_journal(clock: FakeClock) -> None:
    kafka = FakeHungDisks(clock, 1)
    journal_of(acquire(kafka)).begin([CHANGE])
    assert kafka.topics[TOPIC].replicas == (2,)
    assert kafka.sent.count("DeleteTopics") == 1


def test_if_no_broker_takes_records_no_topic_stays(clock: FakeClock) -> None:
    kafka = FakeHungDisks(clock, 1, 2)
    with pytest.raises(JournalError, match=r"Produce at broker-2\."):
        acquire(kafka)
    assert kafka.topics == {}


class FakeLateDisk(FakeHungDisks):
    """The disk of broker 1 hangs for run a. Meanwhile run b claims the topic."""

    is_claimed = False

    def append_records(self, leader: Address, partition: TopicPartition, records: Sequence[Record]) -> int:
        if not self.is_claimed:
            self.is_claimed = True
            hung, self.hung = self.hung, set()
            acquire(self, "b")
            self.hung = hung
        return super().append_records(leader, partition, records)


def test_the_topic_of_another_run_is_not_deleted(clock: FakeClock) -> None:
    kafka = FakeLateDisk(clock, 1)
    with pytest.raises(JournalError, match="no response"):
        acquire(kafka)
    assert "DeleteTopics" not in kafka.sent
