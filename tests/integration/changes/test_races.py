# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Runs of two hosts that start at the same moment: one writes, the other one is refused or finds nothing to do."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import pytest
from kafka.protocol.api_key import ApiKey

from ansible_collections.kafkaops.recovery.plugins.module_utils._changes.run_topic import RUN_TOPIC, LockHeldError
from lab import Cluster, scenarios
from lab.changes import elect, elect_in_process, pending_changes
from lab.faults import After
from lab.leadership import Operator, leaders, orders
from lab.waiting import wait_until

_ROUNDS = 20
_ORIGINAL = {0: (1, 2, 3), 1: (2, 1, 3), 2: (3, 1, 2)}


def _together(*works: Callable[[], object]) -> list[LockHeldError]:
    """Start works at the same moment, and return the refusals. Raises any other error of a work."""
    barrier = Barrier(len(works))

    def run(work: Callable[[], object]) -> LockHeldError | None:
        barrier.wait()
        try:
            work()
        except LockHeldError as error:
            return error
        return None

    with ThreadPoolExecutor(len(works)) as threads:
        return [each for each in threads.map(run, works) if each is not None]


@pytest.mark.wide
def test_elections_against_elections(cluster: Cluster, tmp_path: Path) -> None:
    """Each round has one partition, and begins with a free lock. No partition is elected twice."""
    offline = scenarios.diverged(cluster, "killed", partitions=_ROUNDS)
    before = cluster.client.describe("killed", broker=offline.best)
    for number in range(_ROUNDS):
        one, two = (
            lambda home=home, number=number: elect(
                cluster.bootstrap(), "killed", range(number, number + 1), offline.best
            )
            for home in ("one", "two")
        )
        assert len(_together(one, two)) < 2
    after = cluster.client.describe("killed", broker=offline.best)
    assert {each.leader for each in after.values()} == {offline.best}
    assert {each.replicas for each in after.values()} == {offline.replicas}
    assert {after[each].leader_epoch - before[each].leader_epoch for each in after} == {1}
    elected = [each for each in cluster.proxy.write_requests() if each.api_key == ApiKey.ElectLeaders]
    assert len(elected) == _ROUNDS
    assert pending_changes(cluster) == ()


@pytest.mark.wide
def test_drains_against_drains(cluster: Cluster, tmp_path: Path) -> None:
    """Two hosts list different brokers, and then both restore everything."""
    cluster.client.create_topic("killed", _ORIGINAL)
    one, two = (Operator(cluster) for home in ("one", "two"))
    for _round in range(_ROUNDS):
        refused = _together(lambda: one.list(1), lambda: two.list(2))
        assert len(refused) < 2
        drained = orders(cluster, "killed")
        assert drained in (
            {0: (2, 3, 1), 1: (2, 3, 1), 2: (3, 2, 1)},
            {0: (1, 3, 2), 1: (1, 3, 2), 2: (3, 1, 2)},
            {0: (3, 1, 2), 1: (3, 2, 1), 2: (3, 1, 2)},
        )
        assert len(_together(one.restore, two.restore)) < 2
        assert orders(cluster, "killed") == _ORIGINAL
    assert pending_changes(cluster) == ()


@pytest.mark.wide
@pytest.mark.timeout(900)
def test_elections_of_two_users_against_a_drain_or_its_restore(cluster: Cluster, tmp_path: Path) -> None:
    """Each round has one partition. A refused run is repeated."""
    offline = scenarios.diverged(cluster, "killed", partitions=20)
    cluster.client.create_topic("drained", {0: (2, 3)})
    before = cluster.client.describe("killed", broker=offline.best)
    bastion = Operator(cluster)
    for number in range(20):
        mine = range(number, number + 1)
        runs = [
            elect_in_process(
                cluster.bootstrap(), "killed", mine, offline.best, tmp_path, user_id=each, errors=subprocess.PIPE
            )
            for each in (2001, 2002)
        ]
        drain = bastion.restore if number % 2 else lambda: bastion.list(2)
        # Their imports take about as long.
        time.sleep(number / 10)
        refused = _together(drain)
        for each in runs:
            _output, errors = each.communicate(timeout=120)
            assert not each.returncode or b"LockHeldError" in errors, errors
        if refused:
            drain()
        elect(cluster.bootstrap(), "killed", mine, offline.best)
        assert orders(cluster, "drained") == {0: (2, 3) if number % 2 else (3, 2)}
        assert leaders(cluster, "killed")[number] == offline.best
    after = cluster.client.describe("killed", broker=offline.best)
    assert {each.replicas for each in after.values()} == {offline.replicas}
    assert {after[each].leader_epoch - before[each].leader_epoch for each in after} == {1}
    assert pending_changes(cluster) == ()


@pytest.mark.wide
def test_a_frozen_run_that_wakes_up_after_it_was_replaced_elects_nothing(cluster: Cluster, tmp_path: Path) -> None:
    """The run is frozen between its reorder and its election. The next run finds its order, and elects in it."""
    offline = scenarios.diverged(cluster, "killed", partitions=2)
    frozen = elect_in_process(cluster.bootstrap(), "killed", 2, offline.best, tmp_path)
    freeze = After(lambda: os.kill(frozen.pid, signal.SIGSTOP))
    try:
        with cluster.proxy.inject(freeze, api_key=ApiKey.AlterPartitionReassignments, times=1) as rule:
            wait_until(lambda: rule.hits, 60, what="the run has reordered")
        elect(cluster.bootstrap(), "killed", 2, offline.best)
        cluster.proxy.clear()
        frozen.send_signal(signal.SIGCONT)
        frozen.communicate(timeout=60)
    finally:
        frozen.kill()
    written = [each for each in cluster.proxy.write_requests() if each.api_key != ApiKey.ApiVersions]
    assert written == []
    assert leaders(cluster, "killed") == {0: offline.best, 1: offline.best}
    assert orders(cluster, "killed") == dict.fromkeys(range(2), offline.replicas)
    wait_until(lambda: not cluster.client.describe(RUN_TOPIC), 10, what="the run topic is gone")
