# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The connection description in the words of each client. Standard library only."""

from __future__ import annotations

from typing import Any

from .errors import SettingsError
from .settings import ConnectionSettings
from .tls import tls_context

CLIENT_ID = "kafkaops.recovery"
_NOT_IN_LIBRDKAFKA = ("GSSAPI", "AWS_MSK_IAM")
MAX_FRAME_BYTES = 100_000_000
"""A longer answer is taken for nonsense. Kafka's own limit for requests is the same."""


def kafka_python_config(settings: ConnectionSettings) -> dict[str, Any]:
    """Return the configuration of kafka-python 3, without bootstrap servers and token provider.

    Raises SettingsError: a certificate or key cannot be used.
    """
    config: dict[str, Any] = {
        "client_id": CLIENT_ID,
        "security_protocol": settings.security_protocol,
        "request_timeout_ms": settings.request_timeout_ms,
        "socket_connection_setup_timeout_ms": settings.request_timeout_ms,
        "receive_message_max_bytes": MAX_FRAME_BYTES,
        "max_in_flight_requests_per_connection": 64,
    }
    if settings.uses_tls:
        config["ssl_context"] = tls_context(settings)
    if settings.uses_sasl:
        config |= {
            "sasl_mechanism": settings.sasl_mechanism,
            "sasl_plain_username": settings.sasl_username,
            "sasl_plain_password": settings.sasl_password,
        }
    return config


def librdkafka_config(settings: ConnectionSettings) -> dict[str, Any]:
    """Return the configuration of confluent-kafka, bootstrap servers included.

    Raises SettingsError: this mechanism is not in the confluent-kafka that PyPI has.
    """
    if settings.uses_sasl and settings.sasl_mechanism in _NOT_IN_LIBRDKAFKA:
        raise SettingsError(
            [f"{settings.sasl_mechanism} cannot be used here: confluent-kafka, which this needs, is built without it"]
        )
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
            "ssl.ca.pem": settings.ssl_ca_pem,
            "ssl.certificate.location": settings.ssl_certfile,
            "ssl.key.location": settings.ssl_keyfile or settings.ssl_certfile,
            "ssl.certificate.pem": settings.ssl_certificate_pem,
            "ssl.key.pem": settings.ssl_key_pem,
            "ssl.cipher.suites": settings.ssl_ciphers,
            "ssl.key.password": settings.ssl_key_password,
        }
    if settings.uses_sasl:
        config |= {
            "sasl.mechanism": settings.sasl_mechanism,
            "sasl.username": settings.sasl_username,
            "sasl.password": settings.sasl_password,
        }
        if settings.sasl_mechanism == "OAUTHBEARER":
            # The same token as kafka-python's, so that both clients are the same principal.
            from .oauth import OAuthCredentials  # noqa: PLC0415 - only where needed

            config["oauth_cb"] = OAuthCredentials(settings).librdkafka_token
            config["sasl.oauthbearer.extensions"] = settings.sasl_oauthbearer_extensions
    return {name: value for name, value in config.items() if value is not None}
