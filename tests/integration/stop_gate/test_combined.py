# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The stop gate where three nodes are broker and controller: both of what they do is in the answer, and happens."""

from __future__ import annotations

from typing import Any

import pytest
from confluent_kafka import Producer

from integration.quorum_recovery.combined import CombinedCluster
from lab import Cluster, settings, wait_until
from lab.module_process import run_module

pytestmark = [pytest.mark.wide, pytest.mark.timeout(600)]

_NODES = (101, 102, 103)


def ask(cluster: Cluster, *nodes: int) -> dict[str, Any]:
    connection = {"bootstrap_servers": [cluster.bootstrap(settings.INTERNAL)], "request_timeout_ms": 3000}
    return run_module("stop_gate", connection | {"brokers": [*nodes]})


def kinds(answer: dict[str, Any]) -> set[str]:
    return {each["kind"] for each in answer["reasons"]}


def test_the_active_controller_of_combined_nodes_may_stop_and_then_no_other_one(kafka_version: str) -> None:
    with CombinedCluster(kafka_version, brokers=1, controllers=3) as cluster:
        client = cluster.client
        producer = Producer({"bootstrap.servers": cluster.bootstrap(settings.INTERNAL), "acks": "all"})
        # The lab waits for those that are brokers alone.
        wait_until(lambda: len(producer.list_topics(timeout=10).brokers) == 4, 60, what="all brokers are registered")
        every_broker = ask(cluster, 1, *_NODES)
        assert kinds(every_broker) == {"quorum", "no_broker_left"}, "there is no topic yet"
        orders = {number: [*_NODES[number:], *_NODES[:number]] for number in range(3)}
        client.create_topic("orders", orders, {"min.insync.replicas": 2})
        client.create_topic("twice", {0: [101, 102], 1: [102, 103], 2: [103, 101]}, {"min.insync.replicas": 1})
        every = {topic: client.describe(topic, broker=1) for topic in ("orders", "twice")}
        wait_until(
            lambda: all(
                len(each.isr) == len(each.replicas)
                for topic in every
                for each in client.describe(topic, broker=1).values()
            ),
            60,
            what="every replica is in sync",
        )

        for pair in ((101, 102), (102, 103)):
            two = ask(cluster, *pair)
            assert two["verdict"] == "no", two
            assert {"quorum", "below_min_isr", "last_copy"} <= kinds(two), two
        active = cluster.active_controller().node_id
        one = ask(cluster, active)
        assert (one["verdict"], one["reasons"]) == ("yes", []), one

        cluster.controllers[active].kill()
        others = {each for each in _NODES if each != active}

        def is_led_by_others() -> bool:
            states = [each for topic in every for each in client.describe(topic, broker=1).values()]
            return all(each.leader in others and active not in each.isr for each in states)

        wait_until(is_led_by_others, 60, what="the other nodes lead, as the yes said")
        assert all(len(each.isr) == 2 for each in client.describe("orders", broker=1).values()), "acks=all goes on"
        for each in others:
            next_one = ask(cluster, each)
            assert next_one["verdict"] == "no", next_one
            assert {"quorum", "below_min_isr"} <= kinds(next_one), next_one
        alone = ask(cluster, 1)
        assert alone["verdict"] == "yes", alone
