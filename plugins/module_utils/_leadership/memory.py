# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What is remembered of the list of deprioritized brokers, and its form as records: a key, and a JSON object or None.

The same records make up our topic (memory_topic) and our local file, which is the alternative to the topic, and where
the memory goes when the topic cannot be written. Standard library only.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, TypeAlias

from .._changes.file_log import FileLog, path_for, read_entries
from .._changes.journal import damage_error
from .._changes.record import Entry, JournalError
from .._model.partition import TopicPartition
from .blacklist import Blacklist
from .orders import RememberedOrder

LIST_KEY = "list"
_ORDER_KEY = "order/"
_VERSION = 1

Value = dict[str, Any]
Records = Mapping[str, Value]
Changes: TypeAlias = "Mapping[str, Value | None]"
"""Records to write; None deletes one."""


@dataclass(frozen=True, slots=True)
class Memory:
    """All that is remembered of one cluster."""

    blacklist: Blacklist = field(default_factory=Blacklist)
    written_value: str | None = None
    """The value of preferred_leader_blacklist that a broker last accepted from us; None: none is set. A released
    broker never returns it again."""
    revision: int = 0
    """Goes up with every change of the list, so that of two homes the newer one is known."""
    orders: Mapping[TopicPartition, RememberedOrder] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.blacklist or self.orders or self.written_value)


class MemoryStore(Protocol):
    """A home of the memory, open for the run that holds the lock of the cluster."""

    memory: Memory
    """What was in it when it was opened."""

    def write(self, changes: Changes) -> None:
        """Return once the changes are durable. Raises JournalError, also when this run lost the lock."""


def parse_memory(records: Records, home: str) -> Memory:
    """Raise JournalError, naming the home, for records that this version did not write."""
    blacklist, written, revision = Blacklist(), None, 0
    orders: dict[TopicPartition, RememberedOrder] = {}
    for key, value in records.items():
        try:
            if value["version"] != _VERSION:
                raise ValueError("version")
            if key == LIST_KEY:
                by_topic = {pattern: tuple(brokers) for pattern, brokers in value["byTopic"].items()}
                blacklist = Blacklist(tuple(value["brokers"]), by_topic)
                written, revision = value["writtenValue"], value["revision"]
            elif key.startswith(_ORDER_KEY):
                remembered = _parse_order(key, value)
                orders[remembered.topic_partition] = remembered
            else:
                raise ValueError("key")
        except (KeyError, TypeError, ValueError, AttributeError):
            raise JournalError(
                f"{home} holds a record {key!r} that this version of kafkaops.recovery did not write: nothing is "
                "changed before a person has looked at it"
            ) from None
    return Memory(blacklist, written, revision, orders)


def list_changes(memory: Memory) -> Changes:
    """Return the record of the list."""
    return {
        LIST_KEY: {
            "version": _VERSION,
            "brokers": list(memory.blacklist.brokers),
            "byTopic": {pattern: list(brokers) for pattern, brokers in memory.blacklist.by_topic.items()},
            "writtenValue": memory.written_value,
            "revision": memory.revision,
        }
    }


def order_changes(
    remembered: Iterable[RememberedOrder] = (), forgotten: Iterable[TopicPartition] = ()
) -> dict[str, Value | None]:
    """Return the records of orders to remember, and of orders to forget."""
    changes: dict[str, Value | None] = {
        _order_key(each.topic_partition): {
            "version": _VERSION,
            "topicId": each.topic_id,
            "original": list(each.original),
            "ours": [list(order) for order in each.ours],
        }
        for each in remembered
    }
    return changes | {_order_key(each): None for each in forgotten}


def difference(wanted: Memory, found: Memory) -> Changes:
    """Return what to write to a home that holds ``found``, so that it holds ``wanted``."""
    changes = order_changes(
        (each for partition, each in wanted.orders.items() if found.orders.get(partition) != each),
        found.orders.keys() - wanted.orders.keys(),
    )
    same_list = (wanted.blacklist, wanted.written_value, wanted.revision) == (
        found.blacklist,
        found.written_value,
        found.revision,
    )
    # The list has the revision: with it last, a home that a crash left half written still counts as the older one.
    return changes if same_list else {**changes, **list_changes(wanted)}


def merge(topic: Memory, file: Memory) -> Memory:
    """One memory out of two homes: runs that could not write to the topic went on in a local file.

    A file of a higher revision began with all that the topic held, and nobody wrote to the topic since. Otherwise both
    went on: the topic's list and orders hold, and an order that only the file knows is kept.
    """
    if not file:
        return topic
    if file.revision > topic.revision:
        return file
    return Memory(topic.blacklist, topic.written_value, topic.revision, {**file.orders, **topic.orders})


def _order_key(partition: TopicPartition) -> str:
    # A topic's name has no slash.
    return f"{_ORDER_KEY}{partition.topic}/{partition.partition}"


def _parse_order(key: str, value: Value) -> RememberedOrder:
    _kind, topic, partition = key.split("/")
    ours = tuple(tuple(order) for order in value["ours"])
    original = tuple(value["original"])
    if not ours or any(not isinstance(each, int) for order in (original, *ours) for each in order):
        raise ValueError("orders")
    return RememberedOrder(topic, int(partition), str(value["topicId"]), original, ours)


_SUFFIX = ".leadership"


def memory_path(directory: str, cluster_id: str) -> Path:
    """Where the memory of a cluster is. Raises JournalError."""
    return path_for(directory, cluster_id, _SUFFIX)


def read_memory_file(path: Path) -> Memory:
    """Read the memory without a lock. No file is an empty memory. Raises JournalError."""
    entries, _length = read_entries(path)
    return parse_memory(_records(path, entries), str(path))


class FileStore:
    """The memory file, open for the run that holds the lock of the cluster.

    As a context, it removes a file that holds nothing at the end. Raises JournalError when the file cannot be written,
    or is damaged.
    """

    def __init__(self, path: Path) -> None:
        self._file = FileLog(path)
        self._records = _records(path, self._file.entries)
        self.memory = parse_memory(self._records, str(path))

    def __enter__(self) -> FileStore:
        return self

    def __exit__(self, *_error: object) -> None:
        if not parse_memory(self._records, str(self._file.path)):
            self._file.remove()

    def write(self, changes: Changes) -> None:
        self._file.append([{"key": key, "value": value} for key, value in changes.items()])
        for key, value in changes.items():
            _apply(self._records, key, value)

    def clear(self) -> None:
        """Forget everything, since another home holds it now. Raises JournalError."""
        self.write(dict.fromkeys(self._records))


def _records(path: Path, entries: Sequence[Entry]) -> dict[str, Value]:
    records: dict[str, Value] = {}
    for number, entry in enumerate(entries, start=1):
        try:
            _apply(records, entry["key"], entry["value"])
        except (KeyError, TypeError):
            raise damage_error(str(path), number) from None
    return records


def _apply(records: dict[str, Value], key: str, value: Value | None) -> None:
    if value is None:
        records.pop(key, None)
    else:
        records[key] = value
