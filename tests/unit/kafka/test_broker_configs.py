# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The own configs of many brokers: each one's answer or error, and one check of all brokers' metadata."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from kafka.protocol.admin import DescribeConfigsRequest, DescribeConfigsResponse

from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.configs import read_broker_configs, read_configs
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.error_codes import CLUSTER_AUTHORIZATION_FAILED
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.errors import (
    BrokerCallError,
    CallError,
    RequestRefusedError,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.settings import Address
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.views import Views
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.wire import Wire
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.partition import Cause
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.setting import (
    BROKER_RESOURCE,
    TOPIC_RESOURCE,
    Setting,
    SettingSource,
)
from unit.fakes.clock import FakeClock
from unit.kafka.test_views import ADDRESSES, BY_ADDRESS, FakeAsker

THREADS = "log.cleaner.threads"
SET_ON_BROKER, STATIC = 2, 4


class FakeBrokers(FakeAsker):
    """Brokers that have as many cleaner threads as their id, and are current, silent or refuse us."""

    def __init__(self, clock: FakeClock, source: int = STATIC) -> None:
        super().__init__(*ADDRESSES)
        self.source = source
        self.views = Views(clock)
        self.ages = dict.fromkeys(ADDRESSES, 400)
        self.offsets = dict.fromkeys(ADDRESSES, 9)
        self.silent: set[int] = set()
        self.refusing: set[int] = set()
        self.quorums = 0

    def call_any(self, make_request: object, name: str, **options: Any) -> tuple[Any, Address]:
        self.quorums += name == "DescribeQuorum"
        return super().call_any(make_request, name, **options)

    def call(self, address: Address, request: Any, *, timeout_ms: int | None = None) -> Any:
        if not isinstance(request, DescribeConfigsRequest):
            return super().call(address, request, timeout_ms=timeout_ms)
        broker_id = BY_ADDRESS[address]
        if broker_id in self.silent:
            raise BrokerCallError(str(address), Cause.HUNG, "silent")
        message = DescribeConfigsResponse.DescribeConfigsResult
        config = message.DescribeConfigsResourceResult(
            name=THREADS, value=str(broker_id), read_only=False, config_source=self.source, is_sensitive=False
        )
        result = message(
            error_code=CLUSTER_AUTHORIZATION_FAILED if broker_id in self.refusing else 0,
            error_message=None,
            resource_type=4,
            resource_name=str(broker_id),
            configs=[config],
        )
        return DescribeConfigsResponse(throttle_time_ms=0, results=[result])


@pytest.fixture
def brokers(clock: FakeClock) -> FakeBrokers:
    return FakeBrokers(clock)


def read(
    brokers: FakeBrokers, addresses: Mapping[int, Address] = ADDRESSES, names: Sequence[str] = (THREADS,)
) -> dict[int, dict[str, Setting] | CallError]:
    stand_in: Any = brokers
    wire: Wire = stand_in
    return read_broker_configs(wire, addresses, names)


def test_each_broker_returns_its_own_configs(brokers: FakeBrokers) -> None:
    assert read(brokers) == {each: {THREADS: Setting(str(each), SettingSource.STATIC)} for each in ADDRESSES}


def test_the_quorum_is_described_once_for_all_brokers(brokers: FakeBrokers) -> None:
    read(brokers)
    assert brokers.quorums == 1


def test_no_request_is_sent_for_no_broker(brokers: FakeBrokers) -> None:
    assert (read(brokers, {}), brokers.quorums) == ({}, 0)


def test_what_a_broker_does_not_return_costs_no_other_answer(brokers: FakeBrokers) -> None:
    brokers.silent, brokers.refusing = {1}, {2}
    found = read(brokers)
    assert isinstance(found[1], BrokerCallError)
    assert isinstance(found[2], RequestRefusedError)
    assert not isinstance(found[3], CallError)


def test_the_configs_of_a_broker_that_applies_metadata_late_are_not_known(brokers: FakeBrokers) -> None:
    brokers.offsets[2] = 7
    found = read(brokers)
    assert "this broker applies metadata late" in str(found[2])
    assert [broker_id for broker_id, each in found.items() if isinstance(each, CallError)] == [2]


@pytest.mark.parametrize(("kind", "is_own"), [(BROKER_RESOURCE, True), (TOPIC_RESOURCE, False)])
def test_what_is_set_on_a_broker_is_inherited_by_its_topics(clock: FakeClock, kind: int, *, is_own: bool) -> None:
    wire: Any = FakeBrokers(clock, source=SET_ON_BROKER)
    found = read_configs(wire, ADDRESSES[1], kind, "1", [THREADS])[THREADS]
    assert (found.value, found.is_own, found.own) == ("1", is_own, "1" if is_own else None)
