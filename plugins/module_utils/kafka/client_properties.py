# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Reads the Java client's properties file that operators already own (``--command-config``)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from ansible_collections.kafkaops.recovery.plugins.module_utils.kafka.errors import SettingsError

with suppress(ImportError):  # a missing library is told by name before anything is done (glue/failures.py)
    import javaproperties

_PLAIN_NAMES = {
    "bootstrap.servers": "bootstrap_servers",
    "security.protocol": "security_protocol",
    "sasl.mechanism": "sasl_mechanism",
    "sasl.kerberos.service.name": "sasl_kerberos_service_name",
    "sasl.oauthbearer.token.endpoint.url": "sasl_oauthbearer_token_endpoint_url",
    "sasl.oauthbearer.client.credentials.client.id": "sasl_oauthbearer_client_id",
    "sasl.oauthbearer.client.credentials.client.secret": "sasl_oauthbearer_client_secret",
    "sasl.oauthbearer.scope": "sasl_oauthbearer_scope",
    "ssl.key.password": "ssl_key_password",
}
_JAAS_NAMES = {
    "username": "sasl_username",
    "password": "sasl_password",
    "serviceName": "sasl_kerberos_service_name",
    "clientId": "sasl_oauthbearer_client_id",
    "clientSecret": "sasl_oauthbearer_client_secret",
    "scope": "sasl_oauthbearer_scope",
}
# Java's own JAAS parser takes both kinds of quotes, and options with a dot in their name (which none of ours has).
_JAAS_OPTION = re.compile(r"""(?<![\w.$-])(\w+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|'((?:[^'\\]|\\.)*)'|([^\s;"']+))""")
_STORES = (
    ("ssl.truststore", "ssl_cafile", "the CA certificates"),
    ("ssl.keystore", "ssl_certfile", "the client certificate (and ssl_keyfile for its key)"),
)
_INLINE = ("ssl.truststore.certificates", "ssl.keystore.certificate.chain", "ssl.keystore.key")


def with_command_config(options: Mapping[str, Any]) -> dict[str, Any]:
    """Adds what the file named by ``command_config`` says to options given outright, which win.

    Properties that do not concern the connection are ignored, as Kafka's own tools do.

    Raises SettingsError: the file cannot be read, or what is needed of it is in a JKS or PKCS12 store, which neither
    client reads, and no option replaces it.
    """
    explicit = {name: value for name, value in options.items() if value is not None}
    path = explicit.pop("command_config", None)
    return {**_read(path, explicit), **explicit} if path else explicit


def _read(path: str, explicit: Mapping[str, Any]) -> dict[str, Any]:
    try:
        with Path(path).open("rb") as file:
            # Kafka takes the spaces around a value away, and so must we: one at the end of a line is easily overlooked.
            properties = {name: value.strip() for name, value in javaproperties.load(file).items()}
    except (OSError, ValueError) as fault:
        raise SettingsError([f"command_config {path} cannot be read: {_without_content(fault)}"]) from None
    options: dict[str, Any] = {ours: properties[java] for java, ours in _PLAIN_NAMES.items() if properties.get(java)}
    if "security_protocol" in options:
        options["security_protocol"] = options["security_protocol"].upper()
    options |= _jaas_options(properties.get("sasl.jaas.config", ""))
    if properties.get("ssl.endpoint.identification.algorithm") == "":
        options["ssl_check_hostname"] = False
    faults = [*_request_timeout(properties, options), *_stores(path, properties, options, explicit)]
    if faults:
        raise SettingsError(faults)
    return options


def _without_content(fault: Exception) -> str:
    # A ValueError of the parser may quote the line, and the line may hold a password.
    return fault.strerror or "unreadable" if isinstance(fault, OSError) else "it is no Java properties file"


def _jaas_options(config: str) -> dict[str, str]:
    found = {}
    for name, *quoted, bare in _JAAS_OPTION.findall(config):
        if name in _JAAS_NAMES:
            found[_JAAS_NAMES[name]] = re.sub(r"\\(.)", r"\1", "".join(quoted)) or bare
    return found


def _request_timeout(properties: dict[str, str], options: dict[str, Any]) -> list[str]:
    text = properties.get("request.timeout.ms")
    if text is None:
        return []
    if not text.isdecimal():
        return [f"request.timeout.ms is {text!r}, which is no number of milliseconds"]
    options["request_timeout_ms"] = int(text)
    return []


def _stores(
    path: str, properties: dict[str, str], options: dict[str, Any], explicit: Mapping[str, Any]
) -> Iterator[str]:
    for name in _INLINE:
        if properties.get(name):
            yield (
                f"{path}: {name} holds PEM text inline: put it into a file, and name that with ssl_cafile, "
                "ssl_certfile or ssl_keyfile"
            )
    for prefix, option, content in _STORES:
        location = properties.get(f"{prefix}.location")
        if not location or option in explicit:
            continue
        kind = properties.get(f"{prefix}.type", "JKS").upper()
        if kind == "PEM":
            options[option] = location
        else:
            yield (
                f"{path}: {prefix}.location {location} is a {kind} store, which only Java reads: export {content} as "
                f"PEM (keytool -exportcert -rfc, or openssl pkcs12) and name the file with {option}"
            )
