# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The last leader is dead and no longer registered: the controller refuses every order that names it."""

from __future__ import annotations

import signal
from dataclasses import replace

import pytest
from kafka.protocol.api_key import ApiKey

from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.plan import Status
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.strategy import Strategy
from integration.on_call import OnCall
from lab import Cluster, scenarios, settings, wait_until, wire
from lab.faults import Before, DisconnectError
from lab.leadership import leaders, orders

TOPIC = "forgotten"


@pytest.fixture
def offline(cluster: Cluster) -> scenarios.Offline:
    """Create two partitions whose best replica is the last in order, and whose last leader is unregistered."""
    offline = scenarios.diverged(cluster, TOPIC, partitions=2)
    broker = cluster.brokers[offline.best]
    wire.unregister_broker(broker.host, broker.ports[settings.INTERNAL], offline.replicas[0])
    return offline


def test_an_unregistered_broker_is_dropped_only_with_the_option(
    cluster: Cluster, on_call: OnCall, offline: scenarios.Offline
) -> None:
    dead, *living = offline.replicas
    unchanged = dict.fromkeys(offline.partitions, offline.replicas)
    cluster.proxy.clear()
    refused = on_call.plan(Strategy.AGGRESSIVE, TOPIC)
    assert {each.status for each in refused.left_alone} == {Status.REFUSED}
    assert all("unclean_recovery_allow_dropping_unregistered" in each.reason for each in refused.left_alone)
    plan = on_call.plan(Strategy.AGGRESSIVE, TOPIC, may_drop=True)
    assert {each.dropped for each in plan.elections} == {(dead,)}
    # A plan that was made before the broker was unregistered.
    unaware = replace(plan, elections=tuple(replace(each, dropped=()) for each in plan.elections))
    foreseen = on_call.carry_out(unaware, check_mode=True)
    assert {(each.status, each.dropped) for each in on_call.carry_out(plan, check_mode=True)} == {
        (Status.WOULD_RECOVER, (dead,))
    }
    assert cluster.proxy.write_requests() == []
    done = on_call.carry_out(unaware)
    assert {each.status for each in (*foreseen, *done)} == {Status.REFUSED}
    assert (leaders(cluster, TOPIC), orders(cluster, TOPIC)) == (dict.fromkeys(offline.partitions), unchanged)

    cluster.proxy.clear_once_idle()
    done = on_call.carry_out(plan)
    assert {(each.status, each.dropped) for each in done} == {(Status.RECOVERED, (dead,))}
    assert all(f"broker {dead} was dropped from its replicas and is not put back" in each.reason for each in done)
    assert leaders(cluster, TOPIC) == dict.fromkeys(offline.partitions, offline.best)
    _wait_for_orders(cluster, dict.fromkeys(offline.partitions, tuple(living)))
    cluster.proxy.clear_once_idle()
    assert {each.status for each in on_call.carry_out(plan)} == {Status.ALREADY_ONLINE}
    assert cluster.proxy.write_requests() == []


def test_a_kill_between_the_drop_and_the_election(
    cluster: Cluster, on_call: OnCall, offline: scenarios.Offline
) -> None:
    dead, *living = offline.replicas
    process = on_call.start_elections(on_call.plan(Strategy.AGGRESSIVE, TOPIC, may_drop=True))

    def die() -> None:
        process.kill()
        raise DisconnectError

    with cluster.proxy.inject(Before(die), api_key=ApiKey.ElectLeaders, times=1) as rule:
        process.communicate(timeout=60)
    assert rule.hits, "the run never came as far as the election"
    assert process.returncode == -signal.SIGKILL
    dropping = (offline.best, *(each for each in living if each != offline.best), dead)
    assert orders(cluster, TOPIC) == dict.fromkeys(offline.partitions, dropping)

    rerun = on_call.plan(Strategy.AGGRESSIVE, TOPIC, may_drop=True)
    assert {each.status for each in on_call.carry_out(rerun, check_mode=True)} == {Status.WOULD_RECOVER}
    assert {(each.status, each.dropped) for each in on_call.carry_out(rerun)} == {(Status.RECOVERED, (dead,))}
    assert leaders(cluster, TOPIC) == dict.fromkeys(offline.partitions, offline.best)
    _wait_for_orders(cluster, dict.fromkeys(offline.partitions, tuple(living)))
    cluster.proxy.clear_once_idle()
    on_call.carry_out(rerun)
    assert cluster.proxy.write_requests() == []


def _wait_for_orders(cluster: Cluster, wanted: dict[int, tuple[int, ...]]) -> None:
    """Wait until the controller has ended the removals, which needs a follower in sync."""
    wait_until(lambda: orders(cluster, TOPIC) == wanted, 30, what="nothing is removed any more")
