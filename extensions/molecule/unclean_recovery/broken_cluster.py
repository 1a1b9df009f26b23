# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Runs a cluster whose topic has lost its leaders, until SIGTERM: ``broken_cluster.py STATE_FILE``."""

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path
from types import FrameType

from lab import Cluster
from lab.scenarios import diverged

_PARTITIONS = 3


def main(state_file: Path) -> None:
    """Write the state file once the damage is done, and wait."""
    signal.signal(signal.SIGTERM, _end)
    with Cluster() as cluster:
        offline = diverged(cluster, "orders", _PARTITIONS)
        state = {
            "pid": os.getpid(),
            "bootstrap_servers": cluster.bootstrap(),
            "topic": offline.topic,
            "replicas": offline.replicas,
            "best": offline.best,
            "records": offline.log_end_offsets[offline.best],
        }
        scratch = state_file.with_suffix(".tmp")
        scratch.write_text(json.dumps(state), encoding="utf-8")
        scratch.rename(state_file)
        while True:
            signal.pause()


def _end(number: int, _frame: FrameType | None) -> None:
    sys.exit(128 + number)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
