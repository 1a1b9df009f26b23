# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Read a properties file of Kafka's Java client (``--command-config``).

A file that Kafka's own tools accept works here unchanged. Properties that cannot be supported are refused by name, all
of them at once. Properties that do not affect connecting or authenticating are ignored, as in Kafka's tools.

``${provider:path:key}`` is replaced like Kafka's own FileConfigProvider (KIP-297), EnvVarConfigProvider (KIP-887) and
DirectoryConfigProvider (KIP-421) do. A reference that cannot be replaced is refused: Kafka would send the reference
itself to the broker as a password.
"""

from __future__ import annotations

import codecs
import errno
import os
import re
import stat
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from .._model.run import KafkaOpsError
from .errors import SettingsError, describe_unreadable
from .sasl_properties import sasl_options
from .settings import SASL_MECHANISMS, SECURITY_PROTOCOLS, parse_addresses, split_list
from .tls_properties import tls_options

with suppress(ImportError):  # a missing library is reported before the module starts (_module/run.py)
    import javaproperties


_SUPPORTED = frozenset(
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
    # Renewals and timeouts of Java's own login thread: runs here are short, and have their own limits.
    "sasl.kerberos.kinit.cmd",
    "sasl.kerberos.min.time.before.relogin",
    "sasl.kerberos.ticket.renew.",
    "sasl.login.connect.timeout.ms",
    "sasl.login.read.timeout.ms",
    "sasl.login.refresh.",
    "sasl.login.retry.",
    # Java's checks of a token before it is sent: the broker checks it anyway.
    "sasl.oauthbearer.clock.skew.seconds",
    "sasl.oauthbearer.expected.",
    "sasl.oauthbearer.jwks.",
    "sasl.oauthbearer.scope.claim.name",
    "sasl.oauthbearer.sub.claim.name",
    "ssl.secure.random.implementation",
    # Properties of brokers, in a file for both.
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
"""The values whose effect in Java is what this collection always does. Class names are without their package."""
_OF_LIBRDKAFKA = {
    "sasl.mechanisms": "sasl.mechanism",
    "sasl.oauthbearer.client.id": "sasl.oauthbearer.client.credentials.client.id",
    "sasl.oauthbearer.client.secret": "sasl.oauthbearer.client.credentials.client.secret",
    "sasl.password": "sasl.jaas.config",
    "sasl.username": "sasl.jaas.config",
    "ssl.ca.location": "ssl.truststore.location, with ssl.truststore.type=PEM",
    "ssl.ca.pem": "ssl.truststore.certificates, with ssl.truststore.type=PEM",
    "ssl.certificate.location": "ssl.keystore.location, with ssl.keystore.type=PEM and the key in the same file",
    "ssl.certificate.pem": "ssl.keystore.certificate.chain, with ssl.keystore.type=PEM",
    "ssl.key.location": "ssl.keystore.location, with ssl.keystore.type=PEM and the certificate in the same file",
    "ssl.key.pem": "ssl.keystore.key, with ssl.keystore.type=PEM",
}
"""Names that only librdkafka (kcat, confluent-kafka) uses, and what Kafka's Java client reads instead."""
_ENDPOINT = "sasl.oauthbearer.token.endpoint.url"
_NAMES = _SUPPORTED | {"bootstrap.servers"}
_JOINED = re.compile(rf"({'|'.join(map(re.escape, sorted({*_NAMES, *_OF_LIBRDKAFKA}, key=len, reverse=True)))})[=:\s]")
_BLANKS = "".join(map(chr, range(0x21)))
_NO_TEXT = re.compile("[\0\ud800-\udfff]")
_NO_NAME = ("{", "[", '"', "'", "-")
"""How no property's name begins: Kafka's tools ignore such a line, and may then connect without TLS or SASL."""
_OF_SHELLS = frozenset({"export", "set"})
_BYTE_ORDER_MARKS = (codecs.BOM_UTF8, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_CONNECTION_PREFIXES = ("client.dns.lookup", "sasl.", "security.", "ssl.")
"""All properties that affect connecting or authenticating begin like this."""
_REFERENCE = re.compile(r"\$\{([^}]*?):(?:([^}]*?):)?([^}]*?)\}")
_PACKAGE = "org.apache.kafka.common.config.provider."
_MAX_SECRET_FILE_BYTES = 1_000_000
_MAX_FILE_BYTES = 10_000_000

_Lookup = Callable[[str, str], str]
"""(path, key) -> value."""


class _ProviderError(KafkaOpsError):
    """A value cannot be looked up. The message contains no value."""


def with_command_config(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options with those of the file ``command_config`` added. Options override the file.

    Raises SettingsError with the names of all properties that cannot be read or supported.
    """
    explicit = {name: value for name, value in options.items() if value is not None}
    path = explicit.pop("command_config", None)
    if not path:
        return explicit
    found, refusals = _translate(_load(path), explicit)
    if refusals:
        raise SettingsError([f"{path}: {refusal}" for refusal in refusals])
    if "ssl_key_pem" in found:
        # This password opened the key store. The key is now encrypted with another one.
        explicit.pop("ssl_key_password", None)
    return {**found, **explicit}


def _load(path: str) -> dict[str, str]:
    try:
        content = _read_regular(path)
        if content.startswith(_BYTE_ORDER_MARKS):
            # Kafka's tools ignore that property, and may then connect without TLS or SASL.
            raise SettingsError(
                [
                    f"command_config {path} begins with a byte order mark (BOM), which Java reads as part of the first "
                    "property's name: save it as UTF-8 without a BOM"
                ]
            )
        loaded = dict(javaproperties.loads(content.decode("iso-8859-1")))
    except OSError as error:
        raise SettingsError([f"command_config {path} {describe_unreadable(error)}"]) from None
    except ValueError:
        # The error may quote a line with a password.
        why = "it is not a Java properties file: in one, \\u begins a character of four hexadecimal digits"
        raise SettingsError([f"command_config {path} cannot be read: {why}"]) from None
    # First of all, because other refusals show values: that of the next line may be a password.
    if refusals := [*_find_damaged(loaded)]:
        raise SettingsError([f"{path}: {refusal}" for refusal in refusals])
    return loaded


def _find_damaged(loaded: Mapping[str, str]) -> Iterator[str]:
    for name, value in loaded.items():
        if "." in name and not name.endswith("sasl.jaas.config") and (joined := _JOINED.search(value)):
            yield f"{name} has {joined[1]} in its value: remove the backslash that joins the next line to its line"
        elif _NO_TEXT.search(value):
            yield f"{name} has a character that no text has: correct its \\u escapes"


def _read_regular(path: str | Path) -> bytes:
    """Return the content of a file. A pipe would block, and a device may never end: both raise OSError."""
    with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise OSError(errno.EINVAL, "it is no regular file; save its content in one, and name that")
        return file.read(_MAX_FILE_BYTES)


def _translate(loaded: Mapping[str, str], explicit: Mapping[str, Any]) -> tuple[dict[str, Any], list[str]]:
    resolved, refusals = resolve(loaded)
    # As Java's trim: a password may end with a space that is none of ASCII.
    properties = {name: value.strip(_BLANKS) for name, value in resolved.items()}
    refusals += _find_unsupported(properties)
    protocol = str(explicit.get("security_protocol") or properties.get("security.protocol") or "PLAINTEXT").upper()
    options: dict[str, Any] = {"security_protocol": protocol}
    if properties.get("bootstrap.servers"):
        options["bootstrap_servers"] = properties["bootstrap.servers"]
    refusals += _read_request_timeout(properties, explicit, options)
    # A reference that could not be replaced is refused as that.
    given = {name: value for name, value in properties.items() if not _REFERENCE.search(value)}
    refusals += _find_invalid(given, explicit)
    # Kafka ignores the properties of other protocols.
    if protocol in ("SSL", "SASL_SSL"):
        more, refused = tls_options(properties, explicit)
        options, refusals = options | more, [*refusals, *refused]
    if protocol in ("SASL_PLAINTEXT", "SASL_SSL"):
        wrong = [*_find_wrong_mechanism(given, explicit)]
        # What else is wrong depends on the mechanism.
        more, refused = ({}, wrong) if wrong else sasl_options(properties, explicit)
        options, refusals = options | more, [*refusals, *refused, *_find_secret_in_url(properties, explicit)]
    return options, refusals


def _find_invalid(properties: Mapping[str, str], explicit: Mapping[str, Any]) -> Iterator[str]:
    """Yield what is wrong with values that are passed on as they are, unless an option replaces them."""
    protocol = properties.get("security.protocol", "")
    if protocol and protocol.upper() not in SECURITY_PROTOCOLS and not explicit.get("security_protocol"):
        yield f"security.protocol is {protocol}: one of {', '.join(SECURITY_PROTOCOLS)}{_unquoted(protocol)}"
    servers = properties.get("bootstrap.servers", "")
    if not explicit.get("bootstrap_servers"):
        try:
            parse_addresses(servers)
        except ValueError as error:
            yield f"bootstrap.servers: {error}{_unquoted(servers)}"


def _find_wrong_mechanism(properties: Mapping[str, str], explicit: Mapping[str, Any]) -> Iterator[str]:
    mechanism = properties.get("sasl.mechanism", "")
    if mechanism and mechanism not in SASL_MECHANISMS and not explicit.get("sasl_mechanism"):
        yield f"sasl.mechanism is {mechanism}: one of {', '.join(SASL_MECHANISMS)}{_unquoted(mechanism)}"


def _find_secret_in_url(properties: Mapping[str, str], explicit: Mapping[str, Any]) -> Iterator[str]:
    endpoint = properties.get(_ENDPOINT, "").partition("//")[2].partition("/")[0]
    if "@" in endpoint and not explicit.get("sasl_oauthbearer_token_endpoint_url"):
        yield (
            f"{_ENDPOINT} has a user or a password in it, which messages would show: set clientId and clientSecret in "
            "sasl.jaas.config instead"
        )


def _unquoted(value: str) -> str:
    return ", without quotes" if set(value) & {*"'\""} else ""


def _find_unsupported(properties: Mapping[str, str]) -> Iterator[str]:
    if properties.get("security.protocol") == "":
        yield "security.protocol is empty, which Kafka's tools refuse: name a protocol, or remove the line"
    if any(name.startswith(_NO_NAME) or name in _OF_SHELLS for name in properties):
        yield "it is JSON, YAML or a shell script: a Java properties file has name=value on each line, without quotes"
    for name, value in properties.items():
        if name not in _NAMES and name.lower() in _NAMES:
            yield f"{name} is not read by Kafka's tools, because names are in lower case: write {name.lower()}"
            continue
        if (
            not value
            or not name.startswith(_CONNECTION_PREFIXES)
            or name in _SUPPORTED
            or name.startswith(_WITHOUT_EFFECT)
        ):
            continue
        accepted = _ONLY_WITH_DEFAULT.get(name)
        if name in _OF_LIBRDKAFKA:
            yield f"{name} is a property of librdkafka: in a file for Kafka's Java client, use {_OF_LIBRDKAFKA[name]}"
        elif accepted is None:
            yield f"{name} is not known here, and may say how to connect: correct its name, or remove it"
        elif value not in accepted and value.rpartition(".")[2] not in accepted:
            yield f"{name} is {value}, which is not supported here: only {', '.join(accepted)}"


def _read_request_timeout(
    properties: Mapping[str, str], explicit: Mapping[str, Any], options: dict[str, Any]
) -> Iterator[str]:
    text = properties.get("request.timeout.ms")
    if text is None:
        return
    if text.isascii() and text.isdecimal():
        if not int(text) and explicit.get("request_timeout_ms") is None:
            yield f"request.timeout.ms is {text}, which is not above 0"
        options["request_timeout_ms"] = int(text)
    else:
        yield f"request.timeout.ms is {text!r}, which is not a number of milliseconds"


def resolve(
    properties: Mapping[str, str], environment: Mapping[str, str] | None = None
) -> tuple[dict[str, str], list[str]]:
    """Return the properties with every reference replaced, and the errors of references that could not be replaced.

    As in Kafka, references inside a replaced value stay as they are.
    """
    refusals: list[str] = []
    lookups: dict[str, _Lookup] = {}
    for name in split_list(properties.get("config.providers", "")):
        try:
            lookups[name] = _make_lookup(name, properties, os.environ if environment is None else environment)
        except _ProviderError as error:
            refusals.append(str(error))

    resolved: dict[str, str] = {}
    for name, value in properties.items():
        resolved[name] = value
        if not name.startswith("config.providers"):
            try:
                resolved[name] = _REFERENCE.sub(lambda found: _look_up(found, lookups), value)
            except _ProviderError as error:
                refusals.append(f"{name}: {error}")
    return resolved, refusals


def _look_up(found: re.Match[str], lookups: Mapping[str, _Lookup]) -> str:
    provider, path, key = found[1], found[2] or "", found[3]
    if provider not in lookups:
        raise _ProviderError(
            f"it refers to the config provider {provider!r}, which is not set up: add it to config.providers, with "
            f"config.providers.{provider}.class"
        )
    return lookups[provider](path, key)


def _make_lookup(name: str, properties: Mapping[str, str], environment: Mapping[str, str]) -> _Lookup:
    class_name = properties.get(f"config.providers.{name}.class", "").strip()
    allowed = [*map(Path, split_list(properties.get(f"config.providers.{name}.param.allowed.paths", "")))]
    if class_name == f"{_PACKAGE}FileConfigProvider":
        return lambda path, key: _read_from_file(_check_path(path, allowed), key)
    if class_name == f"{_PACKAGE}DirectoryConfigProvider":
        return lambda path, key: _read_from_directory(_check_path(path, allowed), key)
    if class_name == f"{_PACKAGE}EnvVarConfigProvider":
        pattern = properties.get(f"config.providers.{name}.param.allowlist.pattern", "").strip() or ".*"
        return lambda path, key: _read_from_environment(path, key, pattern, environment)
    raise _ProviderError(
        f"config.providers.{name}.class is {class_name or 'not set'}: only Kafka's FileConfigProvider, "
        "EnvVarConfigProvider and DirectoryConfigProvider can be used here; give what it would return otherwise, "
        "for instance as sasl_password"
    )


def _check_path(path: str, allowed: list[Path]) -> Path:
    if not path:
        raise _ProviderError("its reference to a config provider names no path")
    # As Kafka: resolve "..", but follow no links.
    wanted = Path(os.path.normpath(path))
    if allowed and not any(wanted.is_relative_to(each) for each in allowed):
        raise _ProviderError(f"{path} is not below a path in the config provider's allowed.paths")
    return wanted


def _read_from_file(path: Path, key: str) -> str:
    try:
        values: dict[str, str] = javaproperties.loads(_read_regular(path).decode("iso-8859-1"))
    except OSError as error:
        raise _ProviderError(f"{path} {describe_unreadable(error)}") from None
    except ValueError:
        raise _ProviderError(f"{path} is not a Java properties file") from None  # the cause may quote a secret
    if key not in values:
        raise _ProviderError(f"{path} has no key {key!r}")
    return values[key]


def _read_from_directory(path: Path, key: str) -> str:
    file = path / key
    try:
        # As Kafka: only a file in this directory itself.
        if "/" in key or not file.is_file():
            raise _ProviderError(f"there is no file {key!r} in the directory {path}")
        if file.stat().st_size > _MAX_SECRET_FILE_BYTES:
            raise _ProviderError(f"{file} is larger than {_MAX_SECRET_FILE_BYTES} bytes")
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        cause = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise _ProviderError(f"{file} cannot be read: {cause}") from None


def _read_from_environment(path: str, key: str, pattern: str, environment: Mapping[str, str]) -> str:
    if path:
        raise _ProviderError("an EnvVarConfigProvider takes no path: write ${provider:NAME}")
    try:
        is_allowed = re.fullmatch(pattern, key) is not None
    except re.error:
        raise _ProviderError("the config provider's allowlist.pattern is not a regular expression") from None
    if not is_allowed or key not in environment:
        why = (
            "is not set on the host that connects"
            if is_allowed
            else "does not match the config provider's allowlist.pattern"
        )
        raise _ProviderError(f"the environment variable {key} {why}")
    return environment[key]
