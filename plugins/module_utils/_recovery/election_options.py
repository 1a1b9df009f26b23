# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What is to be elected: a plan file, a plan, or bare pairs of a partition and its leader.

The doc fragment ``election_plan`` describes the options.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .._module.arguments import Arguments
from .designations_file import Designations, check_designations
from .options import PAIRS
from .plan import Plan
from .plan_file import check_plan, read_plan, remove_temporary_plan, require_digest, require_limit, unpack

DESIGNATIONS = Arguments(
    argument_spec={
        "plan_file": {"type": "path"},
        "remove_plan_file": {"type": "bool", "default": False},
        "plan": {"type": "dict"},
        "plan_digest": {"type": "str"},
        "max_lost_records": {"type": "int"},
        "partitions": PAIRS,
    },
    mutually_exclusive=[
        ("plan_file", "plan", "partitions"),
        ("plan_digest", "partitions"),
        ("max_lost_records", "partitions"),
    ],
    required_one_of=[("plan_file", "plan", "partitions")],
)


def given_designations(params: Mapping[str, Any]) -> Plan | Designations:
    """Return the plan, or the bare pairs. Opens no connection.

    Raises DocumentError with every problem.
    """
    if params["partitions"] is not None:
        return check_designations(params["partitions"], "partitions")
    path = params["plan_file"]
    try:
        plan = read_plan(path) if path is not None else check_plan(unpack(params["plan"]))
    finally:
        if path is not None and params["remove_plan_file"]:
            remove_temporary_plan(path)
    place = "plan" if path is None else path
    return require_limit(require_digest(plan, params["plan_digest"], place), params["max_lost_records"], place)
