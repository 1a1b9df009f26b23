# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Runs a cluster whose broker 1 has lost its cleaner threads, until SIGTERM: ``cluster.py STATE_FILE``."""

from __future__ import annotations

import sys
from pathlib import Path

from lab import background, versions
from lab.cleaner import CleanerCluster

_DEAD = 1


def prepare(lab: CleanerCluster) -> dict[str, object]:
    """Kill the threads of one broker, and print where metrics are."""
    lab.kill_threads(_DEAD)
    return {
        "bootstrap_servers": lab.cluster.bootstrap(),
        "metrics_url": lab.prometheus_url,
        "dead": _DEAD,
    }


if __name__ == "__main__":
    background.run(CleanerCluster(versions.DEFAULT), prepare, Path(sys.argv[1]))
