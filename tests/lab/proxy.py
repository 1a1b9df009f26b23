# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A TCP proxy for client listeners that reads Kafka's frames, records requests and injects faults.

Threads and blocking sockets: asyncio's servers leave a client hanging that was accepted while they close, and a proxy
must not add faults of its own.
"""

from __future__ import annotations

import contextlib
import gc
import select
import socket
import struct
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from kafka.protocol.api_key import ApiKey

from lab.faults import DisconnectError, Fault, framed
from lab.request import Request
from lab.waiting import wait_until
from lab.wire import read_exactly

_PASS = Fault()
_CONNECT_TIMEOUT_S = 10.0
_MAX_FRAME = 100 * 1024 * 1024
"""The same as a broker's socket.request.max.bytes. A client that announces a longer frame is disconnected."""


@dataclass(eq=False)
class Rule:
    """A fault, and the requests that it applies to. A context manager that ends the fault."""

    proxy: Proxy
    fault: Fault
    broker: int | None
    api_key: int | None
    remaining: int | None
    hits: list[Request] = field(default_factory=list)
    """The requests that met the fault so far."""

    def __enter__(self) -> Rule:
        return self

    def __exit__(self, *_error: object) -> None:
        self.remove()

    def remove(self) -> None:
        """End the fault; it still applies to requests that met it already."""
        self.proxy.rules = [rule for rule in self.proxy.rules if rule is not self]

    def takes(self, request: Request) -> bool:
        """Whether the fault is for this request; counts it if so."""
        if self.broker not in (None, request.broker) or self.api_key not in (None, request.api_key):
            return False
        if self.api_key == ApiKey.AlterPartitionReassignments and not request.is_reassignment:
            return False
        if self.remaining == 0:
            return False
        if self.remaining is not None:
            self.remaining -= 1
        self.hits.append(request)
        return True


class Proxy:
    """The requests to all proxied listeners of a cluster, and the faults to inject."""

    def __init__(self) -> None:
        self.rules: list[Rule] = []
        self.listeners: list[ProxyListener] = []
        self._requests: list[Request] = []
        self._lock = threading.Lock()

    def inject(
        self, fault: Fault, *, broker: int | None = None, api_key: int | None = None, times: int | None = None
    ) -> Rule:
        """Inject a fault into the first ``times`` requests (None: all) to ``broker`` of ``api_key`` (None: any).

        A rule for AlterPartitionReassignments is for reassignments only (``Request.is_reassignment``).
        The newest matching rule wins. End it with ``rule.remove()``, or use it as a context manager.
        """
        rule = Rule(self, fault, broker, api_key, times)
        self.rules = [rule, *self.rules]
        return rule

    def clear(self) -> None:
        """End all faults and forget all requests."""
        self.rules = []
        self._requests.clear()

    def clear_once_idle(self) -> None:
        """End all faults, and forget all requests when every client has disconnected, so that none is in flight."""
        self.rules = []

        def is_idle() -> bool:
            # A client that an exception's traceback refers to stays connected until it is collected.
            gc.collect()
            return all(each.is_idle for each in self.listeners)

        wait_until(is_idle, what="earlier clients are gone")
        self.clear()

    def requests(self) -> list[Request]:
        """Return every request since the start or ``clear()``, in order of arrival."""
        return list(self._requests)

    def write_requests(self) -> list[Request]:
        """Return the requests that can change something (see ``lab.request.READ_KEYS``)."""
        return [request for request in self.requests() if request.is_write]

    def record(self, payload: bytes, broker: int) -> tuple[Request, Fault]:
        """Record a request, and return it with the fault that it meets."""
        request = Request.parse(payload, broker=broker, time=time.monotonic())
        with self._lock:
            self._requests.append(request)
            return request, next((rule.fault for rule in self.rules if rule.takes(request)), _PASS)


