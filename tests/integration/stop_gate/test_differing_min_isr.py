# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Brokers that differ in min.insync.replicas, as while a new value is rolled out: the leader decides by its own."""

from __future__ import annotations

import pytest
from confluent_kafka import KafkaError, Producer

from lab import Cluster, settings, wait_until
from lab.module_process import run_module

_NEW, _OLD, _STOPPED = 1, 3, 2

pytestmark = [pytest.mark.wide, pytest.mark.on_every_version]


def test_the_answer_is_that_of_the_leader_whichever_broker_is_asked(kafka_version: str) -> None:
    values = {_NEW: 2, _STOPPED: 2, _OLD: 1}
    own = {broker: {"min.insync.replicas": value} for broker, value in values.items()}
    # Eligible leader replicas (KIP-966) come with a value for the whole cluster.
    features = {} if kafka_version.startswith("3.") else {"eligible.leader.replicas.version": 0}
    with Cluster(kafka_version, brokers=3, broker_properties=own, features=features) as cluster:
        cluster.client.create_topic("orders", {0: [_NEW, _STOPPED]})
        for broker in cluster.brokers.values():
            asked = {"bootstrap_servers": [settings.address(cluster.host, broker.port)], "brokers": [_STOPPED]}
            gate = run_module("stop_gate", asked)
            assert (gate["verdict"], [each["kind"] for each in gate["reasons"]]) == ("no", ["below_min_isr"]), gate
        checks = run_module("readiness_info", {"bootstrap_servers": [cluster.bootstrap()]})["checks"]
        assert any("1 on broker 3; 2 on brokers 1, 2" in each["found"] for each in checks)

        cluster.brokers[_STOPPED].stop()
        wait_until(lambda: cluster.client.describe("orders", broker=_NEW)[0].isr == (_NEW,), 30, what="it is alone")
        assert _refuses(cluster)


def _refuses(cluster: Cluster) -> bool:
    """Return whether the leader refuses a record with acks=all."""
    errors: list[KafkaError | None] = []
    producer = Producer(
        {"bootstrap.servers": cluster.bootstrap(), "acks": "all", "message.timeout.ms": 5000, "retries": 0}
    )
    producer.produce("orders", b"x", partition=0, on_delivery=lambda error, _message: errors.append(error))
    producer.flush(20)
    return bool(errors and errors[0])
