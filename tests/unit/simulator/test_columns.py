# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The simulator's quick answers are its slow ones, which the schemas encode, to the byte."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka import (
    elections,
    held_replicas,
    log_dirs,
    partitions,
    reassignments,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka import epochs as epoch_probe
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.batch_headers import headers_request
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.bulk import BulkAnswer, BulkRequest
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.messages import by_topic
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.record_batch import read_header
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.settings import Address, ConnectionSettings
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.partition import TopicPartition
from lab.request import Request
from simulator import SimulatedCluster, offline_world
from simulator.columns import BY_COLUMN
from simulator.faults import Throttle
from simulator.world import Log, World
from unit.fakes.recording_connection import RecordingConnection

PARTITIONS = [TopicPartition(topic, number) for topic in ("a", "b" * 200, "unknown") for number in range(20)]


@pytest.mark.parametrize("epoch", [0, 3, 4, 7, 8])
@pytest.mark.parametrize(
    "function",
    [
        partial(held_replicas.held_offsets, which=held_replicas.HeldOffset.LOG_END),
        partial(held_replicas.held_offsets, which=held_replicas.HeldOffset.LOG_START),
        log_dirs.describe_log_dirs,
        None,
    ],
)
def test_both_say_the_same(function: Any, epoch: int) -> None:
    connection: Any = RecordingConnection()
    if function is None:
        questions = {topic: dict.fromkeys(numbers, epoch) for topic, numbers in by_topic(PARTITIONS).items()}
        connection.call(epoch_probe.epochs_request(questions))
    else:
        function(connection, PARTITIONS)
    connection.request.with_header(correlation_id=99, client_id="someone")
    request = Request.parse(connection.request.encode(header=True), broker=2, time=0.0)
    assert_the_same(request, offline_world({"a": 19, "b" * 200: 20}, (1, 2, 3, 4)))


@pytest.mark.parametrize("offset", [0, 79, 80, 89, 109, 119, 120])
def test_both_send_the_same_batches(offset: int) -> None:
    connection: Any = RecordingConnection()
    questions = {topic: dict.fromkeys(numbers, offset) for topic, numbers in by_topic(PARTITIONS).items()}
    connection.call(headers_request(questions, 4096))
    connection.request.with_header(correlation_id=99, client_id="someone")
    request = Request.parse(connection.request.encode(header=True), broker=2, time=0.0)
    assert_the_same(request, offline_world({"a": 19, "b" * 200: 20}, (1, 2, 3, 4)))


def test_a_batch_has_the_epoch_of_its_offset() -> None:
    log = Log(((3, 10), (5, 80)), 120, log_start_offset=10)
    batches = [read_header(log.batch_at(offset), 0) for offset in (10, 79, 80, 119)]
    assert [(each.base_offset, each.next_offset, each.leader_epoch) for each in batches] == [
        (10, 11, 3),
        (79, 80, 3),
        (80, 81, 5),
        (119, 120, 5),
    ]
    assert all(each.size == len(log.batch_at(10)) for each in batches)
    assert log.batch_at(9) == log.batch_at(120) == b""


@pytest.mark.parametrize("partitions", [PARTITIONS, PARTITIONS[3:4]])
@pytest.mark.parametrize("kind", [elections.PREFERRED, elections.UNCLEAN, None])
def test_both_write_the_same(partitions: list[TopicPartition], kind: int | None) -> None:
    worlds = [offline_world({"a": 19, "b" * 200: 20}, (1, 2, 3, 4), dead=(5,)) for _each in range(2)]
    wire: Any = Wire()
    if kind is None:
        held = worlds[0].topics["a"].partitions[3].replicas
        reassignments.reorder(wire, ADDRESS, dict.fromkeys(partitions, held[::-1]))
    else:
        elections.elect(wire, ADDRESS, kind, partitions)
    wire.request.with_header(correlation_id=99, client_id="someone")
    request = Request.parse(wire.request.encode(header=True), broker=2, time=0.0)
    with SimulatedCluster(worlds[0]) as cluster:
        slow = cluster._encoded(cluster._brokers[2], request, Throttle(0))
    assert BY_COLUMN[request.api_key, request.api_version](worlds[1], 2, request) == slow
    assert worlds[0].topics == worlds[1].topics


ADDRESS = Address("fake.invalid", 1)


class Wire:
    """Keeps what it is asked, and answers with what changes nothing."""

    settings = ConnectionSettings(bootstrap_servers=(ADDRESS,))
    request: BulkRequest[Any]

    def call(self, _address: Address, request: BulkRequest[Any]) -> BulkAnswer[Any]:
        self.request = request
        return BulkAnswer(0, reassignments._Altered(0, None, {}))


def assert_the_same(request: Request, world: World) -> None:
    with SimulatedCluster(world) as cluster:
        # Only the answers without a fault are given by column.
        slow = cluster._encoded(cluster._brokers[2], request, Throttle(0))
    assert BY_COLUMN[request.api_key, request.api_version](world, 2, request) == slow


@pytest.mark.parametrize("names", [(), ("a", "b" * 200, "unknown"), ("b" * 200,)])
@pytest.mark.parametrize("place", [None, ("a", 3), ("b" * 200, 0)])
@pytest.mark.parametrize("limit", [1, 16, 19, 2000])
def test_both_describe_the_same(names: tuple[str, ...], place: tuple[str, int] | None, limit: int) -> None:
    asked = partitions._make_request(names, place, limit)
    asked.with_header(correlation_id=99, client_id="someone")
    world = offline_world({"a": 19, "b" * 200: 20}, (1, 2, 3, 4), dead=(5,))
    for number in (2, 3):
        world.elect("a", number, unclean=True)
    assert_the_same(Request.parse(asked.encode(header=True), broker=2, time=0.0), world)
