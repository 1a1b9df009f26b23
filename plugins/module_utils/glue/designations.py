# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What is to be elected: a plan file, a plan, or bare pairs of a partition and its leader."""

from __future__ import annotations

# What most runs do without is imported where it is needed.
# ruff: noqa: PLC0415
from collections.abc import Mapping, Sequence
from typing import Any

from ansible_collections.kafkaops.recovery.plugins.module_utils.documents.fault import DocumentError, Fault
from ansible_collections.kafkaops.recovery.plugins.module_utils.glue.arguments import Arguments
from ansible_collections.kafkaops.recovery.plugins.module_utils.model.partition import TopicPartition
from ansible_collections.kafkaops.recovery.plugins.module_utils.recovery.plan import Plan

_INT32_MAX = 2**31 - 1

DESIGNATIONS = Arguments(
    argument_spec={
        "plan_file": {"type": "path"},
        "plan": {"type": "dict"},
        "partitions": {
            "type": "list",
            "elements": "dict",
            "options": {
                "topic": {"type": "str", "required": True},
                "partition": {"type": "int", "required": True},
                "designated_leader": {"type": "int", "required": True},
            },
        },
    },
    mutually_exclusive=[("plan_file", "plan", "partitions")],
    required_one_of=[("plan_file", "plan", "partitions")],
)

Designations = Mapping[TopicPartition, int]
"""The broker that is to lead, for each partition."""


def given_designations(params: Mapping[str, Any]) -> Plan | Designations:
    """The plan, or the bare pairs. Opens no connection.

    Raises DocumentError with every fault.
    """
    if params["partitions"] is not None:
        return _checked(params["partitions"])
    from ansible_collections.kafkaops.recovery.plugins.module_utils.documents.plan_file import check_plan, read_plan

    return read_plan(params["plan_file"]) if params["plan_file"] is not None else check_plan(params["plan"])


def _checked(entries: Sequence[Mapping[str, Any]]) -> Designations:
    from ansible_collections.kafkaops.recovery.plugins.module_utils.documents.partitions_file import check_partitions

    check_partitions([{"topic": each["topic"], "partition": each["partition"]} for each in entries])
    faults = [
        Fault(f"/{index}/designated_leader", f"{each['designated_leader']} is no broker id", "Give one from 0")
        for index, each in enumerate(entries)
        if not 0 <= each["designated_leader"] <= _INT32_MAX
    ]
    if faults:
        raise DocumentError("partitions", faults)
    return {TopicPartition(each["topic"], each["partition"]): each["designated_leader"] for each in entries}
