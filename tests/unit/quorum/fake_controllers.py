# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Fake controllers that answer like real ones or stay silent, no broker, and a fake clock."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, NoReturn

from kafka.protocol.admin import (
    DescribeClusterRequest,
    DescribeClusterResponse,
    DescribeConfigsRequest,
    DescribeConfigsResponse,
    DescribeQuorumRequest,
    DescribeQuorumResponse,
)
from kafka.protocol.consumer import FetchRequest, FetchResponse
from kafka.protocol.metadata import ApiVersionsRequest, ApiVersionsResponse

from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.errors import (
    BrokerCallError,
    NoBrokerAnswersError,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.settings import (
    Address,
    ConnectionSettings,
    ControllerListeners,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.partition import Cause
from unit.fakes.clock import FakeClock
from unit.kafka.fake_connection import over_the_wire

LIMIT_MS = 5000
IDS = (101, 102, 103)
_NOT_LEADER_OR_FOLLOWER = 6
_CLUSTER_AUTHORIZATION_FAILED = 31
_INVALID_REQUEST = 42
_LEO = 5000
_NOW = 1_000_000


def address_of(node_id: int) -> Address:
    """Return the address at which the other controllers reach this one."""
    return Address(f"c{node_id}.invalid", 9093)


@dataclass
class FakeController:
    """One controller."""

    node_id: int
    leader_id: int = 101
    epoch: int = 7
    fetch_timeout_ms: int = 2000
    tells_configs: bool = True
    """Whether our principal may describe its configs."""
    refuses_to_list: int = 0
    """The error code with which it refuses to list the controllers."""
    silence: Cause | None = None
    costs_ms: int = 0
    """Seconds until a call without an answer ends."""
    asked: list[str] = field(default_factory=list)
    """The names of all received requests."""

    def answer(self, request: Any) -> Any:
        answers: dict[type, Callable[[Any], Any]] = {
            DescribeQuorumRequest: self._quorum,
            FetchRequest: self._fetch,
            DescribeClusterRequest: self._controllers,
            DescribeConfigsRequest: self._configs,
            ApiVersionsRequest: _versions,
        }
        return over_the_wire(answers[type(request)](request), request)

    def _quorum(self, _request: Any) -> Any:
        message = DescribeQuorumResponse
        topic = message.TopicData
        leads = self.node_id == self.leader_id
        voters = [
            topic.PartitionData.ReplicaState(
                replica_id=each,
                log_end_offset=_LEO,
                last_fetch_timestamp=_NOW,
                last_caught_up_timestamp=_NOW,
            )
            for each in IDS
        ]
        partition = topic.PartitionData(
            partition_index=0,
            error_code=0 if leads else _NOT_LEADER_OR_FOLLOWER,
            leader_id=self.leader_id,
            leader_epoch=self.epoch,
            high_watermark=_LEO,
            current_voters=voters if leads else [],
            observers=[],
        )
        return message(topics=[topic(topic_name="__cluster_metadata", partitions=[partition])], nodes=[])

    def _fetch(self, _request: Any) -> Any:
        return FetchResponse(error_code=_CLUSTER_AUTHORIZATION_FAILED, responses=[])

    def _controllers(self, _request: Any) -> Any:
        message = DescribeClusterResponse
        brokers = [
            message.DescribeClusterBroker(
                broker_id=each, host=address_of(each).host, port=address_of(each).port, rack=None, is_fenced=False
            )
            for each in IDS
        ]
        return message(
            error_code=self.refuses_to_list,
            error_message=None,
            endpoint_type=2,
            cluster_id="" if self.refuses_to_list else "cluster",
            controller_id=-1,
            brokers=[] if self.refuses_to_list else brokers,
        )

    def _configs(self, request: Any) -> Any:
        message = DescribeConfigsResponse
        result = message.DescribeConfigsResult
        values = {"controller.quorum.fetch.timeout.ms": self.fetch_timeout_ms}
        return message(
            results=[
                result(
                    error_code=0
                    if self.tells_configs and each.resource_name == str(self.node_id)
                    else _INVALID_REQUEST,
                    resource_type=4,
                    resource_name=each.resource_name,
                    configs=[
                        result.DescribeConfigsResourceResult(name=name, value=str(value), synonyms=[])
                        for name, value in values.items()
                    ],
                )
                for each in request.resources
            ]
        )


class FakeWire:
    """Stands in for ``wire.Wire``."""

    def __init__(self, clock: FakeClock, controllers: Iterable[FakeController]) -> None:
        self.settings = ConnectionSettings(
            bootstrap_servers=(Address("broker.invalid", 9092),), request_timeout_ms=LIMIT_MS
        )
        self.nodes = {address_of(each.node_id): each for each in controllers}
        self.controllers = ControllerListeners(tuple(self.nodes))
        self._clock = clock

    @property
    def controller_side(self) -> FakeWire:
        """The same settings for brokers and controllers."""
        return self

    def call(self, address: Address, request: Any, *, timeout_ms: int) -> Any:
        controller = self.nodes[address]
        controller.asked.append(request.name)
        if controller.silence is not None:
            self._clock.sleep(min(controller.costs_ms, timeout_ms) / 1000)
            raise BrokerCallError(str(address), controller.silence, "no answer", request=request.name)
        return controller.answer(request)

    def call_any(self, _make_request: Callable[[], Any], name: str) -> NoReturn:
        raise NoBrokerAnswersError(name, [])

    call_current = call_any

    def in_parallel(self, work: Callable[[int], Any], keys: Iterable[int]) -> dict[int, Any]:
        return {key: work(key) for key in keys}


def _versions(_request: Any) -> Any:
    return ApiVersionsResponse(error_code=0, api_keys=[], finalized_features_epoch=1)
