# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A broker of two replicas, probed through scripted connections."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.errors import BrokerCallError
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.settings import Address, ConnectionSettings
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.partition import (
    Broker,
    BrokerState,
    Cause,
    ReplicaLog,
    TopicPartition,
)
from unit.kafka.fake_broker import FakeBroker, FakeReplica
from unit.kafka.fake_connection import Answer, FakeConnection
from unit.kafka.fake_epoch_cache import EpochEntry, FakeEpochCache

SETTINGS = ConnectionSettings(bootstrap_servers=(Address("fake.invalid", 9092),))
FIRST, SECOND = TopicPartition("orders", 0), TopicPartition("orders", 1)
BROKER = Broker(3, "fake.invalid", 9092, None, is_fenced=False, state=BrokerState.ONLINE)
FENCED = Broker(3, "fake.invalid", 9092, None, is_fenced=True, state=BrokerState.FENCED, cause="seen so")


def a_replica(*entries: tuple[int, int], start: int = 0, end: int = 100, **more: Any) -> FakeReplica:
    return FakeReplica(FakeEpochCache([EpochEntry(*each) for each in entries], start, end), **more)


TWO_REPLICAS = {FIRST: a_replica((2, 0), (5, 40)), SECOND: a_replica((7, 0), end=10)}


class FakeWire:
    """Stands in for ``wire.Wire``: each new connection uses the next of the given functions."""

    def __init__(self, answers: Sequence[Answer]) -> None:
        self.connections: list[FakeConnection] = []
        self._answers = answers

    def __call__(self, _settings: ConnectionSettings, **_options: Any) -> FakeWire:
        return self

    def __enter__(self) -> FakeWire:
        return self

    def __exit__(self, *_exception: object) -> None:
        assert all(each.is_closed for each in self.connections)

    def fresh_connection(self, address: Address) -> FakeConnection:
        answer = self._answers[min(len(self.connections), len(self._answers) - 1)]
        self.connections.append(FakeConnection(answer, address))
        return self.connections[-1]

    @property
    def requests(self) -> Iterator[Any]:
        for connection in self.connections:
            yield from connection.requests


Probe = Callable[..., tuple[list[ReplicaLog], FakeWire]]


def failing(cause: Cause, detail: str = "as scripted") -> Answer:
    def fail(_request: Any) -> Any:
        raise BrokerCallError("fake.invalid:9092", cause, detail)

    return fail


def dying_at(request_class: type, broker: FakeBroker) -> Answer:
    """Answer, and break the connection at the first request of this class."""

    def answer(request: Any) -> Any:
        if isinstance(request, request_class):
            raise BrokerCallError("fake.invalid:9092", Cause.DISCONNECTED, "as scripted")
        return broker.answer(request)

    return answer


def causes(rows: Sequence[ReplicaLog]) -> list[Cause | None]:
    return [row.cause for row in rows]
