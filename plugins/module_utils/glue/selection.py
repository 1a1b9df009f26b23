# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Which partitions a module is about; the doc fragment ``selection`` describes the options."""

from __future__ import annotations

# What most runs do without is imported where it is needed.
# ruff: noqa: PLC0415
from collections.abc import Mapping
from typing import Any

from ansible_collections.kafkaops.recovery.plugins.module_utils.glue.arguments import Arguments
from ansible_collections.kafkaops.recovery.plugins.module_utils.model.partition import TopicPartition

SELECTION = Arguments(
    argument_spec={
        "partitions": {
            "type": "list",
            "elements": "dict",
            "options": {
                "topic": {"type": "str", "required": True},
                "partition": {"type": "int"},
                "partitions": {"type": "list", "elements": "int"},
            },
            "mutually_exclusive": [("partition", "partitions")],
            "required_one_of": [("partition", "partitions")],
        },
        "partitions_file": {"type": "path"},
        "include_internal_topics": {"type": "bool", "default": False},
    },
    mutually_exclusive=[("partitions", "partitions_file")],
)


def wanted_partitions(params: Mapping[str, Any]) -> tuple[TopicPartition, ...] | None:
    """The partitions that were asked for; None for all offline ones. Opens no connection.

    Raises DocumentError with every fault.
    """
    if params["partitions"] is None and params["partitions_file"] is None:
        return None
    from ansible_collections.kafkaops.recovery.plugins.module_utils.documents.partitions_file import (
        check_partitions,
        read_partitions,
    )

    if params["partitions_file"] is not None:
        return read_partitions(params["partitions_file"])
    # Ansible fills in None for what was not given; the KIP's format does not know it.
    given = [{name: value for name, value in each.items() if value is not None} for each in params["partitions"]]
    return check_partitions(given)
