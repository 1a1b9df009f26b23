# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""An address that leads to another cluster, which has the same topics and ids: it is not read, and not changed."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from kafka.protocol.api_key import ApiKey

from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.cluster import Cluster, Registration
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.errors import (
    BrokerCallError,
    NoBrokerAnswersError,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.own_cluster import OwnCluster
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.port import Kafka
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.private_files import temporary_settings_reference
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.quorum import features_request
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.settings import Address, ConnectionSettings
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.wire import Wire
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.partition import (
    Broker,
    BrokerState,
    Cause,
    TopicPartition,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.probe_task import AskReplicas
from simulator import SimulatedCluster, offline_world

STAGING_ID = "c3RhZ2luZy1zdGFnaW5nLXM"
FIRST = TopicPartition("orders", 0)
_HARMLESS = {ApiKey.ApiVersions, ApiKey.DescribeCluster}


@pytest.fixture
def production() -> Iterator[SimulatedCluster]:
    with SimulatedCluster(offline_world({"orders": 3}, (1, 2, 3))) as started:
        yield started


@pytest.fixture
def staging() -> Iterator[SimulatedCluster]:
    world = offline_world({"orders": 3}, (1, 2, 3))
    world.cluster_id = STAGING_ID
    with SimulatedCluster(world) as started:
        yield started
        assert {each.api_key for each in started.proxy.requests()} <= _HARMLESS


def at(cluster: SimulatedCluster, broker_id: int) -> Address:
    return Address("127.0.0.1", cluster.ports[broker_id])


def settings_of(*servers: Address) -> ConnectionSettings:
    return ConnectionSettings(bootstrap_servers=servers)


@pytest.fixture
def kafka(production: SimulatedCluster) -> Iterator[Kafka]:
    """Return a port that has described production."""
    with Wire(settings_of(at(production, 1))) as wire:
        kafka = Kafka(wire)
        kafka.describe_cluster()
        yield kafka


def led_astray(production: SimulatedCluster, staging: SimulatedCluster) -> Cluster:
    """Return production, with a broker 2 whose address leads to that of staging."""
    addresses = {1: at(production, 1), 2: at(staging, 2), 3: at(production, 3)}
    return Cluster(
        production.world.cluster_id,
        tuple(Registration(each, address, None, is_fenced=False) for each, address in addresses.items()),
    )


def broker_2(cluster: SimulatedCluster) -> Broker:
    address = at(cluster, 2)
    return Broker(2, address.host, address.port, None, is_fenced=False, state=BrokerState.ONLINE)


def test_a_broker_of_another_cluster_is_not_online(
    kafka: Kafka, production: SimulatedCluster, staging: SimulatedCluster
) -> None:
    brokers = kafka.probe_brokers(led_astray(production, staging))
    assert [each.state for each in brokers] == [BrokerState.ONLINE, BrokerState.UNREACHABLE, BrokerState.ONLINE]
    assert (
        f"{at(staging, 2)}: wrong_broker: the broker here belongs to cluster {STAGING_ID}, and not to "
        f"{production.world.cluster_id} (check that bootstrap_servers names brokers of one cluster"
    ) in brokers[1].cause


def test_a_broker_of_another_cluster_gets_no_change(kafka: Kafka, staging: SimulatedCluster) -> None:
    with pytest.raises(BrokerCallError) as caught:
        kafka.reorder(at(staging, 2), {FIRST: (3, 2, 1)})
    assert (caught.value.cause, caught.value.request) == (Cause.WRONG_BROKER, "AlterPartitionReassignments")
    assert not caught.value.may_be_executed


def test_a_broker_of_another_cluster_gets_no_record_of_the_journal(kafka: Kafka, staging: SimulatedCluster) -> None:
    with pytest.raises(BrokerCallError) as caught:
        kafka.append_records(at(staging, 2), FIRST, [(b"key", b"value")])
    assert caught.value.cause is Cause.WRONG_BROKER


def test_the_replicas_of_another_cluster_are_not_read(kafka: Kafka, staging: SimulatedCluster) -> None:
    (row,) = kafka.probe_replicas(broker_2(staging), [FIRST], time.monotonic() + 1)
    assert (row.cause, row.log_end_offset) == (Cause.WRONG_BROKER, None)


def test_a_task_on_another_host_reads_no_replicas_of_another_cluster(
    production: SimulatedCluster, staging: SimulatedCluster, tmp_path: Path
) -> None:
    ask = AskReplicas(cluster_id=production.world.cluster_id)
    with temporary_settings_reference(settings_of(at(production, 1))) as reference:
        (row,) = ask(reference, broker_2(staging), [FIRST], time.monotonic() + 1)
    assert row.cause is Cause.WRONG_BROKER


def test_the_other_cluster_among_the_bootstrap_servers_is_not_asked(
    production: SimulatedCluster, staging: SimulatedCluster
) -> None:
    with Wire(settings_of(at(production, 1), at(staging, 1))) as wire:
        kafka = Kafka(wire)
        assert kafka.describe_cluster().cluster_id == production.world.cluster_id
        production.stop()
        with pytest.raises(NoBrokerAnswersError, match=f"belongs to cluster {STAGING_ID}"):
            kafka.describe_partitions()


def test_addresses_that_are_known_before_are_checked_too(staging: SimulatedCluster) -> None:
    expected = pytest.raises(NoBrokerAnswersError, match=f"belongs to cluster {STAGING_ID}, and not to production")
    with Wire(settings_of(at(staging, 1)), own_cluster=OwnCluster("production")) as wire, expected:
        Kafka(wire).describe_cluster()


def test_a_broker_is_identified_once_for_each_connection(kafka: Kafka, production: SimulatedCluster) -> None:
    production.proxy.clear()
    connection = kafka.wire.fresh_connection(at(production, 2))
    for _time in range(2):
        connection.call(features_request())
    connection.close()
    greeting, asked = ApiKey.ApiVersions, ApiKey.ApiVersions
    assert [each.api_key for each in production.proxy.requests()] == [greeting, ApiKey.DescribeCluster, asked, asked]
