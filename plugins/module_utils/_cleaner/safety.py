# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Decide whether a replica may be dropped and re-created. Pure functions; standard library only."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from .._model.partition import REASSIGNING, PartitionState, effective_min_isr

_COPIES_THAT_STAY = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Overrides:
    """The refusals that the operator overrides. Each is an option, off by default."""

    allow_below_min_isr: bool = False
    allow_single_copy: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """The facts for a decision on one replica, besides the partition's state."""

    min_insync_replicas: int | None
    """None if it is unknown."""
    is_reassigning: bool
    living: Collection[int]
    """Ids of the brokers that are online."""


def refusals(state: PartitionState, broker_id: int, around: Surroundings, overrides: Overrides) -> tuple[str, ...]:
    """Return all reasons why the broker's replica must not be dropped now, each with a remedy."""
    if broker_id not in state.replicas:
        return (f"broker {broker_id} holds no replica of it: its replicas are {list(state.replicas)}",)
    others = [each for each in state.replicas if each != broker_id]
    if not others:
        return (
            f"broker {broker_id} has its only replica, so there is no copy to re-create it from: add a replica on "
            "another broker, and run this again. If that copy never gets in sync, this one is damaged. Then only a "
            "restart of the broker clears the mark, until the cleaner finds the damage again: delete the records up to "
            "the damage, or fill a new topic from the source",
        )
    reasons = []
    if state.is_offline:
        reasons.append("it has no leader: recover it first (playbook kafkaops.recovery.recover_offline_partitions)")
    elif around.is_reassigning:
        # An offline one is recovered first: then its reassignment goes on.
        reasons.append(REASSIGNING)
    if broker_id not in around.living:
        reasons.append(f"broker {broker_id} is not online: start it, which also clears its marks")
    if state.leader_id in others and state.leader_id not in around.living:
        reasons.append(
            f"its leader, broker {state.leader_id}, does not answer: if it is dead, the controller fences it after "
            "broker.session.timeout.ms (9 s by default), so run again"
        )
    # A broker that died a moment ago is still in the ISR.
    in_sync = [each for each in state.isr if each != broker_id and each in around.living]
    if not in_sync:
        reasons.append(
            f"no other replica than that of broker {broker_id} is in sync and online: wait until another one is"
        )
    if around.min_insync_replicas is None:
        if not overrides.allow_below_min_isr:
            reasons.append(
                "its min.insync.replicas could not be read: grant DESCRIBE_CONFIGS on the topic, or set "
                "allow_below_min_isr"
            )
    elif not overrides.allow_below_min_isr:
        least = effective_min_isr(around.min_insync_replicas, len(state.replicas))
        if len(in_sync) < least:
            reasons.append(
                f"without broker {broker_id} its in-sync replicas are {in_sync}, fewer than its min.insync.replicas of "
                f"{least}, so the broker would refuse producers with acks=all: wait for the others, add a replica, or "
                "set allow_below_min_isr"
            )
    if len(in_sync) < _COPIES_THAT_STAY and not overrides.allow_single_copy:
        reasons.append(
            f"without broker {broker_id} only {len(in_sync)} in-sync copies stay, and {_COPIES_THAT_STAY} are needed: "
            "wait for the others, add a replica, or set allow_single_copy"
        )
    return tuple(reasons)
