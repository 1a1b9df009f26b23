# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The answers of replicas about their logs, and the causes of missing answers."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

import pytest

from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.cluster import describe_cluster
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.replica_logs import probe_replicas
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.settings import ConnectionSettings, settings_from
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.wire import Wire
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.partition import (
    PARTITIONS_PER_REQUEST,
    Broker,
    BrokerState,
    Cause,
    EpochEnd,
    ReplicaLog,
    TopicPartition,
)
from lab import Cluster, wait_until
from lab.faults import (
    AbsurdLength,
    Before,
    Delay,
    DropAfterRequest,
    Fault,
    Rewrite,
    TruncateResponse,
    WrongCorrelationId,
)
from lab.request import Request

_LIST_OFFSETS, _FETCH = 2, 1
_LIMIT_MS = 2000
_SLACK_S = 1.9
"""The tolerance for a loaded machine. A missed deadline would cost the limit of a whole request."""
_TOPIC = "held"
_ASKED = [TopicPartition(_TOPIC, 0), TopicPartition(_TOPIC, 1)]


@pytest.fixture(scope="module")
def cluster(kafka_version: str) -> Iterator[Cluster]:
    with Cluster(kafka_version, brokers=2, proxied=True) as started:
        started.client.create_topic(_TOPIC, {0: [1, 2], 1: [1, 2]})
        started.client.produce(_TOPIC, [0], 7)
        yield started


@pytest.fixture(autouse=True)
def no_faults(cluster: Cluster) -> Iterator[None]:
    yield
    cluster.proxy.clear()


@pytest.fixture
def settings(cluster: Cluster) -> ConnectionSettings:
    return settings_from({"bootstrap_servers": cluster.bootstrap(), "request_timeout_ms": _LIMIT_MS})


@pytest.fixture
def follower(settings: ConnectionSettings) -> Broker:
    with Wire(settings) as wire:
        # Before Kafka 4.0, a fenced broker is not listed. A broker that was just thawed is still fenced.
        wait_until(lambda: len(describe_cluster(wire).registrations) == 2, 30, what="both brokers are listed")
        found = describe_cluster(wire).registrations[1]
    return Broker(
        found.broker_id, found.address.host, found.address.port, None, is_fenced=False, state=BrokerState.ONLINE
    )


def _probe(settings: ConnectionSettings, broker: Broker, seconds: float = 4.0) -> list[ReplicaLog]:
    began = time.monotonic()
    rows = probe_replicas(settings, broker, _ASKED, began + seconds)
    assert time.monotonic() - began < seconds + _SLACK_S
    assert [TopicPartition(row.topic, row.partition) for row in rows] == _ASKED
    return rows


@pytest.mark.on_every_version
def test_a_follower_reports_what_it_holds(settings: ConnectionSettings, follower: Broker, cluster: Cluster) -> None:
    full, empty = _probe(settings, follower)
    assert (full.log_start_offset, full.log_end_offset, full.last_written_epoch) == (0, 7, 0)
    assert full.lineage == (EpochEnd(0, 7),)
    assert full.size_bytes is not None
    assert full.size_bytes > 0
    assert full.cause is None
    assert (empty.log_end_offset, empty.last_written_epoch, empty.lineage, empty.cause) == (0, None, (), None)
    assert cluster.proxy.write_requests() == []


@pytest.mark.parametrize(
    ("fault", "cause"),
    [
        (TruncateResponse(), Cause.DISCONNECTED),
        (WrongCorrelationId(), Cause.BAD_ANSWER),
        (AbsurdLength(), Cause.BAD_ANSWER),
        (DropAfterRequest(), Cause.DISCONNECTED),
    ],
)
def test_broken_answers(
    cluster: Cluster, settings: ConnectionSettings, follower: Broker, fault: Fault, cause: Cause
) -> None:
    with cluster.proxy.inject(fault, api_key=_LIST_OFFSETS):
        assert {row.cause for row in _probe(settings, follower)} == {cause}
    # It is tried again until the deadline, so a temporary fault has no effect.
    with cluster.proxy.inject(fault, api_key=_LIST_OFFSETS, times=1):
        assert {row.cause for row in _probe(settings, follower)} == {None}


def _without_first(partitions: list[Any]) -> None:
    partitions.pop(0)


def _first_twice(partitions: list[Any]) -> None:
    partitions.append(partitions[0])


def _unknown_code(partitions: list[Any]) -> None:
    partitions[0].error_code = 31999


@pytest.mark.parametrize(
    ("change", "found"),
    [
        (_without_first, (Cause.BAD_ANSWER, "left it out")),
        (_first_twice, (Cause.BAD_ANSWER, "2 times")),
        (_unknown_code, (Cause.ERROR, "31999")),
    ],
)
def test_lying_answers_spoil_one_partition(
    cluster: Cluster, settings: ConnectionSettings, follower: Broker, change: Any, found: tuple[Cause, str]
) -> None:
    def lie(response: Any) -> None:
        partitions = response.topics[0].partitions
        # The question for log ends is about both; the one for log starts only about the partition without a fault.
        if len(partitions) == len(_ASKED):
            change(partitions)

    with cluster.proxy.inject(Rewrite(lie), api_key=_LIST_OFFSETS):
        rows = _probe(settings, follower)
    (spoilt,) = (row for row in rows if row.cause is not None)
    assert spoilt.cause is found[0]
    assert found[1] in spoilt.error


def test_another_broker_at_the_address(settings: ConnectionSettings, follower: Broker) -> None:
    impostor = Broker(1, follower.host, follower.port, None, is_fenced=False, state=BrokerState.ONLINE)
    assert {row.cause for row in _probe(settings, impostor)} == {Cause.WRONG_BROKER}


