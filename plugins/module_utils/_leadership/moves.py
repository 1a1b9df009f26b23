# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Decide which leaders a preferred election moves, and why it cannot move others. Pure; standard library only."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import Annotated

from .._model.fields import BrokerId, LeaderId, Meta, PartitionIndex, TopicId, TopicName
from .._model.partition import OfPartition, PartitionState
from .._model.reason import say
from .orders import Order, with_last

_NONE: Mapping[int, str] = MappingProxyType({})
LEADERLESS = "it has no leader: recover it first (kafkaops.recovery.recover_offline_partitions)"


class MoveStatus(StrEnum):
    """The result for a partition whose leader should be another broker."""

    MOVED = "moved"
    """Its preferred replica leads now."""
    WOULD_MOVE = "would_move"
    ONLY_IN_SYNC = "only_in_sync"
    """No in-sync replica is on a broker that may lead and can, so the leader stays."""
    ALL_LISTED = "all_listed"
    """Every replica is on a listed broker, so one of them must lead."""
    LAGGING = "lagging"
    """Its preferred replica, which should lead, is not in sync yet, does not answer, or applies metadata late."""
    STILL_PREFERRED = "still_preferred"
    """The broker that should not lead is its preferred replica: its order was not changed."""
    LEADERLESS = "leaderless"
    LED_BY_SILENT = "led_by_silent"
    """The metadata names a leader that does not answer. If it is dead, the next leader may be a listed broker."""
    FAILED = "failed"
    """The election was requested, and the preferred replica was not seen to lead; or that one lacks the first records,
    and must not lead."""


MOVING = frozenset({MoveStatus.MOVED, MoveStatus.WOULD_MOVE})
WRONG = frozenset({MoveStatus.STILL_PREFERRED, MoveStatus.LED_BY_SILENT, MoveStatus.FAILED})
"""The leader could have been moved and was not, or the leader is not known for sure."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Move(OfPartition):
    """One partition's leader, and the one it should have."""

    topic: TopicName
    partition: PartitionIndex
    status: Annotated[MoveStatus, Meta("a leader's status")]
    reason: str
    leader_before: LeaderId
    leader_after: LeaderId | None
    """The leader now; None in check mode, or if it is unknown."""
    target: BrokerId
    """The broker that should lead: the preferred replica or, if that is not in sync, the first in-sync one."""
    topic_id: TopicId
    replicas: Order
    isr: Annotated[Order, Meta(description="an ISR is a list of broker ids")]

    @property
    def needs_reorder(self) -> bool:
        """Whether the target must be put first in the order for the election."""
        return self.target != self.replicas[0]


def move_away(
    state: PartitionState, brokers: Collection[int], unfit: Mapping[int, str] = _NONE, *, assume_reordered: bool
) -> Move | None:
    """Return the move of leadership away from these brokers; None if none of them leads.

    No leader moves to an ``unfit`` broker, although the controller has not fenced it. The value says what is wrong.
    ``assume_reordered`` assumes the order that preferred_leader_blacklist would set, for check mode.
    """
    if state.leader_id not in brokers:
        return None
    order = with_last(state.replicas, brokers) if assume_reordered else state.replicas
    target, leader = order[0], state.leader_id
    in_sync = [each for each in state.isr if each not in brokers]
    others = [each for each in in_sync if each not in unfit]
    if all(each in brokers for each in state.replicas):
        return _move(state, target, MoveStatus.ALL_LISTED, "every replica is on a listed broker")
    if not others:
        return _move(state, target, MoveStatus.ONLY_IN_SYNC, _explain_no_other(state, in_sync, unfit))
    if target in brokers:
        found = say("broker {broker} leads, and its order {order} prefers it", broker=leader, order=order)
        return _move(state, target, MoveStatus.STILL_PREFERRED, found)
    if target not in others:
        first = next(each for each in order if each in others)
        lacks = unfit[target] if target in in_sync else "is not"
        form = f"broker {{broker}} is in sync, and the preferred replica on broker {{broker_preferred}} {lacks}"
        found = say(form, broker=first, broker_preferred=target)
        return _move(state, first, MoveStatus.WOULD_MOVE, found)
    return _move(state, target, MoveStatus.WOULD_MOVE, say("broker {broker} is preferred, and in sync", broker=target))


def _explain_no_other(state: PartitionState, others: Collection[int], unfit: Mapping[int, str]) -> str:
    if others:
        form = "no in-sync replica on another broker can lead now (ISR {isr}; {why})"
        return say(form, isr=state.isr, why="; ".join(f"broker {each} {unfit[each]}" for each in others))
    lagging = [each for each in state.replicas if each not in state.isr]
    form = "no replica on another broker is in sync (ISR {isr}; not in sync: {lagging})"
    return say(form, isr=state.isr, lagging=lagging)


def move_to(
    state: PartitionState, brokers: Collection[int], order: Order, unfit: Mapping[int, str] = _NONE
) -> Move | None:
    """Return the move of leadership to the preferred replica; None if it leads, or is not on these brokers.

    No leader moves to an ``unfit`` broker, although the controller has not fenced it. The value says what is wrong.
    ``order`` is the order to assume: in check mode, the partition does not have it yet.
    """
    target = order[0]
    if target not in brokers or state.leader_id == target:
        return None
    if state.is_offline:
        return _move(state, target, MoveStatus.LEADERLESS, LEADERLESS)
    leads = "broker {broker} leads, and the preferred replica on broker {broker_preferred}"
    if target not in state.isr:
        form = f"{leads} is not in sync (ISR {{isr}}): run again when it has caught up"
        found = say(form, broker=state.leader_id, broker_preferred=target, isr=state.isr)
        return _move(state, target, MoveStatus.LAGGING, found)
    if target in unfit:
        form = f"{leads} {unfit[target]}: run again when that is over"
        return _move(state, target, MoveStatus.LAGGING, say(form, broker=state.leader_id, broker_preferred=target))
    return _move(state, target, MoveStatus.WOULD_MOVE, say("broker {broker} is preferred, and in sync", broker=target))


def doubt_leader(state: PartitionState, why: str) -> Move:
    """Return that it is not known who leads the partition: the leader in the metadata does not answer."""
    return _move(state, state.replicas[0], MoveStatus.LED_BY_SILENT, why)


def _move(state: PartitionState, target: int, status: MoveStatus, reason: str) -> Move:
    return Move(
        topic=state.topic,
        partition=state.partition,
        status=status,
        reason=reason,
        leader_before=state.leader_id,
        leader_after=None if status is MoveStatus.WOULD_MOVE else state.leader_id,
        target=target,
        topic_id=state.topic_id,
        replicas=state.replicas,
        isr=state.isr,
    )
