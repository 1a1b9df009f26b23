# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Three of four replicas survive: the last in order is the best, and the first live one holds the fewest records.

So it shows who leads where the designated broker goes away after the last look, just before the election.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from dataclasses import replace

import pytest
from kafka.protocol.api_key import ApiKey

from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.plan import Plan, Status
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.strategy import Strategy
from integration.on_call import OnCall
from lab import Cluster, scenarios, settings, wait_until, wire
from lab.faults import Before
from lab.health import heal
from lab.leadership import leaders, orders
from lab.pool import ClusterPool, Specification

pytestmark = [pytest.mark.wide, pytest.mark.on_any_version]

_DEAD, _SECOND, _BEST, _LEAST = 1, 2, 3, 4
_REPLICAS = (_DEAD, _LEAST, _SECOND, _BEST)
_OWN = "own"
"""A topic whose only replica is on the best replica's broker, so that a controlled shutdown takes some time."""


def _create(version: str) -> Cluster:
    # Long enough to freeze the broker between its first two heartbeats of a controlled shutdown.
    slow = {_BEST: {"broker.heartbeat.interval.ms": 2000}}
    return Cluster(version, brokers=4, proxied=True, broker_properties=slow)


_FOUR_BROKERS: Specification[Cluster] = Specification("four brokers, one with slow heartbeats", _create, heal)


@pytest.fixture
def cluster(clusters: ClusterPool, kafka_version: str) -> Iterator[Cluster]:
    with clusters.lease(_FOUR_BROKERS, kafka_version) as cluster:
        yield cluster


def _planned(cluster: Cluster, on_call: OnCall, topic: str, partitions: int) -> Plan:
    cluster.client.create_topic(_OWN, {0: [_BEST]})
    scenarios.diverged(cluster, topic, partitions, replicas=_REPLICAS, records=(10, 5, 5, 1))
    wait_until(lambda: cluster.client.leader(_OWN) == _BEST, 30, what="the best replica's broker leads its own topic")
    plan = on_call.plan(Strategy.AGGRESSIVE, topic)
    assert {each.designated_leader for each in plan.elections} == {_BEST}
    assert {tuple(one.broker_id for one in each.candidates) for each in plan.elections} == {(_BEST, _SECOND, _LEAST)}
    return plan


def _is_alive(cluster: Cluster, topic: str) -> bool:
    """Return whether the best replica can lead, by the metadata of another broker."""
    return _BEST not in cluster.client.describe(topic, broker=_SECOND)[0].offline_replicas


def test_a_broker_that_is_fenced_at_the_last_moment_is_followed_by_the_second_best(
    cluster: Cluster, on_call: OnCall
) -> None:
    plan = _planned(cluster, on_call, "fenced", 1)

    def die() -> None:
        cluster.brokers[_BEST].kill()
        wait_until(lambda: not _is_alive(cluster, "fenced"), 60, what="the controller fences it")

    with cluster.proxy.inject(Before(die), api_key=ApiKey.ElectLeaders, times=1) as rule:
        (outcome,) = on_call.carry_out(plan)
    assert rule.hits
    assert outcome.status is Status.FAILED
    assert f"broker {_SECOND} leads it, not the designated {_BEST}" in outcome.reason
    assert leaders(cluster, "fenced") == {0: _SECOND}
    assert orders(cluster, "fenced") == {0: _REPLICAS}
    assert len(cluster.client.consume_all("fenced", 0)) == 15


def test_a_broker_in_controlled_shutdown_looks_alive_and_costs_one_partition(cluster: Cluster, on_call: OnCall) -> None:
    plan = _planned(cluster, on_call, "shutting-down", 5)
    of_best, of_second = plan.elections[:3], plan.elections[3:]
    plan = replace(plan, elections=(*of_best, *(replace(each, designated_leader=_SECOND) for each in of_second)))
    best = cluster.brokers[_BEST]
    looked_alive = []

    def begin_shutdown() -> None:
        assert best.pid is not None
        os.kill(best.pid, signal.SIGTERM)
        wait_until(
            lambda: cluster.client.describe(_OWN, broker=_SECOND)[0].leader is None,
            30,
            interval=0.02,
            what="the controller takes leaderships from a broker in controlled shutdown",
        )
        best.freeze()
        looked_alive.append(_is_alive(cluster, "shutting-down"))

    with cluster.proxy.inject(Before(begin_shutdown), api_key=ApiKey.ElectLeaders, times=1):
        outcomes = on_call.carry_out(plan)
    assert looked_alive == [True]
    first, *others = outcomes[:3]
    assert f"broker {_SECOND} leads it, not the designated {_BEST}" in first.reason
    assert [each.status for each in outcomes] == [Status.FAILED] * 3 + [Status.RECOVERED] * 2
    assert all(f"not requested: broker {_BEST} was not elected for another partition" in each.reason for each in others)
    assert leaders(cluster, "shutting-down") == {0: _SECOND, 1: None, 2: None, 3: _SECOND, 4: _SECOND}
    assert orders(cluster, "shutting-down") == dict.fromkeys(range(5), _REPLICAS)


def test_nothing_is_reordered_for_a_broker_that_a_plain_election_picks_while_one_is_unregistered(
    cluster: Cluster, on_call: OnCall
) -> None:
    """By rank, the other replicas would be reordered, and the controller would refuse every order."""
    plan = _planned(cluster, on_call, "plain", 1)
    witness = cluster.brokers[_SECOND]
    wire.unregister_broker(witness.host, witness.ports[settings.INTERNAL], _DEAD)
    plan = replace(plan, elections=tuple(replace(each, designated_leader=_LEAST) for each in plan.elections))
    assert [each.status for each in on_call.carry_out(plan, check_mode=True)] == [Status.WOULD_RECOVER]
    cluster.proxy.clear_once_idle()
    assert [each.status for each in on_call.carry_out(plan)] == [Status.RECOVERED]
    assert not any(each.is_reassignment for each in cluster.proxy.write_requests())
    assert (leaders(cluster, "plain"), orders(cluster, "plain")) == ({0: _LEAST}, {0: _REPLICAS})
