# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The survey: the partitions to handle, and the other partitions that were requested or block a recovery."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.kafkaops.recovery.plugins.module_utils._model.partition import (
    ALL_PARTITIONS,
    NO_LEADER,
    BrokerState,
    PartitionState,
    TopicPartition,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.plan import Status
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.survey import (
    Survey,
    UnconfirmedViewError,
    survey,
    survey_when_fenced,
)
from unit.fakes.clock import FakeClock
from unit.fakes.cluster import FakeCluster


def a_state(topic: str, number: int, leader_id: int, *, is_internal: bool = False) -> PartitionState:
    return PartitionState(topic, number, "A" * 22, leader_id, 7, (1, 2, 3), (1,), (), (), (1,), is_internal=is_internal)


STATES = (
    a_state("__consumer_offsets", 0, NO_LEADER, is_internal=True),
    a_state("__consumer_offsets", 1, 2, is_internal=True),
    a_state("orders", 0, NO_LEADER),
    a_state("orders", 1, 2),
    a_state("orders", 2, NO_LEADER),
)


@pytest.fixture
def cluster() -> FakeCluster:
    return FakeCluster(
        {each.topic_partition: each for each in STATES}, {2, 3}, {1, 2, 3}, {}, refused_topics={"hidden": 29}
    )


def look(cluster: FakeCluster, wanted: list[TopicPartition] | None = None, *, include_internal: bool = False) -> Survey:
    return survey(cluster, wanted, include_internal=include_internal)


def offline(found: Survey) -> list[str]:
    return [str(each.topic_partition) for each in found.offline]


def left_alone(found: Survey) -> dict[str, Status]:
    return {str(each.topic_partition): each.status for each in found.left_alone}


def test_by_default_all_offline_partitions_except_internal_ones_are_surveyed(cluster: FakeCluster) -> None:
    found = look(cluster)
    assert offline(found) == ["orders-0", "orders-2"]
    assert left_alone(found) == {"__consumer_offsets-0": Status.REFUSED}
    assert "opt in with include_internal_topics" in found.left_alone[0].reason
    assert cluster.described == [None]
    assert [each.broker_id for each in found.brokers] == [1, 2, 3]


@pytest.mark.parametrize(
    ("wanted", "include_internal", "replicas"),
    [
        (None, False, [6]),
        ([TopicPartition("orders", 2)], False, [3]),
        ([TopicPartition("orders", 1)], False, []),
        ([TopicPartition("__consumer_offsets", 0)], False, []),
        ([TopicPartition("__consumer_offsets", 0)], True, [3]),
    ],
)
def test_the_callback_runs_before_the_brokers_are_contacted(
    cluster: FakeCluster,
    wanted: list[TopicPartition] | None,
    include_internal: bool,
    replicas: list[int],
) -> None:
    events: list[int | str] = []
    probe_brokers = cluster.probe_brokers

    def look_and_note(*arguments: Any) -> Any:
        events.append("brokers")
        return probe_brokers(*arguments)

    cluster.answer(probe_brokers=look_and_note)
    survey(cluster, wanted, include_internal=include_internal, when_offline=events.append)
    assert events == [*replicas, "brokers"]


def test_internal_topics_are_surveyed_with_the_option(cluster: FakeCluster) -> None:
    found = look(cluster, include_internal=True)
    assert offline(found) == ["__consumer_offsets-0", "orders-0", "orders-2"]
    assert found.left_alone == ()
    assert cluster.described == [None]


