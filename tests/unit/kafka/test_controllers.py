# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Where the controllers are, if only the brokers name them. tests/integration/recovery asks real ones."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import pytest
from kafka.protocol.admin import DescribeClusterRequest, DescribeClusterResponse, DescribeConfigsResponse
from kafka.protocol.consumer import FetchRequest, FetchResponse

from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.controllers import (
    ControllerSide,
    controller_configs,
    find_controllers,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.errors import (
    BrokerCallError,
    NoBrokerAnswersError,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.settings import (
    NO_CONTROLLERS,
    Address,
    ConnectionSettings,
    ControllerListeners,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.partition import Cause
from unit.kafka.fake_connection import over_the_wire

ONE, TWO = Address("one.invalid", 9093), Address("two.invalid", 9093)
DEFAULT_MAP = "PLAINTEXT:PLAINTEXT,SSL:SSL,SASL_PLAINTEXT:SASL_PLAINTEXT,SASL_SSL:SASL_SSL"
STATIC = {
    "controller.quorum.voters": f"101@{ONE},102@{TWO}",
    "controller.quorum.bootstrap.servers": "",
    "controller.listener.names": "CONTROLLER",
    "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,CLIENTS:SASL_SSL",
}
SEVERAL_LISTENERS = STATIC | {
    "controller.listener.names": "NEW, OLD",
    "listener.security.protocol.map": "OLD:SSL,new:PLAINTEXT",
}


class FakeWire:
    """Stands in for ``wire.Wire``: one broker with these configs, and a controller at each address of ``clusters``."""

    def __init__(self, configs: dict[str, str], clusters: dict[Address, str], protocol: str = "PLAINTEXT") -> None:
        self.settings = ConnectionSettings(bootstrap_servers=(Address("b.invalid", 9092),), security_protocol=protocol)
        self.controllers = NO_CONTROLLERS
        self.controller_side = self
        self.is_silent = False
        self.asked: list[Address] = []
        self.refused: int | None = None
        """The code with which the controllers refuse to list each other."""
        self.may_fetch = True
        self._configs = configs
        self._clusters = clusters

    def remember_addresses(self, brokers: object) -> None:
        pass

    def call_any(self, make_request: Callable[[], Any], name: str, **_limits: int) -> tuple[Any, Address]:
        if self.is_silent:
            raise NoBrokerAnswersError(name, [])
        request = make_request()
        if isinstance(request, DescribeClusterRequest):
            return over_the_wire(describe("ours", [1]), request), self.settings.bootstrap_servers[0]
        result = DescribeConfigsResponse.DescribeConfigsResult
        entries = [
            result.DescribeConfigsResourceResult(name=name, value=value, synonyms=[])
            for name, value in self._configs.items()
        ]
        found = result(error_code=0, resource_type=4, resource_name="1", configs=entries)
        return DescribeConfigsResponse(results=[found] if entries else []), self.settings.bootstrap_servers[0]

    def call(self, address: Address, request: Any, *, timeout_ms: int) -> Any:
        self.asked.append(address)
        if address not in self._clusters:
            raise BrokerCallError(str(address), Cause.UNREACHABLE, "connection refused")
        if isinstance(request, FetchRequest):
            is_same = request.cluster_id == self._clusters[address]
            code = 31 if not self.may_fetch else 0 if is_same else 104
            return over_the_wire(FetchResponse(error_code=code, responses=[]), request)
        return over_the_wire(describe(self._clusters[address], [101], self.refused or 0), request)

    def in_parallel(self, work: Callable[[Address], str], keys: Iterable[Address]) -> dict[Address, Any]:
        def attempt(key: Address) -> Any:
            try:
                return work(key)
            except BrokerCallError as error:
                return error

        return {key: attempt(key) for key in keys}


def describe(cluster_id: str, ids: Iterable[int], error_code: int = 0) -> Any:
    message = DescribeClusterResponse
    brokers = [
        message.DescribeClusterBroker(broker_id=each, host="x.invalid", port=1, rack=None, is_fenced=False)
        for each in ids
    ]
    return message(error_code=error_code, error_message=None, cluster_id=cluster_id, controller_id=1, brokers=brokers)


def find(wire: FakeWire) -> ControllerSide:
    stand_in: Any = wire
    return find_controllers(stand_in)


def test_what_the_operator_names_is_used_as_it_is() -> None:
    wire = FakeWire(STATIC, {ONE: "ours"})
    wire.controllers = ControllerListeners((TWO,))
    assert (find(wire).addresses, find(wire).missing, wire.asked) == ((TWO,), "", [])


@pytest.mark.parametrize(
    ("configs", "protocol"),
    [
        (STATIC, "PLAINTEXT"),
        (STATIC | {"controller.quorum.voters": "", "controller.quorum.bootstrap.servers": f"{ONE},{TWO}"}, "PLAINTEXT"),
        # Kafka adds a controller listener to its default map, and does not return that.
        (STATIC | {"listener.security.protocol.map": DEFAULT_MAP}, "PLAINTEXT"),
        (STATIC | {"listener.security.protocol.map": DEFAULT_MAP, "controller.listener.names": "SSL"}, "SSL"),
        # A node connects to the first listener.
        (SEVERAL_LISTENERS, "PLAINTEXT"),
    ],
)
def test_the_brokers_name_those_that_answer_as_controllers_of_this_cluster(
    configs: dict[str, str], protocol: str
) -> None:
    wire = FakeWire(configs, {ONE: "ours", TWO: "another"}, protocol)
    assert (find(wire).addresses, find(wire).missing) == ((ONE,), "")


@pytest.mark.parametrize(
    ("configs", "clusters", "protocol", "missing"),
    [
        ({}, {ONE: "ours"}, "PLAINTEXT", "do not say where the controllers are"),
        (STATIC | {"controller.quorum.voters": ""}, {ONE: "ours"}, "PLAINTEXT", "do not say where the controllers are"),
        (STATIC, {ONE: "ours"}, "SSL", "controllers' listeners is PLAINTEXT, and that of this run"),
        (STATIC, {}, "PLAINTEXT", "one.invalid:9093: unreachable: connection refused"),
        (STATIC, {ONE: "another", TWO: "another"}, "PLAINTEXT", "two.invalid:9093: it belongs to cluster another"),
    ],
)
def test_what_cannot_be_used_is_named_with_what_to_set(
    configs: dict[str, str], clusters: dict[Address, str], protocol: str, missing: str
) -> None:
    wire = FakeWire(configs, clusters, protocol)
    side = find(wire)
    assert side.addresses == ()
    assert missing in side.missing
    assert "set kafka_bootstrap_controllers" in side.missing
    stand_in: Any = wire
    assert controller_configs(stand_in, side, "min.insync.replicas").unknown == side.missing


@pytest.mark.parametrize("code", [35, 31], ids=["restarted without a quorum", "without ALTER"])
def test_controllers_that_do_not_list_each_other_are_known_by_a_fetch(code: int) -> None:
    """A controller of another cluster refuses a Fetch with the id of this one."""
    wire = FakeWire(STATIC, {ONE: "ours", TWO: "another"})
    wire.refused = code
    assert (find(wire).addresses, find(wire).missing) == ((ONE,), "")
    wire.may_fetch = False
    assert find(wire).addresses == ()
    assert "DescribeCluster was refused" in find(wire).missing


def test_a_listener_with_less_protection_is_not_even_contacted() -> None:
    wire = FakeWire(STATIC, {ONE: "ours"}, "SSL")
    assert "kafka_controllers_command_config" in find(wire).missing
    assert wire.asked == []


def test_silent_brokers_name_nobody() -> None:
    wire = FakeWire(STATIC, {ONE: "ours"})
    wire.is_silent = True
    assert "no broker says where the controllers are" in find(wire).missing
