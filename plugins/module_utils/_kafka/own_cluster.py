# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Keep every broker of another cluster out of a run.

A name that a broker advertises may lead elsewhere on this host: by an old entry in /etc/hosts, a tunnel, or an address
that was given to another host. If both clusters have the same topics and ids, nothing else shows the difference.
"""

from __future__ import annotations

import threading

from .._model.partition import Cause
from .errors import BrokerCallError
from .settings import Address


class OwnCluster:
    """The one cluster whose brokers are asked. Without an id, the first one that a broker returns decides."""

    def __init__(self, cluster_id: str | None = None) -> None:
        self.cluster_id = cluster_id
        """None until a broker has returned one."""
        self._lock = threading.Lock()

    def check(self, address: Address, cluster_id: str, request: str) -> None:
        """Check the cluster id that the broker at an address returned. Raises BrokerCallError with WRONG_BROKER."""
        with self._lock:
            if self.cluster_id is None:
                self.cluster_id = cluster_id
        if cluster_id != self.cluster_id:
            raise BrokerCallError(
                str(address),
                Cause.WRONG_BROKER,
                f"the broker here belongs to cluster {cluster_id}, and not to {self.cluster_id}",
                request=request,
                hint=(
                    "check that bootstrap_servers names brokers of one cluster, and what this host makes of the name: "
                    "/etc/hosts, DNS, and any tunnel, proxy or load balancer"
                ),
            )
