# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Compute replica orders with some brokers last, and the original orders again. Pure; standard library only.

Kafka chooses leaders in replica order: in a preferred election, after a leader fails, and in the automatic rebalance.
So a broker that is last in every order is treated as KIP-491 wants a listed broker to be. No function here changes a
replica *set*.

The remembered orders of a partition tell whether its present order is the original one, ours, or another party's.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, TypeAlias

from .._model.fields import BrokerId, Meta
from .._model.partition import OfPartition
from .._model.reason import say

Order: TypeAlias = Annotated[
    tuple[BrokerId, ...], Meta(description="an order is a list of broker ids, the preferred leader first")
]


def with_last(order: Order, listed: Collection[int]) -> Order:
    """Move the listed brokers to the end. The order within the listed and within the other brokers stays."""
    return (*(each for each in order if each not in listed), *(each for each in order if each in listed))


def brokers_moved_last(original: Order, ours: Order) -> Order:
    """Return the brokers that ``with_last`` moved to the end to make ``ours`` from ``original``, in their order.

    The other brokers keep their original order, and so do the moved ones. So the moved ones begin where ``ours`` first
    breaks the original order.
    """
    place = {broker_id: index for index, broker_id in enumerate(original)}
    for index in range(1, len(ours)):
        if place[ours[index]] < place[ours[index - 1]]:
            return ours[index:]
    return ()


def restore_order(current: Order, original: Order, ours: Order) -> Order:
    """Return ``current`` with each broker that we had moved to the end at its original place.

    The broker goes right behind its nearest original predecessor that is still a replica, or to the front without one.
    New replicas keep their place among the others. If the set is unchanged, the result is the original order.
    """
    moved = [each for each in brokers_moved_last(original, ours) if each in current]
    result = [each for each in current if each not in moved]
    for broker_id in moved:
        before = original[: original.index(broker_id)]
        nearest = next((each for each in reversed(before) if each in result), None)
        result.insert(0 if nearest is None else result.index(nearest) + 1, broker_id)
    return tuple(result)


def filter_order(order: Order, brokers: Collection[int]) -> Order:
    """Return the order without all other brokers."""
    return tuple(each for each in order if each in brokers)


def with_same_set(order: Order, others: Iterable[Order]) -> tuple[Order, ...]:
    """Return the other orders that have the same replica set."""
    return tuple(each for each in others if sorted(each) == sorted(order))


_MOST_KEPT = 4
"""The number of our orders to remember. If an older one is found later, it counts as another party's."""


@dataclass(frozen=True, slots=True)
class RememberedOrder(OfPartition):
    """The original order of a partition whose order we change. Orders are broker ids, the preferred leader first."""

    topic: str
    partition: int
    topic_id: str
    """A re-created topic has another id, and its orders are not restored."""
    original: Order
    ours: tuple[Order, ...]
    """The orders that we may have set, the newest last. There are several, because each is remembered before it is set,
    and a run may die in between, or its request may be executed late."""

    @property
    def known_orders(self) -> tuple[Order, ...]:
        return (self.original, *self.ours)


def our_orders(earlier: RememberedOrder | None, current: Order, next_order: Order) -> tuple[Order, ...]:
    """Return the value of ``ours`` for a change of a partition's order from ``current`` to ``next_order``.

    Orders of another replica set are dropped: if another party sets that replica set again, its order stays.
    """
    known = [*with_same_set(next_order, earlier.ours if earlier else ()), current, next_order]
    newest_last = [*dict.fromkeys(reversed(known))][::-1]
    return tuple(newest_last[-_MOST_KEPT:])


class Drift(StrEnum):
    """What another party has changed since we set the order of a partition."""

    NONE = "none"
    RECREATED = "recreated"
    """The topic was re-created, so the remembered orders do not apply."""
    REASSIGNED = "reassigned"
    """The replica set was changed, and stays. The brokers that we moved get their places among the other replicas."""
    REORDERED = "reordered"
    """The order was changed, and stays."""


@dataclass(frozen=True, slots=True)
class BaseOrder:
    """The order that a partition would have if no broker were listed."""

    order: Order
    drift: Drift
    reason: str
    """The drift in words; empty if there is none."""


def find_base(topic_id: str, current: Order, remembered: RememberedOrder | None) -> BaseOrder:
    """Return the remembered original order as far as it still applies, or else the current order."""
    if remembered is None:
        return BaseOrder(current, Drift.NONE, "")
    if remembered.topic_id != topic_id:
        found = say("the topic was re-created (id {now}): its order stays", now=topic_id)
        return BaseOrder(current, Drift.RECREATED, found)
    # Orders of another replica set do not count as ours, because restoring them would move data.
    ours = with_same_set(remembered.original, remembered.ours)
    if current in (remembered.original, *ours):
        return BaseOrder(remembered.original, Drift.NONE, "")
    return _find_drifted_base(current, remembered.original, ours)


def _find_drifted_base(current: Order, original: Order, all_of_ours: Sequence[Order]) -> BaseOrder:
    if set(current) == set(original):
        form = "another party has set the order {order}: it stays; the original order was {original}"
        found = say(form, order=current, original=original)
        return BaseOrder(current, Drift.REORDERED, found)
    still_there = filter_order(current, original)
    for ours in reversed(all_of_ours):
        # If the remaining replicas are still in our order, the other party only meant to change the set.
        if still_there == filter_order(ours, current):
            order = restore_order(current, original, ours)
            form = "another party has changed its replicas from {ours} to {now}: the set stays"
            found = say(form, ours=ours, now=current)
            return BaseOrder(order, Drift.REASSIGNED, found)
    form = "another party has changed its replicas to {now}: they stay; the original order was {original}"
    return BaseOrder(current, Drift.REASSIGNED, say(form, now=current, original=original))
