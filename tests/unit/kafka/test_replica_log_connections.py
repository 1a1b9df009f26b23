# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Probes with broken connections, dead brokers and deadlines: the result, and the replicas that are asked again."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from kafka.protocol.admin import DescribeConfigsRequest, DescribeLogDirsRequest
from kafka.protocol.consumer import FetchRequest, ListOffsetsRequest

from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.errors import BrokerCallError
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.replica_logs import probe_replicas, silent_rows
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.partition import (
    PARTITIONS_PER_REQUEST,
    Broker,
    BrokerState,
    Cause,
    ReplicaLog,
    TopicPartition,
)
from unit.fakes.clock import FakeClock
from unit.kafka.fake_broker import FakeBroker
from unit.kafka.fake_connection import Answer
from unit.kafka.fake_probe import (
    BROKER,
    FENCED,
    FIRST,
    SECOND,
    SETTINGS,
    TWO_REPLICAS,
    FakeWire,
    Probe,
    a_replica,
    causes,
    dying_at,
    failing,
)


def test_another_broker_at_the_address_is_asked_for_nothing_and_reported(probe: Probe) -> None:
    rows, wire = probe(FakeBroker(TWO_REPLICAS, is_another=True).answer)
    assert causes(rows) == [Cause.WRONG_BROKER, Cause.WRONG_BROKER]
    assert "advertised.listeners of broker 3" in rows[0].error
    assert {type(each) for each in wire.requests} == {DescribeConfigsRequest}


def test_a_broker_is_asked_when_no_other_one_answers_at_its_address_any_more(probe: Probe) -> None:
    broker = FakeBroker(TWO_REPLICAS)
    rows, wire = probe(replace(broker, is_another=True).answer, broker.answer)
    assert [row.log_end_offset for row in rows] == [100, 10]
    assert len(wire.connections) == 2


@pytest.mark.parametrize(
    "request_class", [DescribeConfigsRequest, ListOffsetsRequest, FetchRequest, DescribeLogDirsRequest]
)
def test_everything_is_asked_again_after_a_broken_connection(probe: Probe, request_class: type) -> None:
    before = FakeBroker({FIRST: a_replica((2, 0), end=7), SECOND: a_replica((2, 0), end=7)})
    rows, wire = probe(dying_at(request_class, before), FakeBroker(TWO_REPLICAS).answer)
    assert [row.log_end_offset for row in rows] == [100, 10]
    assert len(wire.connections) == 2


def test_earlier_rows_are_void_if_the_broker_dies_during_a_retry(probe: Probe) -> None:
    rows, _wire = probe(
        FakeBroker({FIRST: TWO_REPLICAS[FIRST]}).answer, failing(Cause.UNREACHABLE, "connection refused"), limit_s=0.6
    )
    assert causes(rows) == [Cause.UNREACHABLE, Cause.UNREACHABLE]
    assert all(row.log_end_offset is None for row in rows)


def cut_short_as(cause: Cause, clock: FakeClock) -> Answer:
    """Check a deadline that passes before an answer or a connection."""

    def wait(_request: Any) -> Any:
        clock.sleep(1.0)
        raise BrokerCallError("fake.invalid:9092", cause, "the deadline passed")

    return wait


@pytest.mark.parametrize("cause", [Cause.HUNG, Cause.UNREACHABLE])
def test_rows_stay_valid_if_the_deadline_ends_a_retry(probe: Probe, clock: FakeClock, cause: Cause) -> None:
    rows, _wire = probe(FakeBroker({FIRST: TWO_REPLICAS[FIRST]}).answer, cut_short_as(cause, clock), limit_s=0.6)
    assert causes(rows) == [None, Cause.MISSING]


def test_batches_that_are_complete_when_the_deadline_passes_are_kept(clock: FakeClock) -> None:
    broker, cut_short = FakeBroker(TWO_REPLICAS), cut_short_as(Cause.HUNG, clock)
    has_answered_a_batch = False

    def answer(request: Any) -> Any:
        nonlocal has_answered_a_batch
        if has_answered_a_batch:
            return cut_short(request)
        has_answered_a_batch = isinstance(request, DescribeLogDirsRequest)
        return broker.answer(request)

    partitions = [TopicPartition("orders", number) for number in range(PARTITIONS_PER_REQUEST + 2)]
    wire: Any = FakeWire([answer])
    rows = probe_replicas(SETTINGS, BROKER, partitions, clock.now + 0.6, open_wire=wire, clock=clock)
    assert [row.log_end_offset for row in rows[:2]] == [100, 10]
    assert causes(rows) == [None, None, *[Cause.MISSING] * (PARTITIONS_PER_REQUEST - 2), Cause.HUNG, Cause.HUNG]