def test_a_broker_is_asked_again_while_another_one_answers_at_its_address(
    cluster: Cluster, settings: ConnectionSettings, follower: Broker
) -> None:
    """As behind a proxy that has an old target for a while."""
    (listener,), (another,) = (cluster.brokers[each].proxies.values() for each in (2, 1))
    own, listener.upstream = listener.upstream, another.upstream
    swap_back = threading.Timer(1.5, setattr, [listener, "upstream", own])
    swap_back.start()
    rows = _probe(settings, follower, seconds=15)
    swap_back.join()
    assert [(row.log_end_offset, row.cause) for row in rows] == [(7, None), (0, None)]


def test_a_replica_that_the_broker_does_not_hold(settings: ConnectionSettings, follower: Broker) -> None:
    rows = probe_replicas(settings, follower, [*_ASKED, TopicPartition("nowhere", 0)], time.monotonic() + 4)
    assert [row.cause for row in rows] == [None, None, Cause.MISSING]


def test_a_frozen_broker_is_hung(cluster: Cluster, settings: ConnectionSettings, follower: Broker) -> None:
    with cluster.proxy.inject(Before(cluster.brokers[2].freeze), broker=2, api_key=_FETCH, times=1):
        rows = _probe(settings, follower)
    cluster.brokers[2].thaw()
    assert {row.cause for row in rows} == {Cause.HUNG}
    assert all("no answer" in row.error for row in rows)


@dataclass
class HeldWithout(Fault):
    """Hold questions that do not name a topic. Those that do may be sent again, for example if the broker is late."""

    topic: bytes
    released: threading.Event = field(default_factory=threading.Event)
    has_met: bool = False

    def on_request(self, request: Request) -> bool:
        """Wait, then pass the request on."""
        if self.topic not in request.payload:
            self.has_met = True
            self.released.wait(60)
        return True


def test_what_was_answered_before_the_deadline_is_kept(
    cluster: Cluster, settings: ConnectionSettings, follower: Broker
) -> None:
    """Hold a question about the second batch until the deadline has passed. The rest has no answers then."""
    rest = [TopicPartition("nowhere", number) for number in range(PARTITIONS_PER_REQUEST)]
    second = HeldWithout(_ASKED[0].topic.encode())
    with cluster.proxy.inject(second, api_key=_LIST_OFFSETS):
        rows = probe_replicas(settings, follower, [*_ASKED, *rest], time.monotonic() + 2 * _LIMIT_MS / 1000)
        second.released.set()
    assert second.has_met
    full, empty, *others = rows
    assert (full.log_end_offset, full.lineage, full.cause) == (7, (EpochEnd(0, 7),), None)
    assert (empty.log_end_offset, empty.cause) == (0, None)
    assert [row.cause for row in others] == [
        *[Cause.MISSING] * (PARTITIONS_PER_REQUEST - len(_ASKED)),
        *[Cause.HUNG] * len(_ASKED),
    ]


@pytest.mark.on_every_version
def test_a_distant_broker_answers_several_batches_together(
    cluster: Cluster, settings: ConnectionSettings, follower: Broker
) -> None:
    """One replica is in the first batch, and one in the last of the four that are asked about together."""
    near, far = TopicPartition("distant", 0), TopicPartition("distant", 1)
    cluster.client.create_topic("distant", {0: [1, 2], 1: [1, 2]})
    cluster.client.produce("distant", [0], 7)
    cluster.client.produce("distant", [1], 3)
    rest = [TopicPartition("nowhere", number) for number in range(5 * PARTITIONS_PER_REQUEST - 2)]
    asked = [near, *rest, far]
    with cluster.proxy.inject(Delay(0.05), broker=2):
        rows = probe_replicas(settings, follower, asked, time.monotonic() + 30)
    assert [TopicPartition(row.topic, row.partition) for row in rows] == asked
    first, *others, last = rows
    assert (first.log_end_offset, first.lineage, first.cause) == (7, (EpochEnd(0, 7),), None)
    assert (last.log_end_offset, last.lineage, last.cause) == (3, (EpochEnd(0, 3),), None)
    assert {row.cause for row in others} == {Cause.MISSING}
    keys = [each.api_key for each in cluster.proxy.requests() if each.broker == 2]
    assert (_LIST_OFFSETS, 4) in [(key, len([*several])) for key, several in groupby(keys)], "four log ends"


def test_a_broker_that_dies_during_the_gather_and_comes_back(
    cluster: Cluster, settings: ConnectionSettings, follower: Broker
) -> None:
    came_back = threading.Event()

    def die() -> None:
        cluster.brokers[2].kill()
        cluster.brokers[2].start()
        came_back.set()

    asked = len(cluster.proxy.requests())
    with cluster.proxy.inject(Before(die), broker=2, api_key=_FETCH, times=1):
        rows = _probe(settings, follower, seconds=60)
    assert came_back.wait(60)  # its port opens before it is ready, and the next test kills it
    assert {row.cause for row in rows} == {None}
    # Answers from before its death are discarded: the offsets were requested again.
    offsets = [each for each in cluster.proxy.requests()[asked:] if each.api_key == _LIST_OFFSETS and each.broker == 2]
    assert len(offsets) == 4


def test_a_dead_broker_is_unreachable(cluster: Cluster, settings: ConnectionSettings, follower: Broker) -> None:
    cluster.brokers[2].kill()
    assert {row.cause for row in _probe(settings, follower, seconds=1.5)} == {Cause.UNREACHABLE}
    cluster.brokers[2].start()
