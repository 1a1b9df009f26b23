# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Replicas that returned or can lead again since the plan was made, and elections that exceed their time limit."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest
from kafka.protocol.api_key import ApiKey

from ansible_collections.kafkaops.recovery.plugins.module_utils._model.partition import EpochEnd
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.candidate import Flag
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.plan import Plan, Status
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.strategy import Strategy
from integration.on_call import OnCall, Steps
from lab import Cluster, scenarios, wait_until
from lab.cut_off import Cable
from lab.faults import Before
from lab.held import held
from lab.leadership import leaders, orders

_COMMON, _OLDER, _NEWER = 10, 20, 5


@pytest.fixture
def impatient(on_call: OnCall) -> OnCall:
    """Return an operator who waits only a few seconds for an offline broker."""
    return replace(on_call, request_timeout_ms=3000, duration_ms=6000)


def _fence(cluster: Cluster, topic: str, broker: int, *, seen_by: int) -> None:
    cluster.brokers[broker].freeze()
    _wait_away(cluster, topic, broker, seen_by=seen_by)


def _wait_away(cluster: Cluster, topic: str, broker: int, *, seen_by: int, is_away: bool = True) -> None:
    wait_until(
        lambda: (broker in cluster.client.describe(topic, broker=seen_by)[0].offline_replicas) == is_away,
        60,
        what=f"broker {broker} is {'away' if is_away else 'back'}",
    )


def _plan_without(
    broker: int, cluster: Cluster, operator: OnCall, topic: str, *, leader: int, max_lost_records: int | None = None
) -> Plan:
    """Plan while one broker is frozen, check the designated leader, and return when that broker is back."""
    _fence(cluster, topic, broker, seen_by=leader)
    plan = operator.plan(Strategy.AGGRESSIVE, topic, max_lost_records=max_lost_records)
    assert [each.designated_leader for each in plan.elections] == [leader]
    cluster.brokers[broker].thaw()
    _wait_away(cluster, topic, broker, seen_by=leader, is_away=False)
    return plan


def test_a_replica_that_was_silent_in_the_plan_is_asked_before_another_one_is_elected(
    cluster: Cluster, impatient: OnCall
) -> None:
    offline = scenarios.diverged(cluster, "silent")
    _dead, shorter, longer = offline.replicas
    plan = _plan_without(longer, cluster, impatient, "silent", leader=shorter)
    (outcome,) = impatient.carry_out(plan)
    assert outcome.status is Status.REFUSED
    assert f"replica {longer}, silent in the plan, answers now and holds more" in outcome.reason
    assert leaders(cluster, "silent") == {0: None}
    assert [each.status for each in impatient.carry_out(impatient.plan(Strategy.AGGRESSIVE, "silent"))] == [
        Status.RECOVERED
    ]
    assert leaders(cluster, "silent") == {0: longer}


def test_a_replica_that_does_not_end_where_the_plan_says_is_not_elected(cluster: Cluster, on_call: OnCall) -> None:
    """One question about the newest epoch confirms the plan. It must not confirm another offset, nor another epoch."""
    offline = scenarios.diverged(cluster, "moved")
    plan = on_call.plan(Strategy.AGGRESSIVE, "moved")
    (election,) = plan.elections
    best, *others = election.candidates
    newest = best.lineage[-1]
    for epoch, end in ((newest.epoch, newest.end_offset + 1), (newest.epoch + 1, newest.end_offset)):
        moved = replace(best, last_written_epoch=epoch, log_end_offset=end, lineage=(EpochEnd(epoch, end),))
        edited = replace(plan, elections=(replace(election, candidates=(moved, *others)),))
        (outcome,) = on_call.carry_out(edited)
        assert outcome.status is Status.REFUSED
        assert (
            f"ends at (epoch, offset) ({newest.epoch}, {newest.end_offset}) now, and at ({epoch}, {end})"
            in outcome.reason
        )
    assert leaders(cluster, "moved") == {0: None}
    assert [each.status for each in on_call.carry_out(plan)] == [Status.RECOVERED]
    assert leaders(cluster, "moved") == {0: offline.best}


@pytest.mark.wide
def test_the_limit_of_the_plan_is_judged_again_with_what_answers_now(cluster: Cluster, impatient: OnCall) -> None:
    """The returned replica ends in an older epoch, so it does not lead, and it holds more records than the limit."""
    records = (_COMMON, _OLDER, _NEWER)
    offline = scenarios.longer_log_of_older_epoch(cluster, "limited", replicas=(1, 2, 3), records=records)
    _dead, older, newer = offline.replicas
    plan = _plan_without(older, cluster, impatient, "limited", leader=newer, max_lost_records=_OLDER - 1)
    (outcome,) = impatient.carry_out(plan)
    assert outcome.status is Status.REFUSED
    assert f"with what broker {older} holds, silent in the plan and answering now" in outcome.reason
    assert f"loses {_OLDER} or more records, and the limit is {_OLDER - 1}" in outcome.reason
    assert leaders(cluster, "limited") == {0: None}
    within = replace(plan, elections=tuple(replace(each, max_lost_records=_OLDER) for each in plan.elections))
    assert [each.status for each in impatient.carry_out(within)] == [Status.RECOVERED]
    assert leaders(cluster, "limited") == {0: newer}


