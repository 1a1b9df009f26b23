# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The recording proxy, in front of a real broker."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest
from confluent_kafka.admin import AdminClient
from kafka.protocol.api_key import ApiKey

from lab import Cluster, faults, wire

pytestmark = [pytest.mark.on_any_version, pytest.mark.wide]


@pytest.fixture(scope="module")
def cluster(kafka_version: str) -> Iterator[Cluster]:
    with Cluster(kafka_version, brokers=2, proxied=True) as cluster:
        cluster.client.create_topic("orders", {0: [1]})
        yield cluster


@pytest.fixture
def proxied(cluster: Cluster) -> Cluster:
    """Return the cluster without requests in flight of an earlier test's client."""
    cluster.proxy.clear_once_idle()
    return cluster


def ask(cluster: Cluster, broker: int = 1, timeout: float = 30) -> list[int]:
    """Ask for metadata through the proxy; returns the broker ids in the answer."""
    metadata = wire.metadata(cluster.host, cluster.brokers[broker].advertised_port("PLAINTEXT"), timeout=timeout)
    return [broker.node_id for broker in metadata.brokers]


def test_clients_are_led_to_the_proxy_and_recorded(proxied: Cluster) -> None:
    metadata = AdminClient({"bootstrap.servers": proxied.bootstrap(), "client.id": "me"}).list_topics(timeout=10)
    ports = {broker.id: broker.port for broker in metadata.brokers.values()}
    assert ports == {broker: node.advertised_port("PLAINTEXT") for broker, node in proxied.brokers.items()}
    assert {"ApiVersions", "Metadata"} <= {request.name for request in proxied.proxy.requests()}
    assert {request.client_id for request in proxied.proxy.requests()} == {"me"}
    assert proxied.proxy.write_requests() == []


def test_writes_are_distinguished(proxied: Cluster) -> None:
    admin = AdminClient({"bootstrap.servers": proxied.bootstrap()})
    admin.delete_topics(["absent"])["absent"].exception(10)
    (write,) = proxied.proxy.write_requests()
    assert write.name == "DeleteTopics"
    assert write.decode().topic_names == ["absent"]


def test_metadata_that_may_create_a_topic_is_a_write(proxied: Cluster) -> None:
    admin = AdminClient({"bootstrap.servers": proxied.bootstrap()})
    admin.list_topics(timeout=10)
    assert proxied.proxy.write_requests() == []
    admin.list_topics("conjured", timeout=10)
    assert {request.name for request in proxied.proxy.write_requests()} == {"Metadata"}


def test_the_oracle_is_not_recorded(proxied: Cluster) -> None:
    proxied.client.produce("orders", 0, 1)
    assert proxied.client.consume_all("orders", 0)
    assert proxied.proxy.requests() == []


@pytest.mark.parametrize(
    ("fault", "error"),
    [
        (faults.SwallowRequest(), TimeoutError),
        (faults.SwallowResponse(), TimeoutError),
        (faults.DropBeforeRequest(), ConnectionError),
        (faults.DropAfterRequest(), ConnectionError),
        (faults.TruncateResponse(), ConnectionError),
        (faults.AbsurdLength(), TimeoutError),
        (faults.Delay(1.5), TimeoutError),
    ],
)
def test_faults(proxied: Cluster, fault: faults.Fault, error: type[Exception]) -> None:
    with proxied.proxy.inject(fault, broker=1, api_key=ApiKey.Metadata) as rule:
        with pytest.raises(error):
            ask(proxied, timeout=1 if error is TimeoutError else 30)
        assert [request.name for request in rule.hits] == ["Metadata"]
        assert ask(proxied, broker=2) == [1, 2]
    assert ask(proxied) == [1, 2]


def test_a_wrong_correlation_id(proxied: Cluster) -> None:
    with proxied.proxy.inject(faults.WrongCorrelationId()), pytest.raises(ConnectionError, match="correlation id 1001"):
        ask(proxied)


def test_an_answer_is_rewritten_once(proxied: Cluster) -> None:
    proxied.proxy.inject(faults.Rewrite(lambda answer: answer.brokers.pop()), times=1)
    assert [len(ask(proxied)), len(ask(proxied))] == [1, 2]


def test_something_happens_in_time(proxied: Cluster) -> None:
    happened: list[float] = []
    with proxied.proxy.inject(faults.Before(lambda: happened.append(time.monotonic()))):
        ask(proxied)
    with proxied.proxy.inject(faults.After(lambda: happened.append(time.monotonic()))):
        ask(proxied)
    assert happened == sorted(happened)
    assert len(happened) == 2


def test_an_address_answers_as_another_broker(proxied: Cluster) -> None:
    listener = proxied.brokers[1].proxies["PLAINTEXT"]
    own = listener.upstream
    listener.upstream = (proxied.host, proxied.brokers[2].port)
    try:
        assert ask(proxied, broker=1) == [1, 2]
    finally:
        listener.upstream = own


def test_a_dead_broker_refuses_connections_at_the_proxy(proxied: Cluster) -> None:
    proxied.brokers[2].kill()
    with pytest.raises(ConnectionRefusedError):
        ask(proxied, broker=2)
    proxied.brokers[2].start()
    assert 2 in ask(proxied, broker=2)
