# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The connection settings, from which both Kafka clients are configured. Standard library only."""

from __future__ import annotations

import dataclasses
import ipaddress
import os
import re
import urllib.parse
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from .errors import SettingsError, describe_unreadable

DEFAULT_PORT = 9092
_PORTS = range(1, 65536)

SECURITY_PROTOCOLS = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
SASL_MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER", "GSSAPI", "AWS_MSK_IAM")
TLS_VERSIONS = ("TLSv1.2", "TLSv1.3")
"""Java's names. Kafka's own default allows both."""
_LOOPBACK = re.compile(r"localhost|127\.\d+\.\d+\.\d+|::1", re.ASCII)
DEFAULT_REQUEST_TIMEOUT_MS = 5000
_MOST_MS = 2**31 - 1
"""Requests have their time limit as an int of 32 bits, as Kafka's own clients do."""


@dataclass(frozen=True, slots=True, order=True)
class Address:
    """The address of a listener."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectionSettings:
    """How to connect and authenticate to a cluster.

    ``request_timeout_ms`` limits one attempt at one broker, including connecting and authenticating. Names are those of
    kafka-python if it has the option. ``repr`` shows no secret.

    Raises SettingsError with every problem.
    """

    bootstrap_servers: tuple[Address, ...]
    security_protocol: str = "PLAINTEXT"
    sasl_mechanism: str | None = None
    sasl_username: str | None = None
    sasl_password: str | None = field(default=None, repr=False)
    sasl_kerberos_service_name: str = "kafka"
    sasl_kerberos_domain_name: str | None = None
    sasl_kerberos_principal: str | None = None
    sasl_kerberos_keytab: str | None = None
    """Path of a file with the keys of ``sasl_kerberos_principal``. Without it, the ticket cache is used."""
    sasl_kerberos_ticket_cache: str | None = None
    """Path of a ticket cache other than the default one."""
    sasl_oauthbearer_token: str | None = field(default=None, repr=False)
    sasl_oauthbearer_token_endpoint_url: str | None = None
    sasl_oauthbearer_client_id: str | None = None
    sasl_oauthbearer_client_secret: str | None = field(default=None, repr=False)
    sasl_oauthbearer_scope: str | None = None
    sasl_oauthbearer_extensions: str | None = None
    """SASL extensions, as ``name=value,name=value``."""
    sasl_oauthbearer_cafile: str | None = None
    sasl_oauthbearer_ca_pem: str | None = None
    """CA certificates of the token endpoint, as PEM text."""
    sasl_oauthbearer_allow_http: bool = False
    """Whether the client secret may be sent to another host over plain http."""
    sasl_aws_profile: str | None = None
    ssl_cafile: str | None = None
    ssl_certfile: str | None = None
    ssl_keyfile: str | None = None
    ssl_key_password: str | None = field(default=None, repr=False)
    ssl_ca_pem: str | None = None
    """CA certificates as PEM text, instead of ``ssl_cafile``."""
    ssl_certificate_pem: str | None = None
    """Our certificate and the intermediate ones up to its CA, as PEM text, instead of ``ssl_certfile``."""
    ssl_key_pem: str | None = field(default=None, repr=False)
    """The key of ``ssl_certificate_pem`` as PEM text. If it is encrypted, ``ssl_key_password`` decrypts it."""
    ssl_min_version: str = "TLSv1.2"
    ssl_max_version: str = "TLSv1.3"
    ssl_ciphers: str | None = None
    """The cipher suites for TLS 1.2, with OpenSSL's names."""
    ssl_check_hostname: bool = True
    request_timeout_ms: int = DEFAULT_REQUEST_TIMEOUT_MS

    def __post_init__(self) -> None:
        problems = [*self._problems()]
        if problems:
            raise SettingsError(problems)

    @property
    def uses_tls(self) -> bool:
        return self.security_protocol in ("SSL", "SASL_SSL")

    @property
    def uses_sasl(self) -> bool:
        return self.security_protocol in ("SASL_PLAINTEXT", "SASL_SSL")

    def _problems(self) -> Iterator[str]:
        if not self.bootstrap_servers:
            yield "bootstrap_servers is empty: name at least one broker as host:port"
        if self.security_protocol not in SECURITY_PROTOCOLS:
            yield f"security_protocol {self.security_protocol!r} is none of {', '.join(SECURITY_PROTOCOLS)}"
        if self.request_timeout_ms <= 0:
            yield f"request_timeout_ms is {self.request_timeout_ms}, which is not above 0"
        elif self.request_timeout_ms > _MOST_MS:
            yield f"request_timeout_ms is {self.request_timeout_ms}, which is above {_MOST_MS}, the limit of Kafka"
        yield from self._sasl_problems()
        yield from self._tls_problems()

    def _sasl_problems(self) -> Iterator[str]:
        if not self.uses_sasl:
            if self.sasl_mechanism:
                yield (
                    f"sasl_mechanism is {self.sasl_mechanism}, but security_protocol {self.security_protocol} uses no "
                    "SASL: set security_protocol to SASL_SSL or SASL_PLAINTEXT"
                )
            return
        if self.sasl_mechanism not in SASL_MECHANISMS:
            yield f"sasl_mechanism {self.sasl_mechanism!r} is none of {', '.join(SASL_MECHANISMS)}"
        elif self.sasl_mechanism == "OAUTHBEARER":
            yield from self._oauth_problems()
        elif self.sasl_mechanism == "GSSAPI":
            if self.sasl_kerberos_keytab and not self.sasl_kerberos_principal:
                yield "sasl_kerberos_keytab is given without sasl_kerberos_principal"
            if self.sasl_kerberos_keytab and (why := _why_unreadable(self.sasl_kerberos_keytab)):
                yield f"the keytab {self.sasl_kerberos_keytab} {why}"
        elif self.sasl_mechanism == "AWS_MSK_IAM":
            if not self.uses_tls:
                yield f"AWS_MSK_IAM needs security_protocol SASL_SSL, and it is {self.security_protocol}"
        elif not (self.sasl_username and self.sasl_password):
            yield f"{self.sasl_mechanism} needs sasl_username and sasl_password"

    def _oauth_problems(self) -> Iterator[str]:
        if self.sasl_oauthbearer_token:
            return
        try:
            url = urllib.parse.urlsplit(self.sasl_oauthbearer_token_endpoint_url or "")
        except ValueError:
            yield "sasl_oauthbearer_token_endpoint_url is no URL"
            return
        if url.scheme == "file":
            return
        if "@" in url.netloc:
            yield (
                "sasl_oauthbearer_token_endpoint_url has a user or a password in it, which messages would show: set "
                "sasl_oauthbearer_client_id and sasl_oauthbearer_client_secret instead"
            )
            return
        required = (url.netloc, self.sasl_oauthbearer_client_id, self.sasl_oauthbearer_client_secret)
        if not all(required):
            yield (
                "OAUTHBEARER needs sasl_oauthbearer_token, or sasl_oauthbearer_token_endpoint_url with "
                "sasl_oauthbearer_client_id and sasl_oauthbearer_client_secret"
            )
        elif url.scheme not in ("http", "https"):
            yield f"sasl_oauthbearer_token_endpoint_url begins with {url.scheme}: it must be https, http or file"
        elif (
            url.scheme == "http"
            and not self.sasl_oauthbearer_allow_http
            and not _LOOPBACK.fullmatch(url.hostname or "")
        ):
            yield (
                f"the token endpoint {url.hostname} is asked over http, which shows the client's secret to others: "
                "use https, or set sasl_oauthbearer_allow_http"
            )

    def _tls_problems(self) -> Iterator[str]:
        files = {"ssl_cafile": self.ssl_cafile, "ssl_certfile": self.ssl_certfile, "ssl_keyfile": self.ssl_keyfile}
        given = {name: path for name, path in files.items() if path}
        if given and not self.uses_tls:
            yield (
                f"{', '.join(given)} given, but security_protocol {self.security_protocol} uses no TLS: set it to SSL "
                "or SASL_SSL"
            )
        for name, path in given.items():
            if why := _why_unreadable(path):
                yield f"{name} {path} {why}"
        if self.ssl_keyfile and not self.ssl_certfile:
            yield "ssl_keyfile is given without ssl_certfile"
        for version in (self.ssl_min_version, self.ssl_max_version):
            if version not in TLS_VERSIONS:
                yield f"the TLS version {version!r} is none of {', '.join(TLS_VERSIONS)}"


