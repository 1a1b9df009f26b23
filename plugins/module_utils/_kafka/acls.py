# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Write the command with which an administrator grants our principal an ACL. Standard library only."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from .settings import ConnectionSettings

_UNKNOWN = "User:PRINCIPAL"
_WHO = "PRINCIPAL is the name of our principal, which the brokers' authorizer log shows"


def grant_command(settings: ConnectionSettings, operations: Sequence[str], resource: str) -> str:
    """Return the command of kafka-acls.sh that grants our principal operations, for example ``DESCRIBE_CONFIGS``.

    ``resource`` are the options that name the resource, as the shell reads them. The administrator's own client
    properties are in admin.properties. If our principal's name is not in the settings, a note follows the command.
    """
    servers = ",".join(map(str, settings.bootstrap_servers))
    principal = _principal(settings)
    command = (
        f"kafka-acls.sh --bootstrap-server {shlex.quote(servers)} --command-config admin.properties --add "
        f"--allow-principal {shlex.quote(principal)} {operation_options(operations)} {resource}"
    )
    return f"{command} ({_WHO})" if principal == _UNKNOWN else command


def operation_options(operations: Sequence[str]) -> str:
    """Return the options of kafka-acls.sh that name operations."""
    words = ("".join(word.capitalize() for word in each.split("_")) for each in operations)
    return " ".join(f"--operation {each}" for each in words)


def _principal(settings: ConnectionSettings) -> str:
    """Return our principal as brokers name it by default (DefaultKafkaPrincipalBuilder)."""
    if settings.uses_sasl:
        if settings.sasl_username:
            return f"User:{settings.sasl_username}"
        if settings.sasl_kerberos_principal:
            # The rule DEFAULT of sasl.kerberos.principal.to.local.rules.
            return f"User:{settings.sasl_kerberos_principal.partition('@')[0].partition('/')[0]}"
        return _UNKNOWN
    return _UNKNOWN if settings.uses_tls else "User:ANONYMOUS"
