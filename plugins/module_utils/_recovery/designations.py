# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Read which leaders to elect: from a plan file, a plan, or bare designations, for which a plan is made.

A bare designation is a partition and its designated leader. The doc fragment ``election_plan`` describes the options.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .._kafka.port import Kafka
from .._model.partition import TopicPartition
from .._model.reason import say
from .._model.run import garbage_collection_paused
from .._module.connection import Arguments
from .options import PAIRS, Designations, check_designations
from .plan import Plan, plan_election
from .plan_file import check_plan, read_plan, require_digest, require_limits, unpack
from .survey import explain_missing, leave_internal_alone

DESIGNATIONS = Arguments(
    argument_spec={
        "plan_file": {"type": "path"},
        "plan": {"type": "dict"},
        "plan_digest": {"type": "str"},
        "max_lost_records": {"type": "int"},
        "max_estimated_loss": {"type": "int"},
        "partitions": PAIRS,
    },
    mutually_exclusive=[
        ("plan_file", "plan", "partitions"),
        ("plan_digest", "partitions"),
        ("max_lost_records", "partitions"),
        ("max_estimated_loss", "partitions"),
    ],
    required_one_of=[("plan_file", "plan", "partitions")],
)


def read_given_designations(params: Mapping[str, Any]) -> Plan | Designations:
    """Return the plan, or the bare designations. Opens no connection.

    Raises DocumentError with every problem.
    """
    if params["partitions"] is not None:
        return check_designations(params["partitions"], "partitions")
    path = params["plan_file"]
    plan = read_plan(path) if path is not None else check_plan(unpack(params["plan"]))
    place = "plan" if path is None else path
    plan = require_digest(plan, params["plan_digest"], place)
    return require_limits(plan, params["max_lost_records"], params["max_estimated_loss"], place)


@garbage_collection_paused()
def plan_from_designations(
    kafka: Kafka,
    designations: Mapping[TopicPartition, int],
    *,
    include_internal: bool = False,
    allow_empty_leader: bool = False,
) -> Plan:
    """Return a plan for bare designations, with the present state of the partitions and without candidates.

    Offline partitions of Kafka's internal topics are left alone unless ``include_internal``.

    Raises NoBrokerAnswersError, RequestRefusedError or BrokerCallError.
    """
    cluster = kafka.describe_cluster()
    description = kafka.describe_partitions({each.topic for each in designations})
    states = {each.topic_partition: each for each in description.partitions}
    elections = []
    alone = [*explain_missing(kafka, description, sorted(designations.keys() - states.keys()))]
    for partition, leader in sorted(designations.items()):
        state = states.get(partition)
        if state is None:
            continue
        if state.is_offline and state.is_internal and not include_internal:
            alone.append(leave_internal_alone(state))
        else:
            reason = say("broker {broker} was designated without a plan", broker=leader)
            elections.append(plan_election(state, leader, reason, allow_empty_leader=allow_empty_leader))
    alone.sort(key=lambda each: each.topic_partition)
    return Plan(cluster.cluster_id, "", tuple(elections), tuple(alone))
