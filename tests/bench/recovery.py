# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Recovering thousands of partitions: the playbook, the requests alone, and Kafka's own command."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.on_spark import make_class_archive
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.strategy import Strategy
from ansible_collections.kafkaops.recovery.plugins.module_utils._spark.options import EngineName
from bench.baselines import leader_election_command, raw_recovery
from bench.kit.playbooks import by_engine, check_engine, timed_playbook
from bench.kit.row import Options, Row, Run, Timing
from bench.kit.timing import timed
from bench.kit.worlds import check_led_by, offline_cluster, recovery_variables
from integration.on_call import OnCall
from lab import Cluster
from lab.playbook import RECOVER, read_report
from lab.scenarios import Offline

Recover = Callable[[Cluster, Offline], Run]

_GOAL_OF_COMMAND = 8.0
_GOAL_OF_PROCESS = 1.35
_GOAL_WITHOUT_ANSIBLE = 4.0
_MOST_REPEATS = 3
"""Each run starts a cluster and breaks it, which takes longer than what is timed."""


def run(options: Options) -> Iterator[Row]:
    """Each run has a new cluster to itself, broken in the same way, and ends when its last answer is there.

    The playbook also looks, ranks, writes plan, journal and report, and reads back who leads; the command elects the
    first live replica, whatever that one holds.
    """
    make_class_archive()
    number = options.partitions
    ways: dict[str, Recover] = {
        f"raw reorder, elect and restore of {number} partitions": _by_requests,
        f"LeaderElectionCommand UNCLEAN of {number} partitions": _by_command,
        "recovery playbook on Spark": partial(_by_playbook, EngineName.SPARK),
        "recovery playbook in process": partial(_by_playbook, EngineName.PROCESS),
        "survey, gather, plan and elections without Ansible": _in_this_process,
    }
    rounds = [
        [_on_a_new_cluster(number, recover) for recover in ways.values()]
        for _repeat in range(min(_MOST_REPEATS, options.repeats))
    ]
    raw, command, playbook, process, here = (
        Timing(what, runs) for what, runs in zip(ways, zip(*rounds, strict=True), strict=True)
    )
    yield Row(raw, playbook)
    yield Row(command, playbook, _GOAL_OF_COMMAND)
    yield Row(process, playbook, _GOAL_OF_PROCESS)
    yield Row(raw, here, _GOAL_WITHOUT_ANSIBLE)


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


def _by_playbook(engine: EngineName, cluster: Cluster, offline: Offline) -> Run:
    with TemporaryDirectory() as scratch:
        variables = recovery_variables(cluster, offline, Path(scratch))
        run = timed_playbook(RECOVER, variables | by_engine(engine), is_watched=True)
        check_engine(read_report(Path(scratch, "report.json")), engine)
    check_led_by(cluster, offline, offline.best)
    return run


def _in_this_process(cluster: Cluster, offline: Offline) -> Run:
    with TemporaryDirectory() as scratch:
        on_call = OnCall(cluster, Path(scratch))
        run = timed(lambda: on_call.carry_out(on_call.plan(Strategy.AGGRESSIVE, offline.topic)))
    check_led_by(cluster, offline, offline.best)
    return run
