# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What is remembered of one partition, so that its order can be put back. Pure; standard library only."""

from __future__ import annotations

from dataclasses import dataclass

from ansible_collections.kafkaops.recovery.plugins.module_utils.leadership.orders import Order, with_set_of
from ansible_collections.kafkaops.recovery.plugins.module_utils.model.partition import TopicPartition

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


def orders_of_ours(earlier: RememberedOrder | None, current: Order, next_order: Order) -> tuple[Order, ...]:
    """What ``ours`` has to be before a partition is brought from ``current`` to ``next_order``.

    An order of another set is not kept: whoever brings the partition back to that set means it.
    """
    known = [*with_set_of(next_order, earlier.ours if earlier else ()), current, next_order]
    newest_last = [*dict.fromkeys(reversed(known))][::-1]
    return tuple(newest_last[-_MOST_KEPT:])
