# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Repairs of two users on two hosts that start at the same moment, against each other, a drain and an election."""

from __future__ import annotations

import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier
from typing import Any

import pytest

from ansible_collections.kafkaops.recovery.plugins.module_utils._changes.run_topic import LockHeldError
from lab import scenarios
from lab.changes import elect, elect_in_process, pending_changes
from lab.cleaner import CleanerCluster, CleanerOperator, own_settings
from lab.leadership import Operator, leaders, orders
from lab.module_process import Account, results

pytestmark = [pytest.mark.wide, pytest.mark.timeout(1200)]

_ROUNDS = 20
_ORDER = (3, 1, 2)


def _operator(lab: CleanerCluster, home: Path, user_id: int) -> CleanerOperator:
    home.mkdir()
    return CleanerOperator(lab, Account(user_id, home))


def _assert_refused_or_needless(reported: dict[str, Any], other: str) -> None:
    """Check that the other run had the lock, or was done before this run began."""
    if "outcomes" in reported:
        assert {each["status"] for each in reported["outcomes"]} <= {"not_needed", "refused"}, reported
    else:
        assert "another run writes to this cluster" in reported["msg"], reported
        assert other in reported["msg"]


def test_repairs_against_repairs(lab: CleanerCluster, tmp_path: Path) -> None:
    """In each round, a leading replica is marked. One run repairs it, and it is dropped once."""
    one, two = (_operator(lab, tmp_path / f"home-{each}", each) for each in (2001, 2002))
    for number in range(_ROUNDS):
        topic = f"raced-{number}"
        lab.damaged(topic, _ORDER, 3)
        lab.cluster.proxy.clear()
        started = [each.start("log_cleaner_repair", brokers=[3]) for each in (one, two)]
        done = [results(each) for each in started]
        repaired = [[each["status"] for each in reported.get("outcomes", ())] == ["repaired"] for reported in done]
        assert sorted(repaired) == [False, True], done
        loser = repaired.index(False)
        _assert_refused_or_needless(done[loser], f"user uid {(2001, 2002)[1 - loser]}")
        assert len(lab.drops(3)) == 1
        lab.assert_in_sync(topic, _ORDER, leader=3)
        assert all(
            "throttled" not in name for broker in lab.cluster.brokers for name in own_settings(lab.admin, broker)
        )
        assert pending_changes(lab.cluster) == ()


def test_repairs_against_drains(lab: CleanerCluster, tmp_path: Path) -> None:
    """A drain and a repair of the same broker. The second run works on the result of the first, or is refused."""
    repairer = _operator(lab, tmp_path / "home", 2001)
    bastion = Operator(lab.cluster)
    for number in range(_ROUNDS):
        topic = f"drained-{number}"
        lab.damaged(topic, _ORDER, 3)
        lab.cluster.proxy.clear()
        barrier = Barrier(2)

        def drain(together: Barrier = barrier) -> bool:
            together.wait()
            try:
                bastion.list(3)
            except LockHeldError:
                return False
            return True

        with ThreadPoolExecutor(1) as threads:
            draining = threads.submit(drain)
            process = repairer.start("log_cleaner_repair", brokers=[3])
            barrier.wait()
            reported = results(process)
            is_drained = draining.result()
        statuses = [each["status"] for each in reported.get("outcomes", ())]
        if statuses != ["repaired"]:
            assert "another run writes to this cluster" in reported["msg"] or statuses == ["refused"], reported
        assert is_drained or statuses == ["repaired"]
        assert orders(lab.cluster, topic) == {0: (1, 2, 3) if is_drained else _ORDER}
        bastion.restore()
        assert orders(lab.cluster, topic) == {0: _ORDER}
        if statuses != ["repaired"]:
            again = repairer.run("log_cleaner_repair", brokers=[3])
            assert [each["status"] for each in again["outcomes"]] == ["repaired"], again
        lab.assert_in_sync(topic, _ORDER)
        assert len(lab.drops(3)) == 1
        assert pending_changes(lab.cluster) == ()


def test_repairs_against_elections(lab: CleanerCluster, tmp_path: Path) -> None:
    """Broker 1 is dead, and each round has an offline partition. A refused run is repeated."""
    offline = scenarios.diverged(lab.cluster, "killed", partitions=_ROUNDS)
    before = lab.cluster.client.describe("killed", broker=offline.best)
    repairer = _operator(lab, tmp_path / "home", 2001)
    for number in range(_ROUNDS):
        topic, mine = f"elected-{number}", range(number, number + 1)
        lab.damaged(topic, (3, 2), 3)
        lab.cluster.proxy.clear()
        election = elect_in_process(
            lab.cluster.bootstrap(), "killed", mine, offline.best, tmp_path, user_id=2002, errors=subprocess.PIPE
        )
        reported = results(repairer.start("log_cleaner_repair", brokers=[3], allow_single_copy=True))
        _output, errors = election.communicate(timeout=120)
        assert not election.returncode or b"LockHeldError" in errors, errors
        statuses = [each["status"] for each in reported.get("outcomes", ())]
        if statuses != ["repaired"]:
            assert "another run writes to this cluster" in reported["msg"] or statuses == ["refused"], reported
            again = repairer.run("log_cleaner_repair", brokers=[3], allow_single_copy=True)
            assert [each["status"] for each in again["outcomes"]] == ["repaired"], again
        elect(lab.cluster.bootstrap(), "killed", mine, offline.best)
        assert leaders(lab.cluster, "killed")[number] == offline.best
        assert len(lab.drops(3)) == 1
        lab.assert_in_sync(topic, (3, 2))
        assert pending_changes(lab.cluster) == ()
    after = lab.cluster.client.describe("killed", broker=offline.best)
    assert {each.replicas for each in after.values()} == {offline.replicas}
    assert {after[each].leader_epoch - before[each].leader_epoch for each in after} == {1}
    lab.cluster.brokers[offline.replicas[0]].start()
