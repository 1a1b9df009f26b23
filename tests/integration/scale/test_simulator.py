# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The simulator against captures of real brokers: the same request gets the same answer, byte by byte where it can be.

An outage is made on a real cluster, read by the collection through the lab's proxy, and every answer is kept. Then a
world is made of what the brokers answered, and the simulator gets the very bytes that the real brokers got.
"""

from __future__ import annotations

import socket
import struct
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest
from kafka.protocol.api_key import ApiKey

from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.elections import PREFERRED, UNCLEAN
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.port import Kafka
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.replica_logs import probe_replicas
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.settings import settings_from
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.wire import Wire
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.partition import ReplicaLog, TopicPartition
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.survey import Survey, survey
from lab import Cluster, scenarios, versions
from lab.client import PartitionState
from lab.faults import Fault, framed
from lab.pool import STANDARD, ClusterPool
from lab.request import Request
from lab.waiting import wait_until
from lab.wire import read_exactly
from simulator import Log, Partition, SimulatedCluster, World
from simulator.world import Topic

pytestmark = pytest.mark.wide

_EXACT = {ApiKey.ListOffsets, ApiKey.Fetch}
"""Nothing in these answers is of the machine or of the moment."""
_SHAPE = {
    ApiKey.DescribeLogDirs,
    ApiKey.DescribeConfigs,
    ApiKey.DescribeCluster,
    ApiKey.DescribeTopicPartitions,
}


@dataclass(frozen=True)
class Capture(Fault):
    """Changes nothing, and keeps every answer."""

    kept: list[tuple[Request, bytes]] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def on_response(self, request: Request, payload: bytes) -> bytes | None:
        with self.lock:
            self.kept.append((request, payload))
        return framed(payload)


@dataclass(frozen=True)
class Captured:
    """What was found on the real cluster, and every answer that it came from."""

    cluster: Cluster
    found: Survey
    rows: list[ReplicaLog]
    answers: list[tuple[Request, bytes]]


@pytest.fixture(scope="module")
def captured(clusters: ClusterPool) -> Iterator[Captured]:
    with clusters.lease(STANDARD, versions.DEFAULT) as cluster:
        scenarios.longer_log_of_older_epoch(cluster, "orders", 4)
        capture = Capture()
        settings = settings_from({"bootstrap_servers": cluster.bootstrap(), "request_timeout_ms": 5000})
        with cluster.proxy.inject(capture):
            with Wire(settings) as wire:
                found = survey(Kafka(wire))
            asked = [each.topic_partition for each in found.offline]
            rows = [
                row
                for broker in found.brokers
                if not broker.is_fenced
                for row in probe_replicas(settings, broker, asked, time.monotonic() + 20)
            ]
        yield Captured(cluster, found, rows, capture.kept)


@pytest.fixture(scope="module")
def simulated(captured: Captured) -> Iterator[SimulatedCluster]:
    with SimulatedCluster(_world_of(captured)) as started:
        yield started


def _world_of(captured: Captured) -> World:
    reported = [row for row in captured.rows if row.answered]
    watermarks = _high_watermarks(captured.answers)
    partitions = {
        state.partition: Partition(
            replicas=state.replicas,
            logs={
                row.broker_id: _log(row, watermarks.get((row.broker_id, row.partition), 0))
                for row in reported
                if row.partition == state.partition
            },
            leader_epoch=state.leader_epoch,
            isr=state.isr,
            elr=state.elr or (),
            last_known_elr=state.last_known_elr or (),
        )
        for state in captured.found.offline
    }
    return World(tuple(sorted({row.broker_id for row in reported})), {"orders": Topic("orders", partitions)})


def _log(row: ReplicaLog, high_watermark: int) -> Log:
    starts = [row.log_start_offset or 0, *(each.end_offset for each in row.lineage[:-1])]
    epochs = tuple((each.epoch, start) for each, start in zip(row.lineage, starts, strict=True))
    return Log(epochs, row.log_end_offset or 0, row.log_start_offset or 0, high_watermark, row.size_bytes or 0)


def _high_watermarks(answers: list[tuple[Request, bytes]]) -> dict[tuple[int, int], int]:
    return {
        (request.broker, partition.partition_index): partition.high_watermark
        for request, payload in answers
        if request.api_key == ApiKey.Fetch
        for topic in request.decode_response(payload).responses
        for partition in topic.partitions
        if partition.error_code == 0
    }


def _asked_again(simulated: SimulatedCluster, request: Request) -> bytes:
    with socket.create_connection(("127.0.0.1", simulated.ports[request.broker]), 10) as connection:
        connection.sendall(framed(request.payload))
        (size,) = struct.unpack(">i", read_exactly(connection, 4))
        return read_exactly(connection, size)


def _of(captured: Captured, keys: set[Any], simulated: SimulatedCluster) -> Iterator[tuple[Request, bytes, bytes]]:
    for request, payload in captured.answers:
        if request.api_key in keys and request.broker in simulated.ports:
            yield request, payload, _asked_again(simulated, request)


def test_offsets_and_epoch_probes_are_answered_with_the_same_bytes(
    captured: Captured, simulated: SimulatedCluster
) -> None:
    seen = set()
    for request, real, ours in _of(captured, _EXACT, simulated):
        seen.add(request.api_key)
        assert ours == real, (request.name, request.decode_response(real), request.decode_response(ours))
    assert seen == _EXACT


def test_all_other_answers_have_the_same_shape(captured: Captured, simulated: SimulatedCluster) -> None:
    seen = set()
    for request, real, ours in _of(captured, _SHAPE, simulated):
        seen.add(request.api_key)
        expected, found = (_shape(request.decode_response(each).to_dict()) for each in (real, ours))
        assert found == expected, request.name
    assert seen == _SHAPE


def test_every_version_that_is_offered_is_offered_by_real_brokers(
    captured: Captured, simulated: SimulatedCluster
) -> None:
    request, payload = next(each for each in captured.answers if each[0].api_key == ApiKey.ApiVersions)
    ours = request.decode_response(_asked_again(simulated, request))
    real = {each.api_key: each for each in request.decode_response(payload).api_keys}
    for each in ours.api_keys:
        assert real[each.api_key].min_version <= each.max_version <= real[each.api_key].max_version


def test_the_collection_reads_the_same_rows_from_both(captured: Captured, simulated: SimulatedCluster) -> None:
    settings = settings_from({"bootstrap_servers": simulated.bootstrap(), "request_timeout_ms": 5000})
    with Wire(settings) as wire:
        found = survey(Kafka(wire))
    asked = [each.topic_partition for each in found.offline]
    for broker in (each for each in found.brokers if not each.is_fenced):
        rows = probe_replicas(settings, broker, asked, time.monotonic() + 20)
        expected = [row for row in captured.rows if row.broker_id == broker.broker_id]
        assert [_telling(row) for row in rows] == [_telling(row) for row in expected]


def test_partitions_change_as_on_real_brokers(captured: Captured) -> None:
    """The last test: it changes the real cluster. Killed brokers are those that the simulated one does not have."""
    world, cluster = _world_of(captured), captured.cluster
    (dead,) = {*cluster.brokers} - {*world.broker_ids}
    live = min(world.broker_ids)

    def same(what: str) -> None:
        expected = {number: _state(each) for number, each in world.topics["orders"].partitions.items()}

        def is_same() -> bool:
            return {number: _real_state(each) for number, each in cluster.client.describe("orders").items()} == expected

        wait_until(is_same, 20, what=f"after {what}: {expected}")

    same("the outage")
    replicas = world.topics["orders"].partitions[0].replicas
    with Wire(settings_from({"bootstrap_servers": cluster.bootstrap()})) as wire:
        kafka = Kafka(wire)
        address = next(each.address for each in kafka.describe_cluster().registrations if each.broker_id == live)
        for number, order in ((0, replicas[::-1]), (1, replicas[1:] + replicas[:1])):
            assert world.reorder("orders", number, order) == 0
            assert kafka.reorder(address, {TopicPartition("orders", number): order}) == {
                TopicPartition("orders", number): None
            }
            same(f"the reorder of {number}")
        for kind, unclean in ((UNCLEAN, True), (PREFERRED, False)):
            # The first one has a leader by the second round.
            for number in (0, 2) if unclean else (0, 3):
                (answer,) = kafka.elect(address, kind, [TopicPartition("orders", number)]).values()
                assert answer.code == world.elect("orders", number, unclean=unclean)
                same(f"the election of {number}, {'unclean' if unclean else 'preferred'}")
    world.come_back(dead)
    cluster.brokers[dead].start()
    same("the return of the last known leader")
    assert world.topics["orders"].partitions[1].leader == dead


def _state(found: Partition) -> tuple[object, ...]:
    """Without the ISR of one that has a leader: on real brokers, followers join it."""
    if found.leader >= 0:
        return found.leader, found.replicas
    return None, found.replicas, found.isr, found.elr, found.last_known_elr


def _real_state(state: PartitionState) -> tuple[object, ...]:
    if state.leader is not None:
        return state.leader, state.replicas
    return None, state.replicas, state.isr, state.elr, state.last_known_elr


def _telling(row: ReplicaLog) -> tuple[object, ...]:
    """All but the name of the log directory."""
    return (
        row.topic,
        row.partition,
        row.log_start_offset,
        row.log_end_offset,
        row.current_leader_epoch,
        row.lineage,
        row.size_bytes,
        row.cause,
    )


def _shape(value: object) -> object:
    """Names and types; a list is as its first entry, since its length is of the cluster, and an empty one as any."""
    if isinstance(value, dict):
        return {name: _shape(each) for name, each in value.items() if name != "configs" and not _is_empty(each)}
    if isinstance(value, list):
        return [_shape(value[0])] if value else []
    return type(value).__name__


def _is_empty(value: object) -> bool:
    return isinstance(value, list) and not value
