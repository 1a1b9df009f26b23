# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What became of one partition's order, and what would. Pure; standard library only."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from ansible_collections.kafkaops.recovery.plugins.module_utils.leadership.drift import Drift
from ansible_collections.kafkaops.recovery.plugins.module_utils.leadership.orders import Order
from ansible_collections.kafkaops.recovery.plugins.module_utils.model.partition import TopicPartition


class OrderStatus(StrEnum):
    """How one partition ended that holds a listed broker, or whose original order is remembered."""

    REORDERED = "reordered"
    """Its listed brokers are last now."""
    WOULD_REORDER = "would_reorder"
    RESTORED = "restored"
    """No replica of it is listed any more, and the order is the one it would have had without us."""
    WOULD_RESTORE = "would_restore"
    IN_ORDER = "in_order"
    """Nothing had to be done."""
    ALL_LISTED = "all_listed"
    """Every replica is on a broker that is listed, so there is no other order to bring it into."""
    CONFLICT = "conflict"
    """Somebody set an order of their own meanwhile: it stays, and nothing is remembered of it any more."""
    GONE = "gone"
    """The topic was deleted, or made again under another id: nothing to put back."""
    LEFT_ALONE = "left_alone"
    """Its order would have changed, and must not now. Whatever is remembered stays; a later run does it."""
    FAILED = "failed"
    """The change was asked for and was not seen. What is remembered stays; a later run tries again."""


CHANGED = frozenset({OrderStatus.REORDERED, OrderStatus.WOULD_REORDER, OrderStatus.RESTORED, OrderStatus.WOULD_RESTORE})
DONE_STATUS = {OrderStatus.WOULD_REORDER: OrderStatus.REORDERED, OrderStatus.WOULD_RESTORE: OrderStatus.RESTORED}


@dataclass(frozen=True, slots=True, kw_only=True)
class OrderOutcome:
    """One partition. Orders are broker ids, the preferred leader first."""

    topic: str
    partition: int
    status: OrderStatus
    reason: str
    topic_id: str | None
    """None where the topic does not exist, or is hidden from us."""
    drift: Drift
    replicas: Order | None
    """The order before; None where it was not found out."""
    replicas_after: Order | None
    """The order after, or, in check mode, the one it would be brought into."""
    original: Order | None
    """The order that it would have if no broker were listed, as far as it is known."""

    @property
    def topic_partition(self) -> TopicPartition:
        return TopicPartition(self.topic, self.partition)
