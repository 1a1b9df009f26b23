# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Host and port of a Kafka listener, IPv6 literals included."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass

DEFAULT_PORT = 9092
_PORTS = range(1, 65536)


@dataclass(frozen=True, slots=True, order=True)
class Address:
    """Where a listener can be reached."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def parse_addresses(text: str) -> list[Address]:
    """Read a comma-separated list as in ``bootstrap.servers``; a ``PROTOCOL://`` prefix is allowed and ignored.

    Raises ValueError, for the first entry that is no address.
    """
    return [_parse_address(entry.strip()) for entry in text.split(",") if entry.strip()]


def _parse_address(entry: str) -> Address:
    bare = entry.rpartition("://")[2]
    if bare.startswith("["):
        host, bracket, rest = bare[1:].partition("]")
        if not bracket or (rest and not rest.startswith(":")):
            raise ValueError(f"{entry!r} is not an address: write an IPv6 literal as [::1]:9092")
        port = rest[1:]
    elif bare.count(":") > 1:
        host, port = bare, ""
    else:
        host, _colon, port = bare.partition(":")
    if not host:
        raise ValueError(f"{entry!r} names no host")
    if ":" in host:
        ipaddress.IPv6Address(host.partition("%")[0])
    if port and (not port.isascii() or not port.isdigit() or int(port) not in _PORTS):
        raise ValueError(f"{entry!r} has no port from 1 to 65535")
    return Address(host, int(port) if port else DEFAULT_PORT)
