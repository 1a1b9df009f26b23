# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A cluster without a run topic at the beginning of each test."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import AdminClient

from ansible_collections.kafkaops.recovery.plugins.module_utils._changes.run_topic import RUN_TOPIC
from lab import Cluster, settings, wait_until
from lab.leadership import MEMORY_TOPIC


@pytest.fixture(scope="module")
def shared_cluster(kafka_version: str) -> Iterator[Cluster]:
    with Cluster(kafka_version, proxied=True) as started:
        yield started


@pytest.fixture
def cluster(shared_cluster: Cluster) -> Iterator[Cluster]:
    """Return the module's cluster, with every broker running and no run topic."""
    for broker in shared_cluster.brokers.values():
        if broker.frozen:
            broker.thaw()
        if not broker.running:
            broker.start()
    admin = AdminClient({"bootstrap.servers": shared_cluster.bootstrap(settings.INTERNAL), "log_level": 0})
    for topic in [
        each for each in admin.list_topics(timeout=30).topics if each in {RUN_TOPIC, MEMORY_TOPIC, "killed", "drained"}
    ]:
        try:
            admin.delete_topics([topic])[topic].result()
        except KafkaException as error:
            # A broker that was just started may still list a topic that is deleted.
            if error.args[0].code() != KafkaError.UNKNOWN_TOPIC_OR_PART:
                raise
        for broker in shared_cluster.brokers.values():
            wait_until(
                lambda each=broker.node_id, name=topic: not shared_cluster.client.describe(name, broker=each),  # type: ignore[misc]
                60,
                what=f"broker {broker.node_id} forgets {topic}",
            )
    shared_cluster.proxy.clear()
    yield shared_cluster
    shared_cluster.proxy.clear()