def _why_unreadable(path: str) -> str:
    """Return why a file cannot be read; empty if it can. A pipe does not block."""
    try:
        os.close(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC))
    except OSError as error:
        return describe_unreadable(error)
    return ""


@dataclass(frozen=True, slots=True)
class ControllerListeners:
    """Where the controllers' own listeners are, as the operator says, and how to connect to them."""

    addresses: tuple[Address, ...] = ()
    settings: ConnectionSettings | None = None
    """None for the settings of the brokers' listeners."""


NO_CONTROLLERS = ControllerListeners()


def settings_from(options: Mapping[str, Any]) -> ConnectionSettings:
    """Make settings from options. ``bootstrap_servers`` is a string or a list of strings. None means "not given".

    Raises SettingsError with every problem.
    """
    known = {each.name for each in dataclasses.fields(ConnectionSettings)}
    given = {name: value for name, value in options.items() if name in known and value is not None}
    servers = given.get("bootstrap_servers", ())
    addresses: list[Address] = []
    problems: list[str] = []
    for text in [servers] if isinstance(servers, str) else map(str, servers):
        try:
            addresses += parse_addresses(text)
        except ValueError as error:
            problems.append(f"bootstrap_servers: {error}")
    if not problems:
        return ConnectionSettings(**given | {"bootstrap_servers": tuple(dict.fromkeys(addresses))})
    try:
        # Any address will do: this finds all other problems, to report them at the same time.
        ConnectionSettings(**given | {"bootstrap_servers": (Address("", 0),)})
    except SettingsError as error:
        problems += error.problems
    raise SettingsError(problems)


