# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Replica orders with some brokers last, and put back again. Pure; standard library only.

Kafka takes leaders in replica order: for a preferred election, when a leader fails, and for the automatic rebalance. So
a broker that is last in every order is what KIP-491 wants a listed broker to be. No function here changes a replica
*set*.

What is remembered of a partition says whose order it is in: the original one, ours, or somebody else's.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, TypeAlias

from .._model.fields import BrokerId, Meta
from .._model.partition import TopicPartition

Order: TypeAlias = Annotated[
    tuple[BrokerId, ...], Meta(description="an order is a list of broker ids, the preferred leader first")
]


def with_last(order: Order, listed: Collection[int]) -> Order:
    """Move the listed brokers to the end. Within both groups the order stays.

    Where every replica is listed, or none, this is the order as it was.
    """
    return (*(each for each in order if each not in listed), *(each for each in order if each in listed))


def brokers_moved_last(original: Order, ours: Order) -> Order:
    """Return the brokers that ``with_last`` put at the end to make ``ours`` of ``original``, in order.

    Both parts of ``ours`` rise by their place in the original; so the second begins where that order falls.
    """
    place = {broker_id: index for index, broker_id in enumerate(original)}
    for index in range(1, len(ours)):
        if place[ours[index]] < place[ours[index - 1]]:
            return ours[index:]
    return ()


def restore_order(current: Order, original: Order, ours: Order) -> Order:
    """Return ``current`` with each broker that we had moved last at its original place among the remaining replicas.

    It goes right behind the nearest replica that stood before it and is still there, or first where there is none.
    Replicas that came since stay where they are among the others. With an unchanged set this is the original order.
    """
    moved = [each for each in brokers_moved_last(original, ours) if each in current]
    result = [each for each in current if each not in moved]
    for broker_id in moved:
        before = original[: original.index(broker_id)]
        nearest = next((each for each in reversed(before) if each in result), None)
        result.insert(0 if nearest is None else result.index(nearest) + 1, broker_id)
    return tuple(result)


def filter_order(order: Order, brokers: Collection[int]) -> Order:
    """Return the order of those brokers only."""
    return tuple(each for each in order if each in brokers)


def with_same_set(order: Order, others: Iterable[Order]) -> tuple[Order, ...]:
    """Those of the others that have the same replica set."""
    return tuple(each for each in others if sorted(each) == sorted(order))


_MOST_KEPT = 4
"""Orders of ours that are known again. One that we set so many changes ago and that comes back is somebody's."""


@dataclass(frozen=True, slots=True)
class RememberedOrder:
    """A partition whose order we changed, or were about to change. Orders are broker ids, preferred leader first."""

    topic: str
    partition: int
    topic_id: str
    """A topic that was deleted and made again has another one, and nothing to be put back."""
    original: Order
    ours: tuple[Order, ...]
    """The orders that we may have left it in, the newest last. More than one, because this is written before the order
    is changed, and a run can die in between, or be late on the wire."""

    @property
    def topic_partition(self) -> TopicPartition:
        return TopicPartition(self.topic, self.partition)

    @property
    def known_orders(self) -> tuple[Order, ...]:
        return (self.original, *self.ours)


def our_orders(earlier: RememberedOrder | None, current: Order, next_order: Order) -> tuple[Order, ...]:
    """Return the value of ``ours`` before a partition's order changes from ``current`` to ``next_order``.

    An order of another set is not kept: whoever brings the partition back to that set means it.
    """
    known = [*with_same_set(next_order, earlier.ours if earlier else ()), current, next_order]
    newest_last = [*dict.fromkeys(reversed(known))][::-1]
    return tuple(newest_last[-_MOST_KEPT:])


class Drift(StrEnum):
    """What somebody else did to a partition since we changed its order."""

    NONE = "none"
    RECREATED = "recreated"
    """The topic was deleted and made again: nothing of what is remembered holds."""
    REASSIGNED = "reassigned"
    """Another replica set. It stays; the brokers we moved go back to their place among the replicas still there."""
    REORDERED = "reordered"
    """An order that we did not set. It is somebody's word, and stays."""


@dataclass(frozen=True, slots=True)
class BaseOrder:
    """The order that a partition would have if no broker were listed."""

    order: Order
    drift: Drift
    reason: str
    """What was found, for a person; empty where nothing drifted."""


def find_base(topic_id: str, current: Order, remembered: RememberedOrder | None) -> BaseOrder:
    """Return the order to start from: the remembered one as far as it still applies, else the current one."""
    if remembered is None:
        return BaseOrder(current, Drift.NONE, "")
    if remembered.topic_id != topic_id:
        found = f"the topic was made again (id {topic_id}): its order is its own"
        return BaseOrder(current, Drift.RECREATED, found)
    # To put back an order of another set would move data, so none is taken for ours, whoever remembered it.
    ours = with_same_set(remembered.original, remembered.ours)
    if current in (remembered.original, *ours):
        return BaseOrder(remembered.original, Drift.NONE, "")
    return _find_drifted_base(current, remembered.original, ours)


def _find_drifted_base(current: Order, original: Order, all_of_ours: Sequence[Order]) -> BaseOrder:
    if set(current) == set(original):
        found = f"somebody set the order {list(current)}: it stays; the original was {list(original)}"
        return BaseOrder(current, Drift.REORDERED, found)
    still_there = filter_order(current, original)
    for ours in reversed(all_of_ours):
        # Where those that stayed are in our order, whoever reassigned started from it and meant the set.
        if still_there == filter_order(ours, current):
            order = restore_order(current, original, ours)
            found = f"somebody changed its replicas from {list(ours)} to {list(current)}: the set stays"
            return BaseOrder(order, Drift.REASSIGNED, found)
    found = f"somebody changed its replicas to {list(current)}: set and order stay; the original was {list(original)}"
    return BaseOrder(current, Drift.REASSIGNED, found)
