# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Fetch Kerberos tickets for GSSAPI, with a keytab or from the ticket cache (RFC 4752).

kafka-python's own mechanism uses the default ticket cache only, and asks the KDC on the I/O thread. Here the tickets
are fetched before, with the principal and keytab of ``sasl.jaas.config``.
"""

from __future__ import annotations

import secrets
import threading
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures import TimeoutError as FutureTimeoutError
from contextlib import suppress
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from .errors import CredentialsError, SettingsError, describe_unreadable
from .settings import ConnectionSettings

with suppress(ImportError):  # a missing library is reported before the module starts (_module/run.py)
    from kafka.net.sasl import register_sasl_mechanism
    from kafka.net.sasl.gssapi import SaslMechanismGSSAPI

_HINTS = (
    ("Clock skew too great", "set the clocks of this host and of the KDC"),
    ("Decrypt integrity check failed", "the keytab's key is not the one that the KDC has"),
    ("No credentials cache found", "run kinit, or give a keytab and principal in sasl.jaas.config"),
    ("Preauthentication failed", "the keytab's key is not the one that the KDC has"),
    ("not found in Kerberos database", "check the principal, sasl_kerberos_service_name and the broker's host name"),
    ("Server not found", "check sasl_kerberos_service_name and the broker's host name"),
    ("Cannot find KDC", "check the principal's realm, and krb5.conf"),
    ("Cannot contact any KDC", "the KDC does not answer: check it, and krb5.conf"),
    ("No Kerberos credentials available", "run kinit, or give a keytab and principal in sasl.jaas.config"),
    ("Ticket expired", "run kinit again, or give a keytab and principal in sasl.jaas.config"),
)
_KEYTAB_VERSIONS = (b"\x05\x01", b"\x05\x02")
"""The first bytes of every keytab of MIT Kerberos, Heimdal and Java."""


class KerberosCredentials:
    """The tickets of one process."""

    def __init__(self, settings: ConnectionSettings) -> None:
        if find_spec("gssapi") is None:
            raise SettingsError(
                [
                    "GSSAPI needs the Python library gssapi, which is not installed: pip install gssapi (it is built "
                    "with Kerberos' headers: Debian's libkrb5-dev, Red Hat's krb5-devel)"
                ]
            )
        self._settings = settings
        self._lock = threading.Lock()
        self._executor = ThreadPoolExecutor(max_workers=1, thread_name_prefix="kafkaops-kerberos")
        # In memory, so that the user's own ticket cache does not change.
        self._cache = f"MEMORY:kafkaops-{secrets.token_hex(8)}"
        self._contexts: dict[str, tuple[Any, bytes]] = {}

    def prepare(self, host: str, timeout_s: float, *, is_connected: bool) -> None:
        """Fetch the tickets for the broker on this host. Raises CredentialsError."""
        if is_connected:
            return
        # In a separate thread, because the Kerberos library has no time limit for a silent KDC.
        future = self._executor.submit(self._create_context, host)
        try:
            context = future.result(timeout_s)
        except FutureTimeoutError:
            raise CredentialsError(
                f"no Kerberos ticket for {self.name(host)}: no answer from the KDC within {timeout_s:g} s"
            ) from None
        with self._lock:
            self._contexts[host] = context

    def kafka_python_config(self) -> dict[str, Any]:
        """Register the mechanism, and return the configuration that passes these tickets to it."""
        register_sasl_mechanism("GSSAPI", _Mechanism, overwrite=True)
        return {"sasl_kerberos_name": self}

    def take_context(self, host: str) -> tuple[Any, bytes]:
        """Return a security context for the broker on this host, and its first token."""
        with self._lock:
            context = self._contexts.pop(host, None)
        # A connection that authenticates again (KIP-368) needs a new one. Its ticket is in the cache.
        return context or self._create_context(host)

    def name(self, host: str) -> str:
        """Return the Kerberos service name of the broker on this host."""
        return f"{self._settings.sasl_kerberos_service_name}@{self._settings.sasl_kerberos_domain_name or host}"

    def _create_context(self, host: str) -> tuple[Any, bytes]:
        gssapi, settings = import_module("gssapi"), self._settings
        try:
            target = gssapi.Name(self.name(host), name_type=gssapi.NameType.hostbased_service)
            context = gssapi.SecurityContext(
                name=target.canonicalize(gssapi.MechType.kerberos),
                creds=self._find_credentials(gssapi),
                mech=gssapi.MechType.kerberos,
                usage="initiate",
            )
            return context, context.step(None)
        except gssapi.exceptions.GSSError as error:
            raise CredentialsError(
                f"no Kerberos ticket for {self.name(host)}: {_describe_cause(error, settings)}"
            ) from None

    def _find_credentials(self, gssapi: Any) -> Any:
        settings = self._settings
        store: dict[str, str] = {}
        if settings.sasl_kerberos_keytab:
            store = {"client_keytab": settings.sasl_kerberos_keytab, "ccache": self._cache}
        elif settings.sasl_kerberos_ticket_cache:
            store = {"ccache": settings.sasl_kerberos_ticket_cache}
        if not store and not settings.sasl_kerberos_principal:
            return None
        name = None
        if settings.sasl_kerberos_principal:
            name = gssapi.Name(settings.sasl_kerberos_principal, name_type=gssapi.NameType.kerberos_principal)
        return gssapi.Credentials(name=name, usage="initiate", mechs=[gssapi.MechType.kerberos], store=store or None)


with suppress(NameError):

    class _Mechanism(SaslMechanismGSSAPI):
        """kafka-python's mechanism, with a security context that already has its first token."""

        def __init__(self, **config: Any) -> None:
            credentials: KerberosCredentials = config["sasl_kerberos_name"]
            self._is_done = False
            self._is_authenticated = False
            self.auth_id = credentials.name(config["host"])
            self._client_ctx, self._next_token = credentials.take_context(config["host"])


def _describe_cause(error: Any, settings: ConnectionSettings) -> str:
    # The minor code has the cause. The major one only says that there is an error.
    reasons = " ".join(error.get_all_statuses(error.min_code, False) or [str(error)])
    if "No credentials cache found" in reasons and settings.sasl_kerberos_keytab:
        # The library's message for every error with the keytab.
        return _describe_keytab_error(settings.sasl_kerberos_keytab, settings.sasl_kerberos_principal)
    hint = next((hint for text, hint in _HINTS if text in reasons), "")
    return reasons + (f" ({hint})" if hint else "")


def _describe_keytab_error(keytab: str, principal: str | None) -> str:
    try:
        with open(keytab, "rb") as file:
            version = file.read(2)
    except OSError as error:
        return f"the keytab {keytab} {describe_unreadable(error)}"
    if version not in _KEYTAB_VERSIONS:
        return f"{keytab} is not a keytab (see klist -k)"
    return f"the keytab {keytab} has no key of {principal} (see klist -k)"
