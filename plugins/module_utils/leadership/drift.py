# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Whose order a partition is in: the original one, ours, or somebody else's. Pure; standard library only."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from ansible_collections.kafkaops.recovery.plugins.module_utils.leadership.orders import (
    Order,
    among,
    put_back,
    with_set_of,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils.leadership.remembered import RememberedOrder


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
class Base:
    """The order that a partition would have if no broker were listed."""

    order: Order
    drift: Drift
    reason: str
    """What was found, for a person; empty where nothing drifted."""


def base_of(topic_id: str, current: Order, remembered: RememberedOrder | None) -> Base:
    """The order to start from: the one remembered, as far as it still means something, or else the current one."""
    if remembered is None:
        return Base(current, Drift.NONE, "")
    if remembered.topic_id != topic_id:
        found = f"the topic was made again (id {topic_id}): its order is its own"
        return Base(current, Drift.RECREATED, found)
    # To put back an order of another set would move data, so none is taken for ours, whoever remembered it.
    ours = with_set_of(remembered.original, remembered.ours)
    if current in (remembered.original, *ours):
        return Base(remembered.original, Drift.NONE, "")
    return _of_drifted(current, remembered.original, ours)


def _of_drifted(current: Order, original: Order, all_of_ours: Sequence[Order]) -> Base:
    if set(current) == set(original):
        found = f"somebody set the order {list(current)}: it stays; the original was {list(original)}"
        return Base(current, Drift.REORDERED, found)
    still_there = among(current, original)
    for ours in reversed(all_of_ours):
        # Where those that stayed are in our order, whoever reassigned started from it and meant the set.
        if still_there == among(ours, current):
            order = put_back(current, original, ours)
            found = f"somebody changed its replicas from {list(ours)} to {list(current)}: the set stays"
            return Base(order, Drift.REASSIGNED, found)
    found = f"somebody changed its replicas to {list(current)}: set and order stay; the original was {list(original)}"
    return Base(current, Drift.REASSIGNED, found)
