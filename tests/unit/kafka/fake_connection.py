# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A connection to a scripted broker, which answers with the bytes that a real one would send."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.bulk import BulkRequest
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.settings import Address

Answer = Callable[[Any], Any]
"""Takes a kafka-python request and returns a kafka-python response, or raises."""


class FakeConnection:
    """Stands in for ``wire.Connection``. ``requests`` has all its requests, oldest first."""

    def __init__(self, answer: Answer, address: Address | None = None) -> None:
        self.address = address or Address("fake.invalid", 9092)
        self.requests: list[Any] = []
        self.is_closed = False
        self._answer = answer

    def call(self, request: Any, *, timeout_ms: int | None = None) -> Any:
        assert timeout_ms is None or timeout_ms > 0
        if isinstance(request, BulkRequest):
            self.requests.append(to_kafka_python(request))
            return request.decode(self._answer(self.requests[-1]).encode(version=request.max_version))
        self.requests.append(request)
        return over_the_wire(self._answer(request), request)

    def call_pipelined(self, requests: Sequence[Any], limit_ms: int, total_limit_ms: int) -> list[Any]:
        assert 0 < limit_ms <= total_limit_ms
        return [self.call(each, timeout_ms=limit_ms) for each in requests]

    def close(self) -> None:
        self.is_closed = True


def to_kafka_python(request: BulkRequest[Any]) -> Any:
    """Return the same request as an object of kafka-python's own class."""
    decoded = request.message.decode(request.body, version=request.version)
    decoded._header, decoded._min_version, decoded._max_version = None, request.version, request.version
    return decoded


def over_the_wire(response: Any, request: Any) -> Any:
    """Return the response as decoded from bytes, in the newest version of the request."""
    message = type(response)
    highest = message.max_version if request._max_version is None else min(request._max_version, message.max_version)
    return message.decode(response.encode(version=highest), version=highest)
