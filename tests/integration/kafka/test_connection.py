# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Real TLS and SASL listeners: working connections, and the error messages of others."""

from __future__ import annotations

import base64
import json
import time
from collections.abc import Iterator
from typing import Any

import pytest

from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.client_properties import with_command_config
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.cluster import describe_cluster
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.errors import NoBrokerAnswersError
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.settings import settings_from
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.wire import Wire
from lab import Cluster

_PASSWORD = "alice-secret"
_LIMIT_MS = 3000
# What a busy machine may add. Without the limit, a client waits for 30 s or more.
_SLACK_S = 10.0


@pytest.fixture(scope="module")
def cluster(kafka_version: str) -> Iterator[Cluster]:
    listeners = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
    with Cluster(
        kafka_version, brokers=1, listeners=listeners, users={"alice": _PASSWORD}, tls_client_auth="required"
    ) as started:
        yield started


@pytest.fixture(scope="module", params=["wrong_host", "expired"])
def badly_certified(request: pytest.FixtureRequest) -> Iterator[tuple[str, Cluster]]:
    with Cluster(brokers=1, listeners=("SSL",), tls_server=request.param) as started:
        yield request.param, started


def _tls(cluster: Cluster) -> dict[str, Any]:
    certificates = cluster.certificates
    return {
        "security_protocol": "SSL",
        "bootstrap_servers": cluster.bootstrap("SSL"),
        "ssl_cafile": str(certificates.ca),
        "ssl_certfile": str(certificates.client_certificate),
        "ssl_keyfile": str(certificates.client_key),
        "ssl_key_password": certificates.client_key_password,
    }


def _sasl(cluster: Cluster, mechanism: str, protocol: str = "SASL_SSL") -> dict[str, Any]:
    options = {
        "security_protocol": protocol,
        "bootstrap_servers": cluster.bootstrap(protocol),
        "sasl_mechanism": mechanism,
        "sasl_username": "alice",
        "sasl_password": _PASSWORD,
    }
    return options | ({"ssl_cafile": str(cluster.certificates.ca)} if protocol == "SASL_SSL" else {})


def _oauth(cluster: Cluster, *, seconds_left: float) -> dict[str, Any]:
    """Return an unsecured token (RFC 7519 section 6), which the lab's listeners accept."""
    claims = {"sub": "alice", "iat": time.time() - 600, "exp": time.time() + seconds_left}
    parts = (base64.urlsafe_b64encode(json.dumps(part).encode()).decode() for part in ({"alg": "none"}, claims))
    token = ".".join([*(part.rstrip("=") for part in parts), ""])
    options = _sasl(cluster, "OAUTHBEARER") | {"sasl_oauthbearer_token": token}
    return {name: value for name, value in options.items() if name not in ("sasl_username", "sasl_password")}


def _cluster_id(options: dict[str, Any]) -> str:
    with Wire(settings_from({"request_timeout_ms": _LIMIT_MS, **with_command_config(options)})) as wire:
        return describe_cluster(wire).cluster_id


def _refusal(options: dict[str, Any]) -> str:
    """Return the error text, after a check of its time and of passwords in it."""
    began = time.monotonic()
    with pytest.raises(NoBrokerAnswersError) as refused:
        _cluster_id(options)
    assert time.monotonic() - began < _LIMIT_MS / 1000 + _SLACK_S
    assert _PASSWORD not in str(refused.value)
    return str(refused.value)


def test_tls_with_a_client_certificate_and_an_encrypted_key(cluster: Cluster) -> None:
    assert _cluster_id(_tls(cluster)) == cluster.cluster_id


@pytest.mark.parametrize("protocol", ["SASL_SSL", "SASL_PLAINTEXT"])
@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"])
def test_sasl(cluster: Cluster, mechanism: str, protocol: str) -> None:
    assert _cluster_id(_sasl(cluster, mechanism, protocol)) == cluster.cluster_id


def test_a_token_of_the_operators(cluster: Cluster) -> None:
    assert _cluster_id(_oauth(cluster, seconds_left=600)) == cluster.cluster_id


@pytest.mark.wide
def test_a_token_that_has_expired(cluster: Cluster) -> None:
    options = _oauth(cluster, seconds_left=-300)
    text = _refusal(options)
    assert "not_authorized" in text
    assert "check the credentials for OAUTHBEARER" in text
    assert options["sasl_oauthbearer_token"] not in text


def test_the_operators_own_client_properties(cluster: Cluster, tmp_path: Any) -> None:
    properties = tmp_path / "client.properties"
    properties.write_text(
        f"bootstrap.servers={cluster.bootstrap('SASL_SSL')}\n"
        "security.protocol=SASL_SSL\n"
        "sasl.mechanism=SCRAM-SHA-512\n"
        "sasl.jaas.config=org.apache.kafka.common.security.scram.ScramLoginModule required \\\n"
        f'  username="alice" password="{_PASSWORD}";\n'
        f"ssl.truststore.type=PEM\nssl.truststore.location={cluster.certificates.ca}\n"
    )
    assert _cluster_id({"command_config": str(properties)}) == cluster.cluster_id


@pytest.mark.wide
@pytest.mark.on_any_version
def test_ipv6(kafka_version: str) -> None:
    with Cluster(kafka_version, brokers=1, host="::1") as six:
        assert _cluster_id({"bootstrap_servers": six.bootstrap()}) == six.cluster_id


def test_wrong_password(cluster: Cluster) -> None:
    text = _refusal(_sasl(cluster, "SCRAM-SHA-512") | {"sasl_password": "not-the-password"})
    assert "not_authorized" in text
    assert "check the credentials for SCRAM-SHA-512" in text
    assert "not-the-password" not in text


def test_no_client_certificate_where_one_is_required(cluster: Cluster) -> None:
    options = {name: value for name, value in _tls(cluster).items() if name not in ("ssl_certfile", "ssl_keyfile")}
    assert "client certificate" in _refusal(options | {"ssl_key_password": None})


def test_a_ca_that_signed_nothing(cluster: Cluster) -> None:
    text = _refusal(_tls(cluster) | {"ssl_cafile": str(cluster.certificates.other_ca)})
    assert "not signed by a CA in " in text


def test_plaintext_to_a_tls_port(cluster: Cluster) -> None:
    assert "speaks TLS" in _refusal({"bootstrap_servers": cluster.bootstrap("SSL")})


def test_tls_to_a_plaintext_port(cluster: Cluster) -> None:
    text = _refusal(_tls(cluster) | {"bootstrap_servers": cluster.bootstrap("PLAINTEXT")})
    assert "speak no TLS" in text


def test_plaintext_to_a_sasl_port(cluster: Cluster) -> None:
    assert "a port that requires SASL" in _refusal({"bootstrap_servers": cluster.bootstrap("SASL_PLAINTEXT")})


def test_a_certificate_that_is_not_good(badly_certified: tuple[str, Cluster]) -> None:
    kind, cluster = badly_certified
    text = _refusal(_tls(cluster))
    assert {"wrong_host": "for another host", "expired": "has expired"}[kind] in text
