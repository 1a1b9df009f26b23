# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The partitions that someone asks for: the KIP's JSON file (KAFKA-20098), and the same list given inline.

An entry is ``{"topic": "foo", "partitions": [0, 3, 5]}``. ``{"topic": "foo", "partition": 0}`` is taken too: operators
have such files already, for kafka-leader-election.sh. Schema: docs/schemas/partitions-file.schema.json.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import Any, TypeAlias

from ansible_collections.kafkaops.recovery.plugins.module_utils.documents.fault import Fault, refuse_if_any
from ansible_collections.kafkaops.recovery.plugins.module_utils.documents.schemas.partitions_file import (
    ENTRIES,
    PARTITIONS_FILE,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils.documents.screen import screen
from ansible_collections.kafkaops.recovery.plugins.module_utils.documents.strict_json import read_json
from ansible_collections.kafkaops.recovery.plugins.module_utils.documents.validation import schema_faults
from ansible_collections.kafkaops.recovery.plugins.module_utils.documents.wording import pointer
from ansible_collections.kafkaops.recovery.plugins.module_utils.model.partition import TopicPartition

Place: TypeAlias = "tuple[str | int, ...]"

_is_sound = screen(ENTRIES["items"])


def read_partitions(path: str) -> tuple[TopicPartition, ...]:
    """The partitions that a file names, sorted.

    Raises DocumentError with every fault that is in the file.
    """
    value = read_json(path, _file_faults)
    return _sorted(value["partitions"])


def check_partitions(value: Any, place: str = "partitions") -> tuple[TopicPartition, ...]:
    """The partitions that an inline list of entries names, sorted; ``place`` is what the list is called in the error.

    Raises DocumentError with every fault that is in the list.
    """
    refuse_if_any(place, chain(schema_faults(value, ENTRIES), _repetitions(value, ())))
    return _sorted(value)


def _file_faults(value: Any) -> Iterator[Fault]:
    yield from schema_faults(value, PARTITIONS_FILE)
    if isinstance(value, dict):
        yield from _repetitions(value.get("partitions"), ("partitions",))


def _repetitions(entries: Any, place: Place) -> Iterator[Fault]:
    seen: dict[TopicPartition, Place] = {}
    for index, entry in enumerate(entries if isinstance(entries, list) else ()):
        if _is_sound(entry):
            for named, within in _named(entry):
                here = (*place, index, *within)
                first = seen.setdefault(named, here)
                if first != here:
                    problem = f"{named} is there already at {pointer(*first)}"
                    yield Fault(pointer(*here), problem, "Remove one of the two")


def _named(entry: dict[str, Any]) -> Iterator[tuple[TopicPartition, Place]]:
    """The partitions of one entry, with their places within it."""
    if "partition" in entry:
        yield TopicPartition(entry["topic"], entry["partition"]), ("partition",)
    else:
        for index, partition in enumerate(entry["partitions"]):
            yield TopicPartition(entry["topic"], partition), ("partitions", index)


def _sorted(entries: list[dict[str, Any]]) -> tuple[TopicPartition, ...]:
    return tuple(sorted(named for named, _place in chain.from_iterable(map(_named, entries))))
