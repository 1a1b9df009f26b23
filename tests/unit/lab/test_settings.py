# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The properties that a cluster's options turn into."""

from __future__ import annotations

from pathlib import Path

import pytest

from lab import settings


def test_ipv6_addresses_are_bracketed() -> None:
    assert [settings.address(host, 9092) for host in ("127.0.0.1", "::1")] == ["127.0.0.1:9092", "[::1]:9092"]


@pytest.mark.parametrize(
    ("dynamic", "expected"),
    [
        (False, {"controller.quorum.voters": "101@h:1,102@h:2"}),
        (True, {"controller.quorum.bootstrap.servers": "h:1,h:2"}),
    ],
)
def test_quorum(dynamic: bool, expected: dict[str, object]) -> None:
    assert settings.quorum({101: "h:1", 102: "h:2"}, dynamic=dynamic) == expected


def test_replication_stays_off_the_client_listeners() -> None:
    listeners = {"SSL": "h:1", "INTERNAL": "h:2"}
    properties = settings.broker(1, listeners, {**listeners, "SSL": "h:9"}, [Path("/a"), Path("/b")], brokers=2)
    assert properties["inter.broker.listener.name"] == "INTERNAL"
    assert properties["listeners"] == "SSL://h:1,INTERNAL://h:2"
    assert properties["advertised.listeners"] == "SSL://h:9,INTERNAL://h:2"
    assert properties["listener.security.protocol.map"] == "SSL:SSL,INTERNAL:PLAINTEXT,CONTROLLER:PLAINTEXT"
    assert properties["log.dirs"] == "/a,/b"
    assert properties["offsets.topic.replication.factor"] == 2


def test_sasl_is_set_up_per_listener() -> None:
    properties = settings.sasl(["PLAINTEXT", "SASL_SSL"], {"alice": "a secret"})
    jaas = [name for name in properties if name.endswith(".jaas.config")]
    assert jaas == [
        f"listener.name.sasl_ssl.{mechanism}.sasl.jaas.config"
        for mechanism in ("plain", "scram-sha-256", "scram-sha-512", "oauthbearer")
    ]
    assert '"user_alice"="a secret"' in str(properties["listener.name.sasl_ssl.plain.sasl.jaas.config"])


def test_scram_users_are_made_for_both_mechanisms() -> None:
    assert settings.add_scram({"alice": "s"}) == [
        "--add-scram",
        'SCRAM-SHA-256=[name="alice",password="s"]',
        "--add-scram",
        'SCRAM-SHA-512=[name="alice",password="s"]',
    ]


@pytest.mark.parametrize("character", list('",\\[]'))
def test_what_storage_tool_cannot_take_in_a_password_is_refused(character: str) -> None:
    with pytest.raises(ValueError, match="take none of"):
        settings.add_scram({"alice": f"a{character}b"})
