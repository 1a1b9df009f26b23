# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Client configs: one description, the same connection with both clients."""

from __future__ import annotations

from typing import Any

import pytest
from confluent_kafka.admin import AdminClient
from kafka.net.manager import KafkaConnectionManager

from ansible_collections.kafkaops.recovery.plugins.module_utils.kafka.client_configs import (
    kafka_python_config,
    librdkafka_config,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils.kafka.settings import ConnectionSettings, settings_from

DESCRIPTIONS: dict[str, dict[str, Any]] = {
    "plaintext": {},
    "mutual TLS": {
        "security_protocol": "SSL",
        "ssl_cafile": "/dev/null",
        "ssl_certfile": "/dev/null",
        "ssl_key_password": "open sesame",
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


def settings(name: str) -> ConnectionSettings:
    return settings_from({"bootstrap_servers": "one:1,[::1]:2", "request_timeout_ms": 700, **DESCRIPTIONS[name]})


@pytest.mark.parametrize("name", DESCRIPTIONS)
def test_kafka_python_knows_every_name(name: str) -> None:
    assert kafka_python_config(settings(name)).keys() <= KafkaConnectionManager.DEFAULT_CONFIG.keys()


@pytest.mark.parametrize("name", ["plaintext", "SCRAM"])
def test_librdkafka_takes_every_name_and_value(name: str) -> None:
    # It opens files and Kerberos caches at once, so only descriptions without any are tried in earnest.
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
            "mutual TLS",
            {"ssl_check_hostname": False, "ssl_password": "open sesame", "ssl_keyfile": None},
            {
                "ssl.endpoint.identification.algorithm": "none",
                "ssl.key.password": "open sesame",
                "ssl.key.location": "/dev/null",
            },
        ),
        (
            "SCRAM",
            {"sasl_plain_username": "alice", "sasl_plain_password": "open sesame"},
            {"sasl.mechanism": "SCRAM-SHA-256", "sasl.username": "alice", "sasl.password": "open sesame"},
        ),
        ("GSSAPI", {"sasl_kerberos_service_name": "brokers"}, {"sasl.kerberos.service.name": "brokers"}),
        (
            "OAUTHBEARER by client",
            {"sasl_mechanism": "OAUTHBEARER"},
            {
                "sasl.oauthbearer.method": "oidc",
                "sasl.oauthbearer.token.endpoint.url": "https://issuer.example/token",
                "sasl.oauthbearer.client.id": "us",
                "sasl.oauthbearer.client.secret": "open sesame",
                "sasl.oauthbearer.scope": "kafka",
            },
        ),
    ],
)
def test_both_clients_are_told_the_same(name: str, kafka_python: dict[str, Any], librdkafka: dict[str, Any]) -> None:
    assert kafka_python.items() <= kafka_python_config(settings(name)).items()
    assert librdkafka.items() <= librdkafka_config(settings(name)).items()


@pytest.mark.parametrize("name", DESCRIPTIONS)
def test_librdkafka_gets_no_null(name: str) -> None:
    # It takes a null for the text "None" or for an error, as the name may be.
    assert None not in librdkafka_config(settings(name)).values()


def test_a_given_token_is_not_asked_for_at_an_endpoint() -> None:
    assert "sasl.oauthbearer.method" not in librdkafka_config(settings("OAUTHBEARER by token"))


@pytest.mark.parametrize("name", ["plaintext", "SCRAM", "GSSAPI"])
def test_no_tls_setting_goes_to_a_plaintext_connection(name: str) -> None:
    assert not [each for each in kafka_python_config(settings(name)) if each.startswith("ssl")]
    assert not [each for each in librdkafka_config(settings(name)) if each.startswith("ssl")]
