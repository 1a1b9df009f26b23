# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Where the controllers' own listeners are; the doc fragment ``controllers`` describes the option."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ansible_collections.kafkaops.recovery.plugins.module_utils.glue.arguments import Arguments
from ansible_collections.kafkaops.recovery.plugins.module_utils.kafka.addresses import Address, parse_addresses
from ansible_collections.kafkaops.recovery.plugins.module_utils.kafka.errors import SettingsError

CONTROLLERS = Arguments(argument_spec={"bootstrap_controllers": {"type": "list", "elements": "str"}})


def controller_addresses(params: Mapping[str, Any]) -> tuple[Address, ...]:
    """The controllers to ask directly, none when none is given. Opens no connection.

    Raises SettingsError.
    """
    try:
        return tuple(address for text in params["bootstrap_controllers"] or () for address in parse_addresses(text))
    except ValueError as fault:
        raise SettingsError([f"bootstrap_controllers: {fault}"]) from None
