# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Playbooks that cannot connect: the cause in the first line, no secret anywhere. Kerberos' causes are in its tests."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from integration.kafka.test_command_config import SCRAM, Properties, pkcs12, sasl, written
from integration.loud import first_lines
from lab import Cluster, scenarios
from lab.playbook import RECOVER, run_playbook
from lab.tls import Certificates

pytestmark = [pytest.mark.wide, pytest.mark.on_any_version, pytest.mark.timeout(300)]

_SECRET = "c4nary-t0p-s3cret"
_PASSWORDS = ("alice-secret", "store-secret", _SECRET)
_OAUTH = "org.apache.kafka.common.security.oauthbearer"


@pytest.fixture(scope="module")
def cluster(kafka_version: str) -> Iterator[Cluster]:
    with Cluster(kafka_version, brokers=1, listeners=("SSL", "SASL_SSL")) as started:
        yield started


@pytest.fixture(scope="module")
def expired(kafka_version: str) -> Iterator[Cluster]:
    with Cluster(kafka_version, brokers=1, listeners=("SSL",), tls_server="expired") as started:
        yield started


def causes(cluster: Cluster, listener: str, properties: Properties, directory: Path) -> list[str]:
    file = written(directory / "client.properties", listener, properties)
    variables = {"kafka_bootstrap_servers": cluster.bootstrap(listener), "kafka_command_config": str(file)}
    return first_lines(variables, directory, *(each.encode() for each in _PASSWORDS))


def test_a_wrong_password(cluster: Cluster, tmp_path: Path) -> None:
    properties = sasl(cluster, "SCRAM-SHA-512", f'{SCRAM} username="alice" password="{_SECRET}";')
    for line in causes(cluster, "SASL_SSL", properties, tmp_path):
        assert "not_authorized" in line
        assert "check the credentials for SCRAM-SHA-512" in line


@pytest.mark.parametrize("store", ["truststore", "keystore"])
def test_a_wrong_password_of_a_store(cluster: Cluster, tmp_path: Path, store: str) -> None:
    properties = pkcs12(cluster, tmp_path) | {f"ssl.{store}.password": _SECRET}
    for line in causes(cluster, "SSL", properties, tmp_path):
        assert f"ssl.{store}.location: {properties[f'ssl.{store}.location']}" in line
        assert "its password is wrong" in line


def test_a_certificate_that_has_expired(expired: Cluster, tmp_path: Path) -> None:
    for line in causes(expired, "SSL", pkcs12(expired, tmp_path), tmp_path):
        assert "the broker's certificate has expired: renew it" in line


def test_our_certificate_is_refused(kafka_version: str, tmp_path: Path) -> None:
    """The brokers trust another CA than that of our certificate."""
    with Cluster(kafka_version, brokers=1, listeners=("SSL",), tls_client_auth="required") as started:
        stranger = Certificates(tmp_path / "stranger")
        properties = pkcs12(started, tmp_path) | {"ssl.keystore.location": stranger.client_keystore_p12}
        for line in causes(started, "SSL", properties, tmp_path):
            assert "not_authorized" in line
            assert "the broker refuses our client certificate, from the key store of kafka_command_config" in line


def test_a_broker_whose_certificate_is_refused_is_not_to_be_started(kafka_version: str, tmp_path: Path) -> None:
    """It runs. Broker 1 alone is dead."""
    strange = Certificates(tmp_path / "strange").server("valid")
    properties: dict[int, dict[str, object]] = {2: {"ssl.keystore.location": strange}}
    with Cluster(kafka_version, listeners=("PLAINTEXT", "SSL"), broker_properties=properties) as started:
        scenarios.diverged(started, "orders")
        variables = {
            "kafka_bootstrap_servers": started.bootstrap("SSL"),
            "kafka_security_protocol": "SSL",
            "kafka_ssl_cafile": str(started.certificates.ca),
        }
        ran = run_playbook(RECOVER, variables)
    assert "Start broker 1 at" in ran.words
    assert f"the broker's certificate is not signed by a CA in {started.certificates.ca}" in ran.words
    assert "Start broker 2" not in ran.words
    assert "Broker 2 does not answer. It runs: find out why." in ran.words


def test_an_identity_provider_that_is_down(cluster: Cluster, tmp_path: Path) -> None:
    jaas = f'{_OAUTH}.OAuthBearerLoginModule required clientId="us" clientSecret="{_SECRET}";'
    properties = sasl(cluster, "OAUTHBEARER", jaas) | {
        "sasl.oauthbearer.token.endpoint.url": "https://127.0.0.1:1/token",
        "sasl.login.callback.handler.class": f"{_OAUTH}.OAuthBearerLoginCallbackHandler",
    }
    for line in causes(cluster, "SASL_SSL", properties, tmp_path):
        assert "no OAUTHBEARER token from https://127.0.0.1:1/token: Connection refused" in line
