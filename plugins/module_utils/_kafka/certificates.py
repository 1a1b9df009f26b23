# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Read when certificates expire: the listeners' certificates, our own, and those of the CAs that we trust."""

from __future__ import annotations

import socket
import ssl
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .._model.partition import Cause
from .client_configs import tls_context
from .error_codes import Stage, broker_call_error
from .errors import BrokerCallError, SettingsError
from .settings import Address, ConnectionSettings

with suppress(ImportError):  # named by own_certificates
    from cryptography import x509


@dataclass(frozen=True, slots=True)
class Certificate:
    """One certificate."""

    subject: str
    """Its common name, or its whole subject."""
    expires_at: float
    """POSIX time in seconds."""


def listener_certificate(settings: ConnectionSettings, address: Address) -> Certificate:
    """Return the certificate that a listener presents. Takes at most one request_timeout_ms.

    Raises BrokerCallError, also if the certificate is invalid, and SettingsError.
    """
    context, timeout_s = tls_context(settings), settings.request_timeout_ms / 1000
    try:
        with (
            socket.create_connection((address.host, address.port), timeout_s) as plain,
            context.wrap_socket(plain, server_hostname=address.host) as secured,
        ):
            found = secured.getpeercert()
    except (OSError, ValueError) as error:
        raise broker_call_error(error, settings, str(address), "TLS handshake", Stage.CONNECTING) from None
    if not found:
        raise BrokerCallError(str(address), Cause.BAD_ANSWER, "it presents no certificate", request="TLS handshake")
    return _from_ssl(found)


def trusted_certificates(settings: ConnectionSettings) -> list[Certificate]:
    """Return the CA certificates that the settings name. Empty if they use the system's CA certificates.

    Raises SettingsError.
    """
    if not (settings.ssl_cafile or settings.ssl_ca_pem):
        return []
    return [_from_ssl(each) for each in tls_context(settings).get_ca_certs()]


def own_certificates(settings: ConnectionSettings) -> list[Certificate]:
    """Return our own certificate and the intermediate ones up to its CA. Empty if we have no certificate.

    Raises SettingsError.
    """
    if settings.ssl_certificate_pem:
        content = settings.ssl_certificate_pem.encode()
    elif settings.ssl_certfile:
        content = Path(settings.ssl_certfile).read_bytes()
    else:
        return []
    try:
        found = x509.load_pem_x509_certificates(content)
    except NameError:
        raise SettingsError(
            ["the expiry of our own certificate cannot be read: install the Python library cryptography"]
        ) from None
    except ValueError as error:
        raise SettingsError([f"our own certificate cannot be read: {error}"]) from None
    return [Certificate(each.subject.rfc4514_string(), each.not_valid_after_utc.timestamp()) for each in found]


def _from_ssl(found: Any) -> Certificate:
    names = dict(pair for relative_name in found.get("subject", ()) for pair in relative_name)
    subject = names.get("commonName") or ", ".join(f"{name}={value}" for name, value in names.items())
    return Certificate(subject or "no subject", float(ssl.cert_time_to_seconds(found["notAfter"])))
