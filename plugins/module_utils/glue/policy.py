# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""How much may be lost; the doc fragment ``policy`` describes the options."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ansible_collections.kafkaops.recovery.plugins.module_utils.glue.arguments import Arguments
from ansible_collections.kafkaops.recovery.plugins.module_utils.operations.policies import PolicyError, PolicyOptions
from ansible_collections.kafkaops.recovery.plugins.module_utils.recovery.strategy import Strategy

_FROM_CONFIG = "from_config"

POLICY = Arguments(
    argument_spec={
        "recovery_strategy": {
            "type": "str",
            "choices": [*(each.value for each in Strategy), _FROM_CONFIG],
            "default": Strategy.BALANCED.value,
        },
        "max_lost_records": {"type": "int"},
        "acknowledge_unclean_leader_election": {"type": "bool", "default": False},
    }
)


def policy_options(params: Mapping[str, Any]) -> PolicyOptions:
    """Opens no connection.

    Raises PolicyError.
    """
    limit, strategy = params["max_lost_records"], params["recovery_strategy"]
    if limit is not None and limit < 0:
        raise PolicyError(f"max_lost_records is {limit}, and nothing loses fewer than 0 records")
    options = PolicyOptions(
        None if strategy == _FROM_CONFIG else Strategy(strategy),
        limit,
        params["acknowledge_unclean_leader_election"],
    )
    if params["evidence"] is not None:
        options.same_for_all(())
    return options
