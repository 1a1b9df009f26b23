# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Runs a cluster with a topic whose partitions have different orders, until SIGTERM: ``cluster.py STATE_FILE``."""

from __future__ import annotations

import sys
from pathlib import Path

from lab import Cluster, background

_ORDERS = [(1, 2, 3), (1, 3, 2), (2, 1, 3), (3, 2, 1)]


def prepare(cluster: Cluster) -> dict[str, object]:
    """Create the topic, and print its orders."""
    cluster.client.create_topic("orders", dict(enumerate(_ORDERS)))
    return {"bootstrap_servers": cluster.bootstrap(), "topic": "orders", "drained": 1, "orders": _ORDERS}


if __name__ == "__main__":
    background.run(Cluster(proxied=True), prepare, Path(sys.argv[1]))
