# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The two write requests, and the request for running reassignments: exact requests and answers."""

from __future__ import annotations

from typing import Any

import pytest
from kafka.protocol.admin import (
    AlterPartitionReassignmentsResponse,
    ElectLeadersResponse,
    ListPartitionReassignmentsResponse,
)

from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.elections import UNCLEAN, ElectionAnswer, elect
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.errors import RequestRefusedError
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.reassignments import (
    parse_unregistered_broker,
    reassign,
    reorder,
    running_reassignments,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.wire import Wire
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.partition import TopicPartition
from unit.kafka.fake_wire import ADDRESS, FakeWire

A0, A1, B0 = TopicPartition("a", 0), TopicPartition("a", 1), TopicPartition("b", 0)


def real(wire: FakeWire) -> Wire:
    stand_in: Any = wire
    as_wire: Wire = stand_in
    return as_wire


def elected(results: dict[str, list[tuple[int, int, str | None]]], error_code: int = 0) -> Any:
    message = ElectLeadersResponse
    result = message.ReplicaElectionResult
    return message(
        error_code=error_code,
        replica_election_results=[
            result(
                topic=topic,
                partition_result=[
                    result.PartitionResult(partition_id=number, error_code=code, error_message=text)
                    for number, code, text in answers
                ],
            )
            for topic, answers in results.items()
        ],
    )


def test_an_election_is_asked_for_by_name_and_answered_for_each_partition() -> None:
    wire = FakeWire(lambda _request: elected({"a": [(0, 0, None), (1, 84, None)], "b": [(0, 83, "none alive")]}))
    answers = elect(real(wire), ADDRESS, UNCLEAN, [A0, B0, A1])
    assert answers == {A0: ElectionAnswer(0, None), A1: ElectionAnswer(84, None), B0: ElectionAnswer(83, "none alive")}
    assert [answers[each].is_elected for each in (A0, A1, B0)] == [True, False, False]
    assert [answers[each].was_not_needed for each in (A0, A1, B0)] == [False, True, False]
    assert str(answers[B0]) == "ELIGIBLE_LEADERS_NOT_AVAILABLE (error 83): none alive"
    (request,) = wire.requests
    assert (request.election_type, request.timeout_ms) == (1, 700)
    assert {each.topic: each.partitions for each in request.topic_partitions} == {"a": [0, 1], "b": [0]}


def test_an_election_over_nothing_is_never_sent() -> None:
    wire = FakeWire(lambda _request: elected({}))
    with pytest.raises(ValueError, match="an election over no partitions"):
        elect(real(wire), ADDRESS, UNCLEAN, [])
    assert wire.requests == []


def test_an_election_refused_as_a_whole_is_an_error() -> None:
    with pytest.raises(RequestRefusedError, match="our principal needs ALTER on the cluster"):
        elect(real(FakeWire(lambda _request: elected({}, error_code=31))), ADDRESS, UNCLEAN, [A0])


@pytest.mark.parametrize(("code", "may_be_executed"), [(41, False), (7, True)])
def test_an_error_of_the_whole_election_is_none_of_its_partitions(code: int, may_be_executed: bool) -> None:
    """A broker that has no answer of the controller after 60 s answers REQUEST_TIMED_OUT for each partition, too."""
    wire = FakeWire(lambda _request: elected({"a": [(0, code, None)]}, error_code=code))
    with pytest.raises(RequestRefusedError) as refused:
        elect(real(wire), ADDRESS, UNCLEAN, [A0])
    assert refused.value.may_be_executed is may_be_executed


def reordered(results: dict[str, list[tuple[int, int]]], error_code: int = 0) -> Any:
    message = AlterPartitionReassignmentsResponse
    topic_message = message.ReassignableTopicResponse
    return message(
        error_code=error_code,
        error_message=None,
        responses=[
            topic_message(
                name=topic,
                partitions=[
                    topic_message.ReassignablePartitionResponse(
                        partition_index=number, error_code=code, error_message=None
                    )
                    for number, code in answers
                ],
            )
            for topic, answers in results.items()
        ],
    )


def test_reorder_does_not_allow_a_change_of_the_replication_factor() -> None:
    wire = FakeWire(lambda _request: reordered({"a": [(0, 0), (1, 39)]}))
    assert reorder(real(wire), ADDRESS, {A0: (2, 1), A1: (3, 1), B0: (1, 2)}) == {
        A0: None,
        A1: "INVALID_REPLICA_ASSIGNMENT (error 39)",
    }
    (request,) = wire.requests
    assert request.allow_replication_factor_change is False
    asked = {(topic.name, each.partition_index): each.replicas for topic in request.topics for each in topic.partitions}
    assert asked == {("a", 0): [2, 1], ("a", 1): [3, 1], ("b", 0): [1, 2]}


def test_reorder_without_a_broker_allows_a_change_of_the_replication_factor() -> None:
    wire = FakeWire(lambda _request: reordered({"a": [(0, 0)]}))
    assert reassign(real(wire), ADDRESS, {A0: (3, 2)}) == {A0: None}
    (request,) = wire.requests
    assert request.allow_replication_factor_change is True
    assert request.topics[0].partitions[0].replicas == [3, 2]


@pytest.mark.parametrize(
    ("error", "broker_id"),
    [
        ("The manual partition assignment includes broker 12, but no such broker is registered.", 12),
        ("The manual partition assignment includes the broker 12 more than once.", None),
        ("INVALID_REPLICA_ASSIGNMENT (error 39)", None),
    ],
)
def test_the_controller_names_a_broker_that_is_not_registered(error: str, broker_id: int | None) -> None:
    """The text is the same in Kafka 3.9.2 and 4.3.1."""
    assert parse_unregistered_broker(error) == broker_id


def test_orders_refused_as_a_whole_are_an_error() -> None:
    with pytest.raises(RequestRefusedError, match="AlterPartitionReassignments was refused") as caught:
        reorder(real(FakeWire(lambda _request: reordered({}, error_code=41))), ADDRESS, {A0: (2, 1)})
    assert caught.value.is_transient


def running(*moves: tuple[TopicPartition, list[int], list[int]], error_code: int = 0) -> Any:
    message = ListPartitionReassignmentsResponse
    topic_message = message.OngoingTopicReassignment
    return message(
        error_code=error_code,
        error_message=None,
        topics=[
            topic_message(
                name=each.topic,
                partitions=[
                    topic_message.OngoingPartitionReassignment(
                        partition_index=each.partition,
                        replicas=[1, 2],
                        adding_replicas=adding,
                        removing_replicas=removing,
                    )
                ],
            )
            for each, adding, removing in moves
        ],
    )


def test_reassignment_must_add_or_remove_replicas() -> None:
    wire = FakeWire(lambda _request: running((A0, [3], []), (A1, [], [1]), (B0, [], [])))
    assert running_reassignments(real(wire), [A0, A1, B0]).keys() == {A0, A1}


def test_reassignment_that_only_removes_is_a_removal() -> None:
    wire = FakeWire(lambda _request: running((A0, [3], [1]), (A1, [], [1, 4]), (B0, [3], [])))
    found = running_reassignments(real(wire), [A0, A1, B0])
    assert {each: how.dropping for each, how in found.items() if how.dropping} == {A1: (1, 4)}


def test_reassignments_of_nothing_are_not_asked_for() -> None:
    wire = FakeWire(lambda _request: running())
    assert running_reassignments(real(wire), []) == {}
    assert wire.requests == []


def test_all_reassignments_are_asked_for_without_names() -> None:
    wire = FakeWire(lambda _request: running((A0, [3], [])))
    assert running_reassignments(real(wire), None).keys() == {A0}
    assert [each.topics for each in wire.requests] == [None]


def test_reassignments_that_may_not_be_seen_are_an_error() -> None:
    wire = FakeWire(lambda _request: running(error_code=31))
    with pytest.raises(RequestRefusedError, match="our principal needs DESCRIBE on the cluster"):
        running_reassignments(real(wire), [A0])
