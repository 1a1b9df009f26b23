# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The connection description in the words of each client. Standard library only."""

from __future__ import annotations

from typing import Any

from ansible_collections.kafkaops.recovery.plugins.module_utils.kafka.settings import ConnectionSettings

CLIENT_ID = "kafkaops.recovery"
MAX_FRAME_BYTES = 100_000_000
"""A longer answer is taken for nonsense. Kafka's own limit for requests is the same."""


def kafka_python_config(settings: ConnectionSettings) -> dict[str, Any]:
    """The configuration of kafka-python 3, without bootstrap servers and token provider."""
    config: dict[str, Any] = {
        "client_id": CLIENT_ID,
        "security_protocol": settings.security_protocol,
        "request_timeout_ms": settings.request_timeout_ms,
        "socket_connection_setup_timeout_ms": settings.request_timeout_ms,
        "receive_message_max_bytes": MAX_FRAME_BYTES,
        "max_in_flight_requests_per_connection": 64,
    }
    if settings.uses_tls:
        config |= {
            "ssl_check_hostname": settings.ssl_check_hostname,
            "ssl_cafile": settings.ssl_cafile,
            "ssl_certfile": settings.ssl_certfile,
            "ssl_keyfile": settings.ssl_keyfile,
            "ssl_password": settings.ssl_key_password,
        }
    if settings.uses_sasl:
        config |= {
            "sasl_mechanism": settings.sasl_mechanism,
            "sasl_plain_username": settings.sasl_username,
            "sasl_plain_password": settings.sasl_password,
            "sasl_kerberos_service_name": settings.sasl_kerberos_service_name,
            "sasl_kerberos_domain_name": settings.sasl_kerberos_domain_name,
        }
    return config


def librdkafka_config(settings: ConnectionSettings) -> dict[str, Any]:
    """The configuration of confluent-kafka, bootstrap servers included, token callback excluded."""
    config: dict[str, Any] = {
        "client.id": CLIENT_ID,
        "bootstrap.servers": ",".join(str(address) for address in settings.bootstrap_servers),
        "security.protocol": settings.security_protocol.lower(),
        "socket.timeout.ms": settings.request_timeout_ms,
        "socket.connection.setup.timeout.ms": max(1000, settings.request_timeout_ms),
    }
    if settings.uses_tls:
        config |= {
            "ssl.endpoint.identification.algorithm": "https" if settings.ssl_check_hostname else "none",
            "ssl.ca.location": settings.ssl_cafile,
            "ssl.certificate.location": settings.ssl_certfile,
            "ssl.key.location": settings.ssl_keyfile or settings.ssl_certfile,
            "ssl.key.password": settings.ssl_key_password,
        }
    if settings.uses_sasl:
        config |= {
            "sasl.mechanism": settings.sasl_mechanism,
            "sasl.username": settings.sasl_username,
            "sasl.password": settings.sasl_password,
            "sasl.kerberos.service.name": settings.sasl_kerberos_service_name,
        }
        if settings.sasl_mechanism == "OAUTHBEARER" and not settings.sasl_oauthbearer_token:
            config |= {
                "sasl.oauthbearer.method": "oidc",
                "sasl.oauthbearer.token.endpoint.url": settings.sasl_oauthbearer_token_endpoint_url,
                "sasl.oauthbearer.client.id": settings.sasl_oauthbearer_client_id,
                "sasl.oauthbearer.client.secret": settings.sasl_oauthbearer_client_secret,
                "sasl.oauthbearer.scope": settings.sasl_oauthbearer_scope,
            }
    return {name: value for name, value in config.items() if value is not None}