def test_every_wanted_partition_is_offline_or_left_alone_with_a_reason(cluster: FakeCluster) -> None:
    wished = ["orders-2", "orders-1", "orders-9", "absent-0", "hidden-0", "__consumer_offsets-0", "orders-2"]
    wanted = [TopicPartition(topic, int(number)) for topic, number in (each.rsplit("-", 1) for each in wished)]
    found = look(cluster, wanted)
    assert cluster.described == [{"orders", "absent", "hidden", "__consumer_offsets"}, None]
    assert offline(found) == ["orders-2"]
    assert {str(each.topic_partition): (each.status, each.reason) for each in found.left_alone} == {
        "__consumer_offsets-0": (
            Status.REFUSED,
            "internal topic: its records are the cluster's own state; opt in with include_internal_topics",
        ),
        "absent-0": (Status.UNKNOWN, "topic absent was not found"),
        "hidden-0": (
            Status.UNKNOWN,
            "topic hidden cannot be described: TOPIC_AUTHORIZATION_FAILED (error 29) (our principal needs DESCRIBE "
            "on the topic)",
        ),
        "orders-1": (Status.ALREADY_ONLINE, "broker 2 leads it"),
        "orders-9": (Status.UNKNOWN, "topic orders has no partition 9"),
    }
    assert [str(each.topic_partition) for each in found.left_alone] == sorted(left_alone(found))
    online = next(each for each in found.left_alone if each.status is Status.ALREADY_ONLINE)
    assert (online.leader_id, online.leader_epoch, online.replicas) == (2, 7, (1, 2, 3))


def test_a_topic_alone_means_all_its_partitions(cluster: FakeCluster) -> None:
    every = {str(each.topic_partition) for each in cluster.describe_partitions(["orders"]).partitions}
    found = look(cluster, [TopicPartition("orders", ALL_PARTITIONS), TopicPartition("absent", ALL_PARTITIONS)])
    assert offline(found) == ["orders-0", "orders-2"]
    assert {*offline(found), *left_alone(found)} == {*every, "absent-0"}
    assert {each.reason for each in found.left_alone if each.topic == "absent"} == {"topic absent was not found"}


def test_an_empty_selection_selects_nothing(cluster: FakeCluster) -> None:
    found = look(cluster, [])
    assert cluster.described == [set()]
    assert (offline(found), left_alone(found)) == ([], {})


def test_a_healthy_view_that_may_be_old_is_refused(cluster: FakeCluster) -> None:
    """A broker without contact to controllers returns its last metadata, which may show no outage."""
    cluster.doubt = "no other broker says how far its metadata is"
    with pytest.raises(UnconfirmedViewError, match="it may be old: no other broker says how far"):
        look(cluster, [TopicPartition("orders", 1)])
    assert offline(look(cluster, [TopicPartition("orders", 0), TopicPartition("orders", 1)])) == ["orders-0"]


@pytest.mark.parametrize("wanted", [None, [TopicPartition("orders", 1)]])
def test_a_leader_that_does_not_answer_is_not_taken_for_online(
    cluster: FakeCluster, wanted: list[TopicPartition] | None
) -> None:
    cluster.broker_states[2] = BrokerState.UNREACHABLE
    found = look(cluster, wanted)
    assert left_alone(found)["orders-1"] is Status.UNKNOWN
    assert "orders-1" in {str(each.topic_partition) for each in found.led_by_silent}
    reason = next(each.reason for each in found.led_by_silent if each.topic == "orders")
    assert reason.startswith("the metadata names broker 2 as leader, and it does not answer")


@pytest.mark.parametrize(("fenced_after_s", "looks", "is_unknown"), [(0, 1, False), (3, 4, False), (60, 6, True)])
def test_a_survey_is_repeated_until_silent_leaders_are_fenced(
    cluster: FakeCluster, fenced_after_s: int, looks: int, is_unknown: bool
) -> None:
    clock = FakeClock()
    found: list[Survey] = []
    said: list[str] = []

    def look_now() -> Survey:
        if clock.monotonic() < fenced_after_s:
            cluster.broker_states[2] = BrokerState.HUNG
        else:
            cluster.broker_states.pop(2, None)
        found.append(look(cluster))
        return found[-1]

    last = survey_when_fenced(look_now, 5000, clock, said.append)
    assert last is found[-1]
    assert (len(found), bool(last.led_by_silent)) == (looks, is_unknown)
    assert len(said) == len(clock.slept) == looks - 1
    assert all(text.startswith("waiting until the controller fences brokers that do not answer") for text in said)
