# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Make each Kafka client's configuration, TLS context and credentials from the connection settings.

Tokens, Kerberos tickets and AWS keys are fetched before they are needed, by the thread that calls a broker, once for
the whole process. kafka-python would fetch them on the one I/O thread and delay every connection.
"""

from __future__ import annotations

import ssl
from functools import lru_cache
from typing import Any, Protocol

from .errors import SettingsError
from .private_files import private_file
from .settings import ConnectionSettings

# Credentials are imported inside functions: most runs authenticate with a password, or not at all.
# ruff: noqa: PLC0415

CLIENT_ID = "kafkaops.recovery"
NOT_IN_LIBRDKAFKA = ("GSSAPI",)
_BY_TOKEN = ("OAUTHBEARER", "AWS_MSK_IAM")
"""librdkafka sends a token for these, by OAUTHBEARER."""
LIBRDKAFKA_MOST_MS = 300_000
"""The longest socket.timeout.ms that librdkafka accepts. The shortest is 10 ms."""
MAX_FRAME_BYTES = 100_000_000
"""A longer answer is an error. Kafka's own limit for requests is the same."""


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
        "max_in_flight_requests_per_connection": 256,
    }
    if settings.uses_tls:
        config["ssl_context"] = tls_context(settings)
    if settings.uses_sasl:
        config |= {
            "sasl_mechanism": settings.sasl_mechanism,
            "sasl_plain_username": _sasl_name(settings),
            "sasl_plain_password": settings.sasl_password,
        }
    return config


def _sasl_name(settings: ConnectionSettings) -> str | None:
    """Return the user's name as kafka-python is to send it.

    In SCRAM's messages, these characters are escaped (RFC 5802, 5.1), and kafka-python does not do that.
    """
    name, mechanism = settings.sasl_username, settings.sasl_mechanism or ""
    if name and mechanism.startswith("SCRAM-"):
        return name.replace("=", "=3D").replace(",", "=2C")
    return name


def librdkafka_config(settings: ConnectionSettings) -> dict[str, Any]:
    """Return the configuration of confluent-kafka, bootstrap servers included.

    Raises SettingsError: PyPI's confluent-kafka is built without this mechanism.
    """
    if settings.uses_sasl and settings.sasl_mechanism in NOT_IN_LIBRDKAFKA:
        raise SettingsError(
            [f"{settings.sasl_mechanism} cannot be used here: confluent-kafka, which this needs, is built without it"]
        )
    config: dict[str, Any] = {
        "client.id": CLIENT_ID,
        "bootstrap.servers": ",".join(str(address) for address in settings.bootstrap_servers),
        "security.protocol": settings.security_protocol.lower(),
        "socket.timeout.ms": min(max(10, settings.request_timeout_ms), LIBRDKAFKA_MOST_MS),
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
        if settings.sasl_mechanism in _BY_TOKEN:
            # Both clients use one source of tokens, so that they are the same principal.
            credentials: Any = credentials_for(settings)
            config |= {
                "sasl.mechanism": "OAUTHBEARER",
                "oauth_cb": credentials.librdkafka_token,
                "sasl.oauthbearer.extensions": settings.sasl_oauthbearer_extensions,
            }
    return {name: value for name, value in config.items() if value is not None}


@lru_cache(maxsize=4)
def tls_context(settings: ConnectionSettings) -> ssl.SSLContext:
    """Return the TLS context for these settings. It is cached, because reading the system's CAs is slow.

    Raises SettingsError: a certificate or key cannot be used.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = settings.ssl_check_hostname
    context.minimum_version = _tls_version(settings.ssl_min_version)
    context.maximum_version = _tls_version(settings.ssl_max_version)
    if settings.ssl_ciphers:
        context.set_ciphers(settings.ssl_ciphers)
    try:
        _load_trusted_certificates(context, settings)
    except OSError as error:
        raise SettingsError(
            [f"{settings.ssl_cafile or 'the trust store'} cannot be used: {_describe_cause(error)}"]
        ) from None
    try:
        _load_own_certificate(context, settings)
    except (OSError, ValueError) as error:
        where = settings.ssl_keyfile or settings.ssl_certfile or "the key store"
        raise SettingsError([f"the certificate and key in {where} cannot be used: {_describe_cause(error)}"]) from None
    return context


def _tls_version(name: str) -> ssl.TLSVersion:
    return ssl.TLSVersion[name.replace(".", "_")]


def _load_trusted_certificates(context: ssl.SSLContext, settings: ConnectionSettings) -> None:
    if settings.ssl_cafile or settings.ssl_ca_pem:
        context.load_verify_locations(settings.ssl_cafile, cadata=settings.ssl_ca_pem)
    else:
        context.load_default_certs()


def _load_own_certificate(context: ssl.SSLContext, settings: ConnectionSettings) -> None:
    was_asked = False

    def password() -> str:
        # Without a return value OpenSSL would ask on the terminal, and wait.
        nonlocal was_asked
        was_asked = True
        return settings.ssl_key_password or ""

    try:
        if settings.ssl_key_pem and settings.ssl_certificate_pem:
            with private_file((settings.ssl_key_pem + settings.ssl_certificate_pem).encode()) as path:
                context.load_cert_chain(path, password=password)
        elif settings.ssl_certfile:
            context.load_cert_chain(settings.ssl_certfile, settings.ssl_keyfile, password)
    except ssl.SSLError as error:
        if was_asked and error.reason != "KEY_VALUES_MISMATCH":
            raise ValueError("the password of the key is wrong or missing") from None
        raise


def _describe_cause(error: Exception) -> str:
    if isinstance(error, ssl.SSLError):
        if error.reason == "KEY_VALUES_MISMATCH":
            return "the key does not belong to the certificate"
        return f"OpenSSL cannot read it ({error.reason or 'no PEM block found'})"
    return str(error.strerror if isinstance(error, OSError) else error)


class Credentials(Protocol):
    """Credentials that must be fetched from another server."""

    def prepare(self, host: str, timeout_s: float, *, is_connected: bool) -> None:
        """Fetch the credentials for a connection to this host, unless they are valid. Takes at most ``timeout_s``.

        ``is_connected``: the connection exists, and may have to authenticate again later (KIP-368).

        Raises CredentialsError.
        """

    def kafka_python_config(self) -> dict[str, Any]:
        """Return the part of kafka-python's configuration that refers to them."""


@lru_cache(maxsize=4)
def credentials_for(settings: ConnectionSettings) -> Credentials | None:
    """Return the credentials for these settings, one for the whole process. None if none must be fetched.

    Raises SettingsError: a library that this mechanism needs is missing.
    """
    if not settings.uses_sasl:
        return None
    if settings.sasl_mechanism == "OAUTHBEARER":
        from .oauth import OAuthCredentials

        return OAuthCredentials(settings)
    if settings.sasl_mechanism == "GSSAPI":
        from .kerberos import KerberosCredentials

        return KerberosCredentials(settings)
    if settings.sasl_mechanism == "AWS_MSK_IAM":
        from .msk_iam import AwsCredentials

        return AwsCredentials(settings)
    return None
