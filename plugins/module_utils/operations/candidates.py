# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Ranks what was gathered, and makes a plan of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress

from ansible_collections.kafkaops.recovery.plugins.module_utils.model.clock import utc_now
from ansible_collections.kafkaops.recovery.plugins.module_utils.pipeline.collect import ranked_partitions
from ansible_collections.kafkaops.recovery.plugins.module_utils.pipeline.evidence import Evidence
from ansible_collections.kafkaops.recovery.plugins.module_utils.pipeline.ranking import ranked
from ansible_collections.kafkaops.recovery.plugins.module_utils.recovery.decide import decide
from ansible_collections.kafkaops.recovery.plugins.module_utils.recovery.plan import LeftAlone, Plan, PlannedElection
from ansible_collections.kafkaops.recovery.plugins.module_utils.recovery.policy import Policy

with suppress(ImportError):  # a missing library is told by name before anything is done (glue/failures.py)
    from pyspark.sql import SparkSession


def plan_recovery(
    spark: SparkSession, evidence: Evidence, policies: Mapping[str, Policy], left_alone: Sequence[LeftAlone] = ()
) -> Plan:
    """A plan for every partition of the evidence, each by its topic's policy, and for those left alone before."""
    replicas = {
        each.topic_partition: each for each in ranked_partitions(ranked(spark.createDataFrame(evidence.replica_logs)))
    }
    decisions: list[PlannedElection | LeftAlone] = []
    for state in evidence.partitions:
        # A partition without replicas has no rows.
        judged = replicas.get(state.topic_partition)
        policy = policies[state.topic]
        decisions.append(
            decide(state, judged.candidates, judged.silent, policy) if judged else decide(state, (), (), policy)
        )
    elections = [each for each in decisions if isinstance(each, PlannedElection)]
    others = [*left_alone, *(each for each in decisions if isinstance(each, LeftAlone))]
    return Plan(
        cluster_id=evidence.cluster_id,
        created_at=utc_now(),
        elections=tuple(sorted(elections, key=lambda each: each.topic_partition)),
        left_alone=tuple(sorted(others, key=lambda each: each.topic_partition)),
    )
