# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A partition that lost its leader during a reassignment: the best replica leads, and the reassignment completes.

Kafka's own election takes the first live replica of the reassignment's order, which may hold nothing.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from kafka.protocol.api_key import ApiKey

from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.reassignments import cancel
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.settings import Address
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.wire import Wire
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.partition import TopicPartition
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.plan import Status
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.strategy import Strategy
from integration.on_call import OnCall
from lab import Cluster, faults, scenarios, settings, wait_until, wire
from lab.leadership import request_reassignments

_DEAD, _SHORT, _BEST, _EMPTY = 1, 2, 3, 4
_BEST_RECORDS = 15
_REPLICAS = (_DEAD, _SHORT, _BEST)


def _begin(cluster: Cluster, topic: str, target: tuple[int, ...], partitions: int = 1) -> scenarios.Offline:
    """Make partitions offline whose reassignment to ``target`` is running."""
    for each in cluster.brokers.values():
        if not each.running:
            each.start()
    offline = scenarios.diverged(cluster, topic, partitions)
    request_reassignments(cluster, topic, dict.fromkeys(range(partitions), target))
    expected = (*target, *sorted({*_REPLICAS} - {*target}))
    wait_until(
        lambda: all(
            each.replicas == expected
            for broker in (_SHORT, _BEST)
            for each in cluster.client.describe(topic, broker=broker).values()
        ),
        60,
        what="the reassignment is running",
    )
    return offline


def _wait_completed(cluster: Cluster, topic: str, target: tuple[int, ...]) -> None:
    """Wait until the reassignments are complete, with every record of the best replica on each of their replicas."""
    numbers = [*cluster.client.describe(topic)]
    wait_until(
        lambda: all(
            each.replicas == target and {*each.isr} == {*target} for each in cluster.client.describe(topic).values()
        ),
        60,
        what="the reassignment is complete, in the order of its target",
    )
    for broker in target:
        ends = cluster.client.log_end_offsets(topic, numbers, broker)
        assert {*ends.values()} == {_BEST_RECORDS}, (broker, ends)


@pytest.mark.parametrize(
    "target",
    [
        pytest.param((_EMPTY, _BEST), id="the best is in the target, after an empty replica"),
        pytest.param((_SHORT, _EMPTY), id="the best is to be removed", marks=pytest.mark.wide),
        pytest.param((_EMPTY,), id="all are to be removed", marks=pytest.mark.wide),
        pytest.param((_SHORT, _BEST), id="the dead one is to be removed", marks=pytest.mark.wide),
    ],
)
def test_the_best_replica_leads_and_the_reassignment_completes(
    cluster: Cluster, tmp_path: Path, target: tuple[int, ...]
) -> None:
    on_call, topic = OnCall(cluster, tmp_path), f"moving{''.join(map(str, target))}"
    _begin(cluster, topic, target, partitions=3)
    outcomes = on_call.carry_out(on_call.plan(Strategy.AGGRESSIVE, topic))
    assert {each.status for each in outcomes} == {Status.RECOVERED}, outcomes
    assert {each.designated_leader for each in outcomes} == {_BEST}
    assert all(f"it is being reassigned to {list(target)}" in each.reason for each in outcomes), outcomes
    _wait_completed(cluster, topic, target)
    cluster.brokers[_DEAD].start()
    _wait_completed(cluster, topic, target)


@pytest.mark.wide
@pytest.mark.parametrize("target", [(*_REPLICAS, _EMPTY), (_DEAD, _SHORT)], ids=["adds only", "removes the best"])
def test_a_reassignment_whose_target_has_the_dead_broker_completes_when_it_returns(
    cluster: Cluster, tmp_path: Path, target: tuple[int, ...]
) -> None:
    on_call, topic = OnCall(cluster, tmp_path), f"kept{''.join(map(str, target))}"
    _begin(cluster, topic, target)
    (outcome,) = on_call.carry_out(on_call.plan(Strategy.AGGRESSIVE, topic))
    assert (outcome.status, outcome.leader_after) == (Status.RECOVERED, _BEST), outcome
    cluster.brokers[_DEAD].start()
    _wait_completed(cluster, topic, target)


