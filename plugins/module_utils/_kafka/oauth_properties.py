# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Read how to get an OAUTHBEARER token from ``sasl.jaas.config``: by Kafka's own login handler, or by Strimzi's.

Strimzi's (JaasClientOauthLoginCallbackHandler) sends what Kafka's own handler sends: a token. Of its ``oauth.``
options, the client credentials grant, a token, and a file with one are read. Any other way is refused by name.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from .jaas import LoginModule
from .tls_properties import tls_options

STRIMZI_HANDLER = "JaasClientOauthLoginCallbackHandler"
_KAFKA_OPTIONS = {
    "clientId": "sasl_oauthbearer_client_id",
    "clientSecret": "sasl_oauthbearer_client_secret",
    "scope": "sasl_oauthbearer_scope",
}
_KAFKA_EXTENSION = "extension_"
_OPTIONS = {
    "oauth.token.endpoint.uri": "sasl_oauthbearer_token_endpoint_url",
    "oauth.client.id": "sasl_oauthbearer_client_id",
    "oauth.client.secret": "sasl_oauthbearer_client_secret",
    "oauth.scope": "sasl_oauthbearer_scope",
    "oauth.access.token": "sasl_oauthbearer_token",
}
_TOKEN_FILE = "oauth.access.token.location"
_EXTENSION = "oauth.sasl.extension."
_CA_NAMES = frozenset({"ssl_cafile", "ssl_ca_pem"})
_WITHOUT_EFFECT = frozenset(
    {
        # How Java reads a token for its own log and for renewals, and how long it waits.
        "oauth.access.token.is.jwt",
        "oauth.config.id",
        "oauth.connect.timeout.seconds",
        "oauth.enable.metrics",
        "oauth.fallback.username.claim",
        "oauth.fallback.username.prefix",
        "oauth.http.retries",
        "oauth.http.retry.pause.millis",
        "oauth.include.accept.header",
        "oauth.max.token.expiry.seconds",
        "oauth.read.timeout.seconds",
        "oauth.username.claim",
        "oauth.ssl.secure.random.implementation",
    }
)


def read_oauth(module: LoginModule, options: dict[str, Any]) -> Iterator[str]:
    """Add the options of this collection for Kafka's own handler, and yield a text for each that cannot be followed."""
    given = module.options
    options |= {ours: given[theirs] for theirs, ours in _KAFKA_OPTIONS.items() if given.get(theirs)}
    yield from _read_extensions(given, _KAFKA_EXTENSION, options)
    if any(name.startswith("unsecuredLogin") for name in given):
        yield "sasl.jaas.config asks for an unsecured token, which is for development: give sasl_oauthbearer_token"
    # Kafka takes the TLS options of the token endpoint from here, not from the broker's options.
    yield from _read_tls(given, "", options)


def read_strimzi(module: LoginModule, options: dict[str, Any]) -> Iterator[str]:
    """Add the options of this collection for Strimzi's handler, and yield a text for each that cannot be followed."""
    given = {name: value for name, value in module.options.items() if value}
    options |= {ours: given[theirs] for theirs, ours in _OPTIONS.items() if theirs in given}
    if _TOKEN_FILE in given:
        options["sasl_oauthbearer_token_endpoint_url"] = f"file:{given[_TOKEN_FILE]}"
    elif "oauth.access.token" not in given:
        needed = ("oauth.token.endpoint.uri", "oauth.client.id", "oauth.client.secret")
        missing = [each for each in needed if each not in given]
        if missing:
            yield (
                f"sasl.jaas.config has no {', '.join(missing)}: here, Strimzi's options are read from there only, not "
                "from the environment or Java's system properties"
            )
    yield from _read_extensions(given, _EXTENSION, options)
    yield from _read_tls(given, "oauth.", options)
    known = {*_OPTIONS, _TOKEN_FILE, *_WITHOUT_EFFECT}
    for name in sorted(given):
        if name.startswith("oauth.") and name not in known and not name.startswith((_EXTENSION, "oauth.ssl.")):
            yield (
                f"sasl.jaas.config sets {name}, which cannot be followed here: use oauth.client.id and "
                "oauth.client.secret, or put a token into a file and set oauth.access.token.location"
            )


def _read_extensions(given: Mapping[str, str], prefix: str, options: dict[str, Any]) -> Iterator[str]:
    extensions = {name.removeprefix(prefix): value for name, value in given.items() if name.startswith(prefix)}
    if any("," in value or "=" in value for value in extensions.values()):
        yield "sasl.jaas.config has a SASL extension with a comma or equals sign, which cannot be sent from here"
    elif extensions:
        options["sasl_oauthbearer_extensions"] = ",".join(f"{name}={value}" for name, value in extensions.items())


def _read_tls(given: Mapping[str, str], prefix: str, options: dict[str, Any]) -> Iterator[str]:
    """Add the CA certificates of the token endpoint. The names of the TLS options are Kafka's, after ``prefix``."""
    own = {name.removeprefix(prefix): value for name, value in given.items() if name.startswith(f"{prefix}ssl.")}
    tls, refused = tls_options(own, {})
    options |= {f"sasl_oauthbearer_{name.removeprefix('ssl_')}": tls[name] for name in _CA_NAMES & tls.keys()}
    yield from (f"sasl.jaas.config: {prefix}{refusal}" for refusal in refused)
    accepted = _CA_NAMES | ({"ssl_check_hostname"} if tls.get("ssl_check_hostname") else set())
    for name in sorted(tls.keys() - accepted):
        yield f"sasl.jaas.config: this option for TLS to the token endpoint is not supported here ({name})"
