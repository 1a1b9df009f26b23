# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Read the requested partitions, from the KIP's JSON file (KAFKA-20098) or from an inline list.

An entry is ``{"topic": "foo", "partitions": [0, 3, 5]}``, ``{"topic": "foo", "partition": 0}``, or ``{"topic": "foo"}``
for all partitions of the topic. Files that operators have for kafka-leader-election.sh, kafka-reassign-partitions.sh
and kafka-delete-records.sh are read too: what else these say is ignored, and noted. Schema of our own form:
docs/schemas/partitions-file.schema.json.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from typing import Annotated, Any, TypeAlias

from .._model.fields import Meta, PartitionIndex, TopicName
from .._model.partition import ALL_PARTITIONS, TopicPartition
from .dataclass_json import Schema, codec, document
from .errors import Problem, pointer, raise_if_problems
from .screen import screen
from .strict_json import read_json
from .validation import schema_problems

_AN_ENTRY = (
    'an entry is {"topic": "foo", "partitions": [0, 3, 5]}, {"topic": "foo", "partition": 0} or {"topic": "foo"}'
)
_OF_OTHER_TOOLS = ("version",)
_OF_OTHER_TOOLS_IN_ENTRIES = ("replicas", "log_dirs", "offset")


@dataclass(frozen=True, slots=True)
class _OnePartition:
    topic: TopicName
    partition: PartitionIndex


@dataclass(frozen=True, slots=True)
class _AllOfTopic:
    topic: TopicName


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
        "else": {
            "description": _AN_ENTRY,
            "type": "object",
            "if": {"required": ["partitions"]},
            "then": codec(_PartitionsOfTopic, _AN_ENTRY).schema,
            "else": codec(_AllOfTopic, _AN_ENTRY).schema,
        },
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
    return _sorted(_without_ignored(value)[0]["partitions"])


def ignored_in_file(path: str) -> str:
    """Return a note about what a file says for other tools, and means nothing here; empty if there is nothing.

    Raises DocumentError like read_partitions.
    """
    counts = _without_ignored(read_json(path, _find_problems, must_be_protected=True))[1]
    named = [
        name if name in _OF_OTHER_TOOLS else f"{name} of {count:,} entr{'y' if count == 1 else 'ies'}"
        for name, count in counts.items()
    ]
    return f"{path}: ignored {', '.join(named)}: only topics and partitions are read" if named else ""


def _without_ignored(value: Any) -> tuple[Any, Counter[str]]:
    """Return the value without the keys of other tools, and how often each one is there."""
    counts: Counter[str] = Counter()
    if not isinstance(value, dict):
        return value, counts
    counts.update(each for each in _OF_OTHER_TOOLS if each in value)
    kept = {name: each for name, each in value.items() if name not in _OF_OTHER_TOOLS}
    entries = kept.get("partitions")
    if isinstance(entries, list):
        objects = [each for each in entries if isinstance(each, dict)]
        counts.update(name for each in objects for name in _OF_OTHER_TOOLS_IN_ENTRIES if name in each)
        kept["partitions"] = [
            {name: part for name, part in each.items() if name not in _OF_OTHER_TOOLS_IN_ENTRIES}
            if isinstance(each, dict)
            else each
            for each in entries
        ]
    return kept, counts


def check_partitions(value: Any, place: str = "partitions") -> tuple[TopicPartition, ...]:
    """Check an inline list of entries, and return its partitions sorted. ``place`` is the list's name in the error.

    Raises DocumentError with every problem of the list.
    """
    raise_if_problems(place, chain(schema_problems(value, ENTRIES), _find_repetitions(value, ())))
    return _sorted(value)


def _find_problems(given: Any) -> Iterator[Problem]:
    value = _without_ignored(given)[0]
    yield from schema_problems(value, PARTITIONS_FILE)
    if isinstance(value, dict):
        yield from _find_repetitions(value.get("partitions"), ("partitions",))


def _find_repetitions(entries: Any, place: Place) -> Iterator[Problem]:
    seen: dict[TopicPartition, Place] = {}
    problems: list[Problem] = []
    for index, entry in enumerate(entries if isinstance(entries, list) else ()):
        if _is_valid_entry(entry):
            for partition, within in _partitions_of(entry):
                here = (*place, index, *within)
                first = seen.setdefault(partition, here)
                if first != here:
                    message = f"{partition} is there already at {pointer(*first)}"
                    problems.append(Problem(pointer(*here), message, "Remove one of the two"))
    if len(problems) > 1:
        first_one = problems[0]
        message = f"{len(problems):,} repeats, of which the first is this: {first_one.message}"
        problems = [Problem(first_one.place, message, "Remove the repeats")]
    yield from problems


def _partitions_of(entry: dict[str, Any]) -> Iterator[tuple[TopicPartition, Place]]:
    """Return the partitions of one entry, with their places within it."""
    if "partition" in entry:
        yield TopicPartition(entry["topic"], entry["partition"]), ("partition",)
    elif "partitions" not in entry:
        yield TopicPartition(entry["topic"], ALL_PARTITIONS), ("topic",)
    else:
        for index, partition in enumerate(entry["partitions"]):
            yield TopicPartition(entry["topic"], partition), ("partitions", index)


def _sorted(entries: list[dict[str, Any]]) -> tuple[TopicPartition, ...]:
    return tuple(sorted(partition for partition, _place in chain.from_iterable(map(_partitions_of, entries))))
