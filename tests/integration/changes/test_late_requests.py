# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Late requests: the proxy holds a request, and releases it after its run was killed or gave up waiting.

The run itself, or the next one, waits more than a minute for such a request.
"""

from __future__ import annotations

import shutil
import subprocess
import threading
import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest
from kafka.protocol.api_key import ApiKey

from ansible_collections.kafkaops.recovery.plugins.module_utils._changes.record import Undoing
from ansible_collections.kafkaops.recovery.plugins.module_utils._changes.run_topic import RUN_TOPIC, LockHeldError
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.election_run import ElectionReport
from lab import Cluster, scenarios, settings, wire
from lab.changes import elect, elect_in_process, pending_changes
from lab.held import held, kill_when_held
from lab.leadership import Operator, leaders, orders
from lab.waiting import wait_until

pytestmark = pytest.mark.wide

TOPIC = "killed"
_SLOW_S = 120.0


@contextmanager
def killed_while_its_order_is_held(
    cluster: Cluster, process: subprocess.Popen[bytes], home: Path, *, passing: int = 0
) -> Iterator[threading.Event]:
    """Hold a run's order after ``passing`` earlier ones, kill the run, and delete its home (see ``held``)."""
    with held(cluster.proxy, ApiKey.AlterPartitionReassignments, passing=passing) as (rule, let_go):
        kill_when_held(rule, process, passing=passing)
        shutil.rmtree(home)
        yield let_go


def test_a_late_order_of_a_partition_that_is_elected_again(cluster: Cluster, tmp_path: Path) -> None:
    offline = scenarios.diverged(cluster, TOPIC)
    home = tmp_path / "home"
    home.mkdir()
    process = elect_in_process(cluster.bootstrap(), TOPIC, 1, offline.best, home)
    unchanged = dict.fromkeys(offline.partitions, offline.replicas)
    with killed_while_its_order_is_held(cluster, process, home) as let_go, ThreadPoolExecutor(1) as threads:
        assert orders(cluster, TOPIC) == unchanged, "the order is not changed yet"
        assert pending_changes(cluster), "the journal has the requested change"
        # The order does not change for this leader, which is the first live replica.
        first = offline.replicas[1]
        run = threads.submit(elect, cluster.bootstrap(), TOPIC, 1, first)
        _wait_for_leader(cluster, run, first)
        wait_until(lambda: _reorders(cluster) == 2, what="the next run asks for the original order")
        let_go.set()
        report = run.result(timeout=180)
    assert {each.undoing for each in report.leftovers} == {Undoing.RESTORED}
    assert all("executed late" in each.reason for each in report.leftovers)
    assert orders(cluster, TOPIC) == unchanged
    assert leaders(cluster, TOPIC) == dict.fromkeys(offline.partitions, first)
    assert pending_changes(cluster) == ()
    wait_until(lambda: not cluster.client.describe(RUN_TOPIC), 10, what="the run topic is gone")


def test_a_late_order_that_drops_an_unregistered_broker_is_undone(cluster: Cluster, tmp_path: Path) -> None:
    """Broker 1 cannot be restored, because it is not registered. The order of the others is restored."""
    offline = scenarios.diverged(cluster, TOPIC)
    dead, first, best = offline.replicas
    broker = cluster.brokers[best]
    wire.unregister_broker(broker.host, broker.ports[settings.INTERNAL], dead)
    home = tmp_path / "home"
    home.mkdir()
    # Kafka 3.9 does not list fenced brokers: only the refusal of the first order shows that the broker is unregistered.
    passing = int(cluster.version.startswith("3."))
    process = elect_in_process(cluster.bootstrap(), TOPIC, 1, best, home, may_drop=True)
    held = killed_while_its_order_is_held(cluster, process, home, passing=passing)
    with held as let_go, ThreadPoolExecutor(1) as threads:
        assert orders(cluster, TOPIC) == dict.fromkeys(offline.partitions, offline.replicas)
        run = threads.submit(elect, cluster.bootstrap(), TOPIC, 1, first)
        _wait_for_leader(cluster, run, first)
        wait_until(lambda: _reorders(cluster) == 2 + passing, what="the next run asks for the original order")
        let_go.set()
        report = run.result(timeout=180)
    assert {each.undoing for each in report.leftovers} == {Undoing.RESTORED}
    assert all("executed late" in each.reason for each in report.leftovers)
    wait_until(
        lambda: orders(cluster, TOPIC) == dict.fromkeys(offline.partitions, (first, best)),
        30,
        what="nothing is removed",
    )
    assert leaders(cluster, TOPIC) == dict.fromkeys(offline.partitions, first)
    assert pending_changes(cluster) == ()


