# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Runs a cluster with a healthy quorum of three controllers, until SIGTERM: ``cluster.py STATE_FILE``."""

from __future__ import annotations

import re
import sys
from pathlib import Path

from lab import Cluster, background, settings


def prepare(cluster: Cluster) -> dict[str, object]:
    """Ask Kafka's own tool who leads the quorum."""
    tool = cluster.client.run_tool(
        "org.apache.kafka.tools.MetadataQuorumCommand",
        *("--bootstrap-server", cluster.bootstrap(settings.INTERNAL), "describe", "--status"),
    )
    reported = dict(re.findall(r"^(LeaderId|LeaderEpoch):\s+(\d+)$", tool.stdout, re.MULTILINE))
    return {
        "bootstrap_servers": cluster.bootstrap(),
        "bootstrap_controllers": ",".join(
            settings.address(each.host, each.port) for each in cluster.controllers.values()
        ),
        "controllers": [*cluster.controllers],
        "leader": int(reported["LeaderId"]),
        "leader_epoch": int(reported["LeaderEpoch"]),
    }


if __name__ == "__main__":
    background.run(Cluster(brokers=1, controllers=3, proxied=True), prepare, Path(sys.argv[1]))
