# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Where the controllers' own listeners are, and how to connect there; see the doc fragment ``controllers``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .._kafka.addresses import Address, parse_addresses
from .._kafka.errors import SettingsError
from .._kafka.settings import ConnectionSettings, settings_from
from .arguments import Arguments

CONTROLLERS = Arguments(
    argument_spec={
        "bootstrap_controllers": {"type": "list", "elements": "str"},
        "controllers_command_config": {"type": "path"},
    }
)


def controller_settings(params: Mapping[str, Any]) -> ConnectionSettings | None:
    """Return how to connect to the controllers; None where that is as to the brokers. Opens no connection.

    Raises SettingsError with everything that is wrong.
    """
    if not params["controllers_command_config"]:
        return None
    from .._kafka.client_properties import with_command_config  # noqa: PLC0415 - most runs do without

    if not params["bootstrap_controllers"]:
        raise SettingsError(["controllers_command_config is given without bootstrap_controllers"])
    given = {
        "command_config": params["controllers_command_config"],
        "bootstrap_servers": [str(address) for address in controller_addresses(params)],
        "request_timeout_ms": params["request_timeout_ms"],
    }
    return settings_from(with_command_config(given))


def controller_addresses(params: Mapping[str, Any]) -> tuple[Address, ...]:
    """Return the controllers to ask directly, none when none is given. Opens no connection.

    Raises SettingsError.
    """
    try:
        return tuple(address for text in params["bootstrap_controllers"] or () for address in parse_addresses(text))
    except ValueError as fault:
        raise SettingsError([f"bootstrap_controllers: {fault}"]) from None
