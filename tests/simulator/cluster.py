# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Simulated brokers on loopback ports: a hundred listeners in one process, a thread for each connection.

Answers to questions about logs are encoded once and kept, so that a repeated gather of a million replicas costs the
simulator next to nothing, and measures the client.
"""

from __future__ import annotations

import contextlib
import selectors
import socket
import struct
import threading
from collections.abc import Sequence

from lab.faults import DisconnectError, Fault
from lab.proxy import Proxy
from lab.request import Request
from lab.wire import read_exactly
from simulator import messages
from simulator.broker import Broker
from simulator.columns import BY_COLUMN
from simulator.faults import Lie, Throttle
from simulator.world import World

_LOOPBACK = "127.0.0.1"
_KEPT = frozenset(
    api.key
    for api in (messages.LIST_OFFSETS, messages.FETCH, messages.DESCRIBE_LOG_DIRS, messages.DESCRIBE_TOPIC_PARTITIONS)
)
_NONE = Fault()


class SimulatedCluster:
    """The brokers of one world, listening. A context manager.

    Args:
        world: what they hold; changes to it show at once.
        native_key: the API key of GetReplicaLogInfo; None as in every released Kafka.
        designated_elections: ElectLeaders in version 3.
        is_recorded: every request is kept in ``proxy.requests()``, as by the lab's proxy. Not for a million replicas.
    """

    def __init__(
        self,
        world: World,
        *,
        native_key: int | None = None,
        designated_elections: bool = False,
        is_recorded: bool = True,
    ) -> None:
        self.world = world
        self.native_key = native_key
        self.proxy = Proxy()
        """The recorded requests and the faults, as in the lab: ``proxy.inject(faults.Delay(2), broker=3)``."""
        self._is_recorded = is_recorded
        self._apis = messages.apis(native_key, designated_elections=designated_elections)
        self._listeners: dict[int, socket.socket] = {}
        self._connections: set[socket.socket] = set()
        self._lock = threading.Lock()
        self._kept: dict[bytes, bytes] = {}
        self._generation = world.generation
        self._threads: list[threading.Thread] = []

    def __enter__(self) -> SimulatedCluster:
        self.start()
        return self

    def __exit__(self, *_error: object) -> None:
        self.stop()

    @property
    def ports(self) -> dict[int, int]:
        """By broker id."""
        return {broker_id: listener.getsockname()[1] for broker_id, listener in self._listeners.items()}

    def bootstrap(self, brokers: Sequence[int] = ()) -> str:
        """Return the bootstrap servers: the first three brokers unless given otherwise."""
        ports = self.ports
        return ",".join(f"{_LOOPBACK}:{ports[each]}" for each in brokers or list(ports)[:3])

    def start(self) -> None:
        """Listen for every broker of the world."""
        for broker_id in (*self.world.broker_ids, *self.world.fenced):
            self._listeners[broker_id] = socket.create_server((_LOOPBACK, 0), backlog=64)
        self._brokers = {each: Broker(self.world, each, self.ports, self._apis) for each in self._listeners}
        self._wakeup, self._sleeper = socket.socketpair()
        self._start(self._accept)

    def stop(self) -> None:
        """End every connection and listener."""
        self._wakeup.close()
        with self._lock:
            connections = list(self._connections)
        for connection in connections:
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join(5)
        for listener in self._listeners.values():
            listener.close()
        self._sleeper.close()

    def _start(self, target: object, *args: object) -> None:
        thread = threading.Thread(target=target, args=args, name="simulator", daemon=True)  # type: ignore[arg-type]
        self._threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        with selectors.DefaultSelector() as selector:
            selector.register(self._sleeper, selectors.EVENT_READ)
            for broker_id, listener in self._listeners.items():
                selector.register(listener, selectors.EVENT_READ, broker_id)
            while True:
                for key, _events in selector.select():
                    if key.fileobj is self._sleeper:
                        return
                    connection, _peer = key.fileobj.accept()  # type: ignore[union-attr]
                    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                    with self._lock:
                        self._connections.add(connection)
                    self._start(self._serve, connection, self._brokers[key.data])

    def _serve(self, connection: socket.socket, broker: Broker) -> None:
        with connection:
            try:
                while True:
                    (size,) = struct.unpack(">i", read_exactly(connection, 4))
                    answer = self._answer(broker, read_exactly(connection, size))
                    if answer is not None:
                        connection.sendall(answer)
            except DisconnectError as error:
                with contextlib.suppress(OSError):
                    connection.sendall(error.last_bytes)
            except TimeoutError:
                raise  # sockets have no timeout here: an action of a test's fault timed out
            except OSError:
                pass  # the client has disconnected, or the simulator ends
            finally:
                with self._lock:
                    self._connections.discard(connection)

    def _answer(self, broker: Broker, payload: bytes) -> bytes | None:
        request, fault = self._recorded(payload, broker.broker_id)
        if not fault.on_request(request):
            return None
        return fault.on_response(request, self._payload(broker, request, fault))

    def _recorded(self, payload: bytes, broker_id: int) -> tuple[Request, Fault]:
        if self._is_recorded:
            return self.proxy.record(payload, broker_id)
        return Request.parse(payload, broker=broker_id, time=0.0), _NONE

    def _payload(self, broker: Broker, request: Request, fault: Fault) -> bytes:
        """Return the answer without its length."""
        correlation_id = request.payload[4:8]
        is_by_id = (request.api_key, request.api_version) == (messages.FETCH.key, messages.FETCH_BY_ID_VERSION)
        is_kept = (request.api_key in _KEPT and not is_by_id) or request.api_key == self.native_key
        if isinstance(fault, Lie | Throttle) or not is_kept:
            return self._encoded(broker, request, fault)
        with self._lock:
            if self._generation != self.world.generation:
                self._kept.clear()
                self._generation = self.world.generation
        key = b"%d:%b%b" % (broker.broker_id, request.payload[:4], request.payload[8:])
        kept = self._kept.get(key)
        if kept is None:
            kept = self._kept[key] = self._encoded(broker, request, fault)[4:]
        return correlation_id + kept

    def _encoded(self, broker: Broker, request: Request, fault: Fault) -> bytes:
        api = self._apis.get(request.api_key)
        if api is None:
            raise DisconnectError  # as a real broker does for an unknown request
        version = request.api_version
        if not api.min_version <= version <= api.max_version:
            if api is not messages.API_VERSIONS:
                raise DisconnectError
            version = 0
        by_column = BY_COLUMN.get((request.api_key, version))
        if by_column is not None and not isinstance(fault, Lie | Throttle):
            return by_column(self.world, broker.broker_id, request)
        asked = api.request.decode(request.payload, version=version, header=True)
        response = broker.answers[request.api_key](asked)
        if isinstance(fault, Lie | Throttle):
            fault.on_message(request, response)
        response.API_VERSION = version
        response.with_header(correlation_id=request.correlation_id)
        return bytes(response.encode(header=True))
