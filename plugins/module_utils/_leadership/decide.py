# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Decide about one partition's order, and about its remembered orders. Pure; standard library only."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Annotated

from .._model.fields import Meta, PartitionIndex, TopicId, TopicName
from .._model.partition import OfPartition, PartitionState, TopicPartition
from .._model.reason import because, say
from .._model.reasons import agreeing
from .orders import BaseOrder, Drift, Order, RememberedOrder, filter_order, find_base, our_orders, with_last


class OrderStatus(StrEnum):
    """The result for a partition with a replica on a listed broker, or with a remembered order."""

    REORDERED = "reordered"
    """The listed brokers are last now."""
    WOULD_REORDER = "would_reorder"
    RESTORED = "restored"
    """No replica is on a listed broker any more, and the original order is restored."""
    WOULD_RESTORE = "would_restore"
    IN_ORDER = "in_order"
    """The order was right already."""
    ALL_LISTED = "all_listed"
    """Every replica is on a listed broker, so the order stays."""
    CONFLICT = "conflict"
    """Another party has set another order. It stays, and the remembered order is forgotten."""
    GONE = "gone"
    """The topic was deleted or re-created, so there is nothing to restore."""
    LEFT_ALONE = "left_alone"
    """The order must not be changed now. The remembered order stays, and a later run changes the order."""
    FAILED = "failed"
    """The change was requested and not seen. The remembered order stays, and a later run tries again."""


CHANGED = frozenset({OrderStatus.REORDERED, OrderStatus.WOULD_REORDER, OrderStatus.RESTORED, OrderStatus.WOULD_RESTORE})
DONE_STATUS = {OrderStatus.WOULD_REORDER: OrderStatus.REORDERED, OrderStatus.WOULD_RESTORE: OrderStatus.RESTORED}


@dataclass(frozen=True, slots=True, kw_only=True)
class OrderOutcome(OfPartition):
    """One partition. Orders are broker ids, the preferred leader first."""

    topic: TopicName
    partition: PartitionIndex
    status: Annotated[OrderStatus, Meta("an order's status")]
    reason: str
    topic_id: TopicId | None
    """None if the topic does not exist, or is hidden from us."""
    drift: Drift
    replicas: Order | None
    """The order before; None if it is unknown."""
    replicas_after: Order | None
    """The order after the run or, in check mode, the order that a run would set."""
    original: Order | None
    """The order that the partition would have if no broker were listed, if that is known."""


LEADERLESS = (
    "it has no leader, and a change of its order could make the controller elect one: recover it first "
    "(kafkaops.recovery.recover_offline_partitions)"
)


def explain_unregistered(brokers: Collection[int]) -> str:
    """Return why no order can be set for a partition with replicas on these brokers, and what to do."""
    form = (
        f"{{brokers}} in its replica list {agreeing('are', len(brokers))} not registered, and the controller refuses "
        "every order that has such a broker: start it, or replace its replica (kafkaops.recovery.restore_redundancy, "
        "redundancy_lost_brokers={lost}), and run again"
    )
    return say(form, brokers=[*brokers], lost=",".join(map(str, brokers)))


@dataclass(frozen=True, slots=True)
class Decision:
    """The decision about one partition."""

    outcome: OrderOutcome
    """The outcome if all requests succeed."""
    remembered: RememberedOrder | None
    """The order that is remembered so far."""
    remember: RememberedOrder | None
    """The order to remember before the change; None to forget it after the change."""

    @property
    def topic_partition(self) -> TopicPartition:
        return self.outcome.topic_partition

    @property
    def is_reorder(self) -> bool:
        return self.outcome.replicas_after != self.outcome.replicas

    @property
    def requests_order(self) -> bool:
        """Whether the order is requested.

        An original order that seems to be restored is requested too, before the remembered one is forgotten: a broker
        that lags behind the controller still shows it.
        """
        seems_restored = self.forgets and self.outcome.drift is Drift.NONE and self.outcome.replicas is not None
        return self.is_reorder or seems_restored

    @property
    def forgets(self) -> bool:
        """Whether the remembered order is forgotten once the partition has its order."""
        return self.remembered is not None and self.remember is None

    @property
    def has_work(self) -> bool:
        """Whether the order or the remembered order has to be written."""
        return self.is_reorder or self.remember != self.remembered

    @property
    def possible_orders(self) -> frozenset[Order]:
        """The orders that the partition may show until its new order is set."""
        known = [each for each in (self.remembered, self.remember) if each is not None]
        found = {order for each in known for order in each.known_orders}
        return frozenset(found if self.outcome.replicas is None else {*found, self.outcome.replicas})

    def leave_alone(self, why: str) -> Decision:
        """Return the decision to change nothing, for this reason."""
        outcome = replace(self.outcome, status=OrderStatus.LEFT_ALONE, reason=why, replicas_after=self.outcome.replicas)
        return Decision(outcome, self.remembered, self.remembered)


