# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The options of a change of the voters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ansible_collections.kafkaops.recovery.plugins.module_utils.glue.arguments import Arguments
from ansible_collections.kafkaops.recovery.plugins.module_utils.kafka.uuids import parse_uuid
from ansible_collections.kafkaops.recovery.plugins.module_utils.model.errors import KafkaOpsError
from ansible_collections.kafkaops.recovery.plugins.module_utils.model.quorum import Endpoint, Voter

_HIGHEST_PORT = 65535

VOTER = Arguments(
    argument_spec={
        "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
        "voter_id": {"type": "int", "required": True},
        "directory_id": {"type": "str"},
        "endpoints": {
            "type": "list",
            "elements": "dict",
            "options": {
                "name": {"type": "str", "required": True},
                "host": {"type": "str", "required": True},
                "port": {"type": "int", "required": True},
            },
        },
        "verify_timeout_ms": {"type": "int", "default": 30000},
    },
)


class VoterOptionsError(KafkaOpsError):
    """What was given describes no voter. Lists every fault."""

    def __init__(self, faults: Sequence[str]) -> None:
        super().__init__("the voter cannot be told from the options: " + "; ".join(faults))


def wanted_voter(params: Mapping[str, Any]) -> Voter:
    """The voter that a module's parameters describe. Opens no connection.

    Raises VoterOptionsError with every fault.
    """
    faults = []
    if params["state"] == "present" and not params["endpoints"]:
        faults.append("endpoints must say where the new voter is reached")
    faults += [
        f"endpoints: port {each['port']} of {each['name']} is not from 1 to {_HIGHEST_PORT}"
        for each in params["endpoints"] or ()
        if not 1 <= each["port"] <= _HIGHEST_PORT
    ]
    if params["directory_id"] is not None:
        try:
            parse_uuid(params["directory_id"])
        except ValueError as fault:
            faults.append(f"directory_id: {fault}")
    if faults:
        raise VoterOptionsError(faults)
    endpoints = tuple(Endpoint(each["name"], each["host"], each["port"]) for each in params["endpoints"] or ())
    return Voter(params["voter_id"], params["directory_id"], endpoints)
