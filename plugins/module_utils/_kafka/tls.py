# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Make the TLS context of a connection. Standard library only, so that it works in Spark's tasks too."""

from __future__ import annotations

import re
import ssl
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from .errors import SettingsError
from .private_files import private_file
from .settings import ConnectionSettings

TLS_VERSIONS = {"TLSv1.2": ssl.TLSVersion.TLSv1_2, "TLSv1.3": ssl.TLSVersion.TLSv1_3}
"""By Java's names. Kafka's own default is both."""
_TLS_1_3_SUITES = frozenset({"TLS_AES_128_GCM_SHA256", "TLS_AES_256_GCM_SHA384", "TLS_CHACHA20_POLY1305_SHA256"})
_TLS_1_2_SUITE = re.compile(
    r"TLS_(?:(ECDHE_RSA|ECDHE_ECDSA|DHE_RSA)|RSA)_WITH_(?:AES_(128|256)_(?:CBC|(GCM))|(CHACHA20_POLY1305))_(SHA\d*)"
)


@lru_cache(maxsize=4)
def tls_context(settings: ConnectionSettings) -> ssl.SSLContext:
    """Return the context for these settings; one for all connections, because reading the system's CAs takes a while.

    Raises SettingsError: a certificate or key cannot be used.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = settings.ssl_check_hostname
    context.minimum_version = TLS_VERSIONS[settings.ssl_min_version]
    context.maximum_version = TLS_VERSIONS[settings.ssl_max_version]
    if settings.ssl_ciphers:
        context.set_ciphers(settings.ssl_ciphers)
    try:
        _trust(context, settings)
    except OSError as error:
        raise SettingsError([f"{settings.ssl_cafile or 'the trust store'} cannot be used: {_cause(error)}"]) from None
    try:
        _identify(context, settings)
    except (OSError, ValueError) as error:
        where = settings.ssl_keyfile or settings.ssl_certfile or "the key store"
        raise SettingsError([f"the certificate and key in {where} cannot be used: {_cause(error)}"]) from None
    return context


def openssl_ciphers(suites: Sequence[str], versions: Mapping[str, Any]) -> dict[str, str]:
    """Return the options that allow exactly these cipher suites, which are given by their IANA names.

    Python cannot choose among the suites of TLS 1.3, so they are taken all or none. ``versions`` may hold
    ``ssl_min_version`` and ``ssl_max_version``.

    Raises ValueError for what cannot be obeyed; the message names it.
    """
    newest = _TLS_1_3_SUITES & set(suites)
    older = [each for each in suites if each not in _TLS_1_3_SUITES]
    names = {each: _openssl_name(each) for each in older}
    unknown = [suite for suite, name in names.items() if name is None]
    if unknown:
        raise ValueError(f"{', '.join(unknown)} cannot be used here: remove it")
    if newest and newest != _TLS_1_3_SUITES:
        missing = ", ".join(sorted(_TLS_1_3_SUITES - newest))
        raise ValueError(f"Python cannot choose among the suites of TLS 1.3: add {missing}, or remove all of them")
    options: dict[str, str] = {}
    if older:
        options["ssl_ciphers"] = ":".join(name for name in names.values() if name)
    if not newest:
        if versions.get("ssl_min_version") == "TLSv1.3":
            raise ValueError("it names no suite of TLS 1.3, the only version in ssl.enabled.protocols")
        options["ssl_max_version"] = "TLSv1.2"
    elif not older:
        if versions.get("ssl_max_version") == "TLSv1.2":
            raise ValueError("it names only suites of TLS 1.3, which ssl.enabled.protocols leaves out")
        options["ssl_min_version"] = "TLSv1.3"
    return options


def _openssl_name(suite: str) -> str | None:
    found = _TLS_1_2_SUITE.fullmatch(suite)
    if found is None:
        return None
    exchange, bits, gcm, chacha, mac = found.groups()
    cipher = "CHACHA20-POLY1305" if chacha else f"AES{bits}-GCM-{mac}" if gcm else f"AES{bits}-{mac}"
    name = "-".join(part for part in ((exchange or "").replace("_", "-"), cipher) if part)
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).set_ciphers(name)
    except ssl.SSLError:
        return None
    return name


def _trust(context: ssl.SSLContext, settings: ConnectionSettings) -> None:
    if settings.ssl_cafile or settings.ssl_ca_pem:
        context.load_verify_locations(settings.ssl_cafile, cadata=settings.ssl_ca_pem)
    else:
        context.load_default_certs()


def _identify(context: ssl.SSLContext, settings: ConnectionSettings) -> None:
    was_asked = False

    def password() -> str:
        # Always an answer: without one OpenSSL would ask the terminal, and wait.
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


def _cause(error: Exception) -> str:
    if isinstance(error, ssl.SSLError):
        if error.reason == "KEY_VALUES_MISMATCH":
            return "the key does not belong to the certificate"
        return f"OpenSSL cannot read it ({error.reason or 'no PEM block found'})"
    return str(error.strerror if isinstance(error, OSError) else error)
