# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Find leader epochs that were given to two leaders, right before an election.

A plan has them, unless it was made from evidence, or of very many replicas. Nobody has compared the batches of a bare
designation's replicas, nor those of a replica that was silent in the plan. By epochs alone, such logs seem to hold the
same records, which would then not be saved.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from .._kafka.header_reading import AskBatches
from .._model.partition import ReplicaLog, TopicPartition
from .decide_again import rank_answers
from .plan import PlannedElection
from .preconditions import PartitionObservation
from .reused_epochs import mark_reused_epochs


def observe_reused_epochs(
    elections: Iterable[PlannedElection], observations: Mapping[TopicPartition, PartitionObservation], ask: AskBatches
) -> dict[TopicPartition, PartitionObservation]:
    """Return the observations with these epochs. A replica that does not answer now counts as silent."""
    ranked = {}
    for election in elections:
        candidates = rank_answers(election, observations[election.topic_partition])
        if len(candidates) > 1:
            ranked[election.topic_partition] = candidates
    if not ranked:
        return {**observations}
    marked, failed = mark_reused_epochs(ranked, ask)
    found = {**observations}
    for partition, candidates in marked.items():
        reused = {each.broker_id: each.reused_epochs for each in candidates if each.reused_epochs}
        found[partition] = replace(found[partition], reused_epochs=reused)
    for partition in ranked if failed else ():
        logs = {
            broker_id: ReplicaLog.failed(partition, broker_id, failed[broker_id].cause, str(failed[broker_id]))
            if broker_id in failed
            else log
            for broker_id, log in found[partition].logs.items()
        }
        found[partition] = replace(found[partition], logs=logs)
    return found
