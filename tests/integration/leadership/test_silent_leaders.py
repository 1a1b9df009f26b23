# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Brokers that lead by the metadata and do not answer: no verdict takes them for leaders, and nothing moves to them."""

from __future__ import annotations

from typing import Any

import pytest

from lab import Cluster
from lab.faults import DropBeforeRequest
from lab.leadership import Operator, leaders, wait_in_sync
from lab.module_process import run_module

_REQUEST_TIMEOUT_MS = 2000


def _call(cluster: Cluster, module: str, *, check_mode: bool = True, **options: object) -> dict[str, Any]:
    given = {"bootstrap_servers": [cluster.bootstrap()], "request_timeout_ms": _REQUEST_TIMEOUT_MS, **options}
    return run_module(module, given, check_mode=check_mode)


def test_every_look_doubts_a_leader_that_does_not_answer(cluster: Cluster, operator: Operator) -> None:
    """Only this host cannot reach broker 3: the controller never fences it."""
    cluster.client.create_topic("unheard", {0: (3, 1), 1: (4, 3)})
    cluster.client.create_topic("heard", {0: (1, 3, 2)})
    for topic in ("unheard", "heard"):
        wait_in_sync(cluster, topic)
    cluster.proxy.clear_once_idle()
    with cluster.proxy.inject(DropBeforeRequest(), broker=3):
        drain = _call(cluster, "preferred_election", from_brokers=[1])
        elect = _call(
            cluster,
            "designated_election",
            partitions=[{"topic": "unheard", "partition": 0, "designated_leader": 1}],
        )
        readiness = _call(cluster, "readiness_info")
        cleaners = _call(cluster, "log_cleaner_info", metrics_source="none")
    assert "led by brokers that do not answer" in drain["msg"]
    found = {(each["topic"], each["partition"]): each for each in drain["partitions"]}
    assert found["unheard", 0]["status"] == "led_by_silent"
    assert ("unheard", 1) not in found
    assert (found["heard", 0]["status"], found["heard", 0]["target"]) == ("would_move", 2)
    assert [each["status"] for each in elect["partitions"]] == ["unknown"]
    assert "the metadata names broker 3 as leader, and it does not answer" in elect["msg"]
    assert any("partitions are led by brokers that do not answer" in each["found"] for each in readiness["checks"])
    assert {each["diagnosis"] for each in cleaners["brokers"] if each["broker_id"] == 3} == {"unknown"}
    assert cluster.proxy.write_requests() == []


@pytest.mark.wide
def test_nothing_to_do_is_said_only_of_brokers_that_answer(cluster: Cluster, operator: Operator) -> None:
    """A restore that has nothing to restore, and a redundancy that finds no replica missing."""
    cluster.client.create_topic("unanswered", {0: (3, 1), 1: (1, 3), 2: (1, 2)})
    wait_in_sync(cluster, "unanswered")
    with cluster.proxy.inject(DropBeforeRequest(), broker=3):
        restore = _call(cluster, "preferred_election")
        everything = _call(cluster, "redundancy", all_under_replicated=True)
        named = _call(cluster, "redundancy", partitions=[{"topic": "unanswered", "partitions": [2]}])
        declared = _call(cluster, "redundancy", lost_brokers=[2], all_under_replicated=False)
    assert "led by brokers that do not answer" in restore["msg"]
    found = {(each["topic"], each["partition"], each["status"]) for each in restore["partitions"]}
    assert {each for each in found if each[0] == "unanswered"} == {("unanswered", 0, "led_by_silent")}
    doubtful = [each for each in everything["partitions"] if each["topic"] == "unanswered"]
    assert [(each["partition"], each["status"]) for each in doubtful] == [(0, "unanswered"), (1, "unanswered")]
    assert "broker 3 is not fenced, and does not answer" in everything["msg"]
    assert named["partitions"] == declared["partitions"] == []
    assert cluster.proxy.write_requests() == []


@pytest.mark.wide
def test_a_redundancy_waits_until_a_dead_broker_is_fenced(cluster: Cluster, operator: Operator) -> None:
    cluster.client.create_topic("short", {0: (3, 1)})
    wait_in_sync(cluster, "short")
    cluster.brokers[3].kill()
    wanted = [{"topic": "short", "partitions": [0]}]
    done = _call(cluster, "redundancy", partitions=wanted, apply=True, check_mode=False)
    assert [(each["status"], each["target"]) for each in done["partitions"]] == [("restored", [2, 1])]
    cluster.brokers[3].start()


@pytest.mark.wide
@pytest.mark.parametrize("fault", ["kill", "freeze"])
def test_a_drain_waits_until_a_dead_leader_is_fenced(cluster: Cluster, operator: Operator, fault: str) -> None:
    """Broker 3 is dead, and the metadata says for some seconds that it leads: then broker 1, to be drained, leads."""
    led, prefers = f"led-{fault}", f"prefers-{fault}"
    cluster.client.create_topic(led, {0: (3, 1)})
    cluster.client.create_topic(prefers, {0: (1, 3, 2)})
    for topic in (led, prefers):
        wait_in_sync(cluster, topic)
    operator.list(1)
    getattr(cluster.brokers[3], fault)()
    try:
        done = _call(cluster, "preferred_election", from_brokers=[1], check_mode=False)
        found = {each["topic"]: (each["status"], each["leader_after"]) for each in done["partitions"]}
        assert (found[led], found[prefers]) == (("only_in_sync", 1), ("moved", 2))
        assert {**leaders(cluster, led), 1: leaders(cluster, prefers)[0]} == {0: 1, 1: 2}
    finally:
        cluster.brokers[3].start() if fault == "kill" else cluster.brokers[3].thaw()
    for topic in (led, prefers):
        wait_in_sync(cluster, topic)