@pytest.mark.parametrize("cause", [Cause.HUNG, Cause.UNREACHABLE])
def test_earlier_error_is_reported_if_the_deadline_ends_a_retry(probe: Probe, clock: FakeClock, cause: Cause) -> None:
    rows, _wire = probe(failing(Cause.DISCONNECTED, "the true one"), cut_short_as(cause, clock), limit_s=0.6)
    assert causes(rows) == [Cause.DISCONNECTED, Cause.DISCONNECTED]
    assert "the true one" in rows[0].error


@pytest.mark.parametrize(
    "cause", [Cause.UNREACHABLE, Cause.HUNG, Cause.DISCONNECTED, Cause.BAD_ANSWER, Cause.WRONG_BROKER]
)
def test_broker_is_retried_until_the_deadline_and_its_last_error_reported(probe: Probe, cause: Cause) -> None:
    rows, wire = probe(failing(cause, "nothing there"), limit_s=1.2)
    assert causes(rows) == [cause, cause]
    assert "nothing there" in rows[0].error
    assert len(wire.connections) == 3


@pytest.mark.parametrize(("broker", "cause"), [(BROKER, Cause.NOT_AUTHORIZED), (FENCED, Cause.UNREACHABLE)])
def test_useless_retries_are_skipped(probe: Probe, broker: Broker, cause: Cause) -> None:
    rows, wire = probe(failing(cause), broker=broker)
    assert causes(rows) == [cause, cause]
    assert len(wire.connections) == 1


@pytest.mark.parametrize("cause", [Cause.UNREACHABLE, Cause.HUNG, Cause.DISCONNECTED])
def test_broker_is_asked_once_without_retries(probe: Probe, cause: Cause) -> None:
    rows, wire = probe(failing(cause), is_retried=False)
    assert causes(rows) == [cause, cause]
    assert len(wire.connections) == 1


def test_answer_of_a_fenced_broker_is_used(probe: Probe) -> None:
    rows, _wire = probe(FakeBroker(TWO_REPLICAS).answer, broker=FENCED)
    assert causes(rows) == [None, None]


def test_a_deadline_already_passed_asks_nothing(probe: Probe) -> None:
    rows, wire = probe(FakeBroker(TWO_REPLICAS).answer, limit_s=-1.0)
    assert causes(rows) == [Cause.DEADLINE, Cause.DEADLINE]
    assert wire.connections == []


def test_a_broker_without_an_address_is_not_asked(probe: Probe) -> None:
    gone = Broker(
        3, None, None, None, is_fenced=True, state=BrokerState.FENCED, cause="the controller lists no address"
    )
    rows, wire = probe(FakeBroker(TWO_REPLICAS).answer, broker=gone)
    assert [(row.cause, row.error) for row in rows] == [(Cause.FENCED, "the controller lists no address")] * 2
    assert wire.connections == []


@pytest.mark.parametrize(
    ("state", "cause"),
    [
        (BrokerState.FENCED, Cause.FENCED),
        (BrokerState.UNREACHABLE, Cause.UNREACHABLE),
        (BrokerState.HUNG, Cause.HUNG),
        (BrokerState.NOT_AUTHORIZED, Cause.NOT_AUTHORIZED),
    ],
)
def test_a_broker_that_is_not_asked_gives_its_state_as_the_cause(state: BrokerState, cause: Cause) -> None:
    broker = Broker(3, "fake.invalid", 9092, None, is_fenced=False, state=state, cause="seen so")
    assert silent_rows(broker, [FIRST]) == [ReplicaLog("orders", 0, 3, cause=cause, error="seen so")]


def test_many_replicas_are_asked_for_a_thousand_at_a_time(clock: FakeClock) -> None:
    partitions = [TopicPartition("orders", number) for number in range(2001)]
    wire: Any = FakeWire([FakeBroker(dict.fromkeys(partitions, a_replica((5, 0)))).answer])
    rows = probe_replicas(SETTINGS, BROKER, partitions, clock.now + 20, open_wire=wire, clock=clock)
    assert [row.partition for row in rows] == list(range(2001))
    assert {row.last_written_epoch for row in rows} == {5}
    sizes = [sum(len(topic.partitions) for topic in each.topics) for each in wire.requests if hasattr(each, "topics")]
    assert max(sizes) == 1000
