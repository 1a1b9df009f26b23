# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A cluster that a test broke in every way is healthy for the next test."""

from __future__ import annotations

import pytest
from confluent_kafka.admin import AdminClient, AlterConfigOpType, ConfigEntry, ConfigResource, ResourceType

from lab import Cluster, scenarios, settings, wire
from lab.faults import SwallowRequest
from lab.pool import STANDARD, ClusterPool

pytestmark = [pytest.mark.on_any_version, pytest.mark.wide]


def test_whatever_a_test_did_is_taken_back(clusters: ClusterPool, kafka_version: str) -> None:
    with clusters.lease(STANDARD, kafka_version) as cluster:
        ids = [node.pid for node in cluster.nodes]
        _break(cluster)
    with clusters.lease(STANDARD, kafka_version) as healed:
        assert healed is cluster
        kept = [before for before, node in zip(ids, healed.nodes, strict=True) if node.pid == before]
        assert len(kept) == 2, "of the four nodes, two were not restarted"
        assert healed.proxy.rules == []
        assert healed.proxy.requests() == []
        for broker in healed.brokers.values():
            address = (broker.host, broker.ports[settings.INTERNAL])
            assert wire.topics(*address) == []
            assert wire.broker_configs(*address, str(broker.node_id)) == []
            assert {each.node_id for each in wire.metadata(*address).brokers} == {1, 2, 3}
            assert "num.io.threads=4\n" in broker.write_properties().read_text()


def _break(cluster: Cluster) -> None:
    """Leave broker 1 dead, broker 2 with other properties, and broker 3 frozen with its own config."""
    scenarios.diverged(cluster, "offline")
    _set_own_config(cluster, 3)
    cluster.brokers[2].properties["num.io.threads"] = 5
    cluster.brokers[2].restart()
    cluster.proxy.inject(SwallowRequest())
    cluster.brokers[3].freeze()


def _set_own_config(cluster: Cluster, broker: int) -> None:
    entry = ConfigEntry("log.cleaner.backoff.ms", "700", incremental_operation=AlterConfigOpType.SET)
    resource = ConfigResource(ResourceType.BROKER, str(broker), incremental_configs=[entry])
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap(settings.INTERNAL)})
    admin.incremental_alter_configs([resource])[resource].result(60)
