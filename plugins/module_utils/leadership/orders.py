# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Replica orders with some brokers last, and put back again. Pure; standard library only.

Kafka takes leaders in replica order: for a preferred election, when a leader fails, and for the automatic rebalance. So
a broker that is last in every order is what KIP-491 wants a listed broker to be. No function here changes a replica
*set*.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

Order = tuple[int, ...]


def with_last(order: Order, listed: Collection[int]) -> Order:
    """The order with the listed brokers at its end. Listed or not, brokers keep their order among each other.

    Where every replica is listed, or none, this is the order as it was.
    """
    return (*(each for each in order if each not in listed), *(each for each in order if each in listed))


def moved_last(original: Order, ours: Order) -> Order:
    """The brokers that ``with_last`` put at the end to make ``ours`` of ``original``, in order.

    Both parts of ``ours`` rise by their place in the original; so the second begins where that order falls.
    """
    place = {broker_id: index for index, broker_id in enumerate(original)}
    for index in range(1, len(ours)):
        if place[ours[index]] < place[ours[index - 1]]:
            return ours[index:]
    return ()


def put_back(current: Order, original: Order, ours: Order) -> Order:
    """``current`` with each broker that we had moved last where it originally was, among the replicas still there.

    It goes right behind the nearest replica that stood before it and is still there, or first where there is none.
    Replicas that came since stay where they are among the others. With an unchanged set this is the original order.
    """
    moved = [each for each in moved_last(original, ours) if each in current]
    result = [each for each in current if each not in moved]
    for broker_id in moved:
        before = original[: original.index(broker_id)]
        nearest = next((each for each in reversed(before) if each in result), None)
        result.insert(0 if nearest is None else result.index(nearest) + 1, broker_id)
    return tuple(result)


def among(order: Order, brokers: Collection[int]) -> Order:
    """The order of those brokers only."""
    return tuple(each for each in order if each in brokers)


def with_set_of(order: Order, others: Iterable[Order]) -> tuple[Order, ...]:
    """Those of the others that have the same replica set."""
    return tuple(each for each in others if sorted(each) == sorted(order))
