# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The memory: its place, its lock, and runs that die at any step."""

from __future__ import annotations

import os
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from kafka.protocol.api_key import ApiKey

from ansible_collections.kafkaops.recovery.plugins.module_utils._changes.record import JournalError
from ansible_collections.kafkaops.recovery.plugins.module_utils._changes.run_topic import LockHeldError
from ansible_collections.kafkaops.recovery.plugins.module_utils._leadership.blacklist import Change
from lab import Cluster
from lab.boundary import Boundary
from lab.changes import pending_changes
from lab.faults import After, Before, Rewrite
from lab.leadership import MEMORY_TOPIC, Operator, leaders, orders, wait_in_sync
from lab.waiting import wait_until

_ORIGINAL = {0: (1, 2, 3), 1: (2, 1, 3)}
_WITHOUT_1 = {0: (2, 3, 1), 1: (2, 3, 1)}
_NOT_AUTHORIZED = 29


@pytest.fixture
def topic(cluster: Cluster, request: pytest.FixtureRequest) -> str:
    """Return a topic of the test's own."""
    name = re.sub(r"[^a-z0-9]+", "-", request.node.name).strip("-")
    cluster.client.create_topic(name, _ORIGINAL)
    return name


def test_a_second_host_is_refused_with_the_holders_process(
    cluster: Cluster, operator: Operator, topic: str, tmp_path: Path
) -> None:
    other = Operator(cluster)
    refusals = []

    def interfere() -> None:
        with pytest.raises(LockHeldError) as refused:
            other.list(3)
        refusals.append(str(refused.value))

    # The first run waits longer for a response than others wait for its heartbeat, which must not wait with it.
    first = replace(operator, request_timeout_ms=60_000)
    # Not at an order: its response would be lost, and the run would wait more than a minute for it.
    with cluster.proxy.inject(Before(interfere), api_key=ApiKey.IncrementalAlterConfigs, times=1):
        first.list(1)
    assert f"process {os.getpid()}" in refusals[0]
    assert orders(cluster, topic) == _WITHOUT_1
    # Any other host can undo all of it.
    other.restore()
    assert orders(cluster, topic) == _ORIGINAL


def test_a_list_that_another_host_changed_before_the_lock_is_read_again(
    cluster: Cluster, operator: Operator, topic: str, tmp_path: Path
) -> None:
    other = Operator(cluster)
    first = replace(operator, request_timeout_ms=60_000)
    # The first run has looked at the memory and the partitions, and does not have the lock yet.
    with cluster.proxy.inject(Before(lambda: other.list(2)), api_key=ApiKey.CreateTopics, times=1):
        assert first.list(1).after.brokers == (1, 2)
    assert orders(cluster, topic) == {0: (3, 1, 2), 1: (3, 2, 1)}
    other.restore()
    assert orders(cluster, topic) == _ORIGINAL


@pytest.mark.wide
def test_a_topic_that_cannot_be_written_refuses_the_run(cluster: Cluster, operator: Operator, topic: str) -> None:
    operator.list(1)

    def refuse(response: Any) -> None:
        for each in response.responses:
            if each.name == MEMORY_TOPIC:
                each.partition_responses[0].error_code = _NOT_AUTHORIZED

    with (
        cluster.proxy.inject(Rewrite(refuse), api_key=ApiKey.Produce),
        pytest.raises(JournalError, match="--operation Write --topic _kafkaops_leadership"),
    ):
        operator.list(2)
    assert orders(cluster, topic) == _WITHOUT_1
    operator.restore()
    assert orders(cluster, topic) == _ORIGINAL


@pytest.mark.wide
@pytest.mark.parametrize(
    ("name", "partitions", "policy", "fault"),
    [
        ("_expiring", 1, "delete", "is delete, so the original orders in it could expire"),
        ("_expiring-too", 1, "compact,delete", "is compact,delete, so the original orders in it could expire"),
        ("_spread", 2, "compact", "has several partitions"),
    ],
)
@pytest.mark.parametrize("check_mode", [True, False], ids=["check", "apply"])
def test_a_topic_that_would_not_keep_the_orders_is_refused(
    cluster: Cluster, operator: Operator, *, name: str, partitions: int, policy: str, fault: str, check_mode: bool
) -> None:
    name = f"{name}-{check_mode}"
    cluster.client.create_topic(name, dict.fromkeys(range(partitions), (1, 2, 3)), {"cleanup.policy": policy})
    cluster.proxy.clear_once_idle()
    with pytest.raises(JournalError, match=fault):
        operator.run(Change.PRESENT, 1, memory_topic=name, check_mode=check_mode)
    assert cluster.proxy.write_requests() == []


_BOUNDARIES = [
    Boundary("before-the-lock", Before, ApiKey.CreateTopics),
    Boundary("holding-the-lock", After, ApiKey.CreateTopics),
    Boundary("before-the-list-is-remembered", Before, ApiKey.Produce, 4),
    Boundary("before-the-config", Before, ApiKey.IncrementalAlterConfigs),
    Boundary("after-the-config", After, ApiKey.IncrementalAlterConfigs),
    Boundary("before-the-orders-are-remembered", Before, ApiKey.Produce, 5),
    Boundary("before-the-reorder", Before, ApiKey.AlterPartitionReassignments),
    Boundary("after-the-reorder", After, ApiKey.AlterPartitionReassignments),
    Boundary("before-the-end", Before, ApiKey.DeleteTopics),
]
_SHORT = {"holding-the-lock"}
"""Boundaries of `make test`. After the others, the next run waits more than a minute for late requests."""


@pytest.mark.parametrize(
    "boundary",
    [pytest.param(each, id=each.name, marks=() if each.name in _SHORT else pytest.mark.wide) for each in _BOUNDARIES],
)
def test_killed_at_any_step_the_next_run_converges(cluster: Cluster, operator: Operator, boundary: Boundary) -> None:
    """SIGKILL during a drain and during a restore, each followed by a complete run."""
    topic = f"killed-{boundary.name}"
    cluster.client.create_topic(topic, _ORIGINAL)
    boundary.kill(cluster.proxy, lambda: operator.in_process("list(1)"))
    operator.list(1)
    assert orders(cluster, topic) == _WITHOUT_1
    boundary.kill(cluster.proxy, lambda: operator.in_process("unlist(1)"))
    operator.unlist(1)
    assert orders(cluster, topic) == _ORIGINAL
    assert not operator.unlist(1).outcomes
    assert pending_changes(cluster) == ()


def test_killed_while_an_order_is_changed_for_an_election(cluster: Cluster, operator: Operator) -> None:
    """The next run may be on another host, because the order is in the journal."""
    topic = "killed-detour"
    cluster.client.create_topic(topic, {0: (1, 4, 3)})
    cluster.brokers[4].kill()
    try:
        wait_until(lambda: 4 not in cluster.client.describe(topic)[0].isr, what="4 leaves the ISR")
        operator.list(1)
        boundary = Boundary("first", After, ApiKey.AlterPartitionReassignments)
        boundary.kill(cluster.proxy, lambda: operator.in_process("move_leaders(away_from=1)"))
        wait_until(lambda: orders(cluster, topic) == {0: (3, 4, 1)}, what="3 was put first")
        operator.list()
        assert orders(cluster, topic) == {0: (4, 3, 1)}
        operator.move_leaders(away_from=1)
        assert (orders(cluster, topic), leaders(cluster, topic)) == ({0: (4, 3, 1)}, {0: 3})
    finally:
        cluster.brokers[4].start()
    operator.restore()
    assert orders(cluster, topic) == {0: (1, 4, 3)}
    wait_in_sync(cluster, topic)
