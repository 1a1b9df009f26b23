# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Kafka's own command for unclean elections (kafka-leader-election.sh)."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from bench.kit.row import CannotMeasureError
from lab import Cluster

_MAIN_CLASS = "org.apache.kafka.tools.LeaderElectionCommand"


def elect(cluster: Cluster, topic: str, partitions: Sequence[int], scratch: Path) -> None:
    """UNCLEAN, of all partitions in one run: the first live replica in order wins, whatever it holds.

    Raises CannotMeasureError when the command fails.
    """
    wanted = scratch / "partitions.json"
    entries = [{"topic": topic, "partition": partition} for partition in partitions]
    wanted.write_text(json.dumps({"partitions": entries}), encoding="utf-8")
    run = cluster.client.run_tool(
        _MAIN_CLASS,
        *("--bootstrap-server", cluster.bootstrap()),
        *("--election-type", "UNCLEAN"),
        *("--path-to-json-file", str(wanted)),
    )
    if run.returncode:
        raise CannotMeasureError(f"{_MAIN_CLASS} ended with {run.returncode}:\n{run.stdout}{run.stderr}")
