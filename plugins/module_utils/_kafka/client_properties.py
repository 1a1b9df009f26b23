# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Read the Java client's properties file that operators already own (``--command-config``).

The rule: a file that Kafka's own tools accept works here unchanged. What cannot be obeyed is refused by name, and all
refusals come at once. What does not change how or as whom we connect is ignored, as Kafka's tools do.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from .config_providers import resolve
from .errors import SettingsError
from .sasl_properties import sasl_options
from .tls_properties import tls_options

with suppress(ImportError):  # a missing library is named before anything is done (_module/run.py)
    import javaproperties

_OBEYED = frozenset(
    {
        "security.protocol",
        "ssl.cipher.suites",
        "ssl.enabled.protocols",
        "ssl.endpoint.identification.algorithm",
        "ssl.key.password",
        "ssl.keystore.certificate.chain",
        "ssl.keystore.key",
        "ssl.keystore.location",
        "ssl.keystore.password",
        "ssl.keystore.type",
        "ssl.truststore.certificates",
        "ssl.truststore.location",
        "ssl.truststore.password",
        "ssl.truststore.type",
        "sasl.client.callback.handler.class",
        "sasl.jaas.config",
        "sasl.kerberos.service.name",
        "sasl.login.callback.handler.class",
        "sasl.login.class",
        "sasl.mechanism",
        "sasl.oauthbearer.client.credentials.client.id",
        "sasl.oauthbearer.client.credentials.client.secret",
        "sasl.oauthbearer.header.urlencode",
        "sasl.oauthbearer.scope",
        "sasl.oauthbearer.token.endpoint.url",
    }
)
_WITHOUT_EFFECT = (
    # When Java's own login thread renews, and how it waits: each run here is short, and has limits of its own.
    "sasl.kerberos.kinit.cmd",
    "sasl.kerberos.min.time.before.relogin",
    "sasl.kerberos.ticket.renew.",
    "sasl.login.connect.timeout.ms",
    "sasl.login.read.timeout.ms",
    "sasl.login.refresh.",
    "sasl.login.retry.",
    # How Java checks a token before it sends it; the broker checks it anyway.
    "sasl.oauthbearer.clock.skew.seconds",
    "sasl.oauthbearer.expected.",
    "sasl.oauthbearer.jwks.",
    "sasl.oauthbearer.scope.claim.name",
    "sasl.oauthbearer.sub.claim.name",
    "ssl.secure.random.implementation",
    # A broker's properties, in a file that both use.
    "sasl.enabled.mechanisms",
    "sasl.kerberos.principal.to.local.rules",
    "sasl.mechanism.controller.protocol",
    "sasl.mechanism.inter.broker.protocol",
    "sasl.server.",
    "security.inter.broker.protocol",
    "ssl.allow.",
    "ssl.client.auth",
    "ssl.principal.mapping.rules",
)
_ONLY_WITH_DEFAULT = {
    "client.dns.lookup": ("use_all_dns_ips",),
    "sasl.oauthbearer.jwt.retriever.class": ("DefaultJwtRetriever", "ClientCredentialsJwtRetriever"),
    "sasl.oauthbearer.jwt.validator.class": ("DefaultJwtValidator", "ClientJwtValidator"),
    "ssl.keymanager.algorithm": ("SunX509", "PKIX", "NewSunX509"),
    "ssl.protocol": ("TLS", "TLSv1.2", "TLSv1.3"),
    "ssl.trustmanager.algorithm": ("PKIX", "SunX509"),
}
"""Values that mean to Java what is done here anyway; class names without their package."""
_CONNECTS = ("client.dns.lookup", "sasl.", "security.", "ssl.")
"""How the names of all properties begin that say how or as whom to connect."""


def with_command_config(options: Mapping[str, Any]) -> dict[str, Any]:
    """Add what the file named by ``command_config`` says to options given outright, which win.

    Raises SettingsError with everything that cannot be read or obeyed, by the names of the properties.
    """
    explicit = {name: value for name, value in options.items() if value is not None}
    path = explicit.pop("command_config", None)
    if not path:
        return explicit
    found, refusals = _translated(_load(path), explicit)
    if refusals:
        raise SettingsError([f"{path}: {refusal}" for refusal in refusals])
    if "ssl_key_pem" in found:
        # The key was opened with this password, and is encrypted with another one now.
        explicit.pop("ssl_key_password", None)
    return {**found, **explicit}


def _load(path: str) -> dict[str, str]:
    try:
        with Path(path).open("rb") as file:
            return dict(javaproperties.load(file))
    except OSError as error:
        raise SettingsError([f"command_config {path} cannot be read: {error.strerror or 'unreadable'}"]) from None
    except ValueError:
        # The error may quote the line, and the line may contain a password.
        raise SettingsError([f"command_config {path} cannot be read: it is not a Java properties file"]) from None


def _translated(loaded: Mapping[str, str], explicit: Mapping[str, Any]) -> tuple[dict[str, Any], list[str]]:
    resolved, refusals = resolve(loaded)
    # Kafka takes the spaces around a value away, and so must we: one at the end of a line is easily overlooked.
    properties = {name: value.strip() for name, value in resolved.items()}
    refusals += _unusable(properties)
    protocol = str(explicit.get("security_protocol") or properties.get("security.protocol") or "PLAINTEXT").upper()
    options: dict[str, Any] = {"security_protocol": protocol}
    if properties.get("bootstrap.servers"):
        options["bootstrap_servers"] = properties["bootstrap.servers"]
    refusals += _request_timeout(properties, options)
    # For other protocols Kafka ignores these properties, whatever they say.
    if protocol in ("SSL", "SASL_SSL"):
        more, refused = tls_options(properties, explicit)
        options, refusals = options | more, [*refusals, *refused]
    if protocol in ("SASL_PLAINTEXT", "SASL_SSL"):
        more, refused = sasl_options(properties, explicit)
        options, refusals = options | more, [*refusals, *refused]
    return options, refusals


def _unusable(properties: Mapping[str, str]) -> Iterator[str]:
    for name, value in properties.items():
        if not value or not name.startswith(_CONNECTS) or name in _OBEYED or name.startswith(_WITHOUT_EFFECT):
            continue
        accepted = _ONLY_WITH_DEFAULT.get(name)
        if accepted is None:
            yield f"{name} is not known here, and may say how to connect: correct its name, or remove it"
        elif value not in accepted and value.rpartition(".")[2] not in accepted:
            yield f"{name} is {value}, which cannot be obeyed here: only {', '.join(accepted)}"


def _request_timeout(properties: Mapping[str, str], options: dict[str, Any]) -> Iterator[str]:
    text = properties.get("request.timeout.ms")
    if text is None:
        return
    if text.isascii() and text.isdecimal():
        options["request_timeout_ms"] = int(text)
    else:
        yield f"request.timeout.ms is {text!r}, which is no number of milliseconds"
