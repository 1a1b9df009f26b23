# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A cluster whose controllers are brokers, too (combined nodes)."""

from __future__ import annotations

from collections.abc import Mapping

from lab import settings
from lab.cluster import Cluster
from lab.node import Controller


class CombinedCluster(Cluster):
    """See ``Cluster`` for the arguments. Its other brokers are brokers only."""

    def _create_controller(self, node_id: int, shared: Mapping[str, object]) -> Controller:
        controller = super()._create_controller(node_id, shared)
        where = settings.address(self.host, self._ports.take())
        own = controller.properties["listeners"]
        controller.properties |= {
            "process.roles": "broker,controller",
            "listeners": f"{own},{settings.INTERNAL}://{where}",
            "advertised.listeners": f"{own},{settings.INTERNAL}://{where}",
            "inter.broker.listener.name": settings.INTERNAL,
            "listener.security.protocol.map": f"CONTROLLER:PLAINTEXT,{settings.INTERNAL}:PLAINTEXT",
        }
        return controller
