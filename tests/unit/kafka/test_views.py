# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Whose metadata counts. Real brokers without controllers are in tests/integration/kafka/test_stale_views.py."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any

import pytest
from kafka.protocol.admin import DescribeQuorumResponse
from kafka.protocol.metadata import ApiVersionsResponse

from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.errors import (
    BrokerCallError,
    NoBrokerAnswersError,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.settings import Address, ConnectionSettings
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.views import Views
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.partition import Cause
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.quorum import SeenLeader
from unit.fakes.answers import one_by_one
from unit.fakes.clock import FakeClock

ADDRESSES = {each: Address(f"broker-{each}.invalid", 9092) for each in (1, 2, 3)}
BY_ADDRESS = {address: broker_id for broker_id, address in ADDRESSES.items()}
NOW = 1_000_000


class FakeAsker:
    """Brokers in order of id. ``ages`` are in ms, by the leader's clock; None if DescribeQuorum gets no answer."""

    def __init__(self, *ids: int) -> None:
        self.settings = ConnectionSettings(bootstrap_servers=(ADDRESSES[1],), request_timeout_ms=1000)
        self.ids = [*ids]
        self.ages: dict[int, int] | None = {}
        self.offsets: dict[int, int] = {}
        self.refusal = 0
        self.asked: list[str] = []

    def known_addresses(self) -> Collection[Address]:
        return [ADDRESSES[each] for each in self.ids]

    def remember_addresses(self, brokers: Mapping[int, Address]) -> None:
        self.ids += [each for each in brokers if each not in self.ids]

    def call(self, address: Address, request: Any, *, timeout_ms: int | None = None) -> Any:
        if type(request) is object:
            return "later answer"
        if request.name == "DescribeClusterRequest":
            return type("Answer", (), {"brokers": [_Listed(each) for each in ADDRESSES]})()
        offset = self.offsets.get(BY_ADDRESS[address])
        if offset is None:
            raise BrokerCallError(str(address), Cause.UNREACHABLE, "refused")
        return ApiVersionsResponse(error_code=0, api_keys=[], finalized_features_epoch=offset)

    def call_any(
        self, make_request: object, name: str, *, avoid: Collection[Address] = (), timeout_ms: int | None = None
    ) -> tuple[Any, Address]:
        left = [each for each in self.known_addresses() if each not in avoid]
        if not left or (name == "DescribeQuorum" and self.ages is None):
            raise NoBrokerAnswersError(name, [])
        if name != "DescribeQuorum":
            return "answer", left[0]
        return a_quorum(self.ages or {}, self.refusal), left[0]

    def in_parallel(self, work: Callable[[Any], Any], keys: Iterable[Any]) -> dict[Any, Any]:
        return one_by_one(work, keys)


class _Listed:
    def __init__(self, broker_id: int) -> None:
        self.broker_id = broker_id
        self.host, self.port = ADDRESSES[broker_id].host, ADDRESSES[broker_id].port


def a_quorum(ages: Mapping[int, int], refusal: int) -> Any:
    message = DescribeQuorumResponse
    partition = message.TopicData.PartitionData
    replica = partition.ReplicaState

    def state(node_id: int, caught_up: int) -> Any:
        return replica(
            replica_id=node_id,
            log_end_offset=10,
            last_fetch_timestamp=caught_up,
            last_caught_up_timestamp=caught_up,
            replica_directory_id=None,
        )

    found = partition(
        partition_index=0,
        error_code=0,
        leader_id=101,
        leader_epoch=3,
        high_watermark=10,
        current_voters=[state(101, NOW)],
        observers=[state(node_id, NOW - age) for node_id, age in ages.items()],
    )
    topic = message.TopicData(topic_name="__cluster_metadata", partitions=[found])
    return message(error_code=refusal, topics=[topic], nodes=[])


@pytest.fixture
def views(clock: FakeClock) -> Views:
    found = Views(clock)
    found.remember_addresses(ADDRESSES)
    return found


def asked(views: Views, wire: FakeAsker) -> int:
    _answer, address = views.ask(wire, object, "DescribeTopicPartitions")
    return BY_ADDRESS[address]


def test_metadata_of_a_caught_up_broker_is_current(views: Views) -> None:
    wire = FakeAsker(1, 2)
    wire.ages = {1: 400, 2: 400}
    assert asked(views, wire) == 1
    assert (views.stale, views.unconfirmed) == ({}, "")


def test_the_first_leader_that_was_seen_is_remembered(views: Views, clock: FakeClock) -> None:
    wire = FakeAsker(1, 2)
    wire.ages = None
    asked(views, wire)
    assert views.seen_leader is None
    clock.sleep(60)
    wire.ages = {1: 400, 2: 400}
    asked(views, wire)
    clock.sleep(60)
    asked(views, wire)
    assert views.seen_leader == SeenLeader(leader_id=101, leader_epoch=3, seen_at_ms=60_000)


def test_broker_with_old_metadata_is_reported_and_the_next_one_asked(views: Views, clock: FakeClock) -> None:
    wire = FakeAsker(1, 2)
    wire.ages = {1: 17_000, 2: 400}
    assert asked(views, wire) == 2
    assert asked(views, wire) == 2, "it is not asked again at once"
    (reason,) = views.stale.values()
    assert reason.startswith("broker 1 (broker-1.invalid:9092) has lost touch with the controllers")
    assert "17000 ms ago" in reason
    wire.ages = {1: 400, 2: 400}
    clock.sleep(60)
    assert asked(views, wire) == 1, "it may come back"
    assert views.stale == {}


def test_metadata_of_an_unlisted_broker_is_old(views: Views) -> None:
    wire = FakeAsker(1, 2)
    wire.ages = {2: 0}
    assert asked(views, wire) == 2


def test_current_metadata_is_checked_again_later(views: Views, clock: FakeClock) -> None:
    wire = FakeAsker(1, 2)
    wire.ages = {1: 400, 2: 400}
    assert asked(views, wire) == 1
    wire.ages = {1: 9_000, 2: 400}
    assert asked(views, wire) == 1
    clock.sleep(6)
    assert asked(views, wire) == 2


def test_a_broker_that_applies_metadata_late_is_reported_and_the_next_one_asked(views: Views) -> None:
    wire = FakeAsker(1, 2)
    wire.ages = {1: 400, 2: 400}
    wire.offsets = {1: 8, 2: 9}
    assert asked(views, wire) == 2
    (reason,) = views.stale.values()
    assert reason == (
        "broker 1 (broker-1.invalid:9092) applies metadata late: it ends at offset 8, and 1 s ago"
        " the controllers had committed 9. Find out what slows it down, or wait until it has caught up"
    )


def test_if_all_apply_metadata_late_an_answer_is_returned_and_not_trusted(views: Views, clock: FakeClock) -> None:
    wire = FakeAsker(1, 2)
    wire.ages = {1: 400, 2: 9_000}
    wire.offsets = {1: 8, 2: 9}
    assert asked(views, wire) == 1
    assert "broker 1 (broker-1.invalid:9092) applies metadata late" in views.unconfirmed
    waited = clock.now
    assert asked(views, wire) == 1
    assert clock.now == waited, "only the first request waits"
    assert views.unconfirmed


def test_a_broker_that_catches_up_is_waited_for(views: Views, clock: FakeClock) -> None:
    wire = FakeAsker(1)
    wire.ages, wire.offsets = {1: 400}, {1: 8}
    clock.in_s(0.5, lambda: setattr(wire, "offsets", {1: 9}))
    assert views.ask(wire, object, "DescribeTopicPartitions") == ("later answer", ADDRESSES[1])
    assert views.ask(wire, object, "DescribeTopicPartitions") == ("answer", ADDRESSES[1])
    assert (views.stale, views.unconfirmed) == ({}, "")


def test_stale_broker_is_asked_for_other_brokers(views: Views) -> None:
    wire = FakeAsker(1)
    wire.ages = {1: 17_000, 2: 400}
    assert asked(views, wire) == 2


def test_all_stale_brokers_are_reported_if_no_other_answers(views: Views) -> None:
    wire = FakeAsker(1, 2, 3)
    wire.ages = {}
    with pytest.raises(NoBrokerAnswersError) as caught:
        asked(views, wire)
    assert all(f"broker {each} (" in str(caught.value) for each in ADDRESSES)


def test_brokers_are_checked_again_if_all_were_paused(views: Views, clock: FakeClock) -> None:
    wire = FakeAsker(1)
    wire.ages = {1: 8_000}
    clock.in_s(2, lambda: setattr(wire, "ages", {1: 300}))
    wire.settings = ConnectionSettings(bootstrap_servers=(ADDRESSES[1],), request_timeout_ms=5000)
    assert asked(views, wire) == 1
    assert ADDRESSES[1] not in views.stale


def test_without_a_quorum_two_brokers_must_agree(views: Views) -> None:
    wire = FakeAsker(1, 2)
    wire.ages = None
    wire.offsets = {1: 500, 2: 500}
    assert asked(views, wire) == 1
    assert views.unconfirmed == ""
    assert "DescribeQuorum" in views.leaderless


def test_without_a_quorum_the_broker_behind_others_is_stale(views: Views) -> None:
    wire = FakeAsker(1, 2)
    wire.ages = None
    wire.offsets = {1: 400, 2: 500}
    assert asked(views, wire) == 2
    assert "its metadata ends at offset 400, and another broker's at 500" in "".join(views.stale.values())


def test_metadata_of_a_single_broker_without_a_quorum_is_unconfirmed(views: Views) -> None:
    wire = FakeAsker(1, 2)
    wire.ages = None
    wire.offsets = {1: 500}
    assert asked(views, wire) == 1
    assert "no other broker" in views.unconfirmed


def test_a_refusal_by_the_controller_shows_that_the_broker_is_in_touch_with_it(views: Views) -> None:
    wire = FakeAsker(1)
    wire.refusal = 31
    wire.offsets = {1: 500}
    assert asked(views, wire) == 1
    assert views.unconfirmed == ""
    assert views.leaderless == ""
