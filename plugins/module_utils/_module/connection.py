# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Define the options for connections to brokers and controllers, and make connection settings from them.

The doc fragments ``kafka`` and ``controllers`` describe the options.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from .._kafka.errors import SettingsError
from .._kafka.settings import (
    SASL_MECHANISMS,
    SECURITY_PROTOCOLS,
    ConnectionSettings,
    ControllerListeners,
    parse_addresses,
    settings_from,
)

# Imports that most runs do not need are inside functions.
# ruff: noqa: PLC0415

Names = Sequence[Sequence[str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Arguments:
    """Options and the rules between them, as arguments of AnsibleModule. Combine them with ``+``."""

    argument_spec: Mapping[str, Any]
    mutually_exclusive: Names = field(default=())
    required_one_of: Names = field(default=())

    def __add__(self, other: Arguments) -> Arguments:
        return Arguments(
            argument_spec={**self.argument_spec, **other.argument_spec},
            mutually_exclusive=[*self.mutually_exclusive, *other.mutually_exclusive],
            required_one_of=[*self.required_one_of, *other.required_one_of],
        )

    def to_kwargs(self) -> dict[str, Any]:
        """Return the keyword arguments of AnsibleModule."""
        return {
            "argument_spec": dict(self.argument_spec),
            "mutually_exclusive": list(self.mutually_exclusive),
            "required_one_of": list(self.required_one_of),
        }


# No option has a default here, because a default would override the value in command_config.
_OPTIONS = {
    "bootstrap_servers": {"type": "list", "elements": "str"},
    "command_config": {"type": "path"},
    "request_timeout_ms": {"type": "int"},
    "security_protocol": {"type": "str", "choices": list(SECURITY_PROTOCOLS)},
    "sasl_mechanism": {"type": "str", "choices": list(SASL_MECHANISMS)},
    "sasl_username": {"type": "str"},
    "sasl_password": {"type": "str", "no_log": True},
    "sasl_kerberos_service_name": {"type": "str"},
    "sasl_kerberos_domain_name": {"type": "str"},
    "sasl_kerberos_principal": {"type": "str"},
    "sasl_kerberos_keytab": {"type": "path", "no_log": False},
    "sasl_oauthbearer_token": {"type": "str", "no_log": True},
    "sasl_oauthbearer_token_endpoint_url": {"type": "str", "no_log": False},
    "sasl_oauthbearer_client_id": {"type": "str"},
    "sasl_oauthbearer_client_secret": {"type": "str", "no_log": True},
    "sasl_oauthbearer_scope": {"type": "str"},
    "sasl_oauthbearer_cafile": {"type": "path"},
    "sasl_oauthbearer_allow_http": {"type": "bool"},
    "ssl_cafile": {"type": "path"},
    "ssl_certfile": {"type": "path"},
    "ssl_keyfile": {"type": "path"},
    "ssl_key_password": {"type": "str", "no_log": True},
    "ssl_check_hostname": {"type": "bool"},
}


def connection_arguments(*instead: str) -> Arguments:
    """Return the connection options. ``bootstrap_servers``, ``command_config`` or one of ``instead`` is required."""
    return Arguments(argument_spec=_OPTIONS, required_one_of=[("bootstrap_servers", "command_config", *instead)])


CONNECTION = connection_arguments()
CONTROLLERS = Arguments(
    argument_spec={
        "bootstrap_controllers": {"type": "list", "elements": "str"},
        "controllers_command_config": {"type": "path"},
    }
)


def connection_settings(params: Mapping[str, Any]) -> ConnectionSettings:
    """Return the connection settings for the brokers, from a module's parameters. Opens no connection.

    Raises SettingsError with every problem.
    """
    given = {name: params[name] for name in _OPTIONS if params[name] is not None}
    if "command_config" in given:
        from .._kafka.client_properties import with_command_config

        given = with_command_config(given)
    return settings_from(given)


def controller_listeners(params: Mapping[str, Any]) -> ControllerListeners:
    """Return the controllers' own listeners that are given, and the settings for them. Opens no connection.

    Raises SettingsError with every problem.
    """
    try:
        given = params["bootstrap_controllers"] or ()
        addresses = tuple(address for text in given for address in parse_addresses(text))
    except ValueError as error:
        raise SettingsError([f"bootstrap_controllers: {error}"]) from None
    if not params["controllers_command_config"]:
        return ControllerListeners(addresses)
    from .._kafka.client_properties import with_command_config

    if not addresses:
        raise SettingsError(["controllers_command_config is given without bootstrap_controllers"])
    options = {
        "command_config": params["controllers_command_config"],
        "bootstrap_servers": [str(address) for address in addresses],
        "request_timeout_ms": params["request_timeout_ms"],
    }
    return ControllerListeners(addresses, settings_from(with_command_config(options)))
