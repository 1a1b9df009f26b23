# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Send any Kafka request to one broker, or to several until the first answer. Decides nothing.

kafka-python implements the protocol, TLS and SASL. Its own bootstrap picks one server at random and waits for it up to
the whole timeout, and a frozen broker accepts connections forever. Here each address has its own connection, each
attempt has its own limit, and a silent broker delays a call by no more than _HEAD_START_S.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import suppress
from typing import Any, Self, TypeVar

from .._model.partition import Cause
from .client_configs import credentials_for, kafka_python_config
from .error_codes import MISMATCHED_ENDPOINT_TYPE, Stage, broker_call_error
from .errors import BrokerCallError, CredentialsError, NoBrokerAnswersError, ThrottledError
from .settings import NO_CONTROLLERS, Address, ConnectionSettings, ControllerListeners
from .views import Views

with suppress(ImportError):  # a missing library is reported before the module starts (_module/run.py)
    import kafka.errors as kafka_errors
    from kafka.net.manager import KafkaConnectionManager
    from kafka.net.selector import NetworkSelector


# At DEBUG kafka-python logs the bytes of requests, passwords included. At ERROR it logs answers that it cannot decode,
# which it raises as exceptions too.
logging.getLogger("kafka").setLevel(logging.CRITICAL + 1)

_NODE = "bootstrap-0"
_THROTTLE = "throttle"
"""Why kafka-python pauses a connection, after an answer with a throttle time."""
_HEAD_START_S = 0.5
"""Time that one broker has to answer before the next broker is asked too."""
_GRACE_MS = 50
_POLL_INTERVAL_S = 0.02
_MAX_THREADS = 64

Key = TypeVar("Key")
Value = TypeVar("Value")


_io_loops: dict[int, NetworkSelector] = {}
_io_loops_lock = threading.Lock()


def _io_loop() -> NetworkSelector:
    """Return the one thread of this process that encodes, sends, receives and decodes.

    Only one, because kafka-python 3.0.12 creates the codec of a message at its first use, and two threads must not do
    that at once (StructField.compiled_decode_from temporarily replaces a field of the class). One for each process,
    because a fork does not copy threads.
    """
    with _io_loops_lock:
        loop = _io_loops.get(os.getpid())
        if loop is None:
            loop = _io_loops[os.getpid()] = NetworkSelector(client_id="kafkaops.recovery", slow_task_threshold_secs=0)
            loop.start()
        return loop


