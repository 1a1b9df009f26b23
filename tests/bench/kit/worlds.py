# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Clusters for benchmarks."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bench.kit.row import CannotMeasureError
from lab import Cluster
from lab.scenarios import Offline, diverged
from lab.waiting import wait_until

_TOPIC = "bench"
_SECONDS_TO_AGREE = 60.0


@contextmanager
def offline_cluster(partitions: int) -> Iterator[tuple[Cluster, Offline]]:
    """Start a new cluster of three brokers, one of them killed, with this number of offline partitions.

    Each looks like the next.
    """
    with Cluster(heap="1g") as cluster:
        yield cluster, diverged(cluster, _TOPIC, partitions)


def recovery_variables(cluster: Cluster, offline: Offline, directory: Path) -> dict[str, object]:
    """Return variables for a playbook that elects everything at once. Its report goes to the directory."""
    return {
        "kafka_bootstrap_servers": cluster.bootstrap(),
        "unclean_recovery_all_offline_partitions": True,
        "unclean_recovery_automated_recovery": True,
        "unclean_recovery_strategy": "aggressive",
        "unclean_recovery_lost_brokers": [offline.replicas[0]],
        "unclean_recovery_report_file": str(directory / "report.json"),
    }


def check_led_by(cluster: Cluster, offline: Offline, leader: int) -> None:
    """Raise CannotMeasureError unless this broker leads every partition soon, in the original replica order."""

    def is_reached() -> bool:
        states = cluster.client.describe(offline.topic).values()
        return {(state.leader, state.replicas) for state in states} == {(leader, offline.replicas)}

    try:
        wait_until(is_reached, _SECONDS_TO_AGREE, what=f"broker {leader} leads every partition of {offline.topic}")
    except TimeoutError as error:
        raise CannotMeasureError(str(error)) from None
