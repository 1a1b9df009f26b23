# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Recovering thousands of partitions: the playbook, the requests alone, and Kafka's own command."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from ansible_collections.kafkaops.recovery.plugins.module_utils._spark import session
from bench.baselines import leader_election_command, raw_recovery
from bench.kit.own_cache import OwnCache, own_cache
from bench.kit.playbooks import timed_playbook
from bench.kit.row import CannotMeasureError, Options, Row, Run, Timing
from bench.kit.timing import timed
from bench.kit.worlds import check_led_by, offline_cluster
from lab import Cluster
from lab.playbook import RECOVER
from lab.scenarios import Offline

Recover = Callable[[Cluster, Offline], Run]

_GOAL = 2.0
"""Of the raw requests, Spark's start aside."""
_START_SPARK = f"""
import time
from {session.__name__} import spark_session
began = time.perf_counter()
with spark_session():
    print(time.perf_counter() - began)
"""


def run(options: Options) -> Iterator[Row]:
    """Each has a new cluster to itself, broken in the same way. Each ends when its last answer is there.

    The playbook also looks, ranks, writes plan, journal and report, and reads back who leads; the command elects the
    first live replica, whatever that one holds.
    """
    number = options.partitions
    raw = Timing(f"raw reorder, elect and restore of {number} partitions", [_on_a_new_cluster(number, _by_requests)])
    command = Timing(f"LeaderElectionCommand UNCLEAN of {number} partitions", [_on_a_new_cluster(number, _by_command)])
    with own_cache() as cache:
        for which in ("first on a host", "with the class archive"):
            playbook = _on_a_new_cluster(number, lambda cluster, offline: _by_playbook(cluster, offline, cache))
            cache.wait_for_archive()
            measured = Timing(f"recovery playbook, {which}", [playbook])
            yield Row(raw, measured)
            yield Row(command, measured)
        # The archive is there by now, as it was for the run before.
        aside = playbook.seconds - _spark_start(cache)
        yield Row(raw, Timing(f"{measured.what}, less Spark's start", [Run(aside)]), _GOAL)


def _spark_start(cache: OwnCache) -> float:
    """Seconds to a session, in a process that has imported PySpark, as a module has. Raises CannotMeasureError."""
    command = [sys.executable, "-c", _START_SPARK]
    ran = subprocess.run(command, env={**os.environ, **cache.environment}, capture_output=True, text=True, check=False)
    if ran.returncode:
        raise CannotMeasureError(f"Spark did not start:\n{ran.stderr}")
    return float(ran.stdout)


def _on_a_new_cluster(partitions: int, recover: Recover) -> Run:
    with offline_cluster(partitions) as (cluster, offline):
        return recover(cluster, offline)


def _by_requests(cluster: Cluster, offline: Offline) -> Run:
    broker = cluster.live_brokers[0]
    run = timed(lambda: raw_recovery.recover(broker.host, broker.ports["PLAINTEXT"], offline))
    check_led_by(cluster, offline, offline.best)
    return run


def _by_command(cluster: Cluster, offline: Offline) -> Run:
    with TemporaryDirectory() as scratch:
        run = timed(lambda: leader_election_command.elect(cluster, offline.topic, offline.partitions, Path(scratch)))
    _dead, first_alive, *_others = offline.replicas
    check_led_by(cluster, offline, first_alive)
    return run


def _by_playbook(cluster: Cluster, offline: Offline, cache: OwnCache) -> Run:
    with TemporaryDirectory() as scratch:
        variables = {
            "kafka_bootstrap_servers": cluster.bootstrap(),
            "unclean_recovery_all_offline_partitions": True,
            "unclean_recovery_automated_recovery": True,
            "unclean_recovery_strategy": "aggressive",
            "unclean_recovery_lost_brokers": [offline.replicas[0]],
            "unclean_recovery_report_file": str(Path(scratch, "report.json")),
        }
        run = timed_playbook(RECOVER, variables, cache.environment)
    check_led_by(cluster, offline, offline.best)
    return run