class Connection:
    """One TCP connection to one address, opened at the first call.

    It is never opened again. So if the first and the last answer came over it, the broker did not restart in between.
    """

    def __init__(self, settings: ConnectionSettings, address: Address) -> None:
        self.address = address
        self._selector = _io_loop()
        self._settings = settings
        config = kafka_python_config(settings)
        self._credentials = credentials_for(settings)
        if self._credentials is not None:
            config |= self._credentials.kafka_python_config()
        self._manager = KafkaConnectionManager(self._selector, bootstrap_servers=[str(address)], **config)
        self._connection: Any = None
        self._lock = threading.Lock()

    def call(self, request: Any, *, timeout_ms: int | None = None) -> Any:
        """Send one request and return the decoded answer.

        ``timeout_ms`` limits this attempt, connecting included. The default is the settings' request_timeout_ms.

        Raises BrokerCallError.
        """
        limit_ms = timeout_ms if timeout_ms is not None else self._settings.request_timeout_ms
        return self.call_pipelined([request], limit_ms, limit_ms)[0]

    def call_pipelined(self, requests: Sequence[Any], limit_ms: int, total_limit_ms: int) -> list[Any]:
        """Send requests of one kind without waiting for answers in between, and return the decoded answers.

        The broker processes them one after another: each may take ``limit_ms``, and all of them ``total_limit_ms``.

        Raises BrokerCallError.
        """
        name = requests[0].name.removesuffix("Request")
        deadline = time.monotonic() + limit_ms / 1000
        if self._credentials is not None:
            try:
                self._credentials.prepare(self.address.host, limit_ms / 1000, is_connected=self._connection is not None)
            except CredentialsError as error:
                raise BrokerCallError(str(self.address), Cause.NOT_AUTHORIZED, str(error), request=name) from None
        try:
            left_ms = max(1, int((deadline - time.monotonic()) * 1000))
            limits = [min(left_ms + place * limit_ms, total_limit_ms) for place in range(len(requests))]
            answers: list[Any] = self._selector.run(self._call_pipelined, requests, limits)
            return answers
        except (kafka_errors.KafkaError, OSError, ValueError, RuntimeError) as error:
            raise broker_call_error(error, self._settings, str(self.address), name, self._stage()) from None

    def supports(self, request_class: Any, version: int) -> bool:
        """Return whether the broker supports this version of the request. Valid after a successful call."""
        versions = self._connection.broker_version_data.api_versions
        lowest, highest = versions.get(request_class.API_KEY, (0, -1))
        return bool(lowest <= version <= highest)

    @property
    def was_lost(self) -> bool:
        """Return whether the connection was opened and then closed: by the broker, a proxy, or because it was idle."""
        return self._connection is not None and self._connection.closed

    def close(self) -> None:
        """Close the connection. A call that still waits for an answer fails."""
        self._selector.call_soon_threadsafe(self._manager.close)

    def _stage(self) -> Stage:
        connection = self._connection
        if connection is None or connection.parser is None:
            return Stage.CONNECTING
        if connection.init_future.succeeded():
            return Stage.READY
        return Stage.GREETING if connection.broker_version_data is None else Stage.AUTHENTICATING

    async def _call_pipelined(self, requests: Sequence[Any], limits_ms: Sequence[int]) -> list[Any]:
        answers = [await self._send(request, limit_ms) for request, limit_ms in zip(requests, limits_ms, strict=True)]
        return [await each for each in answers]

    async def _send(self, request: Any, limit_ms: int) -> Any:
        """Send a request, and return the future of its answer."""
        if self._manager.closed:
            raise kafka_errors.KafkaConnectionError("closed")
        with self._lock:
            if self._connection is None:
                self._connection = self._manager.get_connection(
                    _NODE, timeout_ms=limit_ms, pop_on_close=False, refresh_metadata_on_err=False
                )
        deadline = time.monotonic() + limit_ms / 1000
        # kafka-python does not limit a TLS handshake, so wait_for limits the whole set-up. Its limit is a little later
        # than the limit of the TCP connect, whose error says more.
        if not self._connection.init_future.succeeded():
            await self._manager.wait_for(self._connection.init_future, limit_ms + _GRACE_MS)
        # While a broker throttles us, kafka-python fails every request to it instead of waiting.
        while self._connection.paused and time.monotonic() < deadline:
            await self._selector.sleep(_POLL_INTERVAL_S)
        if _THROTTLE in self._connection.paused:
            raise ThrottledError(str(self.address), limit_ms, request.name.removesuffix("Request"))
        left_ms = max(1.0, (deadline - time.monotonic()) * 1000)
        return self._connection.send_request(request, request_timeout_ms=left_ms)


