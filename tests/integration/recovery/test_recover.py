# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Partitions without a leader come back on the replica with the newest leader epoch and the longest log."""

from __future__ import annotations

from dataclasses import replace

import pytest
from kafka.protocol.api_key import ApiKey

from ansible_collections.kafkaops.recovery.plugins.module_utils._model.partition import Cause
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.plan import Status
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.strategy import Strategy
from integration.on_call import OnCall
from lab import Cluster, scenarios, wait_until
from lab.faults import Before
from lab.module_process import run_module
from lab.playbook import statuses
from lab.recovery import Recovery

_NO_WRITES: list[object] = []


@pytest.mark.timeout(600)
def test_the_kips_test_plan_and_the_first_replica_is_not_the_best(cluster: Cluster, recovery: Recovery) -> None:
    """Kill the ISR with SIGKILL, and recover onto a replica outside the ISR: the longest log, not the first replica."""
    offline = scenarios.diverged(cluster, "kip", partitions=3, config={"unclean.leader.election.enable": "false"})
    before = cluster.client.describe("kip")
    assert {state.leader for state in before.values()} == {None}

    check = recovery.recover("--check")
    assert check.returncode == 0, check.output
    assert cluster.proxy.write_requests() == _NO_WRITES
    assert {status for _topic, _number, status in statuses(recovery.report)} == {"would_recover"}
    assert {each["designatedLeader"] for each in recovery.report["partitions"]} == {offline.best}

    run = recovery.recover()
    assert run.returncode == 0, run.output
    assert run.counts["changed"] == 1
    assert {status for _topic, _number, status in statuses(recovery.report)} == {"recovered"}
    after = cluster.client.describe("kip")
    assert {state.leader for state in after.values()} == {offline.best}
    assert [state.replicas for state in after.values()] == [state.replicas for state in before.values()]
    saved = [f"common-{number}" for number in range(10)] + [f"longer-{number}" for number in range(5)]
    for partition in offline.partitions:
        assert cluster.client.consume_all("kip", partition) == saved

    cluster.proxy.clear()
    again = recovery.recover()
    assert again.returncode == 0, again.output
    assert again.counts["changed"] == 0
    assert cluster.proxy.write_requests() == _NO_WRITES


def test_only_a_real_run_waits_for_a_broker(cluster: Cluster) -> None:
    """Recover by the module that plans and elects in one process. With its long limit, a wait would fail the test."""
    offline = scenarios.diverged(cluster, "awaited")
    dead = offline.replicas[0]
    options = {
        "bootstrap_servers": [cluster.bootstrap()],
        "partitions": [{"topic": "awaited", "partition": 0}],
        "recovery_strategy": "aggressive",
    }
    cluster.proxy.clear()
    looked = run_module("unclean_recovery", {**options, "recovery_duration_ms": 3_600_000}, check_mode=True)
    assert [(each["broker_id"], each["waited_ms"]) for each in looked["awaited"]] == [(dead, None)]
    assert [each["status"] for each in looked["partitions"]] == ["would_recover"]
    assert cluster.proxy.write_requests() == _NO_WRITES

    done = run_module("unclean_recovery", {**options, "recovery_duration_ms": 1000})
    (awaited,) = done["awaited"]
    assert (awaited["broker_id"], awaited["has_returned"]) == (dead, False)
    assert awaited["waited_ms"] >= 1000
    assert [each["status"] for each in done["partitions"]] == ["recovered"]
    assert cluster.client.leader("awaited") == offline.best


@pytest.mark.wide
def test_a_longer_log_of_an_older_epoch_loses(cluster: Cluster, on_call: OnCall) -> None:
    offline = scenarios.longer_log_of_older_epoch(cluster, "epochs")
    older = next(broker for broker in offline.log_end_offsets if broker != offline.best)
    assert offline.log_end_offsets[older] > offline.log_end_offsets[offline.best]
    plan = on_call.plan(Strategy.AGGRESSIVE, "epochs")
    (election,) = plan.elections
    assert {each.broker_id: each.rank for each in election.candidates} == {offline.best: 1, older: 2}
    assert [each.status for each in on_call.carry_out(plan)] == [Status.RECOVERED]
    assert cluster.client.leader("epochs") == offline.best


def test_a_leader_that_returns_between_plan_and_apply(cluster: Cluster, on_call: OnCall) -> None:
    offline = scenarios.diverged(cluster, "returns")
    plan = on_call.plan(Strategy.AGGRESSIVE, "returns")
    returned = cluster.brokers[offline.replicas[0]]
    returned.start()
    wait_until(lambda: cluster.client.leader("returns") == returned.node_id, 30, what="the last leader leads again")
    assert [each.status for each in on_call.carry_out(plan)] == [Status.ALREADY_ONLINE]
    assert cluster.proxy.write_requests() == _NO_WRITES
    assert cluster.client.leader("returns") == returned.node_id


def test_no_replica_left_is_unrecoverable_and_blocks_nobody(cluster: Cluster, on_call: OnCall) -> None:
    cluster.client.create_topic("lonely", {0: [1]})
    offline = scenarios.diverged(cluster, "company")
    outcomes = on_call.carry_out(on_call.plan(Strategy.AGGRESSIVE, "lonely", "company"))
    assert {each.topic: each.status for each in outcomes} == {
        "company": Status.RECOVERED,
        "lonely": Status.UNRECOVERABLE,
    }
    assert cluster.client.leader("company") == offline.best
    assert cluster.client.leader("lonely") is None


@pytest.mark.wide
def test_a_frozen_broker_is_named_and_the_rest_goes_on(cluster: Cluster, on_call: OnCall) -> None:
    on_call = replace(on_call, request_timeout_ms=3000, duration_ms=12_000)
    offline = scenarios.diverged(cluster, "frozen")
    shorter = next(broker for broker in offline.log_end_offsets if broker != offline.best)
    # Not before it is asked what it holds: the controller fences a frozen broker within seconds, and Kafka 3.9 then
    # does not list it.
    freeze = Before(cluster.brokers[shorter].freeze)
    with cluster.proxy.inject(freeze, broker=shorter, api_key=ApiKey.ListOffsets):
        plan = on_call.plan(Strategy.AGGRESSIVE, "frozen")
    (election,) = plan.elections
    assert {each.broker_id: each.cause for each in election.silent}[shorter] is Cause.HUNG
    assert [each.status for each in on_call.carry_out(plan)] == [Status.RECOVERED]
    assert cluster.client.describe("frozen", broker=offline.best)[0].leader == offline.best
