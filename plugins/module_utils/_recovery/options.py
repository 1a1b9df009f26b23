# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Which partitions are meant, the leaders that a person chose, how much is returned, and the report file.

The doc fragments ``selection.designations``, ``gathering.max_rows`` and ``report`` describe the options. Every module
of recovery imports this, and Ansible packs all that a module imports: what only some need has files of its own.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from .._documents.files import refuse_existing
from .._model.partition import TopicPartition
from .._module.arguments import Arguments
from .._module.options import wanted_partitions
from .designations_file import Designations

# What most runs do without is imported where it is needed.
# ruff: noqa: PLC0415


PAIRS: dict[str, Any] = {
    "type": "list",
    "elements": "dict",
    "options": {
        "topic": {"type": "str", "required": True},
        "partition": {"type": "int", "required": True},
        "designated_leader": {"type": "int", "required": True},
    },
}
CHOSEN = Arguments(
    argument_spec={
        "designations": PAIRS,
        "designations_file": {"type": "path"},
    },
    mutually_exclusive=[
        (one, other)
        for one in ("designations", "designations_file")
        for other in ("partitions", "partitions_file", "designations_file")
        if one != other
    ],
)


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which partitions were asked for, and the leaders that a person chose for some of them."""

    partitions: tuple[TopicPartition, ...] | None
    """None for all offline ones."""
    leaders: Designations


def wanted(params: Mapping[str, Any]) -> Wanted:
    """Return what was asked for. Opens no connection.

    Raises DocumentError with every problem.
    """
    if params["designations"] is None and params["designations_file"] is None:
        return Wanted(wanted_partitions(params), {})
    from .designations_file import check_designations, read_designations

    path = params["designations_file"]
    leaders = read_designations(path) if path is not None else check_designations(params["designations"])
    return Wanted(tuple(leaders), leaders)


MAX_ROWS = Arguments(argument_spec={"max_rows": {"type": "int", "default": 1000}})


def refuse_existing_output(path: str | None) -> None:
    """Raise DocumentError when something is there already, or cannot be made."""
    if path is not None:
        refuse_existing(os.path.normpath(path))


REPORT = Arguments(argument_spec={"report_file": {"type": "path"}})
