# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Read options that several modules share: wanted partitions, chosen leaders, limits of results, the report file.

The doc fragments ``selection.designations``, ``gathering.max_rows``, ``report`` and ``elections`` describe the options.
Every module of recovery imports this file, and Ansible packs everything that a module imports. So options that only
some modules need are in other files.

A person chooses leaders in a file of the KIP's elect tool (KAFKA-20098), or in the same list as an option. An entry is
``{"topic": "foo", "partition": 0, "designatedLeader": 2}``. Schema: docs/schemas/designations-file.schema.json.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, TypeAlias

from .._documents.dataclass_json import codec, document
from .._documents.errors import Problem, pointer, raise_if_problems
from .._documents.files import refuse_existing
from .._documents.screen import screen
from .._documents.strict_json import read_json
from .._documents.validation import schema_problems
from .._model.fields import BrokerId, Meta, PartitionIndex, TopicName
from .._model.partition import TopicPartition
from .._module.connection import Arguments
from .._module.options import wanted_partitions

MAX_ROWS = Arguments(argument_spec={"max_rows": {"type": "int", "default": 1000}})

REPORT = Arguments(argument_spec={"report_file": {"type": "path"}})

ELECTIONS = Arguments(
    argument_spec={
        "recovery_election_attempts": {"type": "int", "default": 3},
        "verify_timeout_ms": {"type": "int", "default": 30000},
        "election_timeout_ms": {"type": "int", "default": 600000},
        "report_aftermath": {"type": "bool", "default": True},
    }
)


def refuse_existing_output(path: str | None) -> None:
    """Raise DocumentError if the path exists, or cannot be created."""
    if path is not None:
        refuse_existing(os.path.normpath(path))


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

Designations: TypeAlias = Mapping[TopicPartition, int]
"""The broker that is to lead, for each partition."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """The partitions to recover, and the leaders that a person chose for some of them."""

    partitions: tuple[TopicPartition, ...] | None
    """None for all offline partitions."""
    leaders: Designations


def read_wanted(params: Mapping[str, Any]) -> Wanted:
    """Read the wanted partitions and chosen leaders. Opens no connection.

    Raises DocumentError with every problem.
    """
    if params["designations"] is None and params["designations_file"] is None:
        return Wanted(wanted_partitions(params), {})
    path = params["designations_file"]
    leaders = read_designations(path) if path is not None else check_designations(params["designations"])
    return Wanted(tuple(leaders), leaders)


@dataclass(frozen=True, slots=True)
class _Designation:
    topic: TopicName
    partition: PartitionIndex
    designated_leader: BrokerId


@dataclass(frozen=True, slots=True)
class _File:
    partitions: Annotated[
        tuple[
            Annotated[
                _Designation,
                Meta(description='an entry is {"topic": "foo", "partition": 0, "designatedLeader": 2}'),
            ],
            ...,
        ],
        Meta(description="the partitions are a list of at least one entry", min_items=1),
    ]


_FILE = codec(_File, "a file of designated leaders is an object")
DESIGNATIONS_FILE = document("designations-file", "Leaders that a person designates", _FILE.schema)
_is_valid_entry = screen(_FILE.schema["properties"]["partitions"]["items"])


def read_designations(path: str) -> Designations:
    """Read the leaders that a file designates.

    Raises DocumentError with every problem of the file, such as permissions that let others write it.
    """
    return _by_partition(read_json(path, _find_problems, must_be_protected=True))


def check_designations(entries: Sequence[Mapping[str, Any]], place: str = "designations") -> Designations:
    """Return the designations of a module's option (topic, partition, designated_leader).

    Raises DocumentError with every problem. ``place`` names the option in it.
    """
    value = {
        "partitions": [
            {"topic": each["topic"], "partition": each["partition"], "designatedLeader": each["designated_leader"]}
            for each in entries
        ]
    }
    raise_if_problems(place, _find_problems(value))
    return _by_partition(value)


def _by_partition(value: dict[str, Any]) -> Designations:
    designations = sorted(_FILE.decode(value).partitions, key=lambda each: (each.topic, each.partition))
    return {TopicPartition(each.topic, each.partition): each.designated_leader for each in designations}


def _find_problems(value: Any) -> Iterator[Problem]:
    yield from schema_problems(value, DESIGNATIONS_FILE)
    entries = value.get("partitions") if isinstance(value, dict) else None
    seen: dict[tuple[str, int], int] = {}
    for index, entry in enumerate(entries if isinstance(entries, list) else ()):
        if _is_valid_entry(entry):
            first = seen.setdefault((entry["topic"], entry["partition"]), index)
            if first != index:
                name = f"{entry['topic']}-{entry['partition']}"
                message = f"{name} is there already at {pointer('partitions', first)}"
                yield Problem(pointer("partitions", index), message, "Remove the wrong entry")
