# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Running moves of healthy replicas are left to those who began them. A broker that has just died did not return."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from confluent_kafka.admin import AdminClient, AlterConfigOpType, ConfigEntry, ConfigResource, ResourceType

from lab import Cluster, wait_until
from lab.leadership import request_reassignments
from lab.module_process import run_module

pytestmark = [pytest.mark.wide, pytest.mark.timeout(600)]

_TOPIC = "orders"
_RATE, _REPLICAS = "follower.replication.throttled.rate", "follower.replication.throttled.replicas"


@pytest.fixture
def cluster(kafka_version: str) -> Iterator[Cluster]:
    with Cluster(kafka_version, brokers=5) as started:
        started.client.create_topic(_TOPIC, {0: [1, 2, 3], 1: [2, 3, 1]}, {"min.insync.replicas": 1})
        for _ in range(20):
            started.client.produce(_TOPIC, [0, 1], 9, record_bytes=100_000)
        yield started


def configure(cluster: Cluster, kind: ResourceType, name: str, setting: str, value: str) -> None:
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap("INTERNAL"), "log_level": 0})
    entry = ConfigEntry(setting, value, incremental_operation=AlterConfigOpType.SET)
    resource = ConfigResource(kind, name, incremental_configs=[entry])
    admin.incremental_alter_configs([resource])[resource].result(30)


def replicas(cluster: Cluster) -> dict[int, list[int]]:
    return {number: sorted(each.replicas) for number, each in cluster.client.describe(_TOPIC).items()}


def restore(cluster: Cluster, **asked: object) -> dict[str, Any]:
    return run_module("redundancy", {"bootstrap_servers": [cluster.bootstrap()], "apply": True, **asked})


@pytest.mark.parametrize("asked", [{"all_under_replicated": True}, {"partitions": [{"topic": _TOPIC}]}], ids=str)
def test_a_move_between_healthy_brokers_goes_on(cluster: Cluster, asked: dict[str, object]) -> None:
    """Its partition has one replica more than the other one as long as it runs: that one gets no fourth replica."""
    configure(cluster, ResourceType.BROKER, "4", _RATE, "1000000")
    configure(cluster, ResourceType.TOPIC, _TOPIC, _REPLICAS, "0:4")
    request_reassignments(cluster, _TOPIC, {0: [1, 2, 4]})
    assert replicas(cluster) == {0: [1, 2, 3, 4], 1: [1, 2, 3]}
    done = restore(cluster, **asked)
    assert replicas(cluster) == {0: [1, 2, 3, 4], 1: [1, 2, 3]}, "the move ended too early, or was canceled"
    assert "failed" not in done, done
    assert done["partitions"] == []
    wait_until(lambda: replicas(cluster) == {0: [1, 2, 4], 1: [1, 2, 3]}, 120, what="the move is complete")


def test_a_lost_broker_that_is_not_fenced_yet_has_not_returned(cluster: Cluster) -> None:
    """It is in the ISR for 9 s after its death."""
    cluster.brokers[3].kill()
    assert all(3 in each.isr for each in cluster.client.describe(_TOPIC).values())
    done = restore(cluster, lost_brokers=[3])
    assert "failed" not in done, done
    assert done["summary"]["restored"] == 2
    states = cluster.client.describe(_TOPIC).values()
    assert all(3 not in each.replicas and len(each.isr) == 3 for each in states), states
