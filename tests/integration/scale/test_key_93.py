# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""API key 93 is another RPC in Kafka 4.4.0: no request with it leaves us, whatever brokers list or operators name."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from kafka.protocol.admin import DescribeClusterRequest
from kafka.protocol.api_key import ApiKey

from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.settings import settings_from
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.wire import Wire
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.plan import Status
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.strategy import Strategy
from integration.on_call import OnCall
from lab import Cluster, scenarios
from lab.leadership import leaders
from lab.module_process import run_module
from lab.pool import STANDARD, ClusterPool

_KEY = 93
_VERSION = "4.4.0"
_TOPIC = "orders"


@pytest.fixture
def cluster(clusters: ClusterPool) -> Iterator[Cluster]:
    with clusters.lease(STANDARD, _VERSION) as cluster:
        yield cluster


def _keys(cluster: Cluster) -> set[int]:
    return {each.api_key for each in cluster.proxy.requests()}


def _lists_the_key(cluster: Cluster) -> bool:
    settings = settings_from({"bootstrap_servers": cluster.bootstrap().split(",")[-1]})
    with Wire(settings) as wire:
        wire.call(settings.bootstrap_servers[0], DescribeClusterRequest())
        connection = wire.connection(settings.bootstrap_servers[0])
        return _KEY in connection._connection.broker_version_data.api_versions


@pytest.mark.wide
def test_no_request_with_key_93_leaves_us(cluster: Cluster, tmp_path: Path) -> None:
    offline = scenarios.diverged(cluster, _TOPIC, 2)
    assert _lists_the_key(cluster), "then this test shows nothing"
    cluster.proxy.clear()
    options = {
        "bootstrap_servers": [cluster.bootstrap()],
        "partitions": [{"topic": _TOPIC, "partitions": [0, 1]}],
        "replica_log_source": "native",
        "replica_log_api_key": _KEY,
    }
    named = run_module("leader_candidate_info", options)
    assert named["failed"]
    assert "API key 93 is not GetReplicaLogInfo" in named["msg"]
    assert _KEY not in _keys(cluster)
    assert cluster.proxy.write_requests() == []

    on_call = OnCall(cluster, tmp_path)
    outcomes = on_call.carry_out(on_call.plan(Strategy.AGGRESSIVE, _TOPIC))
    assert [each.status for each in outcomes] == [Status.RECOVERED, Status.RECOVERED]
    assert {ApiKey.ListOffsets, ApiKey.Fetch, ApiKey.ElectLeaders} <= _keys(cluster)
    assert _KEY not in _keys(cluster)
    assert leaders(cluster, _TOPIC) == dict.fromkeys(offline.partitions, offline.best)
