# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What live replicas hold that their election deletes, and who saves it before. Standard library only."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from .._model.log_contents import Stretches
from .._model.partition import TopicPartition
from .plan import PlannedElection


@dataclass(frozen=True, slots=True)
class LosersTail:
    """What one replica that answered holds of a partition, and the designated leader does not."""

    partition: TopicPartition
    topic_id: str
    broker_id: int
    lost: Stretches


SaveTails: TypeAlias = Callable[[Sequence[LosersTail]], Mapping[TopicPartition, str]]
"""Saves tails, and returns which partitions must not be elected for lack of that, and why."""


def losers_tails(election: PlannedElection) -> tuple[LosersTail, ...]:
    """Return what electing the designated leader deletes elsewhere, by the plan's forecast."""
    return tuple(
        LosersTail(election.topic_partition, election.topic_id, against.broker_id, against.lost)
        for loss in election.losses
        if loss.broker_id == election.designated_leader
        for against in loss.against
        if against.answered and against.lost
    )
