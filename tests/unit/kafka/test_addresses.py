# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Addresses in the forms that operators write in bootstrap.servers, IPv6 included."""

from __future__ import annotations

import ipaddress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.settings import (
    DEFAULT_PORT,
    Address,
    parse_addresses,
)

names = st.text("az09.-", min_size=1, max_size=12)
literals = st.ip_addresses(v=4).map(str) | st.ip_addresses(v=6).map(str)
addresses = st.builds(Address, host=names | literals, port=st.integers(1, 65535))


@given(st.lists(addresses), st.sampled_from(["", "PLAINTEXT://", "SASL_SSL://"]), st.sampled_from([",", " , ", ",,"]))
def test_what_is_written_is_read_back(written: list[Address], prefix: str, comma: str) -> None:
    assert parse_addresses(comma.join(f"{prefix}{each}" for each in written)) == written


@given(names | literals)
def test_the_port_may_be_left_out(host: str) -> None:
    assert parse_addresses(host) == [Address(host, DEFAULT_PORT)]


def test_an_ipv6_literal_keeps_its_scope() -> None:
    assert parse_addresses("[fe80::1%eth0]:9092") == [Address("fe80::1%eth0", 9092)]


@given(st.ip_addresses(v=6))
def test_an_ipv6_address_is_shown_in_brackets(host: ipaddress.IPv6Address) -> None:
    assert str(Address(str(host), 9092)) == f"[{host}]:9092"


@pytest.mark.parametrize(
    ("entry", "fault"),
    [
        (":9092", "names no host"),
        ("[]:9092", "names no host"),
        ("PLAINTEXT://", "names no host"),
        ("[::1:9092", "is not an address"),
        ("[::1]9092", "is not an address"),
        ("one:two:9092", "neither host:port nor an IPv6 literal"),
        ("one:9092;two:9092", "is not one address: separate several by commas"),
        ("one:9092 two:9092", "is not one address: separate several by commas"),
        ("one two:9092", "is not one address: separate several by commas"),
        ("kafka:0", "no port from 1 to 65535"),
        ("kafka:65536", "no port from 1 to 65535"),
        ("kafka:-1", "no port from 1 to 65535"),
        ("kafka:9092/", "no port from 1 to 65535"),
        ("kafka:٩٠٩٢", "no port from 1 to 65535"),
        ("alice@kafka:9092", "'...@kafka:9092' has a user or a password in it"),
    ],
)
def test_invalid_address_is_refused(entry: str, fault: str) -> None:
    with pytest.raises(ValueError, match=fault):
        parse_addresses(f"good:9092,{entry}")


def test_every_entry_that_is_no_address_is_named() -> None:
    with pytest.raises(ValueError, match=r"'kafka:0' has no port from 1 to 65535; ':1' names no host"):
        parse_addresses("kafka:0,good:9092,:1")


@pytest.mark.parametrize("entry", ["us:t0p-s3cret@kafka:9092", "SASL_SSL://us:t0p-s3cret@[::1]:9092", "t0p-s3cret@"])
def test_a_secret_in_an_address_is_not_shown(entry: str) -> None:
    with pytest.raises(ValueError, match="has a user or a password in it") as caught:
        parse_addresses(f"good:9092,{entry}")
    assert "t0p-s3cret" not in str(caught.value)
