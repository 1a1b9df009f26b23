# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Translate the ``ssl.`` properties of Kafka's Java client into options of this collection."""

from __future__ import annotations

import re
import ssl
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from .settings import TLS_VERSIONS, split_list
from .stores import StoreError, is_pem, normalized_pem, read_key_store, read_trust_store

_TRUST = ("ssl_cafile",)
_KEY = ("ssl_certfile", "ssl_keyfile")
_OLD_VERSIONS = frozenset({"SSLv2Hello", "SSLv3", "TLSv1", "TLSv1.1"})
"""Names that Java knows, and Kafka's documentation once recommended. They are left out: a list says what is allowed."""
_TLS_1_3_SUITES = frozenset({"TLS_AES_128_GCM_SHA256", "TLS_AES_256_GCM_SHA384", "TLS_CHACHA20_POLY1305_SHA256"})
_TLS_1_2_SUITE = re.compile(
    r"TLS_(?:(ECDHE_RSA|ECDHE_ECDSA|DHE_RSA)|RSA)_WITH_(?:AES_(128|256)_(?:CBC|(GCM))|(CHACHA20_POLY1305))_(SHA\d*)"
)


def tls_options(properties: Mapping[str, str], explicit: Mapping[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """Return the options for these properties, with the content of stores, and a text for each unsupported property.

    A store is not read if an explicit option replaces it.
    """
    options: dict[str, Any] = {}
    refusals = [
        *_read_hostname_check(properties, options),
        *_read_versions(properties, options),
        *_read_ciphers(properties, options),
    ]
    if not any(name in explicit for name in _TRUST):
        refusals += _read_trusted_certificates(properties, options)
    if not any(name in explicit for name in _KEY):
        refusals += _read_own_key(
            properties, options, explicit.get("ssl_key_password") or properties.get("ssl.key.password")
        )
    return options, refusals


def _read_hostname_check(properties: Mapping[str, str], options: dict[str, Any]) -> Iterator[str]:
    algorithm = properties.get("ssl.endpoint.identification.algorithm")
    if algorithm is None:
        return
    if algorithm.lower() not in ("", "https"):
        yield f"ssl.endpoint.identification.algorithm is {algorithm}: only https, or empty for no check, is supported"
    options["ssl_check_hostname"] = bool(algorithm)


def _read_versions(properties: Mapping[str, str], options: dict[str, Any]) -> Iterator[str]:
    enabled = split_list(properties.get("ssl.enabled.protocols", ""))
    if not enabled:
        return
    unknown = [each for each in enabled if each not in TLS_VERSIONS and each not in _OLD_VERSIONS]
    usable = [each for each in enabled if each in TLS_VERSIONS]
    if unknown or not usable:
        named = ", ".join(unknown or enabled)
        yield f"ssl.enabled.protocols names {named}: only {' and '.join(TLS_VERSIONS)} can be used"
        return
    options["ssl_min_version"], options["ssl_max_version"] = min(usable), max(usable)


def _read_ciphers(properties: Mapping[str, str], options: dict[str, Any]) -> Iterator[str]:
    wanted = split_list(properties.get("ssl.cipher.suites", ""))
    if not wanted:
        return
    try:
        options |= openssl_ciphers(wanted, options)
    except ValueError as error:
        yield f"ssl.cipher.suites: {error}"


def openssl_ciphers(suites: Sequence[str], versions: Mapping[str, Any]) -> dict[str, str]:
    """Return the options that allow exactly these cipher suites, given by their IANA names.

    Python cannot choose among the suites of TLS 1.3: all of them must be given, or none. ``versions`` may have
    ``ssl_min_version`` and ``ssl_max_version``.

    Raises ValueError, with the reason, if the suites cannot be set.
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


def _read_trusted_certificates(properties: Mapping[str, str], options: dict[str, Any]) -> Iterator[str]:
    inline, location = properties.get("ssl.truststore.certificates"), properties.get("ssl.truststore.location")
    try:
        if inline:
            options["ssl_ca_pem"] = normalized_pem(inline, "CERTIFICATE")
        elif location and is_pem(location, properties.get("ssl.truststore.type")):
            options["ssl_cafile"] = location
        elif location:
            options["ssl_ca_pem"] = read_trust_store(location, properties.get("ssl.truststore.password"))
    except StoreError as error:
        yield f"{'ssl.truststore.certificates' if inline else 'ssl.truststore.location'}: {error}"


def _read_own_key(properties: Mapping[str, str], options: dict[str, Any], key_password: str | None) -> Iterator[str]:
    chain, key = properties.get("ssl.keystore.certificate.chain"), properties.get("ssl.keystore.key")
    location, password = properties.get("ssl.keystore.location"), properties.get("ssl.keystore.password")
    place = "ssl.keystore.location"
    try:
        if chain or key:
            place = "ssl.keystore.key" if chain else "ssl.keystore.certificate.chain"
            if not (chain and key):
                yield f"{place} is missing: a key needs its certificate, and a certificate its key"
                return
            options["ssl_key_pem"] = normalized_pem(key, "PRIVATE KEY")
            place = "ssl.keystore.certificate.chain"
            options["ssl_certificate_pem"] = normalized_pem(chain, "CERTIFICATE")
            options["ssl_key_password"] = key_password
        elif location and is_pem(location, properties.get("ssl.keystore.type")):
            options["ssl_certfile"] = location
            options["ssl_key_password"] = key_password
        elif location and not password:
            yield "ssl.keystore.password is missing: Kafka does not read a key store without it"
        elif location:
            material = read_key_store(location, password, key_password)
            options["ssl_certificate_pem"], options["ssl_key_pem"] = material.chain_pem, material.key_pem
            options["ssl_key_password"] = material.password
    except StoreError as error:
        yield f"{place}: {error}"
