# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The brokers of the cluster: the controller's list, and the state of each broker as seen from this host."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any

import pytest
from kafka.protocol.admin import DescribeClusterResponse

from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.cluster import (
    Cluster,
    Registration,
    describe_cluster,
    probe_brokers,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.errors import RequestRefusedError
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.settings import Address, ConnectionSettings
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.wire import Wire
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.partition import BrokerState
from unit.kafka.fake_listener import Behavior, answer_as_broker, close_at_once, closed_port, listening, stay_silent
from unit.kafka.fake_wire import FakeWire

INT32_MAX = 2**31 - 1


def described(wire: FakeWire) -> Cluster:
    stand_in: Any = wire
    real: Wire = stand_in
    return describe_cluster(real)


def an_answer(*brokers: dict[str, Any], **values: Any) -> Any:
    message = DescribeClusterResponse
    defaults: dict[str, Any] = {"error_code": 0, "error_message": None, "cluster_id": "abc", "controller_id": 1}
    return message(brokers=[message.DescribeClusterBroker(**each) for each in brokers], **defaults | values)


def test_registrations_are_reported_in_order_and_learnt() -> None:
    wire = FakeWire(
        lambda _request: an_answer(
            {"broker_id": INT32_MAX, "host": "::1", "port": 9093, "rack": None, "is_fenced": True},
            {"broker_id": 7, "host": "seven", "port": 9092, "rack": "west", "is_fenced": False},
        )
    )
    seven, last = Address("seven", 9092), Address("::1", 9093)
    assert described(wire) == Cluster(
        "abc", (Registration(7, seven, "west", is_fenced=False), Registration(INT32_MAX, last, None, is_fenced=True))
    )
    assert wire.learnt == {7: seven, INT32_MAX: last}
    assert wire.requests[0].include_fenced_brokers


def test_a_broker_without_a_host_is_unreachable_and_not_the_end_of_the_run() -> None:
    broker = {"broker_id": 7, "host": None, "port": 9092, "rack": None, "is_fenced": False}
    assert described(FakeWire(lambda _request: an_answer(broker))).addresses == {7: Address("", 9092)}


def test_other_brokers_come_before_those_to_put_last() -> None:
    addresses = {each: Address(f"broker{each}", 9092) for each in (1, 2, 3)}
    cluster = Cluster("abc", tuple(Registration(each, at, None, is_fenced=False) for each, at in addresses.items()))
    assert [*cluster.with_last({1}).living()] == [2, 3, 1]


def test_a_refused_description_is_an_error() -> None:
    answer = an_answer(error_code=31, error_message="no", cluster_id="")
    with pytest.raises(RequestRefusedError, match="DescribeCluster was refused: CLUSTER_AUTHORIZATION_FAILED"):
        described(FakeWire(lambda _request: answer))


def test_every_broker_gets_its_state_and_cause() -> None:
    behaviors: dict[int, Behavior] = {1: answer_as_broker(), 2: answer_as_broker(), 3: stay_silent, 4: close_at_once}
    with ExitStack() as stack:
        addresses = {key: stack.enter_context(listening(each)).address for key, each in behaviors.items()}
        addresses[5] = closed_port()
        settings = ConnectionSettings(bootstrap_servers=(addresses[1],), request_timeout_ms=2000)
        wire = stack.enter_context(Wire(settings))
        cluster = Cluster("abc", tuple(Registration(key, addresses[key], None, key == 2) for key in sorted(addresses)))
        brokers = probe_brokers(wire, cluster, frozenset({1, 3, 9}))
    assert [(each.broker_id, each.state, each.is_fenced) for each in brokers] == [
        (1, BrokerState.ONLINE, False),
        (2, BrokerState.FENCED, True),
        (3, BrokerState.HUNG, False),
        (4, BrokerState.UNREACHABLE, False),
        (5, BrokerState.UNREACHABLE, False),
        (9, BrokerState.FENCED, True),
    ]
    assert [bool(each.cause) for each in brokers] == [False, True, True, True, True, True]
    assert brokers[5].host is None
    assert "the controller lists no address for it" in brokers[5].cause


def test_a_broker_that_was_silent_gets_less_time_at_the_next_look() -> None:
    """A run looks several times, and a broker that hangs would take one request_timeout_ms of each look."""
    with listening(stay_silent) as silent, listening(answer_as_broker()) as other:
        settings = ConnectionSettings(bootstrap_servers=(other.address,), request_timeout_ms=1600)
        cluster = Cluster(
            "abc", (Registration(1, other.address, None, False), Registration(2, silent.address, None, False))
        )
        with Wire(settings) as wire:
            looks = [probe_brokers(wire, cluster) for _look in range(2)]
    assert [[each.state for each in look] for look in looks] == [[BrokerState.ONLINE, BrokerState.HUNG]] * 2
    assert "no answer within 1600 ms" in looks[0][1].cause
    assert "no answer within 1500 ms" in looks[1][1].cause


def test_a_broker_that_answers_again_gets_all_the_time_again() -> None:
    with listening(answer_as_broker()) as broker:
        settings = ConnectionSettings(bootstrap_servers=(broker.address,), request_timeout_ms=20_000)
        with Wire(settings) as wire:
            wire.silent.add(broker.address)
            (found,) = probe_brokers(wire, Cluster("abc", (Registration(1, broker.address, None, False),)))
            assert (found.state, wire.silent) == (BrokerState.ONLINE, set())
