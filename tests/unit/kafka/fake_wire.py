# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A wire to one scripted broker."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.settings import Address, ConnectionSettings
from unit.kafka.fake_connection import Answer, FakeConnection

ADDRESS = Address("fake.invalid", 9092)


class FakeWire:
    """Stands in for ``wire.Wire``. ``requests`` has all its requests, oldest first."""

    def __init__(self, answer: Answer) -> None:
        self.settings = ConnectionSettings(bootstrap_servers=(ADDRESS,), request_timeout_ms=700)
        self.learnt: dict[int, Address] = {}
        self._connection = FakeConnection(answer, ADDRESS)

    @property
    def requests(self) -> list[Any]:
        return self._connection.requests

    def remember_addresses(self, brokers: Mapping[int, Address]) -> None:
        self.learnt |= brokers

    def call(self, address: Address, request: Any) -> Any:
        assert address == ADDRESS
        return self._connection.call(request)

    def call_any(self, make_request: Callable[[], Any], _name: str) -> tuple[Any, Address]:
        return self._connection.call(make_request()), ADDRESS

    call_current = call_any