@pytest.mark.wide
def test_a_better_replica_that_was_fenced_in_the_plan_and_can_lead_now(cluster: Cluster, impatient: OnCall) -> None:
    """Its broker is cut off from the controllers, so it is fenced, but it still answers questions about its log.

    Kafka 3.9 does not list a fenced broker: there it is silent in the plan.
    """
    shorter, longer = 2, 3
    is_listed = not cluster.version.startswith("3.")
    cable = Cable(cluster.brokers[longer], cluster.brokers[shorter])
    cable.prepare()
    scenarios.diverged(cluster, "fenced", replicas=(1, shorter, longer))
    try:
        cable.cut()
        plan = impatient.plan(Strategy.AGGRESSIVE, "fenced")
        (election,) = plan.elections
        assert election.designated_leader == shorter
        found = {each.broker_id: Flag.FENCED in each.flags for each in election.candidates}
        assert found == ({longer: True, shorter: False} if is_listed else {shorter: False})
        assert election.candidates[0].broker_id == (longer if is_listed else shorter)
    finally:
        cable.reconnect()
    _wait_away(cluster, "fenced", longer, seen_by=shorter, is_away=False)
    (outcome,) = impatient.carry_out(plan)
    assert outcome.status is Status.REFUSED
    why = (
        f"broker {longer} of a better rank was fenced in the plan and can be elected now"
        if is_listed
        else f"replica {longer}, silent in the plan, answers now and holds more"
    )
    assert why in outcome.reason
    assert leaders(cluster, "fenced") == {0: None}


@pytest.mark.wide
def test_the_order_stays_while_an_election_whose_response_was_lost_may_be_executed(
    cluster: Cluster, impatient: OnCall
) -> None:
    """An election after the restore of the original order would elect the first live replica, not the best one."""
    offline = scenarios.diverged(cluster, "late")
    plan = impatient.plan(Strategy.AGGRESSIVE, "late")
    steps, once = Steps(), replace(impatient, attempts=1, verify_timeout_ms=5000)
    with held(cluster.proxy, ApiKey.ElectLeaders) as (rule, let_go), ThreadPoolExecutor(1) as threads:
        run = threads.submit(once.carry_out, plan, progress=steps)
        wait_until(
            lambda: run.done() or "waiting for elections whose response was lost" in steps.texts,
            60,
            what="the only attempt was given up",
        )
        assert rule.hits
        let_go.set()
        wait_until(lambda: leaders(cluster, "late") != {0: None}, 30, what="the election is executed late")
        outcomes = run.result(timeout=120)
    assert leaders(cluster, "late") == {0: offline.best}
    assert [each.status for each in outcomes] == [Status.RECOVERED]
    assert orders(cluster, "late") == {0: offline.replicas}


@pytest.mark.wide
def test_elections_have_a_time_limit_and_orders_are_restored_after_it(cluster: Cluster, on_call: OnCall) -> None:
    offline = scenarios.diverged(cluster, "slow")
    plan = on_call.plan(Strategy.AGGRESSIVE, "slow")
    slow = Before(lambda: time.sleep(3))
    with cluster.proxy.inject(slow, api_key=ApiKey.AlterPartitionReassignments, times=1):
        (outcome,) = on_call.carry_out(plan, timeout_ms=2000)
    assert outcome.status is Status.FAILED
    assert "the time limit of 2 s for all elections (election_timeout_ms) was reached" in outcome.reason
    assert (leaders(cluster, "slow"), orders(cluster, "slow")) == ({0: None}, {0: offline.replicas})
    assert [each.status for each in on_call.carry_out(plan)] == [Status.RECOVERED]
    assert leaders(cluster, "slow") == {0: offline.best}


@pytest.mark.wide
def test_a_member_of_the_isr_that_returns_during_the_elections_stops_no_other_election(
    cluster: Cluster, impatient: OnCall
) -> None:
    """Broker 1, the ISR of one partition, starts right before the first election. The other's ISR stays down."""
    client = cluster.client
    client.create_topic("returning", {0: [1, 3], 1: [2, 3]}, {"min.insync.replicas": 1})
    client.produce("returning", 0, _COMMON)
    client.produce("returning", 1, _COMMON)
    cluster.brokers[3].kill()
    wait_until(
        lambda: [each.isr for each in client.describe("returning").values()] == [(1,), (2,)],
        30,
        what="broker 3 is not in sync",
    )
    cluster.brokers[1].kill()
    cluster.brokers[2].kill()
    cluster.brokers[3].start()
    wait_until(lambda: leaders(cluster, "returning") == {0: None, 1: None}, 60, what="nobody leads")
    plan = impatient.plan(Strategy.AGGRESSIVE, "returning")
    assert [each.designated_leader for each in plan.elections] == [3, 3]

    def start_broker() -> None:
        cluster.brokers[1].start()
        wait_until(lambda: leaders(cluster, "returning")[0] == 1, 60, what="broker 1 leads")

    with cluster.proxy.inject(Before(start_broker), api_key=ApiKey.ElectLeaders, times=1):
        outcomes = replace(impatient, request_timeout_ms=60_000).carry_out(plan)
    assert [each.status for each in outcomes] == [Status.ALREADY_ONLINE, Status.RECOVERED]
    assert leaders(cluster, "returning") == {0: 1, 1: 3}
    assert orders(cluster, "returning") == {0: (1, 3), 1: (2, 3)}