class ProxyListener:
    """One proxied port: open while its broker runs, so that a dead broker refuses connections here, too."""

    def __init__(self, proxy: Proxy, broker: int, listen: tuple[str, int], upstream: tuple[str, int]) -> None:
        self.upstream = upstream
        """Host and port of the broker; another broker's makes this address answer as that one."""
        self.proxy = proxy
        self.broker = broker
        self._listen = listen
        self._lock = threading.Lock()
        self._listening: socket.socket | None = None
        self._connections: set[_Connection] = set()
        proxy.listeners.append(self)

    @property
    def port(self) -> int:
        """The port that clients see."""
        return self._listen[1]

    @property
    def is_idle(self) -> bool:
        """Whether no client is connected, or about to be."""
        with self._lock:
            return not self._connections and not (self._listening and _is_readable(self._listening, 0))

    def open(self) -> None:
        """Accept connections."""
        if self._listening is None:
            family = socket.AF_INET6 if ":" in self._listen[0] else socket.AF_INET
            self._listening = socket.create_server(self._listen, family=family)
            self._listening.setblocking(False)
            _start(self._accept, self._listening)

    def close(self) -> None:
        """Accept no more connections, and close the open ones."""
        with self._lock:
            listening, self._listening = self._listening, None
            connections = list(self._connections)
        if listening is not None:
            _shut(listening)
            listening.close()
        for connection in connections:
            connection.shut()

    def _accept(self, listening: socket.socket) -> None:
        while _is_readable(listening):
            with self._lock:  # a connection is always either waiting or recorded
                if self._listening is not listening:
                    return
                try:
                    client, _address = listening.accept()
                except BlockingIOError:
                    continue  # closed already
                client.setblocking(True)
                connection = _Connection(self, client)
                self._connections.add(connection)
            _start(self._serve, connection)

    def _serve(self, connection: _Connection) -> None:
        try:
            connection.relay()
        finally:
            with self._lock:
                self._connections.discard(connection)


class _Connection:
    """One client's connection and the one made for it to the broker; both end together."""

    def __init__(self, listener: ProxyListener, client: socket.socket) -> None:
        self._listener = listener
        self._client = client
        self._broker: socket.socket | None = None
        self._pending: dict[int, tuple[Request, Fault]] = {}

    def relay(self) -> None:
        """Pass frames both ways until one side ends."""
        with self._client, contextlib.suppress(OSError), self._connect() as broker:
            self._broker = broker
            responses = _start(self._until_disconnected, self._responses, broker)
            self._until_disconnected(self._requests, broker)
            responses.join()

    def _connect(self) -> socket.socket:
        broker = socket.create_connection(self._listener.upstream, _CONNECT_TIMEOUT_S)
        broker.settimeout(None)
        return broker

    def shut(self) -> None:
        """End both sides; their threads notice."""
        _shut(self._client)
        if self._broker is not None:
            _shut(self._broker)

    def _until_disconnected(self, direction: Callable[[socket.socket], None], broker: socket.socket) -> None:
        try:
            direction(broker)
        except DisconnectError as error:
            with contextlib.suppress(OSError):
                self._client.sendall(error.last_bytes)
        except OSError:
            pass  # one side has closed: close the other, too
        finally:
            self.shut()

    def _requests(self, broker: socket.socket) -> None:
        while True:
            payload = _read_frame(self._client)
            request, fault = self._listener.proxy.record(payload, self._listener.broker)
            if fault.on_request(request):
                self._pending[request.correlation_id] = (request, fault)
                broker.sendall(framed(payload))

    def _responses(self, broker: socket.socket) -> None:
        while True:
            payload = _read_frame(broker)
            (correlation_id,) = struct.unpack_from(">i", payload)
            request, fault = self._pending.pop(correlation_id)
            answer = fault.on_response(request, payload)
            if answer is not None:
                self._client.sendall(answer)


def _start(target: Callable[..., None], *args: object) -> threading.Thread:
    thread = threading.Thread(target=target, args=args, name="lab-proxy", daemon=True)
    thread.start()
    return thread


def _is_readable(listening: socket.socket, timeout_ms: int | None = None) -> bool:
    """Whether a connection waits to be accepted, or the socket is closed."""
    poll = select.poll()
    try:
        poll.register(listening, select.POLLIN)
    except ValueError:
        return True  # closed
    return bool(poll.poll(timeout_ms))


def _shut(connection: socket.socket) -> None:
    with contextlib.suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)


def _read_frame(source: socket.socket) -> bytes:
    (size,) = struct.unpack(">i", read_exactly(source, 4))
    if not 0 <= size <= _MAX_FRAME:
        raise ConnectionError(f"not a Kafka frame: {size} bytes announced")
    return read_exactly(source, size)
