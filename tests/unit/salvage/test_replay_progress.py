# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The ledgers are read from the progress topic, also if its leader does not know yet that it leads."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import pytest
from kafka.protocol.consumer import FetchResponse

from ansible_collections.kafkaops.recovery.plugins.module_utils._changes.record import JournalError
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka import error_codes
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.partitions import Description
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.port import Kafka
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.settings import Address, ConnectionSettings
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.topics import NewTopic
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.partition import PartitionState, TopicPartition
from ansible_collections.kafkaops.recovery.plugins.module_utils._salvage.replay_progress import (
    PROGRESS_TOPIC,
    ProgressTopic,
    ReplayProgressError,
    create_and_wait,
)
from unit.fakes.clock import FakeClock
from unit.fakes.topics import SETTINGS
from unit.salvage.batches import batch

LEADER = Address("broker-1.invalid", 9092)
STATE = PartitionState(PROGRESS_TOPIC, 0, "A" * 22, 1, 0, (1, 2), (1, 2), None, None, ())
TOPIC_AUTHORIZATION_FAILED = 29


class FakeLeader(Kafka):
    """Stands in for the wire too. Answers requests about its topic with these error codes, one after another."""

    def __init__(self, codes: Sequence[int], records: bytes = b"", end: int = 0) -> None:
        self.wire: Any = self
        self.clock = FakeClock()
        self.codes = [*codes]
        self.records, self.end = records, end
        self.has_leader = True

    def describe_partitions(
        self, names: Iterable[str] | None = None, span: tuple[TopicPartition, TopicPartition] | None = None
    ) -> Description:
        return Description((STATE if self.has_leader else STATE._replace(leader_id=-1),), ())

    @property
    def settings(self) -> ConnectionSettings:
        return SETTINGS

    def call(self, address: Address, _request: Any) -> Any:
        assert address == LEADER
        topic = FetchResponse.FetchableTopicResponse
        answer = topic.PartitionData(
            partition_index=0,
            error_code=self.codes.pop(0),
            high_watermark=self.end,
            last_stable_offset=self.end,
            records=self.records,
        )
        return FetchResponse(responses=[topic(topic=PROGRESS_TOPIC, partitions=[answer])])


def test_a_leader_that_does_not_lead_yet_is_asked_again() -> None:
    kafka = FakeLeader([error_codes.NOT_LEADER_OR_FOLLOWER, error_codes.UNKNOWN_TOPIC_OR_PARTITION, 0])
    assert ProgressTopic(kafka, {1: LEADER}, PROGRESS_TOPIC).read().by_key == {}
    assert kafka.codes == []


@pytest.mark.parametrize("key", [None, b"customer 7", b"[]"])
def test_a_topic_of_somebody_else_is_refused(key: bytes | None) -> None:
    """Its records need no key. As a topic of ledgers, it would be compacted."""
    kafka = FakeLeader([0] * 9, batch(0, [b"an order"], key=key), 1)
    with pytest.raises(ReplayProgressError, match="was not written by this version"):
        ProgressTopic(kafka, {1: LEADER}, PROGRESS_TOPIC).read()


def test_a_permanent_error_is_raised_at_once() -> None:
    kafka = FakeLeader([TOPIC_AUTHORIZATION_FAILED, 0])
    with pytest.raises(JournalError, match=r"TOPIC_AUTHORIZATION_FAILED.* --operation Read .*_kafkaops_salvage"):
        ProgressTopic(kafka, {1: LEADER}, PROGRESS_TOPIC).read()
    assert kafka.codes == [0]


def test_a_missing_leader_is_told_at_once_and_waited_for() -> None:
    kafka = FakeLeader([0])
    told: list[str] = []
    kafka.has_leader = False
    with pytest.raises(JournalError, match=r"_kafkaops_salvage \(id A+\) has no leader.* recover it first"):
        ProgressTopic(kafka, {1: LEADER}, PROGRESS_TOPIC, told.append).read()
    (said,) = told
    assert said.startswith("waiting up to 60 s for a leader: topic _kafkaops_salvage ")


def test_a_leader_that_does_not_answer_is_told_and_waited_for() -> None:
    kafka = FakeLeader([error_codes.NOT_LEADER_OR_FOLLOWER] * 1000)
    told: list[str] = []
    with pytest.raises(JournalError, match=r"does not answer: .*NOT_LEADER_OR_FOLLOWER"):
        ProgressTopic(kafka, {1: LEADER}, PROGRESS_TOPIC, told.append).read()
    (said,) = told
    assert said.startswith("waiting up to 60 s for topic _kafkaops_salvage: ")
    assert "NOT_LEADER_OR_FOLLOWER" in said


class FakeController(FakeLeader):
    """A cluster with this number of registered brokers, some of which may be down."""

    def __init__(self, registered: int) -> None:
        super().__init__([])
        self.registered = registered
        self.created: list[int] = []

    def create_spread_topic(self, address: Address, topic: NewTopic) -> str:
        assert address == LEADER
        if topic.copies > self.registered:
            raise error_codes.request_refused_error("CreateTopics", error_codes.INVALID_REPLICATION_FACTOR)
        self.created.append(topic.copies)
        return STATE.topic_id


@pytest.mark.parametrize(("registered", "copies"), [(3, 3), (5, 3), (2, 2), (1, 1)])
def test_brokers_that_are_down_get_copies_if_the_controller_has_them(registered: int, copies: int) -> None:
    """One of them lives. Before Kafka 4.0, the others are not listed."""
    kafka = FakeController(registered)
    create_and_wait(kafka, {1: LEADER}, NewTopic(PROGRESS_TOPIC, 1, 3, {}))
    assert kafka.created == [copies]