@pytest.mark.wide
def test_the_next_run_restores_the_order_of_the_target(cluster: Cluster, tmp_path: Path) -> None:
    on_call, target, topic = OnCall(cluster, tmp_path), (_EMPTY, _BEST), "killed"
    _begin(cluster, topic, target)
    plan = on_call.plan(Strategy.AGGRESSIVE, topic)
    started: list[subprocess.Popen[str]] = []

    def die() -> None:
        started[0].kill()

    with cluster.proxy.inject(faults.Before(die), api_key=ApiKey.ElectLeaders, times=1) as rule:
        started.append(on_call.start_elections(plan))
        wait_until(lambda: started[0].poll() is not None, 120, what="the run is killed before its election")
    assert rule.hits
    started[0].communicate()
    wait_until(lambda: cluster.client.describe(topic)[0].replicas[0] == _BEST, 30, what="its order is set")
    # The election of the killed run may be executed late: then its leader is the same, and nothing is planned.
    outcomes = on_call.carry_out(on_call.plan(Strategy.AGGRESSIVE, topic))
    assert {each.status for each in outcomes} <= {Status.RECOVERED, Status.ALREADY_ONLINE}, outcomes
    _wait_completed(cluster, topic, target)
    cluster.brokers[_DEAD].start()


@pytest.mark.wide
def test_a_reassignment_that_is_changed_after_the_plan_is_not_touched(cluster: Cluster, tmp_path: Path) -> None:
    on_call, topic = OnCall(cluster, tmp_path), "changed"
    _begin(cluster, topic, (_EMPTY, _BEST))
    plan = on_call.plan(Strategy.AGGRESSIVE, topic)
    request_reassignments(cluster, topic, {0: (_EMPTY, _SHORT)})
    wait_until(lambda: cluster.client.describe(topic)[0].replicas[:2] == (_EMPTY, _SHORT), 30, what="it is changed")
    (outcome,) = on_call.carry_out(plan)
    assert outcome.status is Status.REFUSED
    assert "was another one in the plan" in outcome.reason
    # A new plan recovers it.
    (outcome,) = on_call.carry_out(on_call.plan(Strategy.AGGRESSIVE, topic))
    assert outcome.status is Status.RECOVERED, outcome
    _wait_completed(cluster, topic, (_EMPTY, _SHORT))
    cluster.brokers[_DEAD].start()


@pytest.mark.wide
@pytest.mark.on_every_version
@pytest.mark.parametrize("target", [(_EMPTY, _BEST), (_EMPTY,)], ids=["the best stays", "all are to be removed"])
def test_a_cancellation_gives_no_leader_and_no_record_is_lost_by_it(
    cluster: Cluster, tmp_path: Path, target: tuple[int, ...]
) -> None:
    """Kafka refuses it where the ISR is empty (4.x), and carries it out where the dead leader is in the ISR (3.9)."""
    on_call, topic = OnCall(cluster, tmp_path), f"canceled{len(target)}"
    _begin(cluster, topic, target)
    live = cluster.brokers[_BEST]
    with Wire(on_call.settings) as connected:
        refusal = cancel(connected, Address(live.host, live.ports[settings.INTERNAL]), TopicPartition(topic, 0))
    if refusal is not None:
        assert "error 39" in refusal
        assert "unclean" in refusal
    state = cluster.client.describe(topic, broker=_BEST)[0]
    assert state.leader is None
    (outcome,) = on_call.carry_out(on_call.plan(Strategy.AGGRESSIVE, topic))
    assert outcome.status is Status.RECOVERED, outcome
    # The reassignment goes on, and may be complete before the outcome is read.
    assert outcome.leader_after in {_BEST, *(target if refusal else ())}, outcome
    if refusal is None:
        assert len(cluster.client.consume_all(topic, 0)) == _BEST_RECORDS
    else:
        _wait_completed(cluster, topic, target)
    cluster.brokers[_DEAD].start()


@pytest.mark.wide
@pytest.mark.parametrize("is_slow", [False, True], ids=["at once", "after the new order is complete"])
def test_an_unregistered_broker_that_the_reassignment_removes_is_no_obstacle(
    cluster: Cluster, tmp_path: Path, is_slow: bool
) -> None:
    """A request that leaves out only this broker makes the controller forget that the best one is to be removed."""
    on_call, topic = OnCall(cluster, tmp_path), f"unregistered{is_slow:d}"
    _begin(cluster, topic, (_SHORT, _EMPTY))
    live = cluster.brokers[_BEST]
    wire.unregister_broker(live.host, live.ports[settings.INTERNAL], _DEAD)
    ours = (_BEST, _SHORT, _EMPTY)

    def wait_until_complete() -> None:
        wait_until(lambda: {*cluster.client.describe(topic)[0].isr} == {*ours}, 60, what="the empty replica is in sync")
        wait_until(lambda: cluster.client.describe(topic)[0].replicas == ours, 60, what="our order is complete")

    with cluster.proxy.inject(faults.After(wait_until_complete), api_key=ApiKey.ElectLeaders, times=int(is_slow)):
        (outcome,) = on_call.carry_out(on_call.plan(Strategy.AGGRESSIVE, topic))
    assert outcome.status is Status.RECOVERED, outcome
    assert "not restored" not in outcome.reason, outcome
    _wait_completed(cluster, topic, (_SHORT, _EMPTY))
    cluster.brokers[_DEAD].start()
