# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The facts of many brokers' cleaners: what one broker does not return is missing in its facts only."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeVar

from ansible_collections.kafkaops.recovery.plugins.module_utils._cleaner.facts import BACKOFF_MS, CleanerMetrics
from ansible_collections.kafkaops.recovery.plugins.module_utils._cleaner.inspection import read_facts
from ansible_collections.kafkaops.recovery.plugins.module_utils._cleaner.metrics import MetricsError
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.cluster import Cluster, Registration
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.errors import BrokerCallError, CallError
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.settings import Address
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.partition import BrokerState, Cause
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.setting import Setting, SettingSource
from unit.fakes.settings import ADDRESSES, FakeSettings

Key = TypeVar("Key")
Value = TypeVar("Value")
FIRST, SECOND, THIRD = (Registration(each, address, None, False) for each, address in ADDRESSES.items())
CLUSTER = Cluster("c", (FIRST, SECOND, THIRD))
BACKOFF = {BACKOFF_MS: Setting("15000", SettingSource.DEFAULT)}
HUNG = BrokerCallError("broker-2.invalid:9092", Cause.HUNG, "no answer within 1000 ms")


class FakeCleaners(FakeSettings):
    """Brokers that return the same settings, but for broker 2, which is hung. ``asked`` has the rounds of questions."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[list[int]] = []

    def in_parallel(self, work: Callable[[Key], Value], keys: Iterable[Key]) -> dict[Key, Value | BrokerCallError]:
        return {each: work(each) for each in keys}

    def read_broker_configs(
        self, addresses: Mapping[int, Address], names: Sequence[str]
    ) -> Mapping[int, Mapping[str, Setting] | CallError]:
        self.asked.append([*addresses])
        return {each: HUNG if each == 2 else BACKOFF for each in addresses}


def test_the_settings_of_all_brokers_are_asked_at_once() -> None:
    kafka = FakeCleaners()
    found = read_facts(kafka, CLUSTER, [FIRST.as_broker(), SECOND.as_broker()], None)
    assert kafka.asked == [[1, 2]]
    assert [each.broker_id for each in found] == [1, 2]
    assert [each.settings for each in found] == [BACKOFF, {}]
    assert found[1].settings_error == str(HUNG)


def test_a_broker_that_is_not_online_is_not_asked() -> None:
    kafka = FakeCleaners()
    (facts,) = read_facts(kafka, CLUSTER, [THIRD.as_broker(BrokerState.HUNG, "silent")], None)
    assert kafka.asked == [[]]
    assert (facts.settings, facts.settings_error) == ({}, "broker 3 is hung: silent")


def test_metrics_that_cannot_be_read_are_missing_in_the_facts_of_one_broker() -> None:
    metrics = CleanerMetrics(0, 1000, 40, ())

    def read_metrics(broker_id: int, _host: str) -> CleanerMetrics:
        if broker_id == 3:
            raise MetricsError("no exporter")
        return metrics

    found = read_facts(FakeCleaners(), CLUSTER, [FIRST.as_broker(), THIRD.as_broker()], read_metrics)
    assert [each.metrics for each in found] == [metrics, None]
    assert found[1].metrics_error == "no exporter"
