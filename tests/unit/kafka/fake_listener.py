# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Listeners on real loopback sockets, for behavior that no real broker shows on demand."""

from __future__ import annotations

import contextlib
import itertools
import socket
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from kafka.protocol.admin import DescribeClusterRequest, DescribeClusterResponse
from kafka.protocol.metadata import ApiVersionsRequest, ApiVersionsResponse
from kafka.protocol.sasl import (
    SaslAuthenticateRequest,
    SaslAuthenticateResponse,
    SaslHandshakeRequest,
    SaslHandshakeResponse,
)

from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.settings import Address
from lab.wire import read_exactly

Behavior = Callable[[socket.socket], None]
"""Serves one accepted connection until it returns; then the connection is closed."""

_LOOPBACK = "127.0.0.1"


class FakeListener:
    """Accepts connections on its own loopback port, and serves each by ``behavior`` in its own thread."""

    def __init__(self, behavior: Behavior) -> None:
        self.behavior = behavior
        self.accepted = 0
        self._server = socket.create_server((_LOOPBACK, 0))
        self.address = Address(_LOOPBACK, self._server.getsockname()[1])
        self._connections: list[socket.socket] = []
        self._threads = [threading.Thread(target=self._accept, daemon=True)]
        self._threads[0].start()

    def drop(self) -> None:
        """Close all connections, and continue to listen."""
        for connection in self._connections:
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self._server.shutdown(socket.SHUT_RDWR)
        self._threads[0].join(5)
        self.drop()
        for thread in self._threads[1:]:
            thread.join(5)
        self._server.close()

    def _accept(self) -> None:
        while True:
            try:
                connection, _peer = self._server.accept()
            except OSError:
                return
            self.accepted += 1
            self._connections.append(connection)
            self._threads.append(threading.Thread(target=self._serve, args=[connection], daemon=True))
            self._threads[-1].start()

    def _serve(self, connection: socket.socket) -> None:
        with connection, contextlib.suppress(OSError):
            self.behavior(connection)


@contextmanager
def listening(behavior: Behavior) -> Iterator[FakeListener]:
    """Run a listener that is closed at the end."""
    listener = FakeListener(behavior)
    try:
        yield listener
    finally:
        listener.close()


def closed_port() -> Address:
    """Return an address that refuses connections."""
    with socket.create_server((_LOOPBACK, 0)) as server:
        return Address(_LOOPBACK, server.getsockname()[1])


def stay_silent(connection: socket.socket) -> None:
    """Behave like a frozen broker: the kernel accepts connections and receives requests."""
    while connection.recv(65536):
        pass


def close_at_once(_connection: socket.socket) -> None:
    """Behave like a port forwarder without a target."""


def greet_with(answer: bytes) -> Behavior:
    """Answer the first request with these bytes, and then stay silent."""

    def serve(connection: socket.socket) -> None:
        connection.recv(65536)
        connection.sendall(answer)
        stay_silent(connection)

    return serve


def greet_and_fall_silent(connection: socket.socket) -> None:
    """Behave like a broker that freezes while it answers."""
    _greet(connection)
    stay_silent(connection)


def answer_as_broker(
    cluster_id: str = "well",
    *,
    times: int | None = None,
    before: Callable[[], object] = lambda: None,
    change: Callable[[bytes], bytes | None] = lambda answer: answer,
) -> Behavior:
    """Answer ApiVersions and DescribeCluster, the latter after ``before`` returned.

    ``change`` may alter the bytes of that answer, frame length included; where it returns None, and after so many
    ``times``, the connection is closed.
    """

    def serve(connection: socket.socket) -> None:
        _greet(connection)
        for _time in itertools.count() if times is None else range(times):
            message = DescribeClusterResponse
            described = message(error_code=0, error_message=None, cluster_id=cluster_id, controller_id=1, brokers=[])
            whole = _answer(_read_request(connection), described)
            before()
            answer = change(whole)
            if answer is None:
                return
            connection.sendall(answer)

    return serve


def answer_together(requests: int) -> Behavior:
    """Answer only after this number of requests has arrived, then answer each; the controller id counts them."""

    def serve(connection: socket.socket) -> None:
        _greet(connection)
        for number, request in enumerate([_read_request(connection) for _time in range(requests)]):
            message = DescribeClusterResponse
            described = message(error_code=0, error_message=None, cluster_id="a", controller_id=number, brokers=[])
            connection.sendall(_answer(request, described))
        stay_silent(connection)

    return serve


def authenticate_with(mechanism: str, auth_bytes: bytes | None) -> Behavior:
    """Accept this mechanism, and answer the first SaslAuthenticate with these bytes."""

    def serve(connection: socket.socket) -> None:
        _greet(connection)
        connection.sendall(_answer(_read_request(connection), SaslHandshakeResponse(0, mechanisms=[mechanism])))
        answer = SaslAuthenticateResponse(
            error_code=0, error_message=None, auth_bytes=auth_bytes, session_lifetime_ms=0
        )
        connection.sendall(_answer(_read_request(connection), answer))
        stay_silent(connection)

    return serve


def _greet(connection: socket.socket) -> None:
    message = ApiVersionsResponse
    offered = (ApiVersionsRequest, DescribeClusterRequest, SaslHandshakeRequest, SaslAuthenticateRequest)
    keys = [message.ApiVersion(api_key=each.API_KEY, min_version=0, max_version=each.max_version) for each in offered]
    connection.sendall(_answer(_read_request(connection), message(error_code=0, api_keys=keys)))


def _read_request(connection: socket.socket) -> tuple[int, int]:
    """Return version and correlation id."""
    (size,) = struct.unpack(">i", read_exactly(connection, 4))
    _key, version, correlation_id = struct.unpack(">hhi", read_exactly(connection, size)[:8])
    return version, correlation_id


def _answer(request: tuple[int, int], response: Any) -> bytes:
    response.API_VERSION, correlation_id = request
    response.with_header(correlation_id=correlation_id)
    return bytes(response.encode(header=True, framed=True))
