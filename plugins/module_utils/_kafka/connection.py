# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""One connection to one broker, with a limit for everything. Decides nothing.

kafka-python implements the protocol, TLS and SASL. What may wait for another server, such as DNS or a KDC, is done
before: kafka-python would do it on the one I/O thread, and delay every connection.
"""

from __future__ import annotations

import logging
import os
import socket
import threading
import time
from collections.abc import Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from contextlib import suppress
from typing import Any

from .._model.partition import Cause
from .client_configs import credentials_for, kafka_python_config
from .error_codes import Stage, broker_call_error
from .errors import BrokerCallError, CredentialsError, ThrottledError
from .host_names import HostNames
from .own_cluster import OwnCluster
from .settings import Address, ConnectionSettings

with suppress(ImportError):  # a missing library is reported before the module starts (_module/run.py)
    import kafka.errors as kafka_errors
    from kafka.net.inet import KafkaNetSocket
    from kafka.net.manager import KafkaConnectionManager
    from kafka.net.selector import NetworkSelector
    from kafka.protocol.admin import DescribeClusterRequest


# At DEBUG kafka-python logs the bytes of requests, passwords included. At ERROR it logs answers that it cannot decode,
# which it raises as exceptions too.
logging.getLogger("kafka").setLevel(logging.CRITICAL + 1)

_NODE = "bootstrap-0"
_THROTTLE = "throttle"
"""Why kafka-python pauses a connection, after an answer with a throttle time."""
_BROKERS = 1
"""The endpoint type of brokers in DescribeCluster (KIP-919)."""
_GRACE_MS = 50
_POLL_INTERVAL_S = 0.02


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


_RESOLVED = "kafkaops-resolved"


with suppress(NameError):

    class _ResolvedSocket(KafkaNetSocket):
        """Connects to addresses that are found before, one after another, instead of resolving the host's name.

        kafka-python chooses this class by the scheme of its proxy_url. TLS and Kerberos still get the name.
        """

        SCHEMES = (_RESOLVED,)

        def __init__(self, proxy_url: str) -> None:
            self._addresses = proxy_url.removeprefix(f"{_RESOLVED}:").split(",")

        def dns_lookup(self, _host: str, port: int, raise_error: bool = False) -> list[Any]:
            kind, flags = socket.SOCK_STREAM, socket.AI_NUMERICHOST
            return [
                each
                for address in self._addresses
                for each in socket.getaddrinfo(address, port, type=kind, flags=flags)
            ]


class Connection:
    """One TCP connection to one address, opened at the first call.

    It is never opened again. So if the first and the last answer came over it, the broker did not restart in between.

    Once the id of ``own_cluster`` is known, nothing is sent to a broker before it has returned the same id.
    """

    def __init__(
        self, settings: ConnectionSettings, address: Address, names: HostNames, own_cluster: OwnCluster
    ) -> None:
        self.address = address
        self._names = names
        self._own_cluster = own_cluster
        self._is_identified = False
        self._selector = _io_loop()
        self._settings = settings
        self._config = kafka_python_config(settings)
        self._credentials = credentials_for(settings)
        if self._credentials is not None:
            self._config |= self._credentials.kafka_python_config()
        self._manager: Any = None
        self._connection: Any = None
        self._lock = threading.Lock()
        self._closed: Future[None] = Future()

    def call(self, request: Any, *, timeout_ms: int | None = None) -> Any:
        """Send one request and return the decoded answer.

        ``timeout_ms`` limits this attempt, the lookup of the name and connecting included. The default is the settings'
        request_timeout_ms.

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
        if self._manager is None:
            self._resolve(name, limit_ms)
        if self._credentials is not None:
            left_s = max(0.1, round(deadline - time.monotonic(), 1))
            try:
                self._credentials.prepare(self.address.host, left_s, is_connected=self._connection is not None)
            except CredentialsError as error:
                raise BrokerCallError(str(self.address), Cause.NOT_AUTHORIZED, str(error), request=name) from None
        if not (self._is_identified or isinstance(requests[0], DescribeClusterRequest)):
            self._identify(name, deadline, limit_ms)
        left_ms = _left_ms(deadline)
        limits = [min(left_ms + place * limit_ms, total_limit_ms) for place in range(len(requests))]
        answers = self._run(name, requests, limits, limit_ms)
        for request, answer in zip(requests, answers, strict=True):
            if isinstance(request, DescribeClusterRequest) and request.endpoint_type == _BROKERS:
                self._take_description(answer, name)
        return answers

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
        with self._lock:
            if not self._closed.done():
                self._closed.set_result(None)
        if self._manager is not None:
            self._selector.call_soon_threadsafe(self._manager.close)

    def _resolve(self, request: str, limit_ms: int) -> None:
        """Find the addresses of the host. Raises BrokerCallError."""

        def failed(detail: str, hint: str = "") -> BrokerCallError:
            return BrokerCallError(str(self.address), Cause.UNREACHABLE, detail, request=request, hint=hint)

        host = self.address.host
        found = self._names.find(host)
        either: list[Future[Any]] = [found, self._closed]
        wait(either, limit_ms / 1000, FIRST_COMPLETED)
        with self._lock:
            if self._closed.done():
                raise failed("closed")
            if not found.done():
                raise failed(f"the name {host} was not resolved within {limit_ms / 1000:g} s", "check DNS on this host")
            if error := found.exception():
                why = f": {error.strerror.lower()}" if isinstance(error, OSError) and error.strerror else ""
                raise failed(f"this host finds no address for that name{why}", "check the name, and DNS here")
            if self._manager is None:
                self._manager = KafkaConnectionManager(
                    self._selector,
                    bootstrap_servers=[str(self.address)],
                    proxy_url=f"{_RESOLVED}:{','.join(found.result().addresses)}",
                    **self._config,
                )

    def _identify(self, name: str, deadline: float, limit_ms: int) -> None:
        """Check the broker's cluster before a request is sent. Raises BrokerCallError: the request was not sent."""
        if self._own_cluster.cluster_id is None:
            return
        try:
            (answer,) = self._run(name, [DescribeClusterRequest()], [_left_ms(deadline)], limit_ms)
            self._take_description(answer, name)
        except BrokerCallError as error:
            error.was_sent = error.may_be_executed = False
            raise

    def _take_description(self, answer: Any, name: str) -> None:
        if not answer.error_code:
            self._own_cluster.check(self.address, answer.cluster_id, name)
        # A broker always answers it. A controller refuses: it is no broker, our principal lacks ALTER, or there is no
        # quorum yet. Who asks controllers compares their cluster (controllers.py).
        self._is_identified = True

    def _run(self, name: str, requests: Sequence[Any], limits_ms: Sequence[int], limit_ms: int) -> list[Any]:
        try:
            answers: list[Any] = self._selector.run(self._call_pipelined, requests, limits_ms)
            return answers
        except Exception as error:  # noqa: BLE001 - kafka-python reads what a broker sent, and raises any kind of error
            address, stage = str(self.address), self._stage()
            raise broker_call_error(error, self._settings, address, name, stage, limit_ms=limit_ms) from None

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


def _left_ms(deadline: float) -> int:
    return max(1, int((deadline - time.monotonic()) * 1000))
