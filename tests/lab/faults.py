# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Faults between a client and a broker, which a test can inject."""

from __future__ import annotations

import struct
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from lab.request import Request

_ABSURD_LENGTH = 2**31 - 1


class DisconnectError(Exception):
    """Close the connection, after sending ``last_bytes`` to the client."""

    def __init__(self, last_bytes: bytes = b"") -> None:
        super().__init__("the proxy closes this connection on purpose")
        self.last_bytes = last_bytes


def framed(payload: bytes) -> bytes:
    """Return the payload with its length in front."""
    return struct.pack(">i", len(payload)) + payload


class Fault:
    """Forward everything. Each fault overrides one method. Payloads are frames without their length."""

    def on_request(self, request: Request) -> bool:
        """Return whether the broker shall get the request; may raise DisconnectError."""
        return True

    def on_response(self, request: Request, payload: bytes) -> bytes | None:
        """Return the bytes, length included, for the client, or None for silence; may raise DisconnectError."""
        return framed(payload)


@dataclass(frozen=True)
class Delay(Fault):
    """Delay the answer, and all later answers on the same connection."""

    seconds: float

    def on_response(self, request: Request, payload: bytes) -> bytes | None:
        """Wait, then forward the answer."""
        time.sleep(self.seconds)
        return framed(payload)


class SwallowRequest(Fault):
    """The broker never gets the request, and the client never gets an answer."""

    def on_request(self, request: Request) -> bool:
        """Drop the request."""
        return False


class SwallowResponse(Fault):
    """The broker executes the request, and the client never gets an answer."""

    def on_response(self, request: Request, payload: bytes) -> bytes | None:
        """Drop the answer."""
        return None


class DropBeforeRequest(Fault):
    """The connection closes, and the broker never gets the request."""

    def on_request(self, request: Request) -> bool:
        """Close."""
        raise DisconnectError


class DropAfterRequest(Fault):
    """The broker executes the request, then the connection closes without an answer: the outcome is unknown."""

    def on_response(self, request: Request, payload: bytes) -> bytes | None:
        """Close."""
        raise DisconnectError


class TruncateResponse(Fault):
    """Half of the answer's frame arrives, then the connection closes."""

    def on_response(self, request: Request, payload: bytes) -> bytes | None:
        """Send half of the frame, then close."""
        frame = framed(payload)
        raise DisconnectError(frame[: max(5, len(frame) // 2)])


class WrongCorrelationId(Fault):
    """The answer claims to belong to another request."""

    def on_response(self, request: Request, payload: bytes) -> bytes | None:
        """Replace the id, the first four bytes of any response header."""
        return framed(struct.pack(">i", (request.correlation_id + 1000) % 2**31) + payload[4:])


class AbsurdLength(Fault):
    """The answer announces a frame of 2 GiB."""

    def on_response(self, request: Request, payload: bytes) -> bytes | None:
        """Replace the length."""
        return struct.pack(">i", _ABSURD_LENGTH) + payload


@dataclass(frozen=True)
class Rewrite(Fault):
    """The answer is changed in place by a function of kafka-python's message: error codes, missing or double rows."""

    change: Callable[[Any], None]

    def on_response(self, request: Request, payload: bytes) -> bytes | None:
        """Decode, change, encode."""
        message = request.decode_response(payload)
        self.change(message)
        message.with_header(correlation_id=request.correlation_id)
        return bytes(message.encode(header=True, framed=True))


@dataclass(frozen=True)
class Before(Fault):
    """Run an action before the broker gets the request, such as ``cluster.brokers[2].kill``."""

    action: Callable[[], object]

    def on_request(self, request: Request) -> bool:
        """Run the action to its end."""
        self.action()
        return True


@dataclass(frozen=True)
class After(Fault):
    """Run an action after the broker answered and before the client gets the answer."""

    action: Callable[[], object]

    def on_response(self, request: Request, payload: bytes) -> bytes | None:
        """Run the action to its end."""
        self.action()
        return framed(payload)
