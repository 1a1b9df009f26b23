# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A loading coordinator is asked again, and one that does not finish is reported, and so is a silent group."""

from __future__ import annotations

from typing import Any

import pytest
from kafka.protocol.admin import DescribeProducersResponse, ListGroupsResponse
from kafka.protocol.consumer import OffsetFetchResponse

from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka import groups, transactions
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.errors import RequestRefusedError
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.wire import Wire
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.partition import TopicPartition
from unit.fakes.clock import FakeClock
from unit.kafka.fake_wire import ADDRESS, FakeWire

_LOADING, _TOPIC_AUTHORIZATION_FAILED, _GROUP_AUTHORIZATION_FAILED = 14, 29, 30


def a_coordinator(*codes: int) -> FakeWire:
    """Return these codes in turn, and then always the last one."""
    left = [*codes]

    def answer(_request: Any) -> Any:
        code = left.pop(0) if len(left) > 1 else left[0]
        listed = [] if code else [ListGroupsResponse.ListedGroup(group_id=each) for each in ("orders", "billing")]
        return ListGroupsResponse(error_code=code, groups=listed)

    return FakeWire(answer)


def listed(fake: FakeWire, clock: FakeClock | None = None) -> list[str]:
    stand_in: Any = fake
    wire: Wire = stand_in
    return [*groups.group_states(wire, ADDRESS, clock=clock or FakeClock())]


def test_a_coordinator_that_loads_is_asked_again() -> None:
    fake = a_coordinator(_LOADING, _LOADING, 0)
    assert listed(fake) == ["billing", "orders"]
    assert len(fake.requests) == 3


def test_coordinator_that_keeps_loading_is_reported_within_the_limit() -> None:
    fake, clock = a_coordinator(_LOADING), FakeClock()
    with pytest.raises(RequestRefusedError, match="COORDINATOR_LOAD_IN_PROGRESS"):
        listed(fake, clock)
    assert clock.now == pytest.approx(fake.settings.request_timeout_ms / 1000, abs=0.2)


def a_group(name: str, code: int = 0, **partitions: tuple[int, int]) -> Any:
    """Return a group's answer: an error code and an offset for each partition of ``orders``."""
    message = OffsetFetchResponse.OffsetFetchResponseGroup
    topic, partition = (
        message.OffsetFetchResponseTopics,
        message.OffsetFetchResponseTopics.OffsetFetchResponsePartitions,
    )
    reported = [
        partition(partition_index=int(key[1:]), error_code=error, committed_offset=offset)
        for key, (error, offset) in partitions.items()
    ]
    return message(group_id=name, error_code=code, topics=[topic(name="orders", partitions=reported)])


def test_above_a_thousand_partitions_a_group_is_asked_for_all_it_has() -> None:
    def answer(request: Any) -> Any:
        return OffsetFetchResponse(groups=[a_group(each.group_id, p0=(0, 7), p5000=(0, 9)) for each in request.groups])

    stand_in: Any = FakeWire(answer)
    names = [f"group-{number:02}" for number in range(25)]
    for count, requests in ((1000, 1), (1001, 3)):
        partitions = [TopicPartition("orders", number) for number in range(count)]
        before = len(stand_in.requests)
        found = groups.read_commits(stand_in, ADDRESS, names, partitions)
        assert found == {each: groups.GroupCommits({partitions[0]: groups.Commit(7)}) for each in names}
        sent = stand_in.requests[before:]
        assert len(sent) == requests
        assert {group.topics is None for request in sent for group in request.groups} == {count > 1000}


def test_transactions_are_asked_for_in_batches() -> None:
    message = DescribeProducersResponse.TopicResponse

    def answer(request: Any) -> Any:
        return DescribeProducersResponse(
            topics=[
                message(
                    name=topic.name,
                    partitions=[
                        message.PartitionResponse(partition_index=number, error_code=0, active_producers=[])
                        for number in topic.partition_indexes
                    ],
                )
                for topic in request.topics
            ]
        )

    stand_in: Any = FakeWire(answer)
    partitions = [TopicPartition("orders", number) for number in range(2500)]
    assert transactions.open_transactions(stand_in, ADDRESS, partitions) == dict.fromkeys(partitions, ())
    assert len(stand_in.requests) == 3


def test_group_missing_in_the_answer_has_an_error() -> None:
    answer = OffsetFetchResponse(
        groups=[
            a_group("all", p0=(0, 7), p1=(0, -1)),
            a_group("some", p0=(0, 7), p1=(_TOPIC_AUTHORIZATION_FAILED, -1)),
            a_group("hidden", _GROUP_AUTHORIZATION_FAILED),
        ]
    )
    stand_in: Any = FakeWire(lambda _request: answer)
    first, second = TopicPartition("orders", 0), TopicPartition("orders", 1)
    assert groups.read_commits(stand_in, ADDRESS, ["all", "some", "hidden", "absent"], [first, second]) == {
        "all": groups.GroupCommits({first: groups.Commit(7)}),
        "some": groups.GroupCommits({first: groups.Commit(7)}, "TOPIC_AUTHORIZATION_FAILED (error 29)"),
        "hidden": groups.GroupCommits(
            {}, "GROUP_AUTHORIZATION_FAILED (error 30) (our principal needs DESCRIBE on the group)"
        ),
        "absent": groups.GroupCommits({}, "it is not in the answer"),
    }
