# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Read the Java client's properties file that operators already own (``--command-config``).

The rule: a file that Kafka's own tools accept works here unchanged. What cannot be obeyed is refused by name, and all
refusals come at once. What does not change how or as whom we connect is ignored, as Kafka's tools do.

``${provider:path:key}`` is replaced as by Kafka's own FileConfigProvider (KIP-297), EnvVarConfigProvider (KIP-887) and
DirectoryConfigProvider (KIP-421). Where Kafka leaves such a reference as it is, and then sends it to the broker as a
password, it is refused.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from .._model.run import KafkaOpsError
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
_REFERENCE = re.compile(r"\$\{([^}]*?):(?:([^}]*?):)?([^}]*?)\}")
_PACKAGE = "org.apache.kafka.common.config.provider."
_MAX_SECRET_FILE_BYTES = 1_000_000

_Lookup = Callable[[str, str], str]
"""(path, key) -> value."""


class _ProviderError(KafkaOpsError):
    """A value cannot be looked up. The message holds no value."""


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


def resolve(
    properties: Mapping[str, str], environment: Mapping[str, str] | None = None
) -> tuple[dict[str, str], list[str]]:
    """Return the properties with every reference replaced, and why any could not be.

    Kafka does not replace what a replaced value refers to in turn, and neither is it done here.
    """
    refusals: list[str] = []
    lookups: dict[str, _Lookup] = {}
    for name in filter(None, map(str.strip, properties.get("config.providers", "").split(","))):
        try:
            lookups[name] = _lookup(name, properties, os.environ if environment is None else environment)
        except _ProviderError as error:
            refusals.append(str(error))

    resolved: dict[str, str] = {}
    for name, value in properties.items():
        resolved[name] = value
        if not name.startswith("config.providers"):
            try:
                resolved[name] = _REFERENCE.sub(lambda found: _replaced(found, lookups), value)
            except _ProviderError as error:
                refusals.append(f"{name}: {error}")
    return resolved, refusals


def _replaced(found: re.Match[str], lookups: Mapping[str, _Lookup]) -> str:
    provider, path, key = found[1], found[2] or "", found[3]
    if provider not in lookups:
        raise _ProviderError(
            f"it refers to the config provider {provider!r}, which is not set up: add it to config.providers, with "
            f"config.providers.{provider}.class"
        )
    return lookups[provider](path, key)


def _lookup(name: str, properties: Mapping[str, str], environment: Mapping[str, str]) -> _Lookup:
    class_name = properties.get(f"config.providers.{name}.class", "").strip()
    allowed = _allowed_paths(properties.get(f"config.providers.{name}.param.allowed.paths", ""))
    if class_name == f"{_PACKAGE}FileConfigProvider":
        return lambda path, key: _from_file(_checked(path, allowed), key)
    if class_name == f"{_PACKAGE}DirectoryConfigProvider":
        return lambda path, key: _from_directory(_checked(path, allowed), key)
    if class_name == f"{_PACKAGE}EnvVarConfigProvider":
        pattern = properties.get(f"config.providers.{name}.param.allowlist.pattern", "").strip() or ".*"
        return lambda path, key: _from_environment(path, key, pattern, environment)
    raise _ProviderError(
        f"config.providers.{name}.class is {class_name or 'not set'}: only Kafka's FileConfigProvider, "
        "EnvVarConfigProvider and DirectoryConfigProvider can be used here; give what it would return as an option of "
        "the module, for instance sasl_password"
    )


def _allowed_paths(text: str) -> list[Path]:
    return [Path(each.strip()) for each in text.split(",") if each.strip()]


def _checked(path: str, allowed: list[Path]) -> Path:
    if not path:
        raise _ProviderError("its reference to a config provider names no path")
    # Kafka compares the path after taking ".." out of it, and follows no links.
    wanted = Path(os.path.normpath(path))
    if allowed and not any(wanted.is_relative_to(each) for each in allowed):
        raise _ProviderError(f"{path} is not below a path in the config provider's allowed.paths")
    return wanted


def _from_file(path: Path, key: str) -> str:
    try:
        with path.open("rb") as file:
            values: dict[str, str] = javaproperties.load(file)
    except OSError as error:
        raise _ProviderError(f"{path} cannot be read: {error.strerror}") from None
    except ValueError:
        raise _ProviderError(f"{path} is not a Java properties file") from None  # the cause may quote a secret
    if key not in values:
        raise _ProviderError(f"{path} has no key {key!r}")
    return values[key]


def _from_directory(path: Path, key: str) -> str:
    file = path / key
    try:
        # As Kafka: a file of this directory itself, and nothing that a name with a slash would lead to.
        if "/" in key or not file.is_file():
            raise _ProviderError(f"there is no file {key!r} in the directory {path}")
        if file.stat().st_size > _MAX_SECRET_FILE_BYTES:
            raise _ProviderError(f"{file} is larger than {_MAX_SECRET_FILE_BYTES} bytes")
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        cause = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise _ProviderError(f"{file} cannot be read: {cause}") from None


def _from_environment(path: str, key: str, pattern: str, environment: Mapping[str, str]) -> str:
    if path:
        raise _ProviderError("an EnvVarConfigProvider takes no path: write ${provider:NAME}")
    try:
        is_allowed = re.fullmatch(pattern, key) is not None
    except re.error:
        raise _ProviderError("the config provider's allowlist.pattern is not a regular expression") from None
    if not is_allowed or key not in environment:
        why = (
            "is not set where the module runs"
            if is_allowed
            else "does not match the config provider's allowlist.pattern"
        )
        raise _ProviderError(f"the environment variable {key} {why}")
    return environment[key]
