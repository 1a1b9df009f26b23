# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Five brokers of which three are controllers, too (combined nodes), so that a stop may cost the quorum as well."""

from __future__ import annotations

from lab import Cluster, settings, storage
from lab.node import Broker

VOTERS = (1, 2, 3)


class CombinedNode(Broker):
    """A broker that is a controller, too."""

    def format(self) -> None:
        """Format all log directories by StorageTool, which writes the bootstrap records."""
        cluster = self.cluster
        storage.format_controller(
            cluster.class_path,
            cluster.cluster_id,
            self.write_properties(),
            cluster.format_options(rejoining=False),
            jvm_args=cluster.sharing(),
        )


class CombinedBrokers(Cluster):
    """See ``Cluster`` for the arguments. ``VOTERS`` are its controllers, so ``controllers`` is empty."""

    def _create_nodes(self) -> None:
        super()._create_nodes()
        self.controllers.clear()
        for node_id in VOTERS:
            broker = self.brokers[node_id]
            port = self._controller_ports[node_id]
            listeners = f"{broker.properties['listeners']},CONTROLLER://{settings.address(self.host, port)}"
            self.brokers[node_id] = CombinedNode(
                self,
                node_id,
                ports={"CONTROLLER": port, **broker.ports},
                properties={
                    **broker.properties,
                    **self._controller_properties,
                    "process.roles": "broker,controller",
                    "listeners": listeners,
                },
                jvm_args=broker.jvm_args,
                data_dirs=broker.data_dirs,
                proxies=broker.proxies,
            )

    def has_quorum(self) -> bool:
        """Return whether a controller leads, as a live broker says."""
        try:
            return self._describe_quorum().leader_id in VOTERS
        except OSError:
            return False
