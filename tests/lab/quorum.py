# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A cluster whose controllers talk to each other through proxies, so that one can be cut off from the others.

No network namespace and no privilege is needed: the proxies know by the client id in a request's header which
controller sent it. Whoever asks a controller at its own port (``Controller.port``) passes no proxy.
"""

from __future__ import annotations

import time
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

# In Fetch's answer for one partition, versions 13 to 18, with its header: where the topics' count is, and the records.
_TOPICS_AT = 15
_RECORDS_AT = 68
_ONE = 2
_NONE = b"\x01"


@dataclass(frozen=True)
class CutOff(Fault):
    """Isolate a node: no request reaches it, and none of its requests reaches another node."""

    node_id: int

    def on_request(self, request: Request) -> bool:
        """Close the connections of this node, both ways, and no others."""
        if request.broker == self.node_id or request.client_id == f"raft-client-{self.node_id}":
            raise DisconnectError
        return True


@dataclass(frozen=True)
class Starve(Fault):
    """Answer the Fetch requests of nodes without records: they stay connected, and their metadata does not advance."""

    node_ids: tuple[int, ...]
    pause_s: float = 0.3
    """The time before an answer is forwarded. The leader answers at once if a node lacks records."""

    def on_response(self, request: Request, payload: bytes) -> bytes | None:
        """Remove the records from answers to Fetch requests of these nodes, and forward everything else."""
        clients = {f"raft-client-{node_id}" for node_id in self.node_ids}
        if request.api_key == ApiKey.Fetch and request.client_id in clients:
            time.sleep(self.pause_s)
            return super().on_response(request, _without_records(payload))
        return super().on_response(request, payload)


class QuorumCluster(Cluster):
    """See ``Cluster`` for the arguments."""

    @property
    def is_dynamic(self) -> bool:
        """Whether its voters can be changed (kraft.version 1)."""
        return self._dynamic_quorum

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
        """Isolate a controller from all other nodes, in both directions."""
        with self.proxy.inject(CutOff(node_id)):
            yield

    def is_cut_off(self, node_id: int) -> bool:
        """Return whether a controller is isolated now."""
        return any(rule.fault == CutOff(node_id) for rule in self.proxy.rules)

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


def _without_records(payload: bytes) -> bytes:
    """Return a controller's answer to a Fetch with no records in it.

    Byte by byte, so that nothing else in it changes on the way through another codec.
    """
    if len(payload) <= _RECORDS_AT or payload[_TOPICS_AT] != _ONE:
        return payload  # it has an error
    end, size = _RECORDS_AT, 0
    while True:  # an unsigned varint: the length and one
        byte = payload[end]
        size |= (byte & 0x7F) << 7 * (end - _RECORDS_AT)
        end += 1
        if byte < 0x80:
            return payload[:_RECORDS_AT] + _NONE + payload[end + max(0, size - 1) :]
