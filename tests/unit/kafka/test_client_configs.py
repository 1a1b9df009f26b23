# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Client configs: one description, the same connection with both clients."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka.admin import AdminClient
from kafka.net.manager import KafkaConnectionManager

from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.client_configs import (
    kafka_python_config,
    librdkafka_config,
    tls_context,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.errors import SettingsError
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.settings import ConnectionSettings, settings_from
from lab.tls import Certificates

DESCRIPTIONS: dict[str, dict[str, Any]] = {
    "plaintext": {},
    "mutual TLS": {
        "security_protocol": "SSL",
        "ssl_certfile": "/dev/null",
        "ssl_key_password": Certificates.client_key_password,
        "ssl_check_hostname": False,
    },
    "SCRAM": {
        "security_protocol": "SASL_PLAINTEXT",
        "sasl_mechanism": "SCRAM-SHA-256",
        "sasl_username": "alice",
        "sasl_password": "open sesame",
    },
    "GSSAPI": {
        "security_protocol": "SASL_PLAINTEXT",
        "sasl_mechanism": "GSSAPI",
        "sasl_kerberos_service_name": "brokers",
    },
    "OAUTHBEARER by client": {
        "security_protocol": "SASL_SSL",
        "sasl_mechanism": "OAUTHBEARER",
        "sasl_oauthbearer_token_endpoint_url": "https://issuer.example/token",
        "sasl_oauthbearer_client_id": "us",
        "sasl_oauthbearer_client_secret": "open sesame",
        "sasl_oauthbearer_scope": "kafka",
    },
    "OAUTHBEARER by token": {
        "security_protocol": "SASL_SSL",
        "sasl_mechanism": "OAUTHBEARER",
        "sasl_oauthbearer_token": "open sesame",
    },
}


def settings(name: str, **files: str) -> ConnectionSettings:
    """Return the settings, with other paths for files that are read."""
    described = DESCRIPTIONS[name] | {option: files[option] for option in files.keys() & DESCRIPTIONS[name].keys()}
    return settings_from({"bootstrap_servers": "one:1,[::1]:2", "request_timeout_ms": 700, **described})


@pytest.fixture
def certfile(tmp_path: Path) -> str:
    """Return the path of a client's certificate and key."""
    made, path = Certificates(tmp_path / "certificates"), tmp_path / "client.pem"
    path.write_bytes(made.client_certificate.read_bytes() + made.client_key.read_bytes())
    return str(path)


@pytest.mark.parametrize("name", DESCRIPTIONS)
def test_kafka_python_knows_every_name(name: str, certfile: str) -> None:
    assert (
        kafka_python_config(settings(name, ssl_certfile=certfile)).keys()
        <= KafkaConnectionManager.DEFAULT_CONFIG.keys()
    )


@pytest.mark.parametrize("name", ["plaintext", "SCRAM"])
def test_librdkafka_takes_every_name_and_value(name: str) -> None:
    # The client opens files and Kerberos caches at once, so it is created only for descriptions without them.
    AdminClient(librdkafka_config(settings(name)))


@pytest.mark.parametrize(
    ("name", "kafka_python", "librdkafka"),
    [
        (
            "plaintext",
            {"security_protocol": "PLAINTEXT", "request_timeout_ms": 700},
            {
                "bootstrap.servers": "one:1,[::1]:2",
                "security.protocol": "plaintext",
                "socket.timeout.ms": 700,
                "socket.connection.setup.timeout.ms": 1000,
            },
        ),
        (
            "SCRAM",
            {"sasl_plain_username": "alice", "sasl_plain_password": "open sesame"},
            {"sasl.mechanism": "SCRAM-SHA-256", "sasl.username": "alice", "sasl.password": "open sesame"},
        ),
        (
            "OAUTHBEARER by client",
            {"sasl_mechanism": "OAUTHBEARER"},
            {"sasl.mechanism": "OAUTHBEARER"},
        ),
    ],
)
def test_both_clients_get_the_same(name: str, kafka_python: dict[str, Any], librdkafka: dict[str, Any]) -> None:
    assert kafka_python.items() <= kafka_python_config(settings(name)).items()
    assert librdkafka.items() <= librdkafka_config(settings(name)).items()


def test_both_clients_get_the_same_certificate(certfile: str) -> None:
    described = settings("mutual TLS", ssl_certfile=certfile)
    assert kafka_python_config(described)["ssl_context"] is tls_context(described)
    librdkafka = {
        "ssl.endpoint.identification.algorithm": "none",
        "ssl.key.password": Certificates.client_key_password,
        "ssl.key.location": certfile,
    }
    assert librdkafka.items() <= librdkafka_config(described).items()


@pytest.mark.parametrize("name", sorted(DESCRIPTIONS.keys() - {"GSSAPI"}))
def test_librdkafka_gets_no_null(name: str) -> None:
    # Depending on the name, the client reads None as the text "None" or as an error.
    assert None not in librdkafka_config(settings(name)).values()


def test_both_clients_have_the_same_token() -> None:
    token, ends_at = librdkafka_config(settings("OAUTHBEARER by token"))["oauth_cb"]("")
    assert (token, ends_at > time.time()) == ("open sesame", True)


def test_mechanism_that_librdkafka_lacks_is_refused_by_name() -> None:
    with pytest.raises(SettingsError, match="GSSAPI cannot be used here: confluent-kafka"):
        librdkafka_config(settings("GSSAPI"))


@pytest.mark.parametrize("name", ["plaintext", "SCRAM"])
def test_no_tls_setting_goes_to_a_plaintext_connection(name: str) -> None:
    assert not [each for each in kafka_python_config(settings(name)) if each.startswith("ssl")]
    assert not [each for each in librdkafka_config(settings(name)) if each.startswith("ssl")]


@pytest.mark.parametrize("limit_ms", [1, 400_000, 2**31 - 1])
def test_librdkafka_takes_every_limit(limit_ms: int) -> None:
    AdminClient(librdkafka_config(settings_from({"bootstrap_servers": "one:1", "request_timeout_ms": limit_ms})))


@pytest.mark.parametrize(("mechanism", "name"), [("SCRAM-SHA-512", "CN=3Dops=2COU=3Da"), ("PLAIN", "CN=ops,OU=a")])
def test_scram_escapes_the_name_of_a_user(mechanism: str, name: str) -> None:
    """RFC 5802, 5.1. librdkafka does it itself."""
    of = {"security_protocol": "SASL_PLAINTEXT", "sasl_mechanism": mechanism, "sasl_password": "open sesame"}
    described = settings_from({"bootstrap_servers": "one:1", "sasl_username": "CN=ops,OU=a", **of})
    assert kafka_python_config(described)["sasl_plain_username"] == name
    assert librdkafka_config(described)["sasl.username"] == "CN=ops,OU=a"