def decide(state: PartitionState, remembered: RememberedOrder | None, listed: Collection[int]) -> Decision:
    """Decide about a partition that exists. An offline partition is left alone."""
    base = find_base(state.topic_id, state.replicas, remembered)
    wanted = with_last(base.order, listed)
    decision = Decision(
        _outcome(state, base, wanted, listed), remembered, _to_remember(state, remembered, base.order, wanted)
    )
    return decision.leave_alone(LEADERLESS) if state.is_offline and decision.requests_order else decision


def decide_deleted(remembered: RememberedOrder) -> Decision:
    """Decide about a remembered partition that does not exist any more."""
    return Decision(_without_state(remembered, OrderStatus.GONE, "it was deleted"), remembered, None)


def decide_hidden(remembered: RememberedOrder, why: str) -> Decision:
    """Decide about a remembered partition that could not be read. It stays remembered."""
    return Decision(_without_state(remembered, OrderStatus.LEFT_ALONE, why), remembered, remembered)


def _to_remember(
    state: PartitionState, remembered: RememberedOrder | None, base: Order, wanted: Order
) -> RememberedOrder | None:
    if wanted == base:
        return None
    same_topic = remembered if remembered is not None and remembered.topic_id == state.topic_id else None
    ours = our_orders(same_topic, state.replicas, wanted)
    return RememberedOrder(state.topic, state.partition, state.topic_id, base, ours)


def _outcome(state: PartitionState, base: BaseOrder, wanted: Order, listed: Collection[int]) -> OrderOutcome:
    status, reason = _status(state, base, wanted, listed)
    return OrderOutcome(
        topic=state.topic,
        partition=state.partition,
        status=status,
        reason=because(base.reason, reason),
        topic_id=state.topic_id,
        drift=base.drift,
        replicas=state.replicas,
        replicas_after=wanted,
        original=base.order,
    )


def _status(state: PartitionState, base: BaseOrder, wanted: Order, listed: Collection[int]) -> tuple[OrderStatus, str]:
    last = [*filter_order(wanted, listed)]
    if wanted != state.replicas:
        if wanted == base.order:
            return OrderStatus.WOULD_RESTORE, say("back to {order}", order=wanted)
        return OrderStatus.WOULD_REORDER, say(f"{{brokers}} {agreeing('are', len(last))} last", brokers=last)
    if base.drift is Drift.REORDERED:
        return OrderStatus.CONFLICT, "its original order is forgotten"
    if base.drift is Drift.RECREATED and not last:
        return OrderStatus.GONE, ""
    if len(last) == len(wanted):
        return OrderStatus.ALL_LISTED, "every replica is on a listed broker: the order stays"
    if not last:
        return OrderStatus.IN_ORDER, "in its original order"
    return OrderStatus.IN_ORDER, say(f"{{brokers}} {agreeing('are', len(last))} last already", brokers=last)


def _without_state(remembered: RememberedOrder, status: OrderStatus, reason: str) -> OrderOutcome:
    return OrderOutcome(
        topic=remembered.topic,
        partition=remembered.partition,
        status=status,
        reason=reason,
        topic_id=None,
        drift=Drift.NONE,
        replicas=None,
        replicas_after=None,
        original=remembered.original,
    )
