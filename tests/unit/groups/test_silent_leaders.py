# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A leader reports an open transaction, and does not answer when it is asked again, or this host's clock is wrong."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any

from ansible_collections.kafkaops.recovery.plugins.module_utils._groups.end import foresee_end
from ansible_collections.kafkaops.recovery.plugins.module_utils._groups.hanging import look_at_transactions
from ansible_collections.kafkaops.recovery.plugins.module_utils._groups.plan import TransactionStatus
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.transactions import OpenTransaction
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.partition import TopicPartition

_NAME = TopicPartition("orders", 3)
_OLD = 5
_CONTROLLER_TIME = datetime(2020, 1, 31, tzinfo=UTC)
"""Far behind this host's clock."""


class FakeKafka:
    """A cluster of one broker. Its coordinator has no transaction."""

    clock = time

    def __init__(self, *answers: Mapping[TopicPartition, tuple[OpenTransaction, ...]]) -> None:
        self._answers = [*answers]

    def ask_replicas(self, _addresses: Any, replicas: Iterable[tuple[TopicPartition, int]], *_more: Any) -> Any:
        answer = self._answers.pop(0)
        return {(name, leader): answer[name] for name, leader in replicas if name in answer}

    def in_parallel(self, work: Callable[[int], Any], keys: Iterable[int]) -> dict[int, Any]:
        return {each: work(each) for each in keys}

    def open_transactions(self) -> None:
        """Is only passed on."""

    def topic_operations(self, _topics: Any) -> dict[str, Any]:
        return {}

    def describe_partitions(self, _topics: Any) -> Any:
        return SimpleNamespace(partitions=(), refused={})

    def coordinated_transactions(self, _address: Any) -> Any:
        return SimpleNamespace(transactions={}, error="")

    def why_ids_may_be_hidden(self, _address: Any) -> str:
        return ""

    def broker_numbers(self, brokers: Any, _name: str) -> list[int]:
        return [900_000 for _each in brokers]

    def cluster_time(self) -> datetime:
        return _CONTROLLER_TIME


def test_its_transaction_is_unknown_and_the_look_says_so() -> None:
    kafka: Any = FakeKafka({_NAME: (OpenTransaction(7, 320, _OLD),)}, {})
    cluster: Any = SimpleNamespace(addresses={2: "b:9092"}, unfenced={2: "b:9092"})
    found = look_at_transactions(kafka, cluster, {_NAME: 2}, None)
    (step,) = found.steps
    assert foresee_end(step, found, is_allowed=True).status is TransactionStatus.UNKNOWN
    assert "open transactions of orders 3: no answer from leaders 2" in [each.reason for each in found.unknown]


def test_a_transaction_is_recent_by_the_clock_of_the_cluster() -> None:
    for minutes, expected in ((14, TransactionStatus.RECENT), (16, TransactionStatus.WOULD_ABORT)):
        at = _CONTROLLER_TIME - timedelta(minutes=minutes)
        answer = {_NAME: (OpenTransaction(7, 320, round(at.timestamp() * 1000)),)}
        kafka: Any = FakeKafka(answer, answer)
        cluster: Any = SimpleNamespace(addresses={2: "b:9092"}, unfenced={2: "b:9092"})
        found = look_at_transactions(kafka, cluster, {_NAME: 2}, None)
        (step,) = found.steps
        assert foresee_end(step, found, is_allowed=True).status is expected
