# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Send any Kafka request to one broker, or to several until the first answer. Decides nothing.

kafka-python's own bootstrap picks one server at random and waits for it up to the whole timeout, and a frozen broker
accepts connections forever. Here each address has its own connection, each attempt has its own limit, and a silent
broker delays a call by no more than _HEAD_START_S.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import Any, Self, TypeVar

from .._model.partition import Cause
from .connection import Connection
from .error_codes import MISMATCHED_ENDPOINT_TYPE
from .errors import BrokerCallError, NoBrokerAnswersError
from .host_names import HostNames, names_of_process
from .own_cluster import OwnCluster
from .settings import NO_CONTROLLERS, Address, ConnectionSettings, ControllerListeners
from .views import Views

_HEAD_START_S = 0.5
"""Time that one broker has to answer before the next broker is asked too."""
_MAX_THREADS = 64

Key = TypeVar("Key")
Value = TypeVar("Value")


class Wire:
    """All connections of one run.

    ``controllers`` are the controllers' own listeners, as far as the operator names them. ``names`` resolves the hosts'
    names; None for the names of this process. ``own_cluster`` is the cluster of the brokers at addresses that are known
    before; None if the first broker that describes its cluster decides.
    """

    def __init__(
        self,
        settings: ConnectionSettings,
        controllers: ControllerListeners = NO_CONTROLLERS,
        *,
        names: HostNames | None = None,
        own_cluster: OwnCluster | None = None,
    ) -> None:
        self.settings = settings
        self.controllers = controllers
        self.own_cluster = own_cluster if own_cluster is not None else OwnCluster()
        """Brokers of another cluster get no request but DescribeCluster."""
        self._names = names or names_of_process()
        self.controller_side: Wire = self if controllers.settings is None else Wire(controllers.settings, names=names)
        """For requests to the controllers' own listeners."""
        self._connections: dict[Address, Connection] = {}
        self._brokers: dict[int, Address] = {}
        self._asked_last: set[Address] = set()
        """Brokers that failed last, or were silent: else a frozen one would delay each call by a head start."""
        self._attempts = ThreadPoolExecutor(max_workers=_MAX_THREADS, thread_name_prefix="kafkaops-wire")
        """The threads of call_any. An attempt waits for no other one."""
        self.silent: set[Address] = set()
        """Brokers that did not answer when they were probed last (``probe_brokers``)."""
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
        self._attempts.shutdown(wait=False, cancel_futures=True)
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
                self._separate_wire = Wire(self.settings, names=self._names, own_cluster=self.own_cluster)
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
                found = self._connections[address] = self.fresh_connection(address)
                if self._is_closed:
                    # An attempt of call_any may begin after the wire was closed: make its call fail at once.
                    found.close()
            return found

    def fresh_connection(self, address: Address) -> Connection:
        """Return a separate connection that no other call uses or replaces. The caller closes it."""
        return Connection(self.settings, address, self._names, self.own_cluster)

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
                pending.add(self._attempts.submit(self._attempt, address, make_request, timeout_ms))
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
        """Call ``work`` for every key in parallel. A BrokerCallError becomes the value; other errors are raised.

        ``work`` may use all methods of a wire. So its threads are not those of call_any: all of them could wait for one
        more.
        """
        threads = ThreadPoolExecutor(max_workers=_MAX_THREADS, thread_name_prefix="kafkaops-wire")
        futures = {key: threads.submit(work, key) for key in keys}
        results: dict[Key, Value | BrokerCallError] = {}
        try:
            for key, future in futures.items():
                try:
                    results[key] = future.result()
                except BrokerCallError as error:
                    results[key] = error
        finally:
            threads.shutdown(wait=False, cancel_futures=True)
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