def test_a_late_order_of_a_drain(cluster: Cluster, tmp_path: Path) -> None:
    """The next run forgets the original order only when the drain's request cannot be executed any more."""
    cluster.client.create_topic(TOPIC, {0: (1, 2, 3)})
    home = tmp_path / "home"
    home.mkdir()
    process = Operator(cluster).in_process("list(1)")
    next_one = Operator(cluster)
    with killed_while_its_order_is_held(cluster, process, home) as let_go, ThreadPoolExecutor(1) as threads:
        assert orders(cluster, TOPIC) == {0: (1, 2, 3)}, "the order is not changed yet"
        before = _sent(cluster, ApiKey.Produce)
        run = threads.submit(next_one.restore)
        wait_until(lambda: run.done() or _sent(cluster, ApiKey.Produce) > before, 60, what="the next run has the lock")
        assert not run.done(), run.exception()
        let_go.set()
        run.result(timeout=180)
    assert orders(cluster, TOPIC) == {0: (1, 2, 3)}
    assert not next_one.restore().is_changed, "nothing is remembered"


def test_a_runs_own_late_order_after_the_restore(cluster: Cluster, tmp_path: Path) -> None:
    """The response to the first order is lost. The second attempt sets the order, and the run restores it.

    Then the first order is executed.
    """
    offline = scenarios.diverged(cluster, TOPIC)
    unchanged = dict.fromkeys(offline.partitions, offline.replicas)
    with (
        held(cluster.proxy, ApiKey.AlterPartitionReassignments) as (_rule, let_go),
        ThreadPoolExecutor(1) as threads,
    ):
        run = threads.submit(elect, cluster.bootstrap(), TOPIC, 1, offline.best)
        _wait_for_leader(cluster, run, offline.best)
        wait_until(lambda: orders(cluster, TOPIC) == unchanged, 60, what="the order is restored")
        wait_until(lambda: _reorders(cluster) >= 3, what="the lost one, the second attempt, and the restore")
        let_go.set()
        wait_until(
            lambda: _reorders(cluster) > 3 or orders(cluster, TOPIC) != unchanged, 60, what="the first one is executed"
        )
        report = run.result(timeout=180)
    assert orders(cluster, TOPIC) == unchanged
    assert leaders(cluster, TOPIC) == dict.fromkeys(offline.partitions, offline.best)
    assert [each for each in report.notes if "executed late: back to" in each], report.notes
    assert report.leftovers == ()
    assert pending_changes(cluster) == ()
    wait_until(lambda: not cluster.client.describe(RUN_TOPIC), 10, what="the run topic is gone")


def test_a_drains_own_late_order_after_the_restore(cluster: Cluster, tmp_path: Path) -> None:
    """The drain ends only when its first request cannot be executed any more, so the original order stays known."""
    cluster.client.create_topic(TOPIC, {0: (1, 2, 3)})
    bastion = Operator(cluster)
    with (
        held(cluster.proxy, ApiKey.AlterPartitionReassignments) as (_rule, let_go),
        ThreadPoolExecutor(1) as threads,
    ):
        run = threads.submit(bastion.list, 1)
        wait_until(lambda: orders(cluster, TOPIC) == {0: (2, 3, 1)}, 60, what="the second attempt has set the order")
        _restore_if_possible(bastion)
        let_go.set()
        run.result(timeout=180)
    bastion.restore()
    assert orders(cluster, TOPIC) == {0: (1, 2, 3)}
    assert pending_changes(cluster) == ()


def test_a_late_order_of_a_dead_drain_while_an_election_has_the_lock(cluster: Cluster, tmp_path: Path) -> None:
    """An election takes the lock, and keeps it until the dead drain's request cannot be executed any more."""
    offline = scenarios.diverged(cluster, TOPIC)
    cluster.client.create_topic("drained", {0: (2, 3)})
    home = tmp_path / "home"
    home.mkdir()
    process = Operator(cluster).in_process("list(2)")
    bastion = Operator(cluster)
    with killed_while_its_order_is_held(cluster, process, home) as let_go, ThreadPoolExecutor(1) as threads:
        assert orders(cluster, "drained") == {0: (2, 3)}, "the order is not changed yet"
        run = threads.submit(elect, cluster.bootstrap(), TOPIC, 1, offline.best)
        wait_until(lambda: leaders(cluster, TOPIC) == {0: offline.best}, _SLOW_S, what="the election is done")
        _restore_if_possible(bastion)
        let_go.set()
        wait_until(lambda: orders(cluster, "drained") == {0: (3, 2)}, 30, what="the drain's order was executed late")
        run.result(timeout=180)
    assert orders(cluster, TOPIC) == dict.fromkeys(offline.partitions, offline.replicas)
    bastion.restore()
    assert orders(cluster, "drained") == {0: (2, 3)}
    assert pending_changes(cluster) == ()


def _restore_if_possible(bastion: Operator) -> None:
    """Restore at once, if the lock is free within some seconds."""
    deadline = time.monotonic() + 15
    while time.monotonic() < deadline:
        try:
            bastion.restore()
        except LockHeldError:
            continue
        return


def _wait_for_leader(cluster: Cluster, run: Future[ElectionReport], leader: int) -> None:
    wait_until(lambda: run.done() or leaders(cluster, TOPIC) == {0: leader}, _SLOW_S, what="the next run has elected")
    assert not run.done(), run.exception()


def _reorders(cluster: Cluster) -> int:
    return sum(each.is_reassignment for each in cluster.proxy.requests())


def _sent(cluster: Cluster, api_key: int) -> int:
    return sum(each.api_key == api_key for each in cluster.proxy.requests())
