# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Read the requested partitions, from the KIP's JSON file (KAFKA-20098) or from an inline list.

An entry is ``{"topic": "foo", "partitions": [0, 3, 5]}``. ``{"topic": "foo", "partition": 0}`` is accepted too, because
operators have such files for kafka-leader-election.sh. Schema: docs/schemas/partitions-file.schema.json.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from typing import Annotated, Any, TypeAlias

from .._model.fields import Meta, PartitionIndex, TopicName
from .._model.partition import TopicPartition
from .dataclass_json import Schema, codec, document
from .errors import Problem, pointer, raise_if_problems
from .screen import screen
from .strict_json import read_json
from .validation import schema_problems

_AN_ENTRY = 'an entry is {"topic": "foo", "partitions": [0, 3, 5]}, or {"topic": "foo", "partition": 0}'


@dataclass(frozen=True, slots=True)
class _OnePartition:
    topic: TopicName
    partition: PartitionIndex


@dataclass(frozen=True, slots=True)
class _PartitionsOfTopic:
    topic: TopicName
    partitions: Annotated[
        tuple[PartitionIndex, ...],
        Meta(description="the partitions of a topic are a list of at least one", min_items=1),
    ]


ENTRIES: Schema = {
    "description": "the partitions are a list of at least one entry",
    "type": "array",
    "items": {
        "description": _AN_ENTRY,
        "type": "object",
        "if": {"required": ["partition"]},
        "then": codec(_OnePartition, _AN_ENTRY).schema,
        "else": codec(_PartitionsOfTopic, _AN_ENTRY).schema,
    },
    "minItems": 1,
}
_FILE = {
    "description": "a partitions file is an object",
    "type": "object",
    "properties": {"partitions": ENTRIES},
    "required": ["partitions"],
    "additionalProperties": False,
}
PARTITIONS_FILE = document("partitions-file", "Partitions to look at or to recover", _FILE)


Place: TypeAlias = "tuple[str | int, ...]"

_is_valid_entry = screen(ENTRIES["items"])


def read_partitions(path: str) -> tuple[TopicPartition, ...]:
    """Read the partitions in a file, and return them sorted.

    Raises DocumentError with every problem of the file.
    """
    value = read_json(path, _find_problems, must_be_protected=True)
    return _sorted(value["partitions"])


def check_partitions(value: Any, place: str = "partitions") -> tuple[TopicPartition, ...]:
    """Check an inline list of entries, and return its partitions sorted. ``place`` is the list's name in the error.

    Raises DocumentError with every problem of the list.
    """
    raise_if_problems(place, chain(schema_problems(value, ENTRIES), _find_repetitions(value, ())))
    return _sorted(value)


def _find_problems(value: Any) -> Iterator[Problem]:
    yield from schema_problems(value, PARTITIONS_FILE)
    if isinstance(value, dict):
        yield from _find_repetitions(value.get("partitions"), ("partitions",))


def _find_repetitions(entries: Any, place: Place) -> Iterator[Problem]:
    seen: dict[TopicPartition, Place] = {}
    for index, entry in enumerate(entries if isinstance(entries, list) else ()):
        if _is_valid_entry(entry):
            for partition, within in _partitions_of(entry):
                here = (*place, index, *within)
                first = seen.setdefault(partition, here)
                if first != here:
                    message = f"{partition} is there already at {pointer(*first)}"
                    yield Problem(pointer(*here), message, "Remove one of the two")


def _partitions_of(entry: dict[str, Any]) -> Iterator[tuple[TopicPartition, Place]]:
    """Return the partitions of one entry, with their places within it."""
    if "partition" in entry:
        yield TopicPartition(entry["topic"], entry["partition"]), ("partition",)
    else:
        for index, partition in enumerate(entry["partitions"]):
            yield TopicPartition(entry["topic"], partition), ("partitions", index)


def _sorted(entries: list[dict[str, Any]]) -> tuple[TopicPartition, ...]:
    return tuple(sorted(partition for partition, _place in chain.from_iterable(map(_partitions_of, entries))))
