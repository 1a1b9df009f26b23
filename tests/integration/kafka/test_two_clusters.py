# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Two real clusters with the same topic and ids. The address of one's broker leads to the other's, as by a tunnel."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.errors import BrokerCallError
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.port import Kafka
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.settings import settings_from
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.wire import Wire
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.partition import (
    BrokerState,
    Cause,
    TopicPartition,
)
from lab import Cluster, wait_until

pytestmark = [pytest.mark.wide, pytest.mark.on_any_version]

_ORDERS = TopicPartition("orders", 0)


@pytest.fixture(scope="module")
def clusters(kafka_version: str) -> Iterator[tuple[Cluster, Cluster]]:
    with (
        Cluster(kafka_version, brokers=2, proxied=True) as production,
        Cluster(kafka_version, brokers=2, proxied=True) as staging,
    ):
        for each in (production, staging):
            each.client.create_topic("orders", {0: [1, 2]})
        yield production, staging


def test_a_broker_of_another_cluster_is_neither_read_nor_changed(clusters: tuple[Cluster, Cluster]) -> None:
    production, staging = clusters
    listener = production.brokers[2].proxies["PLAINTEXT"]
    own, listener.upstream = listener.upstream, staging.brokers[2].proxies["PLAINTEXT"].upstream
    first = production.bootstrap().split(",")[0]
    settings = settings_from({"bootstrap_servers": first, "request_timeout_ms": 5000})
    try:
        with Wire(settings) as wire:
            kafka = Kafka(wire)
            cluster = kafka.describe_cluster()
            found, second = kafka.probe_brokers(cluster)
            assert (found.state, second.state) == (BrokerState.ONLINE, BrokerState.UNREACHABLE)
            assert f"and not to {cluster.cluster_id}" in second.cause
            (row,) = kafka.probe_replicas(second, [_ORDERS], time.monotonic() + 2)
            assert row.cause is Cause.WRONG_BROKER
            with pytest.raises(BrokerCallError, match="wrong_broker: the broker here belongs to cluster"):
                kafka.reorder(cluster.addresses[2], {_ORDERS: (2, 1)})
            kafka.reorder(cluster.addresses[1], {_ORDERS: (2, 1)})
    finally:
        listener.upstream = own
    assert staging.client.describe("orders")[0].replicas == (1, 2)
    wait_until(lambda: production.client.describe("orders")[0].replicas == (2, 1), 30, what="the order is seen")
