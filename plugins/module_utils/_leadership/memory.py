# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Define the memory of the list of deprioritized brokers, and its records: a key, and a JSON object or None.

``memory_topic`` reads and writes them. Standard library only.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from .._changes.record import JournalError
from .._model.partition import TopicPartition
from .blacklist import Blacklist
from .orders import RememberedOrder

_LIST_KEY = "list"
_ORDERS_KEY = "orders/"
_PARTITIONS_PER_RECORD = 100
"""To read 10,000 original orders takes 0.07 s as 100 records, and 0.27 s as 10,000 records."""
_VERSION = 1

Value = dict[str, Any]
Changes: TypeAlias = "Mapping[str, Value | None]"
"""Records to write; None deletes one."""


@dataclass(frozen=True, slots=True)
class Memory:
    """The list, and the original orders, of one cluster."""

    blacklist: Blacklist = field(default_factory=Blacklist)
    written_value: str | None = None
    """The value of preferred_leader_blacklist that a broker last accepted from us; None if it is not set. Released
    brokers do not return it."""
    revision: int = 0
    """Grows with each change of the list. 0 if no run has set one."""
    orders: Mapping[TopicPartition, RememberedOrder] = field(default_factory=dict)
    returning: tuple[int, ...] = ()
    """Brokers that were taken off the list, and that did not lead all of their preferred replicas again, sorted."""


def parse_memory(records: Mapping[str, Value], topic: str) -> Memory:
    """Parse records. Raises JournalError, which names the topic, for a record that no run of this version writes."""
    blacklist, written, revision, returning = Blacklist(), None, 0, ()
    orders: dict[TopicPartition, RememberedOrder] = {}
    for key, value in records.items():
        try:
            if value["version"] != _VERSION:
                raise ValueError("version")
            if key == _LIST_KEY:
                by_topic = {pattern: tuple(brokers) for pattern, brokers in value["byTopic"].items()}
                blacklist = Blacklist(tuple(value["brokers"]), by_topic)
                written, revision, returning = value["writtenValue"], value["revision"], tuple(value["returning"])
                ids = (*blacklist.all_brokers, *returning, revision)
                if not isinstance(written, str | None) or any(type(each) is not int for each in ids):
                    raise ValueError("list")
            elif key.startswith(_ORDERS_KEY):
                orders |= {each.topic_partition: each for each in _parse_orders(key, value)}
            else:
                raise ValueError("key")
        except (KeyError, TypeError, ValueError, AttributeError):
            raise JournalError(
                f"{topic} holds a record {key!r} that this version of kafkaops.recovery did not write, so nothing was "
                "changed: find out what wrote it, or name another topic (memory_topic)"
            ) from None
    return Memory(blacklist, written, revision, orders, returning)


def list_changes(memory: Memory) -> Changes:
    """Return the change that writes the list."""
    return {
        _LIST_KEY: {
            "version": _VERSION,
            "brokers": list(memory.blacklist.brokers),
            "byTopic": {pattern: list(brokers) for pattern, brokers in memory.blacklist.by_topic.items()},
            "writtenValue": memory.written_value,
            "revision": memory.revision,
            "returning": list(memory.returning),
        }
    }


def order_changes(
    orders: Mapping[TopicPartition, RememberedOrder], changed: Iterable[TopicPartition]
) -> dict[str, Value | None]:
    """Return the changes for partitions whose orders are remembered or forgotten. ``orders`` has all orders after them.

    A record has the orders of some adjacent partitions of a topic, and is written as a whole.
    """
    return {
        f"{_ORDERS_KEY}{topic}/{number}": _orders_value(orders, topic, number)
        for topic, number in dict.fromkeys((each.topic, each.partition // _PARTITIONS_PER_RECORD) for each in changed)
    }


def _orders_value(orders: Mapping[TopicPartition, RememberedOrder], topic: str, number: int) -> Value | None:
    """Return the value of a topic's record of this number; None if no order in it is remembered."""
    first = number * _PARTITIONS_PER_RECORD
    partitions = (TopicPartition(topic, each) for each in range(first, first + _PARTITIONS_PER_RECORD))
    remembered = {
        str(each.partition): {"topicId": known.topic_id, "original": known.original, "ours": known.ours}
        for each in partitions
        if (known := orders.get(each)) is not None
    }
    return {"version": _VERSION, "partitions": remembered} if remembered else None


def _parse_orders(key: str, value: Value) -> Iterator[RememberedOrder]:
    # Topic names have no slash.
    _kind, topic, number = key.split("/")
    for partition, each in value["partitions"].items():
        ours = tuple(map(tuple, each["ours"]))
        original = tuple(each["original"])
        is_misplaced = int(partition) // _PARTITIONS_PER_RECORD != int(number)
        if is_misplaced or not ours or {type(one) for order in (original, *ours) for one in order} != {int}:
            raise ValueError("orders")
        yield RememberedOrder(topic, int(partition), str(each["topicId"]), original, ours)
