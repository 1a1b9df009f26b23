# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Names of hosts: who waits for the resolver, and how long its answers are used."""

from __future__ import annotations

import socket
import threading

import pytest

from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.host_names import VALID_S, HostNames, look_up
from unit.fakes.clock import FakeClock

LIMIT_S = 20


class FakeResolver:
    """Finds an address for every name but ``unknown``, as soon as ``answers`` is set."""

    def __init__(self, *unknown: str) -> None:
        self.asked: list[str] = []
        self.unknown = {*unknown}
        self.answers = threading.Event()
        self.answers.set()

    def __call__(self, host: str) -> tuple[str, ...]:
        self.asked.append(host)
        assert self.answers.wait(LIMIT_S)
        if host in self.unknown:
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
        return (f"10.0.0.{len(self.asked)}",)


@pytest.mark.parametrize("host", ["127.0.0.1", "2001:db8::1", "fe80::1%1"])
def test_an_ip_address_needs_no_resolver(host: str) -> None:
    resolver = FakeResolver()
    found = HostNames(resolver).find(host)
    assert (found.done(), found.result().addresses, resolver.asked) == (True, (host,), [])


def test_the_system_resolves_a_name() -> None:
    assert {*look_up("localhost")} & {"127.0.0.1", "::1"}


def test_all_who_need_a_name_wait_for_one_lookup() -> None:
    resolver = FakeResolver()
    resolver.answers.clear()
    names = HostNames(resolver)
    both = [names.find("kafka-1") for _time in range(2)]
    assert [each.done() for each in both] == [False, False]
    resolver.answers.set()
    assert [each.result(LIMIT_S).addresses for each in both] == [("10.0.0.1",)] * 2
    assert resolver.asked == ["kafka-1"]


def test_a_slow_name_does_not_delay_another_one() -> None:
    resolver = FakeResolver()
    resolver.answers.clear()
    names = HostNames(lambda host: resolver(host) if host == "slow" else ("10.0.0.9",))
    slow = names.find("slow")
    assert names.find("kafka-1").result(LIMIT_S).addresses == ("10.0.0.9",)
    assert not slow.done()
    resolver.answers.set()
    slow.result(LIMIT_S)


def test_addresses_are_used_for_some_seconds(clock: FakeClock) -> None:
    names = HostNames(FakeResolver(), clock)
    assert names.find("kafka-1").result(LIMIT_S).addresses == ("10.0.0.1",)
    clock.now += VALID_S
    assert names.find("kafka-1").result(LIMIT_S).addresses == ("10.0.0.1",)
    clock.now += 0.1
    assert names.find("kafka-1").result(LIMIT_S).addresses == ("10.0.0.2",)


def test_addresses_that_were_found_late_are_used_as_long(clock: FakeClock) -> None:
    resolver = FakeResolver()
    resolver.answers.clear()
    names = HostNames(resolver, clock)
    late = names.find("kafka-1")
    clock.now += 2 * VALID_S
    resolver.answers.set()
    late.result(LIMIT_S)
    assert names.find("kafka-1") is late


def test_a_failed_lookup_is_not_kept() -> None:
    resolver = FakeResolver("kafka-1")
    names = HostNames(resolver)
    assert isinstance(names.find("kafka-1").exception(LIMIT_S), socket.gaierror)
    resolver.unknown.clear()
    assert names.find("kafka-1").result(LIMIT_S).addresses == ("10.0.0.2",)
