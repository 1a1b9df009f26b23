# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A broker that starts uses the configs of a deleted topic for a new one of the same name, and describes the new ones.

So its records may have been acknowledged with acks=all where min.insync.replicas should have prevented it.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, AlterConfigOpType, ConfigEntry, ConfigResource, ResourceType

from integration.history.alone import loss_at_only_survivor, without_elr
from lab import Cluster, scenarios

_OLDER = {"min.insync.replicas": 1}


@pytest.fixture
def cluster(kafka_version: str) -> Iterator[Cluster]:
    with Cluster(kafka_version, features=without_elr(kafka_version)) as made:
        two = ConfigEntry("min.insync.replicas", "2", incremental_operation=AlterConfigOpType.SET)
        brokers = [ConfigResource(ResourceType.BROKER, str(each), incremental_configs=[two]) for each in made.brokers]
        admin = AdminClient({"bootstrap.servers": made.bootstrap("INTERNAL")})
        for broker in brokers:
            admin.incremental_alter_configs([broker])[broker].result()
        yield made


def is_acknowledged_by_all(cluster: Cluster, topic: str) -> bool:
    acknowledged: list[bool] = []
    producer = Producer(
        {"bootstrap.servers": cluster.bootstrap("INTERNAL"), "acks": "all", "message.timeout.ms": 8000, "log_level": 0}
    )
    producer.produce(topic, b"x", partition=0, on_delivery=lambda error, _message: acknowledged.append(error is None))
    producer.flush(30)
    return acknowledged == [True]


@pytest.mark.wide
@pytest.mark.on_every_version
def test_a_value_of_a_deleted_topic_breaks_the_proof_of_the_new_one(cluster: Cluster) -> None:
    client, last_leader = cluster.client, cluster.brokers[1]
    new = {"never": {}, "without": {}, "own": {"min.insync.replicas": 2}}
    for topic in ("without", "own"):
        client.create_topic(topic, {0: [1, 2, 3]}, _OLDER)
        client.delete_topic(topic)
    for topic, configs in new.items():
        client.create_topic(topic, {0: [1, 2, 3]}, configs)
    last_leader.restart()
    for topic in new:
        scenarios.wait_isr(cluster, topic, {1, 2, 3}, seen_by=2)
        assert is_acknowledged_by_all(cluster, topic)
    # Broker 1 leads again, and then alone.
    for broker_id, isr in ((2, {1, 3}), (3, {1})):
        cluster.brokers[broker_id].freeze()
        for topic in new:
            scenarios.wait_isr(cluster, topic, isr, seen_by=1)
    assert {topic: is_acknowledged_by_all(cluster, topic) for topic in new} == {
        "never": False,
        "without": True,
        "own": False,
    }, "this version of Kafka does not use the configs of a deleted topic: say so in _history/min_isr.py"
    last_leader.kill()
    cluster.brokers[3].thaw()
    for topic in new:
        scenarios.wait_offline(cluster, topic, away={1, 2}, seen_by=3)

    losses = {topic: loss_at_only_survivor(cluster, topic) for topic in new}
    assert {topic: loss["acks_all_lost"] for topic, loss in losses.items()} == {"never": 0, "without": None, "own": 0}
    assert losses["without"]["proof"].startswith(
        "without broker 3 the ISR was [1]. A deleted topic of the same name had min.insync.replicas 1"
    )
