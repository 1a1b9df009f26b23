# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Runs a cluster whose topic has lost its leaders, until SIGTERM: ``cluster.py STATE_FILE``."""

from __future__ import annotations

import sys
from pathlib import Path

from lab import Cluster, background
from lab.scenarios import diverged

_PARTITIONS = 3


def prepare(cluster: Cluster) -> dict[str, object]:
    """Take the leaders away, and print who holds the most."""
    offline = diverged(cluster, "orders", _PARTITIONS)
    return {
        "bootstrap_servers": cluster.bootstrap(),
        "topic": offline.topic,
        "replicas": offline.replicas,
        "partitions": _PARTITIONS,
        "best": offline.best,
        "records": offline.log_end_offsets[offline.best],
    }


if __name__ == "__main__":
    background.run(Cluster(proxied=True), prepare, Path(sys.argv[1]))
