# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Resolve host names, each in a thread of its own, so that a slow name delays only who needs its address.

getaddrinfo takes no limit, and cannot be ended: with DNS servers that are silent, it takes 10 s and longer.
"""

from __future__ import annotations

import os
import socket
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeAlias

from .._model.background import in_background
from .._model.run import Clock

LookUp: TypeAlias = Callable[[str], tuple[str, ...]]
"""Takes a name and returns its IP addresses, in the order in which they are tried. Raises OSError or UnicodeError."""
VALID_S = 10.0
"""How long addresses are used after they were found. A broker that was started again may have another one."""


def look_up(host: str, flags: int = 0) -> tuple[str, ...]:
    """Return the IP addresses of a host, by the system's resolver. May take very long."""
    found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM, flags=flags)
    return tuple(dict.fromkeys(_with_scope(*each[4]) for each in found))


@dataclass(frozen=True, slots=True)
class HostAddresses:
    """The IP addresses of a host."""

    addresses: tuple[str, ...]
    found_at: float
    """By the clock of the names, in seconds."""


class HostNames:
    """The names that one process resolves, and their addresses."""

    def __init__(self, look_up: LookUp = look_up, clock: Clock = time) -> None:
        self._look_up = look_up
        self._clock = clock
        self._lock = threading.Lock()
        self._lookups: dict[str, Future[HostAddresses]] = {}

    def find(self, host: str) -> Future[HostAddresses]:
        """Return the future addresses of a host, which may be an IP address. Never waits.

        All who need a name at the same time wait for one lookup. One that failed is not kept.
        """
        with suppress(OSError, UnicodeError):
            of_literal: Future[HostAddresses] = Future()
            of_literal.set_result(HostAddresses(look_up(host, socket.AI_NUMERICHOST), self._clock.monotonic()))
            return of_literal
        with self._lock:
            lookup = self._lookups.get(host)
            if lookup is None or self._is_over(lookup):
                lookup = self._lookups[host] = in_background(lambda: self._resolve(host), "kafkaops-dns")
            return lookup

    def _resolve(self, host: str) -> HostAddresses:
        addresses = self._look_up(host)
        return HostAddresses(addresses, self._clock.monotonic())

    def _is_over(self, lookup: Future[HostAddresses]) -> bool:
        if not lookup.done():
            return False
        return lookup.exception() is not None or self._clock.monotonic() > lookup.result().found_at + VALID_S


def names_of_process() -> HostNames:
    """Return the names of this process. A fork has its own, because it does not copy the threads that resolve."""
    return _names_of(os.getpid())


@lru_cache(maxsize=1)
def _names_of(_pid: int) -> HostNames:
    return HostNames()


def _with_scope(address: Any, _port: int, _flow: int = 0, scope: int = 0) -> str:
    """Return an IP address in a form that getaddrinfo takes back. Only IPv6 has scopes."""
    return f"{address}%{scope}" if scope else str(address)
