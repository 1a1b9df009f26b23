# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""How partitions end, or would end, without anything being done. Standard library only."""

from __future__ import annotations

from ansible_collections.kafkaops.recovery.plugins.module_utils.model.partition import NO_LEADER
from ansible_collections.kafkaops.recovery.plugins.module_utils.recovery.outcome import Outcome
from ansible_collections.kafkaops.recovery.plugins.module_utils.recovery.plan import (
    LeftAlone,
    Plan,
    PlannedElection,
    Status,
)


def outcomes_of_plan(plan: Plan) -> tuple[Outcome, ...]:
    """One outcome for each partition of a plan that is not carried out, in order of topic, then partition."""
    outcomes = [*map(would_recover, plan.elections), *map(left_alone, plan.left_alone)]
    return tuple(sorted(outcomes, key=lambda outcome: outcome.topic_partition))


def would_recover(election: PlannedElection) -> Outcome:
    return Outcome(
        election.topic,
        election.partition,
        Status.WOULD_RECOVER,
        election.reason,
        topic_id=election.topic_id,
        designated_leader=election.designated_leader,
        leader_before=NO_LEADER,
        leader_epoch_before=election.leader_epoch,
        replicas=election.replicas,
        candidates=election.candidates,
        silent=election.silent,
        losses=election.losses,
    )


def left_alone(partition: LeftAlone) -> Outcome:
    return Outcome(
        partition.topic,
        partition.partition,
        partition.status,
        partition.reason,
        topic_id=partition.topic_id,
        leader_before=partition.leader_id,
        leader_after=partition.leader_id,
        leader_epoch_before=partition.leader_epoch,
        leader_epoch_after=partition.leader_epoch,
        replicas=partition.replicas,
        candidates=partition.candidates,
        silent=partition.silent,
        losses=partition.losses,
    )
