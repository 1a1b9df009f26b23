# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Elections and new orders by column give the same bytes and values as kafka-python's schemas."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kafka.protocol.admin import (
    AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsResponse,
    ElectLeadersRequest,
    ElectLeadersResponse,
)

from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka import elections, reassignments
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.bulk import BulkAnswer, BulkRequest
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.errors import RequestRefusedError
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.settings import Address, ConnectionSettings
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.partition import TopicPartition
from unit.kafka.fake_connection import to_kafka_python

ADDRESS = Address("fake.invalid", 9092)
INT16, INT32 = (st.integers(-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) for bits in (16, 32))
TOPICS = st.text(min_size=1, max_size=40)


class Wire:
    """Records the request, and returns a scripted answer."""

    settings = ConnectionSettings(bootstrap_servers=(ADDRESS,), request_timeout_ms=700)
    request: BulkRequest[Any]

    def __init__(self, version: int, response: Any = None) -> None:
        self._version, self._response = version, response

    def call(self, _address: Address, request: BulkRequest[Any]) -> BulkAnswer[Any]:
        self.request = request
        request.API_VERSION = self._version
        if self._response is None:
            raise AskedError
        return request.decode(self._response.encode(version=self._version))


class AskedError(Exception):
    pass


BROKERS = st.lists(st.integers(0, 2**31 - 1), max_size=200)


@given(st.dictionaries(st.builds(TopicPartition, TOPICS, st.integers(0, 2**31 - 1)), st.none() | BROKERS))
@pytest.mark.parametrize("version", [0, 1])
def test_new_orders_are_what_the_schema_writes(version: int, orders: dict[TopicPartition, Any]) -> None:
    wire = Wire(version)
    with pytest.raises(AskedError):
        reassignments.reorder(wire, ADDRESS, orders)  # type: ignore[arg-type]  # no connection
    typed = to_kafka_python(wire.request)
    assert isinstance(typed, AlterPartitionReassignmentsRequest)
    assert typed.encode(version=version) == wire.request.body
    found = {TopicPartition(t.name, p.partition_index): p.replicas for t in typed.topics for p in t.partitions}
    assert found == orders
    assert (typed.timeout_ms, typed.allow_replication_factor_change) == (700, version == 0)


@given(st.sets(st.builds(TopicPartition, TOPICS, st.integers(0, 2**31 - 1)), min_size=1), st.sampled_from([0, 1]))
def test_elections_are_what_the_schema_writes(partitions: set[TopicPartition], kind: int) -> None:
    wire = Wire(2)
    with pytest.raises(AskedError):
        elections.elect(wire, ADDRESS, kind, partitions)  # type: ignore[arg-type]  # no connection
    typed = to_kafka_python(wire.request)
    assert isinstance(typed, ElectLeadersRequest)
    assert typed.encode(version=2) == wire.request.body
    assert {TopicPartition(t.topic, p) for t in typed.topic_partitions for p in t.partitions} == partitions
    assert (typed.timeout_ms, typed.election_type) == (700, kind)


VERDICTS = st.lists(
    st.tuples(TOPICS, st.lists(st.tuples(INT32, INT16, st.none() | st.text(max_size=200)), max_size=200)), max_size=4
)


@given(VERDICTS, INT32)
def test_answers_on_elections_are_read_as_the_schema_reads_them(topics: list[Any], throttle: int) -> None:
    message = ElectLeadersResponse.ReplicaElectionResult
    names = ("partition_id", "error_code", "error_message")
    response = ElectLeadersResponse(
        throttle_time_ms=throttle,
        error_code=0,
        replica_election_results=[
            message(
                topic=name,
                partition_result=[message.PartitionResult(**dict(zip(names, each, strict=True))) for each in verdicts],
            )
            for name, verdicts in topics
        ],
    )
    encoded = response.encode(version=2)
    expected = elections.election_answers(ElectLeadersResponse.decode(encoded, version=2))
    assert elections._read_answer(memoryview(encoded)) == BulkAnswer(throttle, expected)
    assert elections.elect(Wire(2, response), ADDRESS, 1, [TopicPartition("a", 0)]) == expected  # type: ignore[arg-type]


@pytest.mark.parametrize("version", [0, 1])
@given(VERDICTS, st.sampled_from([0, 0, 41]), st.sampled_from([None, None, "", "not the controller"]))
def test_answers_on_new_orders_are_read_as_the_schema_reads_them(
    version: int, topics: list[Any], code: int, text: str | None
) -> None:
    message = AlterPartitionReassignmentsResponse.ReassignableTopicResponse
    names = ("partition_index", "error_code", "error_message")
    response = AlterPartitionReassignmentsResponse(
        throttle_time_ms=5,
        allow_replication_factor_change=True,
        error_code=code,
        error_message=text,
        responses=[
            message(
                name=name,
                partitions=[
                    message.ReassignablePartitionResponse(**dict(zip(names, each, strict=True))) for each in verdicts
                ],
            )
            for name, verdicts in topics
        ],
    )
    encoded = response.encode(version=version)
    expected = reassignments._convert_answer(AlterPartitionReassignmentsResponse.decode(encoded, version=version))
    wire = Wire(version, response)
    if code:
        with pytest.raises(RequestRefusedError):
            reassignments.reorder(wire, ADDRESS, {})  # type: ignore[arg-type]
    else:
        reassignments.reorder(wire, ADDRESS, {})  # type: ignore[arg-type]
    assert wire.request.decode(encoded) == BulkAnswer(5, expected)
    if not code and text is None:
        assert wire.request._versions[version].read(memoryview(encoded)) == BulkAnswer(5, expected)
