# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""API key 93 is another RPC in Kafka 4.4.0: no request with it leaves us, whatever brokers list or operators name."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from kafka.protocol.api_key import ApiKey

from ansible_collections.kafkaops.recovery.plugins.module_utils.kafka.settings import settings_from
from ansible_collections.kafkaops.recovery.plugins.module_utils.kafka.wire import Wire
from lab import Cluster, scenarios
from lab.recovery import Recovery

_KEY = 93
_VERSION = "4.4.0"
_TOPIC = "orders"


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    with Cluster(_VERSION, proxied=True) as started:
        yield started


def _keys(cluster: Cluster) -> set[int]:
    return {each.api_key for each in cluster.proxy.requests()}


def _lists_the_key(cluster: Cluster) -> bool:
    from kafka.protocol.admin import DescribeClusterRequest  # noqa: PLC0415

    settings = settings_from({"bootstrap_servers": cluster.bootstrap().split(",")[-1]})
    with Wire(settings) as wire:
        wire.call(settings.bootstrap_servers[0], DescribeClusterRequest())
        connection = wire.connection(settings.bootstrap_servers[0])
        return _KEY in connection._connection.broker_version_data.api_versions


def test_no_request_with_key_93_leaves_us(cluster: Cluster, tmp_path: Path) -> None:
    offline = scenarios.diverged(cluster, _TOPIC, 2)
    assert _lists_the_key(cluster), "then this test shows nothing"
    cluster.proxy.clear()
    recovery = Recovery(cluster, tmp_path)

    named = recovery.recover(unclean_recovery_replica_log_source="native", unclean_recovery_replica_log_api_key=_KEY)
    assert named.returncode != 0
    assert "API key 93 is not GetReplicaLogInfo" in named.output
    assert _KEY not in _keys(cluster)
    assert cluster.proxy.write_requests() == []

    recovered = recovery.recover()
    assert recovered.returncode == 0, recovered.output
    assert {ApiKey.ListOffsets, ApiKey.Fetch, ApiKey.ElectLeaders} <= _keys(cluster)
    assert _KEY not in _keys(cluster)
    states = cluster.client.describe(offline.topic).values()
    assert {state.leader for state in states} == {offline.best}