def split_list(text: str) -> list[str]:
    """Return the entries of a comma-separated list, without the spaces around them. Empty ones are dropped."""
    return [each.strip() for each in text.split(",") if each.strip()]


def parse_addresses(text: str) -> list[Address]:
    """Parse a comma-separated list as in ``bootstrap.servers``. A ``PROTOCOL://`` prefix is allowed and ignored.

    Raises ValueError, which names every entry that is not an address.
    """
    addresses: list[Address] = []
    problems: list[str] = []
    for entry in split_list(text):
        try:
            addresses.append(_parse_address(entry))
        except ValueError as error:
            problems.append(str(error))
    if problems:
        raise ValueError("; ".join(problems))
    return addresses


def _parse_address(entry: str) -> Address:
    bare = entry.rpartition("://")[2]
    if "@" in entry:
        # The part before it may have a password.
        shown = f"...@{entry.rpartition('@')[2]}"
        raise ValueError(f"{shown!r} has a user or a password in it, which messages would show: write host:port")
    if re.search(r"[\s;]", entry):
        raise ValueError(f"{entry!r} is not one address: separate several by commas")
    if bare.startswith("["):
        host, bracket, rest = bare[1:].partition("]")
        if not bracket or (rest and not rest.startswith(":")):
            raise ValueError(f"{entry!r} is not an address: write an IPv6 literal as [::1]:9092")
        port = rest[1:]
    elif bare.count(":") > 1:
        host, port = bare, ""
    else:
        host, _colon, port = bare.partition(":")
    if not host:
        raise ValueError(f"{entry!r} names no host")
    if ":" in host:
        try:
            ipaddress.IPv6Address(host.partition("%")[0])
        except ValueError:
            raise ValueError(f"{entry!r} is neither host:port nor an IPv6 literal") from None
    if port and (not port.isascii() or not port.isdigit() or int(port) not in _PORTS):
        raise ValueError(f"{entry!r} has no port from 1 to 65535")
    return Address(host, int(port) if port else DEFAULT_PORT)
