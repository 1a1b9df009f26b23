# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Brokers that freeze while replicas are restored, or beside a lost broker that is up again: on real brokers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from integration.redundancy.throttles import throttles
from lab import Cluster, versions, wait_until
from lab.module_process import results, run_module, start_module

pytestmark = [pytest.mark.wide, pytest.mark.timeout(600)]

_TOPIC, _LOST, _PARTITIONS = "orders", 5, 4


@pytest.fixture(scope="module")
def cluster(kafka_version: str) -> Iterator[Cluster]:
    """Five brokers. The last one is lost with its disk; 2 of the other replicas of each partition are in sync."""
    with Cluster(kafka_version, brokers=5) as started:
        orders = {number: [_LOST, 1 + number % 2, 4 - number % 2] for number in range(_PARTITIONS)}
        started.client.create_topic(_TOPIC, orders, {"min.insync.replicas": 1})
        for _ in range(3):
            started.client.produce(_TOPIC, range(_PARTITIONS), 20, record_bytes=50_000)
        started.brokers[_LOST].kill()
        started.brokers[_LOST].wipe()
        wait_until(lambda: all(_LOST not in each.isr for each in described(started)), 60, what="5 has left the ISR")
        yield started


def described(cluster: Cluster, topic: str = _TOPIC) -> list[Any]:
    return [*cluster.client.describe(topic).values()]


def options(cluster: Cluster, **more: object) -> dict[str, Any]:
    return {"bootstrap_servers": [cluster.bootstrap()], "request_timeout_ms": 2000, "apply": True, **more}


def state_of_frozen(cluster: Cluster) -> str:
    """Return what is known of a frozen broker. Before Kafka 4.0, a broker that is fenced has no address to ask."""
    return "fenced" if cluster.version.startswith("3.") else "hung"


def test_the_copies_of_a_broker_that_freezes_go_to_another_one(cluster: Cluster) -> None:
    """The broker is named with its cause, and nobody has to run it again."""
    given = options(cluster, lost_brokers=[_LOST], throttle_bytes_per_second=250_000, stall_timeout_ms=15_000)
    run = start_module("redundancy", given)
    wait_until(lambda: any(len(each.replicas) > 3 for each in described(cluster)), 60, what="copies run")
    copying = Counter(broker for each in described(cluster) for broker in {*each.replicas} - {*each.isr, _LOST})
    frozen = copying.most_common(1)[0][0]
    cluster.brokers[frozen].freeze()
    done = results(run)
    try:
        assert "failed" not in done, done["msg"]
        assert done["summary"]["restored"] == _PARTITIONS
        state = state_of_frozen(cluster)
        assert any(f"broker {frozen} answered when this run began, and is {state} (" in each for each in done["notes"])
        states = described(cluster)
        # Before Kafka 4.3, the lost replica is listed until the frozen one is in sync.
        is_listed = versions.KAFKA.index(cluster.version) < versions.KAFKA.index("4.3.1")
        away = {frozen, _LOST} if is_listed else {frozen}
        assert all({*each.replicas} - {*each.isr} <= away and len(each.isr) >= 2 for each in states), states
    finally:
        cluster.brokers[frozen].thaw()
    wait_until(lambda: all(len(each.isr) == 3 for each in described(cluster)), 60, what="all replicas are in sync")
    again = run_module("redundancy", options(cluster, lost_brokers=[_LOST]))
    assert "failed" not in again, again
    assert throttles(cluster, _TOPIC) == []


def test_a_broker_that_hangs_beside_a_lost_one_that_is_up_is_named(cluster: Cluster) -> None:
    """The lost broker's replica is behind, and its leader hangs: first nobody knows, then it has no leader."""
    cluster.brokers[_LOST].start()
    cluster.client.create_topic("pair", {0: [2, _LOST]}, {"min.insync.replicas": 1})
    cluster.brokers[_LOST].kill()
    wait_until(lambda: described(cluster, "pair")[0].isr == (2,), 60, what="only broker 2 is in sync")
    cluster.client.produce("pair", 0, 1)
    cluster.brokers[2].freeze()
    try:
        cluster.brokers[_LOST].start()
        done = run_module("redundancy", options(cluster, lost_brokers=[_LOST]))
        assert done["summary"]["no_leader"] == 1, done
        hangs = f"broker 2 is {state_of_frozen(cluster)} ("
        assert any(hangs in each and "was not declared lost" in each for each in done["notes"])
        assert f"broker {_LOST} was declared lost, and is up: its replicas stay; 1 of 1" in " ".join(done["notes"])
    finally:
        cluster.brokers[2].thaw()
