# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""min.insync.replicas of topics whose brokers have different values."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, cast

import pytest

from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.errors import BrokerCallError
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.min_isr import read_min_isrs
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.settings import Address
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.wire import Wire
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.partition import Cause
from unit.fakes.answers import one_by_one

_OWN, _STATIC = 1, 4
_LIVING = {each: Address(f"kafka{each}", 9092) for each in (1, 2, 3)}


@dataclass(frozen=True)
class _FakeWire:
    """Three brokers, the first of which answers whoever asks any of them. Topic own has the value 5 of its own."""

    values: Mapping[int, str | None]
    """By broker. None if it does not answer."""

    def call_current(self, make_request: Callable[[], Any], _name: str) -> tuple[Any, Address]:
        return self.call(_LIVING[1], make_request()), _LIVING[1]

    def call(self, address: Address, request: Any) -> Any:
        value = next(self.values[each] for each, known in _LIVING.items() if known == address)
        if value is None:
            raise BrokerCallError(str(address), Cause.HUNG, "no answer")
        return SimpleNamespace(results=[_result(each.resource_name, value) for each in request.resources])

    def in_parallel(self, work: Callable[[int], Any], keys: Mapping[int, Address]) -> dict[int, Any]:
        return one_by_one(work, keys)


def _result(topic: str, value: str) -> Any:
    value, source = ("5", _OWN) if topic == "own" else (value, _STATIC)
    config = SimpleNamespace(name="min.insync.replicas", value=value, config_source=source, is_sensitive=False)
    return SimpleNamespace(resource_name=topic, error_code=0, configs=[config])


@pytest.mark.parametrize(
    ("values", "found"),
    [
        ({1: "1", 2: "1", 3: "1"}, {"own": 5, "orders": 1, "other": 1}),
        ({1: "1", 2: "1", 3: "2"}, {"own": 5, "orders": 2, "other": 2}),
        ({1: "2", 2: "1", 3: "1"}, {"own": 5, "orders": 2, "other": 2}),
        ({1: "1", 2: "1", 3: None}, {"own": 5}),
    ],
)
def test_the_leader_with_the_greatest_value_counts(values: dict[int, str | None], found: dict[str, int]) -> None:
    assert read_min_isrs(cast(Wire, _FakeWire(values)), ["orders", "other", "own"], _LIVING).by_topic == found


def test_brokers_are_not_asked_about_topics_with_their_own_value() -> None:
    wire = _FakeWire({1: "1", 2: None, 3: None})
    assert read_min_isrs(cast(Wire, wire), ["own"], _LIVING).by_topic == {"own": 5}


@pytest.mark.parametrize(
    ("topic", "replicas", "found"),
    [("orders", [1, 2], 2), ("orders", [1, 3], None), ("own", [3], 5), ("orders", [7], None), ("orders", [1, 7], 1)],
)
def test_only_the_brokers_of_the_replicas_count_for_a_partition(
    topic: str, replicas: list[int], found: int | None
) -> None:
    """Broker 3 does not answer, and broker 7 was not asked, because it is down."""
    wire = _FakeWire({1: "1", 2: "2", 3: None})
    assert read_min_isrs(cast(Wire, wire), ["orders", "own"], _LIVING).on_brokers(topic, replicas) == found
