# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""TCP ports that stay reserved while a cluster exists, also while its brokers are down."""

from __future__ import annotations

import socket


class HeldPorts:
    """Loopback ports reserved by bound sockets that never listen.

    Linux lets a broker bind and listen on such a port (both sides set SO_REUSEADDR, as Java does), while nobody else is
    given it, neither as a free port nor for an outgoing connection. A connection attempt meanwhile is refused.
    """

    def __init__(self, host: str = "127.0.0.1") -> None:
        self._host = host
        self._sockets: list[socket.socket] = []

    def take(self) -> int:
        """Reserve a free port and return it."""
        return self.take_port(0)

    def take_port(self, port: int) -> int:
        """Reserve a certain port, or with 0 a free one. Raises OSError when it is taken."""
        family = socket.AF_INET6 if ":" in self._host else socket.AF_INET
        if port:
            with socket.socket(family, socket.SOCK_STREAM) as stranger:
                # Without SO_REUSEADDR: with it, two processes could reserve the same port in this way.
                stranger.bind((self._host, port))
        held = socket.socket(family, socket.SOCK_STREAM)
        held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            held.bind((self._host, port))
        except OSError:
            held.close()
            raise
        self._sockets.append(held)
        return int(held.getsockname()[1])

    def release(self) -> None:
        """Release all ports."""
        while self._sockets:
            self._sockets.pop().close()
