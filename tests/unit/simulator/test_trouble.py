# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What the simulator is for: trouble that real brokers do not make on demand, seen by the code that asks them."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import pytest
from kafka.protocol.api_key import ApiKey

from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.cluster import describe_cluster
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.port import Kafka
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.replica_logs import probe_replicas
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.settings import settings_from
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.wire import Wire
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.partition import (
    Cause,
    ReplicaLog,
    TopicPartition,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.survey import survey
from lab.faults import AbsurdLength, Delay, Fault, SwallowResponse, TruncateResponse, framed
from lab.request import Request
from simulator import Lie, SimulatedCluster, Throttle, a_million_replicas, offline_world


@pytest.fixture(scope="module")
def cluster() -> Iterator[SimulatedCluster]:
    with SimulatedCluster(offline_world({"orders": 30}, (1, 2), dead=(3,))) as started:
        yield started


def probe(cluster: SimulatedCluster, seconds: float = 10.0, *, request_timeout_ms: int = 800) -> list[ReplicaLog]:
    settings = settings_from({"bootstrap_servers": cluster.bootstrap(), "request_timeout_ms": request_timeout_ms})
    with Wire(settings) as wire:
        found = survey(Kafka(wire))
    held = [each.topic_partition for each in found.offline if 2 in each.replicas]
    broker = next(each for each in found.brokers if each.broker_id == 2)
    return probe_replicas(settings, broker, held, time.monotonic() + seconds)


def test_what_is_well_is_reported(cluster: SimulatedCluster) -> None:
    rows = probe(cluster)
    assert {each.cause for each in rows} == {None}
    assert rows
    assert {each.log_end_offset for each in rows} <= {90, 120, 110, 40, 50, 60}


@pytest.mark.parametrize(
    ("fault", "cause"),
    [
        (SwallowResponse(), Cause.HUNG),
        (Delay(1.2), Cause.HUNG),
        (TruncateResponse(), Cause.DISCONNECTED),
        (AbsurdLength(), Cause.BAD_ANSWER),
    ],
)
def test_trouble_is_named(cluster: SimulatedCluster, fault: Fault, cause: Cause) -> None:
    with cluster.proxy.inject(fault, broker=2, api_key=ApiKey.ListOffsets):
        assert {each.cause for each in probe(cluster, seconds=1.5)} == {cause}


@dataclass
class SwallowAfter(SwallowResponse):
    """The first answers pass."""

    passing: int

    def on_response(self, request: Request, payload: bytes) -> bytes | None:
        """Pass on, or keep."""
        self.passing -= 1
        return framed(payload) if self.passing >= 0 else super().on_response(request, payload)


def test_the_batches_that_were_complete_at_the_deadline_are_kept() -> None:
    """Two requests for offsets a batch: the broker hangs at the first one of the third batch."""
    with SimulatedCluster(offline_world({"orders": 2500}, (1, 2), dead=(3,))) as large:
        settings = settings_from({"bootstrap_servers": large.bootstrap([1]), "request_timeout_ms": 30_000})
        with Wire(settings) as wire:
            found = survey(Kafka(wire))
        broker = next(each for each in found.brokers if each.broker_id == 2)
        partitions = [each.topic_partition for each in found.offline]
        with large.proxy.inject(SwallowAfter(4), broker=2, api_key=ApiKey.ListOffsets) as rule:
            # Long enough for two batches on a busy machine; what is waited for never comes.
            rows = probe_replicas(settings, broker, partitions, time.monotonic() + 8)
        assert len(rule.hits) in (5, 6), "on a busy machine the broker counts as distant: two batches at once"
    assert [TopicPartition(each.topic, each.partition) for each in rows] == partitions
    complete = 2000 if len(rule.hits) == 5 else 1000
    assert {each.cause for each in rows[:complete]} == {None}
    assert {each.cause for each in rows[2000:]} == {Cause.HUNG}


def test_four_batches_of_a_distant_broker_are_asked_about_together() -> None:
    """The first batch shows that the broker is distant. The answers are those of a near one."""
    with SimulatedCluster(offline_world({"orders": 4500}, (1, 2), dead=(3,))) as large:
        near = probe(large, 120, request_timeout_ms=60_000)
        large.proxy.clear()
        with large.proxy.inject(Delay(0.05), broker=2):
            distant = probe(large, 120, request_timeout_ms=60_000)
        asked = [each.api_key for each in large.proxy.requests() if each.broker == 2]
    assert {each.cause for each in (*near, *distant)} == {None}
    assert [each for each, other in zip(distant, near, strict=True) if each != other] == []
    together = [(key, len([*several])) for key, several in groupby(asked)]
    assert (ApiKey.ListOffsets, 8) in together, "four log ends, then four log starts"
    assert together[-1] == (ApiKey.DescribeLogDirs, 4)


def test_a_throttled_answer_is_an_answer(cluster: SimulatedCluster) -> None:
    undisturbed = probe(cluster)
    with cluster.proxy.inject(Throttle(50), broker=2):
        assert probe(cluster) == undisturbed


def test_offsets_that_contradict_spoil_one_row(cluster: SimulatedCluster) -> None:
    def lie(response: Any) -> None:
        first = response.topics[0].partitions[0]
        first.offset = first.offset or 10_000  # the log starts beyond its end

    with cluster.proxy.inject(Lie(lie), broker=2, api_key=ApiKey.ListOffsets):
        rows = probe(cluster)
    assert [each.cause for each in rows].count(Cause.BAD_ANSWER) == 1


def test_a_hundred_brokers_of_a_million_replicas_listen_in_one_process() -> None:
    world = a_million_replicas()
    held = sum(len(each.replicas) for topic in world.topics.values() for each in topic.partitions.values())
    assert 1_000_000 <= held < 1_000_003
    with SimulatedCluster(world, is_recorded=False) as many:
        assert len(set(many.ports.values())) == 100
        settings = settings_from({"bootstrap_servers": many.bootstrap([100])})
        with Wire(settings) as wire:
            assert len(describe_cluster(wire).registrations) == 100


def test_a_span_of_a_large_topic_is_read_without_the_rest_of_it() -> None:
    with SimulatedCluster(offline_world({"a": 30, "large": 20_000, "z": 30}, (1, 2, 3))) as large:
        settings = settings_from({"bootstrap_servers": large.bootstrap([1])})
        wanted = {TopicPartition("large", number) for number in range(9_000, 10_000)}
        both = {*(TopicPartition("large", number) for number in range(19_500, 20_000)), TopicPartition("z", 3)}
        with Wire(settings) as wire:
            assert Kafka(wire).read_partition_states(wanted).states.keys() == wanted
            assert Kafka(wire).read_partition_states(both).states.keys() == both
        sent = [each.decode() for each in large.proxy.requests() if each.api_key == ApiKey.DescribeTopicPartitions]
        pages = {(repr(each.topics), repr(each.cursor)) for each in sent}  # a slow machine repeats a request
        assert len(pages) == 2
