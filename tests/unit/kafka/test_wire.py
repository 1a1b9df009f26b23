# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The wire on real sockets: calls to silent, broken and false listeners end within their limit, with a cause."""

from __future__ import annotations

import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest
from kafka.protocol.admin import DescribeClusterRequest, ElectLeadersRequest

from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.errors import (
    BrokerCallError,
    NoBrokerAnswersError,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.settings import Address, ConnectionSettings
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.wire import Wire
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.partition import Cause
from lab.waiting import wait_until
from unit.kafka.fake_listener import (
    Behavior,
    FakeListener,
    answer_as_broker,
    answer_together,
    authenticate_with,
    close_at_once,
    closed_port,
    greet_and_fall_silent,
    greet_with,
    listening,
    stay_silent,
)

LIMIT_MS = 400
"""The limit of a call that gets no answer. Calls that expect an answer have more time, for a loaded machine."""
GENEROUS_MS = 20_000
SLACK_S = 3.0
"""The tolerance for a loaded machine. It is much less than kafka-python's own limits and those of the tests."""
UNEXPECTED_MESSAGE_ALERT = bytes.fromhex("15 0303 0002 020a")
"""The answer of a TLS listener to a plaintext request."""

Listen = Callable[[Behavior], FakeListener]


@pytest.fixture
def listen() -> Iterator[Listen]:
    with ExitStack() as stack:
        yield lambda behavior: stack.enter_context(listening(behavior))


def a_wire(*addresses: Address, limit_ms: int = GENEROUS_MS, **options: Any) -> Wire:
    return Wire(ConnectionSettings(bootstrap_servers=addresses, request_timeout_ms=limit_ms, **options))


def ask_one(wire: Wire, address: Address) -> str:
    """Return the cluster id that this listener reports."""
    return str(wire.call(address, DescribeClusterRequest()).cluster_id)


def ask_any(wire: Wire) -> tuple[str, Address]:
    """Return the cluster id, and who reported it."""
    answer, asked = wire.call_any(DescribeClusterRequest, "DescribeCluster")
    return str(answer.cluster_id), asked


def failure(behavior: Behavior, **options: Any) -> BrokerCallError:
    """Return the error of a call to such a listener. Fails if the call takes longer than the shorter limit."""
    with listening(behavior) as listener, a_wire(listener.address, **options) as wire:
        started = time.monotonic()
        with pytest.raises(BrokerCallError) as caught:
            ask_one(wire, listener.address)
        assert time.monotonic() - started < LIMIT_MS / 1000 + SLACK_S
    assert caught.value.address == str(listener.address)
    assert str(caught.value).startswith(f"DescribeCluster at {listener.address}: {caught.value.cause}: ")
    return caught.value


def test_online_broker_answers(listen: Listen) -> None:
    listener = listen(answer_as_broker("abc"))
    with a_wire(listener.address) as wire:
        assert [ask_one(wire, listener.address) for _time in range(3)] == ["abc"] * 3
        assert wire.connection(listener.address).supports(DescribeClusterRequest, 1)
        assert not wire.connection(listener.address).supports(ElectLeadersRequest, 0)
    assert listener.accepted == 1


def test_pipelined_requests_are_sent_before_the_first_answer(listen: Listen) -> None:
    with a_wire(listen(answer_together(3)).address) as wire:
        connection = wire.connection(wire.known_addresses()[0])
        answers = connection.call_pipelined([DescribeClusterRequest() for _time in range(3)], GENEROUS_MS, GENEROUS_MS)
    assert [each.controller_id for each in answers] == [0, 1, 2]


@pytest.mark.parametrize(("limit_ms", "total_limit_ms"), [(LIMIT_MS, GENEROUS_MS), (GENEROUS_MS, LIMIT_MS)])
def test_first_unanswered_request_of_a_pipeline_is_reported(listen: Listen, limit_ms: int, total_limit_ms: int) -> None:
    with a_wire(listen(greet_and_fall_silent).address, limit_ms=limit_ms) as wire:
        connection = wire.connection(wire.known_addresses()[0])
        started = time.monotonic()
        with pytest.raises(BrokerCallError) as caught:
            connection.call_pipelined([DescribeClusterRequest() for _time in range(3)], limit_ms, total_limit_ms)
        assert time.monotonic() - started < LIMIT_MS / 1000 + SLACK_S
    assert caught.value.cause is Cause.HUNG


def test_a_silent_broker_is_hung() -> None:
    fault = failure(stay_silent, limit_ms=LIMIT_MS)
    assert fault.cause is Cause.HUNG
    assert fault.detail == f"no answer within {LIMIT_MS} ms, though it accepted the connection"


def test_broker_that_stops_answering_is_hung() -> None:
    assert failure(greet_and_fall_silent, limit_ms=LIMIT_MS).cause is Cause.HUNG


def test_a_port_where_nobody_listens_is_unreachable() -> None:
    address = closed_port()
    with a_wire(address) as wire, pytest.raises(BrokerCallError) as caught:
        ask_one(wire, address)
    assert caught.value.cause is Cause.UNREACHABLE


def test_a_connection_closed_at_once_is_disconnected() -> None:
    fault = failure(close_at_once)
    assert fault.cause is Cause.DISCONNECTED
    assert "check security_protocol" in fault.hint


def test_a_connection_closed_instead_of_an_answer_is_disconnected() -> None:
    assert failure(answer_as_broker(change=lambda _answer: None)).cause is Cause.DISCONNECTED


def test_a_frame_that_breaks_off_is_disconnected() -> None:
    assert failure(answer_as_broker(change=lambda answer: answer[:-1], times=1)).cause is Cause.DISCONNECTED


def reframed(body: bytes) -> bytes:
    return struct.pack(">i", len(body)) + body


@pytest.mark.parametrize(
    "change",
    [
        lambda answer: reframed(struct.pack(">i", 4711) + answer[8:]),
        lambda answer: reframed(answer[4:20]),
        lambda answer: struct.pack(">i", 2**31 - 1) + answer[4:],
        lambda answer: struct.pack(">i", -5) + answer[4:],
    ],
    ids=["another correlation id", "a body cut short", "an absurd frame length", "a negative frame length"],
)
def test_an_answer_that_does_not_decode_is_a_bad_answer(change: Callable[[bytes], bytes]) -> None:
    assert failure(answer_as_broker(change=change)).cause is Cause.BAD_ANSWER


def test_garbage_instead_of_a_greeting_is_a_bad_answer() -> None:
    assert failure(greet_with(b"HTTP/1.1 400 Bad Request\r\n\r\n")).cause is Cause.BAD_ANSWER


def test_plaintext_to_a_tls_port_says_so() -> None:
    fault = failure(greet_with(UNEXPECTED_MESSAGE_ALERT))
    assert fault.cause is Cause.NOT_AUTHORIZED
    assert fault.hint == "this port speaks TLS: set security_protocol to SSL or SASL_SSL"


def test_tls_to_a_plaintext_port_says_so() -> None:
    fault = failure(greet_with(b"I speak no TLS"), security_protocol="SSL")
    assert fault.cause is Cause.NOT_AUTHORIZED
    assert "no TLS" in fault.hint


def test_a_tls_handshake_that_never_ends_is_hung() -> None:
    assert failure(stay_silent, limit_ms=LIMIT_MS, security_protocol="SSL").cause is Cause.HUNG


def test_a_failed_connection_is_replaced_by_the_next_call(listen: Listen) -> None:
    listener = listen(close_at_once)
    with a_wire(listener.address) as wire:
        with pytest.raises(BrokerCallError):
            ask_one(wire, listener.address)
        listener.behavior = answer_as_broker("abc")
        assert ask_one(wire, listener.address) == "abc"
    assert listener.accepted == 2


def test_connection_closed_while_idle_is_replaced(listen: Listen) -> None:
    """Close connections as brokers do after connections.max.idle.ms: all at once, so that no broker answers."""
    listener = listen(answer_as_broker("abc"))
    with a_wire(listener.address) as wire:
        assert ask_one(wire, listener.address) == "abc"
        connection = wire.connection(listener.address)
        listener.drop()
        wait_until(lambda: connection.was_lost, GENEROUS_MS / 1000, what="the connection is closed")
        assert ask_one(wire, listener.address) == "abc"
    assert listener.accepted == 2


def test_fresh_connection_is_not_shared(listen: Listen) -> None:
    listener = listen(answer_as_broker("abc"))
    with a_wire(listener.address) as wire:
        ask_one(wire, listener.address)
        connection = wire.fresh_connection(listener.address)
        assert connection.call(DescribeClusterRequest()).cluster_id == "abc"
        connection.close()
        assert ask_one(wire, listener.address) == "abc"
    assert listener.accepted == 2


def test_lost_connection_is_not_opened_again(listen: Listen) -> None:
    listener = listen(answer_as_broker("abc"))
    with a_wire(listener.address) as wire:
        connection = wire.fresh_connection(listener.address)
        connection.call(DescribeClusterRequest())
        listener.close()
        with pytest.raises(BrokerCallError):
            connection.call(DescribeClusterRequest())
        with pytest.raises(BrokerCallError):
            connection.call(DescribeClusterRequest())
        connection.close()
    assert listener.accepted == 1


def test_a_call_may_have_a_shorter_limit_of_its_own(listen: Listen) -> None:
    listener = listen(stay_silent)
    with a_wire(listener.address) as wire:
        started = time.monotonic()
        with pytest.raises(BrokerCallError) as caught:
            wire.call(listener.address, DescribeClusterRequest(), timeout_ms=100)
    assert caught.value.cause is Cause.HUNG
    assert time.monotonic() - started < 0.1 + SLACK_S


def test_a_silent_broker_costs_a_head_start_and_no_timeout(listen: Listen) -> None:
    silent, well = listen(stay_silent), listen(answer_as_broker("abc"))
    with a_wire(silent.address, well.address) as wire:
        started = time.monotonic()
        assert ask_any(wire) == ("abc", well.address)
        assert time.monotonic() - started < 0.5 + SLACK_S


def test_a_silent_broker_delays_only_the_first_call(listen: Listen) -> None:
    silent, well = listen(stay_silent), listen(answer_as_broker("abc"))
    with a_wire(silent.address, well.address) as wire:
        for _call in range(3):
            assert ask_any(wire) == ("abc", well.address)
        assert silent.accepted == 1
        assert wire.known_addresses() == [well.address, silent.address]


def test_a_broker_that_failed_is_asked_last_until_it_answers(listen: Listen) -> None:
    other, answers = listen(answer_as_broker("abc")), listen(answer_as_broker("abc"))
    with a_wire(answers.address, other.address) as wire:
        assert ask_any(wire) == ("abc", answers.address)
        answers.close()
        assert ask_any(wire) == ("abc", other.address)
        assert wire.known_addresses() == [other.address, answers.address]
        other.close()
        with pytest.raises(NoBrokerAnswersError) as caught:
            ask_any(wire)
        assert [each.address for each in caught.value.failures] == [str(other.address), str(answers.address)]


def test_next_broker_is_asked_at_once_after_an_error(listen: Listen) -> None:
    broken, well = listen(close_at_once), listen(answer_as_broker("abc"))
    with a_wire(closed_port(), broken.address, well.address) as wire:
        started = time.monotonic()
        assert ask_any(wire) == ("abc", well.address)
        assert time.monotonic() - started < SLACK_S


def test_answer_of_a_slow_broker_is_used_if_it_is_the_first(listen: Listen) -> None:
    other_is_asked = threading.Event()

    def note_and_stay_silent(connection: socket.socket) -> None:
        other_is_asked.set()
        stay_silent(connection)

    slow = listen(answer_as_broker("abc", before=lambda: other_is_asked.wait(10)))
    silent = listen(note_and_stay_silent)
    with a_wire(slow.address, silent.address) as wire:
        assert ask_any(wire) == ("abc", slow.address)
    assert other_is_asked.is_set()


def test_brokers_that_the_cluster_names_are_asked_after_the_bootstrap_servers(listen: Listen) -> None:
    bootstrap, learnt = listen(answer_as_broker("abc")), listen(answer_as_broker("abc"))
    with a_wire(bootstrap.address) as wire:
        wire.remember_addresses({1: bootstrap.address, 2: learnt.address})
        assert ask_any(wire) == ("abc", bootstrap.address)
        bootstrap.close()
        assert ask_any(wire) == ("abc", learnt.address)


def test_when_nobody_answers_every_failure_is_reported(listen: Listen) -> None:
    silent, closing, nobody = listen(stay_silent), listen(close_at_once), closed_port()
    addresses = (silent.address, closing.address, nobody)
    with a_wire(*addresses, limit_ms=2_000) as wire, pytest.raises(NoBrokerAnswersError) as caught:
        ask_any(wire)
    assert {each.address: each.cause for each in caught.value.failures} == {
        str(silent.address): Cause.HUNG,
        str(closing.address): Cause.DISCONNECTED,
        str(nobody): Cause.UNREACHABLE,
    }
    assert all(str(each) in str(caught.value) for each in addresses)


def test_error_of_our_own_code_is_not_a_broker_error(listen: Listen) -> None:
    def broken_request() -> Any:
        raise ZeroDivisionError

    with a_wire(listen(stay_silent).address) as wire, pytest.raises(ZeroDivisionError):
        wire.call_any(broken_request, "DescribeCluster")


def test_brokers_are_asked_in_parallel_and_each_answer_is_its_own(listen: Listen) -> None:
    listeners = {0: listen(answer_as_broker("abc")), **{number: listen(stay_silent) for number in range(1, 21)}}
    with a_wire(listeners[0].address, limit_ms=2_000) as wire:
        started = time.monotonic()
        found = wire.in_parallel(lambda number: ask_one(wire, listeners[number].address), listeners)
        assert time.monotonic() - started < 2.0 + SLACK_S
    assert found.pop(0) == "abc"
    assert [each.cause for each in found.values() if isinstance(each, BrokerCallError)] == [Cause.HUNG] * 20


def test_closing_ends_calls_that_are_not_answered(listen: Listen) -> None:
    silent, well = listen(stay_silent), listen(answer_as_broker())
    wire = a_wire(silent.address, well.address, limit_ms=60_000)
    ask_any(wire)
    wire.close()
    deadline = time.monotonic() + 10
    while ours := [each for each in threading.enumerate() if each.name.startswith("kafkaops-wire")]:
        assert time.monotonic() < deadline, ours
        time.sleep(0.01)


@pytest.mark.timeout(60)
def test_work_in_parallel_may_ask_any_broker_and_work_in_parallel(listen: Listen) -> None:
    """Use all threads: none of them may wait for another one of the same pool."""
    well = listen(answer_as_broker("abc"))

    def work(_number: int) -> list[object]:
        nested = wire.in_parallel(lambda address: ask_one(wire, address), [well.address])
        return [ask_any(wire), nested]

    with a_wire(well.address) as wire:
        found = wire.in_parallel(work, range(100))
    assert [*found.values()] == [[("abc", well.address), {well.address: "abc"}]] * 100


@pytest.mark.parametrize(
    ("mechanism", "answer"),
    [*(("SCRAM-SHA-256", each) for each in (None, b"e=other-error", b"r", b"\xff")), ("OAUTHBEARER", None)],
)
def test_an_authentication_that_cannot_be_read_is_an_error_of_its_broker(
    listen: Listen, mechanism: str, answer: bytes | None
) -> None:
    """kafka-python raises KeyError, TypeError and others, which would end the run for all brokers."""
    options: dict[str, Any] = {"sasl_username": "alice", "sasl_password": "sesame", "sasl_oauthbearer_token": "sesame"}
    false = listen(authenticate_with(mechanism, answer))
    with (
        a_wire(false.address, security_protocol="SASL_PLAINTEXT", sasl_mechanism=mechanism, **options) as wire,
        pytest.raises(BrokerCallError) as caught,
    ):
        wire.call(false.address, DescribeClusterRequest())
    assert caught.value.cause is Cause.BAD_ANSWER
    assert "its answer cannot be read" in caught.value.detail
    assert "sesame" not in str(caught.value)


@pytest.mark.parametrize("behavior", [stay_silent, close_at_once, greet_with(b"\xff" * 64)])
def test_a_request_is_not_sent_before_the_connection_is_ready(listen: Listen, behavior: Behavior) -> None:
    """Else the write would be in doubt for a minute, and no other broker would get it."""
    frozen = listen(behavior)
    with a_wire(frozen.address, limit_ms=LIMIT_MS) as wire, pytest.raises(BrokerCallError) as caught:
        wire.call(frozen.address, ElectLeadersRequest(election_type=1, topic_partitions=[], timeout_ms=1))
    assert (caught.value.was_sent, caught.value.may_be_executed) == (False, False)
