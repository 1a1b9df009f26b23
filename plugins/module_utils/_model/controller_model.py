# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Predict which leader the controller elects. Pure; standard library only.

The rules are those of PartitionChangeBuilder in Kafka's metadata module. They are the same in 3.9 to 4.4, apart from
KAFKA-19522. After any change of a partition, also a reorder, the controller looks for a leader in this order.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from enum import StrEnum

from .partition import NO_LEADER, PartitionState


class Rule(StrEnum):
    """The rule by which the controller elects a leader."""

    HAS_LEADER = "has_leader"
    """The current leader stays."""
    IN_SYNC = "in_sync"
    """The first acceptable replica in the replica order that is in the ISR or the ELR."""
    LAST_KNOWN_LEADER = "last_known_leader"
    """ISR and ELR are empty, and the last known ELR is one acceptable broker (KIP-966)."""
    UNCLEAN = "unclean"
    """The first acceptable replica in the replica order."""
    NOBODY = "nobody"


@dataclass(frozen=True, slots=True)
class PredictedLeader:
    """The leader that the controller elects (-1 for none), and the rule by which it does."""

    leader_id: int
    rule: Rule


def predict(
    state: PartitionState, order: Sequence[int], acceptable: Collection[int], *, unclean: bool
) -> PredictedLeader:
    """Predict the leader after the partition's replicas are in ``order``.

    ``acceptable`` are the brokers that may lead: unfenced, not shutting down, with the replica's log directory online.
    ``unclean`` is True for an UNCLEAN election, and False for any other change of the partition.
    """
    eligible = {*state.isr, *(state.elr or ())}
    if state.leader_id in eligible and state.leader_id in acceptable:
        return PredictedLeader(state.leader_id, Rule.HAS_LEADER)
    for broker_id in order:
        if broker_id in eligible and broker_id in acceptable:
            return PredictedLeader(broker_id, Rule.IN_SYNC)
    last_known = state.last_known_elr or ()
    if not eligible and len(last_known) == 1 and last_known[0] in acceptable:
        return PredictedLeader(last_known[0], Rule.LAST_KNOWN_LEADER)
    if unclean:
        for broker_id in order:
            if broker_id in acceptable:
                return PredictedLeader(broker_id, Rule.UNCLEAN)
    return PredictedLeader(NO_LEADER, Rule.NOBODY)


def acceptable_replicas(state: PartitionState) -> frozenset[int]:
    """Return the replicas that the controller may elect: the broker is unfenced and the log directory online.

    The metadata lists every other replica as offline, fenced brokers included.
    """
    return frozenset(state.replicas) - frozenset(state.offline_replicas)
