# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""GetReplicaLogInfo as the proposal writes it, over the wire: the same rows, and none of a broker that restarted."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from kafka.protocol.api_key import ApiKey

from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.native import (
    NativeSource,
    NativeSourceError,
    NotOfferedError,
    replica_log_ends,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.port import Kafka
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.replica_logs import (
    NativeQuestion,
    probe_replicas,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.settings import ConnectionSettings, settings_from
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.wire import Wire
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.partition import (
    Cause,
    ReplicaLog,
    TopicPartition,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.survey import Survey, survey
from lab.faults import After
from simulator import Lie, SimulatedCluster, offline_world

KEY = 1020
BROKER = 1


@pytest.fixture
def cluster() -> Iterator[SimulatedCluster]:
    with SimulatedCluster(offline_world({"orders": 40, "trades": 7}, (1, 2, 3)), native_key=KEY) as started:
        yield started


def settings_of(cluster: SimulatedCluster) -> ConnectionSettings:
    return settings_from({"bootstrap_servers": cluster.bootstrap(), "request_timeout_ms": 5000})


def surveyed(cluster: SimulatedCluster) -> Survey:
    with Wire(settings_of(cluster)) as wire:
        return survey(Kafka(wire))


def probe(cluster: SimulatedCluster, *, native: bool, key: int = KEY, seconds: float = 20.0) -> list[ReplicaLog]:
    found = surveyed(cluster)
    partitions = [each.topic_partition for each in found.offline]
    question = NativeQuestion(NativeSource(key), {each.topic: each.topic_id for each in found.offline})
    broker = next(each for each in found.brokers if each.broker_id == BROKER)
    deadline = time.monotonic() + seconds
    return probe_replicas(settings_of(cluster), broker, partitions, deadline, question if native else None)


def count(cluster: SimulatedCluster, key: int) -> int:
    return sum(each.api_key == key for each in cluster.proxy.requests())


def test_the_rows_are_those_of_the_public_rpcs(cluster: SimulatedCluster) -> None:
    public = probe(cluster, native=False)
    assert count(cluster, KEY) == 0
    assert probe(cluster, native=True) == public
    assert {each.cause for each in public} == {None}
    assert {each.lineage for each in public if each.log_end_offset == 110}


def test_no_more_than_a_thousand_partitions_a_request_and_all_are_reported(cluster: SimulatedCluster) -> None:
    many = SimulatedCluster(offline_world({"orders": 1500}, (1,), replication=1), native_key=KEY)
    with many:
        assert len({each.partition for each in probe(many, native=True) if each.answered}) == 1500
        sizes = [len(topic.partitions) for topic in asked_natively(many)]
    # The last one is about the broker's epoch alone.
    assert sizes == [1000, 500, 1]


def test_what_a_broker_leaves_for_a_further_request_is_asked_for(cluster: SimulatedCluster) -> None:
    """A caller that asks for more than is served at once, as no other part of the collection does."""
    with SimulatedCluster(offline_world({"orders": 2300}, (1,), replication=1), native_key=KEY) as many:
        found = surveyed(many)
        with Wire(settings_of(many)) as wire:
            connection = wire.fresh_connection(settings_of(many).bootstrap_servers[0])
            connection_greeted(many, connection)
            partitions = [each.topic_partition for each in found.offline]
            answer = replica_log_ends(connection, NativeSource(KEY), {"orders": found.offline[0].topic_id}, partitions)
            connection.close()
    assert answer.logs.keys() == set(partitions)
    assert [len(topic.partitions) for topic in asked_natively(many)] == [2300, 1300, 300]


def connection_greeted(cluster: SimulatedCluster, connection: Any) -> None:
    from kafka.protocol.admin import DescribeClusterRequest  # noqa: PLC0415

    assert connection.call(DescribeClusterRequest()).cluster_id == cluster.world.cluster_id


def asked_natively(cluster: SimulatedCluster) -> Iterator[Any]:
    from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.native import messages  # noqa: PLC0415

    request_class, _response_class = messages(KEY)
    for each in cluster.proxy.requests():
        if each.api_key == KEY:
            yield from request_class.decode(each.payload, version=0, header=True).topic_partitions


def test_a_broker_that_registers_again_meanwhile_is_asked_again(cluster: SimulatedCluster) -> None:
    undisturbed = probe(cluster, native=True)
    cluster.proxy.clear()
    with cluster.proxy.inject(After(lambda: cluster.world.restart(BROKER)), api_key=ApiKey.Fetch, times=1):
        assert probe(cluster, native=True) == undisturbed
    # Once for each look at the log ends, and once for the epoch at the end of each.
    assert count(cluster, KEY) == 4


def test_a_broker_that_registers_again_and_again_reports_nothing(cluster: SimulatedCluster) -> None:
    with cluster.proxy.inject(After(lambda: cluster.world.restart(BROKER)), api_key=ApiKey.Fetch):
        rows = probe(cluster, native=True, seconds=1.5)
    assert {each.cause for each in rows} == {Cause.RESTARTED}
    assert {each.log_end_offset for each in rows} == {None}
    assert "broker epoch" in rows[0].error


def test_a_broker_without_it_is_not_asked_and_says_so_at_once(cluster: SimulatedCluster) -> None:
    began = time.monotonic()
    rows = probe(cluster, native=True, key=KEY + 1)
    assert time.monotonic() - began < 15
    assert {each.cause for each in rows} == {Cause.ERROR}
    assert "offers no API key 1021" in rows[0].error
    assert count(cluster, KEY + 1) == 0


@pytest.mark.parametrize("key", [2, 43, 93, 0, -1, 40_000])
def test_keys_that_are_something_else_are_refused(key: int) -> None:
    with pytest.raises(NativeSourceError, match=str(key)):
        NativeSource(key)


def left_out(logs: list[Any]) -> None:
    logs.pop(0)


def twice(logs: list[Any]) -> None:
    logs.append(logs[0])


def refused(logs: list[Any]) -> None:
    logs[0].error_code = 29


@pytest.mark.parametrize(
    ("change", "cause"), [(left_out, Cause.BAD_ANSWER), (twice, Cause.BAD_ANSWER), (refused, Cause.NOT_AUTHORIZED)]
)
def test_a_lie_spoils_one_row(cluster: SimulatedCluster, change: Callable[[list[Any]], None], cause: Cause) -> None:
    def lie(response: Any) -> None:
        logs = response.topic_partition_log_info_list[0].partition_log_info
        if len(logs) > 1:
            change(logs)

    with cluster.proxy.inject(Lie(lie), api_key=KEY):
        rows = probe(cluster, native=True)
    [spoilt] = [each for each in rows if each.cause is not None]
    assert spoilt.cause is cause
    assert TopicPartition(spoilt.topic, spoilt.partition) == TopicPartition("orders", 0)


def test_more_data_that_never_comes_is_a_bad_answer(cluster: SimulatedCluster) -> None:
    def lie(response: Any) -> None:
        response.has_more_data = True

    with cluster.proxy.inject(Lie(lie), api_key=KEY):
        rows = probe(cluster, native=True, seconds=1.5)
    assert {each.cause for each in rows} == {Cause.BAD_ANSWER}


def test_not_offered_is_a_broker_call_error() -> None:
    assert NotOfferedError("a:1", Cause.ERROR, "x").cause is Cause.ERROR
