# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""TLS, SASL and ACLs of the lab, tested by librdkafka, so that other tests can rely on them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from lab import Cluster, settings

pytestmark = [pytest.mark.on_any_version, pytest.mark.wide]

PASSWORD = "alice's secret"
PATIENT_S, QUICK_S = 30, 5
"""Time limits for an accepted client, which a JVM's first TLS handshake may delay, and for a refused one."""


@pytest.fixture(scope="module")
def cluster(kafka_version: str) -> Iterator[Cluster]:
    with Cluster(
        kafka_version,
        brokers=1,
        listeners=settings.PROTOCOLS,
        users={"alice": PASSWORD, "admin": "admin-secret"},
        tls_client_auth="required",
        super_users=["admin"],
    ) as cluster:
        cluster.client.create_topic("orders", {0: [1]})
        yield cluster


def config(cluster: Cluster, listener: str, **changes: str) -> dict[str, str | int | float | bool]:
    """Return librdkafka's configuration for a listener of the cluster, as user alice."""
    certificates = cluster.certificates
    options: dict[str, str | int | float | bool] = {
        "bootstrap.servers": cluster.bootstrap(listener),
        "security.protocol": listener,
        "log_level": 0,
    }
    if "SSL" in listener:
        options["ssl.ca.location"] = str(certificates.ca)
    if listener == "SSL":
        options["ssl.certificate.location"] = str(certificates.client_certificate)
        options["ssl.key.location"] = str(certificates.client_key)
        options["ssl.key.password"] = certificates.client_key_password
    if "SASL" in listener:
        options |= {"sasl.mechanism": "PLAIN", "sasl.username": "alice", "sasl.password": PASSWORD}
    return {**options, **changes}


def broker_ids(options: dict[str, str | int | float | bool], timeout: float = PATIENT_S) -> set[int]:
    return set(AdminClient(options).list_topics(timeout=timeout).brokers)


@pytest.mark.parametrize("listener", ["PLAINTEXT", "SSL"])
def test_listeners_without_sasl(cluster: Cluster, listener: str) -> None:
    assert broker_ids(config(cluster, listener)) == {1}


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"])
@pytest.mark.parametrize("listener", ["SASL_PLAINTEXT", "SASL_SSL"])
def test_listeners_with_passwords(cluster: Cluster, listener: str, mechanism: str) -> None:
    assert broker_ids(config(cluster, listener, **{"sasl.mechanism": mechanism})) == {1}


def test_unsecured_oauth_tokens(cluster: Cluster) -> None:
    options = config(cluster, "SASL_SSL") | {
        "sasl.mechanism": "OAUTHBEARER",
        "enable.sasl.oauthbearer.unsecure.jwt": True,
        "sasl.oauthbearer.config": "principal=alice",
    }
    del options["sasl.username"], options["sasl.password"]
    assert broker_ids(options) == {1}


@pytest.mark.parametrize(
    ("listener", "changes"),
    [
        ("SASL_SSL", {"sasl.password": "wrong"}),
        ("SASL_PLAINTEXT", {"sasl.mechanism": "SCRAM-SHA-256", "sasl.password": "wrong"}),
        ("SSL", {"security.protocol": "PLAINTEXT"}),
    ],
)
def test_who_should_not_get_in_does_not(cluster: Cluster, listener: str, changes: dict[str, str]) -> None:
    with pytest.raises(KafkaException):
        broker_ids(config(cluster, listener, **changes), QUICK_S)


def test_a_client_certificate_is_required(cluster: Cluster) -> None:
    options = config(cluster, "SSL")
    for name in ("ssl.certificate.location", "ssl.key.location", "ssl.key.password"):
        del options[name]
    with pytest.raises(KafkaException):
        broker_ids(options, QUICK_S)


def test_a_stranger_s_authority_is_not_trusted(cluster: Cluster) -> None:
    with pytest.raises(KafkaException):
        broker_ids(config(cluster, "SSL", **{"ssl.ca.location": str(cluster.certificates.other_ca)}), QUICK_S)


def test_acls_hide_what_is_not_granted(cluster: Cluster) -> None:
    alice = AdminClient(config(cluster, "SASL_SSL"))
    assert set(alice.list_topics(timeout=PATIENT_S).topics) == set()
    cluster.client.allow("alice", "DESCRIBE", topic="orders")
    assert set(alice.list_topics(timeout=PATIENT_S).topics) == {"orders"}
    admin = AdminClient(config(cluster, "SASL_SSL", **{"sasl.username": "admin", "sasl.password": "admin-secret"}))
    assert "orders" in admin.list_topics(timeout=PATIENT_S).topics


def test_java_reads_the_stores(cluster: Cluster) -> None:
    for store in (cluster.certificates.truststore_p12, cluster.certificates.truststore_jks):
        properties = cluster.work_dir / f"{store.name}.properties"
        properties.write_text(
            "security.protocol=SSL\n"
            f"ssl.truststore.location={store}\n"
            f"ssl.truststore.password={cluster.certificates.store_password}\n"
            f"ssl.keystore.location={cluster.certificates.client_keystore_p12}\n"
            f"ssl.keystore.password={cluster.certificates.store_password}\n"
            "ssl.keystore.type=PKCS12\n"
            f"ssl.truststore.type={'JKS' if store.suffix == '.jks' else 'PKCS12'}\n",
            encoding="utf-8",
        )
        result = cluster.client.run_tool(
            "org.apache.kafka.tools.TopicCommand",
            *("--bootstrap-server", cluster.bootstrap("SSL"), "--command-config", str(properties), "--list"),
        )
        assert result.returncode == 0, result.stderr


@pytest.mark.parametrize("certificate", ["wrong_host", "expired"])
def test_a_bad_server_certificate_is_refused(cluster: Cluster, certificate: str) -> None:
    broker = cluster.brokers[1]
    good = broker.properties["ssl.keystore.location"]
    broker.properties["ssl.keystore.location"] = cluster.certificates.server(certificate)
    broker.restart()
    try:
        with pytest.raises(KafkaException):
            broker_ids(config(cluster, "SSL"), QUICK_S)
        if certificate == "wrong_host":
            assert broker_ids(config(cluster, "SSL", **{"ssl.endpoint.identification.algorithm": "none"})) == {1}
    finally:
        broker.properties["ssl.keystore.location"] = good
        broker.restart()