class Wire:
    """All connections of one run.

    ``controllers`` are the controllers' own listeners, as far as the operator names them.
    """

    def __init__(
        self,
        settings: ConnectionSettings,
        controllers: ControllerListeners = NO_CONTROLLERS,
    ) -> None:
        self.settings = settings
        self.controllers = controllers
        self.controller_side: Wire = self if controllers.settings is None else Wire(controllers.settings)
        """For requests to the controllers' own listeners."""
        self._connections: dict[Address, Connection] = {}
        self._brokers: dict[int, Address] = {}
        self._asked_last: set[Address] = set()
        """Brokers that failed last, or were silent: else a frozen one would delay each call by a head start."""
        self._executor = ThreadPoolExecutor(max_workers=_MAX_THREADS, thread_name_prefix="kafkaops-wire")
        self._lock = threading.Lock()
        self._is_closed = False
        self._separate_wire: Wire | None = None
        self.views = Views()
        """Which brokers have current metadata."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    def close(self) -> None:
        """Close all connections. Calls that are not answered yet fail."""
        with self._lock:
            self._is_closed = True
            connections = [*self._connections.values()]
        for connection in connections:
            connection.close()
        self._executor.shutdown(wait=False, cancel_futures=True)
        if self._separate_wire is not None:
            self._separate_wire.close()
        if self.controller_side is not self:
            self.controller_side.close()

    @property
    def separate_wire(self) -> Wire:
        """Return a wire with connections of its own, for requests that must not wait behind others.

        A broker processes the requests of one connection one after another.
        """
        with self._lock:
            if self._separate_wire is None:
                self._separate_wire = Wire(self.settings)
                if self._is_closed:
                    self._separate_wire.close()
            return self._separate_wire

    def remember_addresses(self, brokers: Mapping[int, Address]) -> None:
        """Remember the addresses of brokers, by id, as further addresses to ask."""
        self._brokers.update(brokers)
        self.views.remember_addresses(brokers)

    def connection(self, address: Address) -> Connection:
        """Return the open connection to an address, or a new one if the last one failed or was closed while idle."""
        with self._lock:
            found = self._connections.get(address)
            if found is not None and found.was_lost:
                # Brokers, proxies and firewalls close connections that are idle for minutes.
                found.close()
                found = None
            if found is None:
                found = self._connections[address] = Connection(self.settings, address)
                if self._is_closed:
                    # An attempt of call_any may begin after the wire was closed: make its call fail at once.
                    found.close()
            return found

    def fresh_connection(self, address: Address) -> Connection:
        """Return a separate connection that no other call uses or replaces. The caller closes it."""
        return Connection(self.settings, address)

    def call(self, address: Address, request: Any, *, timeout_ms: int | None = None) -> Any:
        """Send one request to one address and return the decoded answer.

        Raises BrokerCallError. The next call then opens a new connection.
        """
        return self.with_connection(address, lambda connection: connection.call(request, timeout_ms=timeout_ms))

    def with_connection(self, address: Address, work: Callable[[Connection], Value]) -> Value:
        """Call ``work`` with the open connection to one address and return its result.

        Raises BrokerCallError. The next call then opens a new connection.
        """
        connection = self.connection(address)
        try:
            return work(connection)
        except BrokerCallError:
            with self._lock:
                if self._connections.get(address) is connection:
                    del self._connections[address]
            connection.close()
            raise

    def call_current(self, make_request: Callable[[], Any], name: str) -> tuple[Any, Address]:
        """Send a request as ``call_any`` does, and accept only answers of brokers with current metadata (views.py).

        Raises NoBrokerAnswersError with every failure.
        """
        return self.views.ask(self, make_request, name)

    def call_any(
        self,
        make_request: Callable[[], Any],
        name: str,
        *,
        timeout_ms: int | None = None,
        avoid: Collection[Address] = (),
    ) -> tuple[Any, Address]:
        """Send a request to one broker after another, and return the first answer and the address that gave it.

        Only for requests that may be sent twice. The next broker is asked when one fails, and also when one does not
        answer within _HEAD_START_S, because a frozen broker accepts connections too. Addresses in ``avoid`` are not
        asked.

        ``make_request`` makes a new request for each attempt, because sending a request writes its version into it.

        Raises NoBrokerAnswersError with every failure.
        """
        failures: list[BrokerCallError] = []
        pending: set[Future[tuple[Any, Address]]] = set()
        waiting = [each for each in self.known_addresses() if each not in avoid]
        while waiting or pending:
            if waiting:
                address = waiting.pop(0)
                pending.add(self._executor.submit(self._attempt, address, make_request, timeout_ms))
            done, pending = wait(pending, timeout=_HEAD_START_S if waiting else None, return_when=FIRST_COMPLETED)
            if not done:
                self._asked_last.add(address)
            for attempt in done:
                error = attempt.exception()
                if error is None:
                    return attempt.result()
                if not isinstance(error, BrokerCallError):
                    raise error
                failures.append(error)
        raise NoBrokerAnswersError(name, failures)

    def in_parallel(self, work: Callable[[Key], Value], keys: Iterable[Key]) -> dict[Key, Value | BrokerCallError]:
        """Call ``work`` for every key in parallel. A BrokerCallError becomes the value; other errors are raised."""
        futures = {key: self._executor.submit(work, key) for key in keys}
        results: dict[Key, Value | BrokerCallError] = {}
        for key, future in futures.items():
            try:
                results[key] = future.result()
            except BrokerCallError as error:
                results[key] = error
        return results

    def _attempt(
        self, address: Address, make_request: Callable[[], Any], timeout_ms: int | None
    ) -> tuple[Any, Address]:
        request = make_request()
        try:
            answer = self.call(address, request, timeout_ms=timeout_ms)
            if getattr(answer, "error_code", 0) == MISMATCHED_ENDPOINT_TYPE:
                hint = "give its address in bootstrap_controllers, and brokers in bootstrap_servers"
                name = request.name.removesuffix("Request")
                raise BrokerCallError(str(address), Cause.ERROR, "this is a controller", request=name, hint=hint)
        except BrokerCallError:
            self._asked_last.add(address)
            raise
        self._asked_last.discard(address)
        return answer, address

    def known_addresses(self) -> Sequence[Address]:
        """Return the addresses of all brokers, in the order in which they are asked."""
        bootstrap = self.settings.bootstrap_servers
        # The operator chose the bootstrap servers, so they come first.
        known = [*bootstrap, *(address for address in self._brokers.values() if address not in bootstrap)]
        return sorted(known, key=self._asked_last.__contains__)
