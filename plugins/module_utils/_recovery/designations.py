# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A plan of bare designations: the operator names each leader, and no replica is compared."""

from __future__ import annotations

from collections.abc import Mapping

from .._kafka.port import Kafka
from .._model.partition import TopicPartition
from .plan import LeftAlone, Plan, PlannedElection, Status
from .survey import internal


def plan_of_designations(
    kafka: Kafka, designations: Mapping[TopicPartition, int], *, include_internal: bool = False
) -> Plan:
    """Return a plan of bare (partition, leader) pairs, with the cluster as it is now and without candidates.

    Offline partitions of Kafka's internal topics are left alone unless ``include_internal``.

    Raises NoBrokerAnswersError, RequestRefusedError or BrokerCallError.
    """
    cluster = kafka.describe_cluster()
    description = kafka.describe_partitions({each.topic for each in designations})
    states = {each.topic_partition: each for each in description.partitions}
    elections, alone = [], []
    for partition, leader in sorted(designations.items()):
        state = states.get(partition)
        if state is None:
            reason = "no such partition, or our principal needs DESCRIBE on the topic"
            alone.append(LeftAlone(partition.topic, partition.partition, Status.UNKNOWN, reason))
        elif state.is_offline and state.is_internal and not include_internal:
            alone.append(internal(state))
        else:
            elections.append(
                PlannedElection(
                    topic=state.topic,
                    partition=state.partition,
                    topic_id=state.topic_id,
                    leader_epoch=state.leader_epoch,
                    replicas=state.replicas,
                    isr=state.isr,
                    elr=state.elr,
                    last_known_elr=state.last_known_elr,
                    designated_leader=leader,
                    reason=f"broker {leader} was named by the caller; no replica was compared",
                    candidates=(),
                    silent=(),
                    offline_replicas=state.offline_replicas,
                )
            )
    return Plan(cluster.cluster_id, "", tuple(elections), tuple(alone))
