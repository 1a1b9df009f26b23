# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Brokers that are found by name: a name that is resolved late or never delays no others, and TLS checks the name."""

from __future__ import annotations

import socket
import ssl
import threading
import time
from collections.abc import Iterator
from concurrent.futures import Future
from pathlib import Path

import pytest
from kafka.protocol.admin import DescribeClusterRequest

from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.errors import BrokerCallError
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.host_names import HostNames
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.settings import Address, ConnectionSettings
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.wire import Wire
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.background import in_background
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.partition import Cause
from lab.tls import Certificates
from unit.kafka.fake_listener import FakeListener, answer_as_broker, listening

LIMIT_MS = 400
GENEROUS_MS = 20_000
SLACK_S = 3.0
DEAD = Address("dead.invalid", 9092)


class FakeResolver:
    """Finds no address for ``DEAD`` once ``end`` is set. Other names have the addresses in ``known``, after a while."""

    def __init__(self, known: tuple[str, ...] = ("127.0.0.1",), seconds: float = 0) -> None:
        self.begun = threading.Event()
        self.end = threading.Event()
        self._known = known
        self._seconds = seconds

    def __call__(self, host: str) -> tuple[str, ...]:
        self.begun.set()
        if host == DEAD.host:
            self.end.wait(GENEROUS_MS / 1000)
            raise socket.gaierror(socket.EAI_AGAIN, "Temporary failure in name resolution")
        time.sleep(self._seconds)
        return self._known


@pytest.fixture
def resolver() -> Iterator[FakeResolver]:
    found = FakeResolver()
    yield found
    found.end.set()


@pytest.fixture
def listener() -> Iterator[FakeListener]:
    with listening(answer_as_broker("abc")) as found:
        yield found


def a_wire(resolver: FakeResolver, limit_ms: int = GENEROUS_MS) -> Wire:
    settings = ConnectionSettings(bootstrap_servers=(DEAD,), request_timeout_ms=limit_ms)
    return Wire(settings, names=HostNames(resolver))


def ask(wire: Wire, address: Address) -> str:
    return str(wire.call(address, DescribeClusterRequest()).cluster_id)


def asking(wire: Wire, address: Address) -> Future[str]:
    return in_background(lambda: ask(wire, address), "test")


def failure(wire: Wire, address: Address) -> BrokerCallError:
    with pytest.raises(BrokerCallError) as caught:
        ask(wire, address)
    return caught.value


def test_a_name_that_is_not_resolved_in_time_is_reported_as_such(resolver: FakeResolver) -> None:
    with a_wire(resolver, LIMIT_MS) as wire:
        started = time.monotonic()
        error = failure(wire, DEAD)
        assert time.monotonic() - started < LIMIT_MS / 1000 + SLACK_S
    assert (error.cause, error.was_sent) == (Cause.UNREACHABLE, False)
    assert str(error) == (
        "DescribeCluster at dead.invalid:9092: unreachable: the name dead.invalid was not resolved within 0.4 s (check "
        "DNS on this host)"
    )


def test_a_name_without_an_address_is_reported_as_such(resolver: FakeResolver) -> None:
    resolver.end.set()
    with a_wire(resolver) as wire:
        error = failure(wire, DEAD)
    assert error.cause is Cause.UNREACHABLE
    assert error.detail == "this host finds no address for that name: temporary failure in name resolution"


def test_no_open_connection_waits_for_a_name(resolver: FakeResolver, listener: FakeListener) -> None:
    """Keep the heartbeats of the lock going: they have a separate wire."""
    with a_wire(resolver) as wire:
        beats = wire.separate_wire
        ask(beats, listener.address)
        dead = asking(wire, DEAD)
        started = time.monotonic()
        assert ask(beats, listener.address) == "abc"
        assert time.monotonic() - started < SLACK_S
        assert not dead.done()


def test_no_broker_waits_for_the_name_of_another_one(listener: FakeListener) -> None:
    resolver = FakeResolver(seconds=0.3)
    addresses = [Address(f"kafka-{number}", listener.address.port) for number in range(40)]
    with a_wire(resolver) as wire:
        started = time.monotonic()
        answers = wire.in_parallel(lambda address: ask(wire, address), addresses)
        assert time.monotonic() - started < 0.3 + SLACK_S
    assert answers == dict.fromkeys(addresses, "abc")


def test_every_address_of_a_name_is_tried(listener: FakeListener) -> None:
    """Find a broker by its second address: at the first one nobody listens."""
    with a_wire(FakeResolver(("127.0.0.2", "127.0.0.1"))) as wire:
        assert ask(wire, Address("kafka-1", listener.address.port)) == "abc"


def test_closing_ends_a_call_that_waits_for_a_name(resolver: FakeResolver) -> None:
    wire = a_wire(resolver)
    waiting = asking(wire, DEAD)
    assert resolver.begun.wait(GENEROUS_MS / 1000)
    wire.close()
    error = waiting.exception(SLACK_S)
    assert isinstance(error, BrokerCallError)
    assert error.detail == "closed"


def test_tls_gets_the_name_and_not_the_address(tmp_path: Path) -> None:
    certificates = Certificates(tmp_path / "files")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificates.server("wrong_host"))
    indicated: list[str | None] = []

    def note_name(_socket: object, name: str | None, _context: object) -> None:
        indicated.append(name)

    context.sni_callback = note_name

    def answer(connection: socket.socket) -> None:
        with context.wrap_socket(connection, server_side=True) as over_tls:
            answer_as_broker("abc")(over_tls)

    with listening(answer) as listener:
        by_name = Address("elsewhere.example", listener.address.port)
        settings = ConnectionSettings(
            bootstrap_servers=(by_name,), security_protocol="SSL", ssl_cafile=str(certificates.ca)
        )
        with Wire(settings, names=HostNames(FakeResolver())) as wire:
            assert ask(wire, by_name) == "abc"
            assert "certificate is for another host" in failure(wire, listener.address).hint
    assert indicated[0] == "elsewhere.example"
