# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A cluster whose controllers talk to each other through proxies, so that one can be cut off from the others.

No network namespace and no privilege is needed: the proxies tell by the client id in a request's header which
controller sent it. Whoever asks a controller at its own port (``Controller.port``) passes no proxy.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

from kafka.protocol.api_key import ApiKey

from lab import settings
from lab.cluster import Cluster
from lab.faults import DisconnectError, Fault
from lab.node import Controller
from lab.proxy import ProxyListener
from lab.request import Request


@dataclass(frozen=True)
class CutOff(Fault):
    """Nothing gets to a node, and nothing of what it asks others."""

    node_id: int

    def on_request(self, request: Request) -> bool:
        """Close the connections of this node, both ways, and no others."""
        if request.broker == self.node_id or request.client_id == f"raft-client-{self.node_id}":
            raise DisconnectError
        return True


@dataclass(frozen=True)
class Starve(Fault):
    """A node asks for the metadata log, and gets nothing: it stays where it is, in touch with the others."""

    node_id: int

    def on_response(self, request: Request, payload: bytes) -> bytes | None:
        """Keep what a Fetch of this node brings, pass on everything else."""
        is_its_fetch = request.api_key == ApiKey.Fetch and request.client_id == f"raft-client-{self.node_id}"
        return None if is_its_fetch else super().on_response(request, payload)


class QuorumCluster(Cluster):
    """See ``Cluster`` for the arguments."""

    def start(self) -> None:
        """Start the proxies, then all nodes."""
        self._controller_proxies: dict[int, ProxyListener] = {}
        super().start()

    def stop(self) -> None:
        """Stop all nodes, then the proxies."""
        super().stop()
        for proxy in self._controller_proxies.values():
            proxy.close()

    @contextmanager
    def cut_off(self, node_id: int) -> Iterator[None]:
        """Keep a controller from all other nodes, both ways."""
        with self.proxy.inject(CutOff(node_id)):
            yield

    def controllers_at(self, *node_ids: int) -> str:
        """Return the own addresses of controllers, all unless ids are given."""
        return ",".join(
            settings.address(self.host, self.controllers[node_id].port) for node_id in node_ids or self.controllers
        )

    def advertised_controller(self, node_id: int) -> str:
        """Return the address that other nodes know a controller by: its proxy's."""
        return self._controller_addresses()[node_id]

    def _controller_addresses(self) -> dict[int, str]:
        for node_id, port in self._controller_ports.items():
            if node_id not in self._controller_proxies:
                listen, upstream = (self.host, self._ports.take()), (self.host, port)
                self._controller_proxies[node_id] = ProxyListener(self.proxy, node_id, listen, upstream)
                self._controller_proxies[node_id].open()
        return {node_id: settings.address(self.host, proxy.port) for node_id, proxy in self._controller_proxies.items()}

    def _create_controller(self, node_id: int, shared: Mapping[str, object]) -> Controller:
        advertised = f"CONTROLLER://{self._controller_addresses()[node_id]}"
        return super()._create_controller(node_id, {**shared, "advertised.listeners": advertised})
