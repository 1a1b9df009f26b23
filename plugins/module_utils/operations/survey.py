# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Finds what is offline, and what state the brokers are in. The first step of every run; the last on a healthy one."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass

from ansible_collections.kafkaops.recovery.plugins.module_utils.kafka.cluster import describe_cluster, look_at_brokers
from ansible_collections.kafkaops.recovery.plugins.module_utils.kafka.partitions import Description, describe_partitions
from ansible_collections.kafkaops.recovery.plugins.module_utils.kafka.wire import Wire
from ansible_collections.kafkaops.recovery.plugins.module_utils.model.broker import Broker
from ansible_collections.kafkaops.recovery.plugins.module_utils.model.collector import collector_paused
from ansible_collections.kafkaops.recovery.plugins.module_utils.model.partition import PartitionState, TopicPartition
from ansible_collections.kafkaops.recovery.plugins.module_utils.recovery.plan import LeftAlone, Status


@dataclass(frozen=True, slots=True)
class Survey:
    """The cluster as it was found. Partitions are in order of topic, then number."""

    cluster_id: str
    brokers: tuple[Broker, ...]
    offline: tuple[PartitionState, ...]
    """Without a leader, and to be looked at."""
    left_alone: tuple[LeftAlone, ...]
    """Asked for, or offline, but not to be looked at: has a leader, does not exist, hidden from us, or internal."""
    without_leader: tuple[PartitionState, ...]
    """All without a leader that were asked for, internal topics always included: a dead broker brings these back."""


def survey(wire: Wire, wanted: Collection[TopicPartition] | None = None, *, include_internal: bool = False) -> Survey:
    """Looks at the wanted partitions, or at all that our principal may see.

    Kafka's internal topics are left alone unless ``include_internal``: their data is the cluster's own state.

    Raises NoBrokerAnswersError, RequestRefusedError or BrokerCallError.
    """
    cluster = describe_cluster(wire)
    topics = {each.topic for each in wanted} if wanted is not None else None
    with collector_paused():
        description = describe_partitions(wire, topics)
    mentioned = frozenset(broker_id for each in description.partitions for broker_id in each.replicas)
    brokers = look_at_brokers(wire, cluster, mentioned)
    chosen, left_alone = _choose(description, wanted)
    offline = [each for each in chosen if each.is_offline and (include_internal or not each.is_internal)]
    left_alone += [internal(each) for each in chosen if each.is_offline and each.is_internal and not include_internal]
    return Survey(
        cluster.cluster_id,
        brokers,
        tuple(offline),
        tuple(sorted(left_alone, key=lambda each: each.topic_partition)),
        tuple(each for each in chosen if each.is_offline),
    )


def _choose(
    description: Description, wanted: Collection[TopicPartition] | None
) -> tuple[list[PartitionState], list[LeftAlone]]:
    if wanted is None:
        return list(description.partitions), []
    found = {each.topic_partition: each for each in description.partitions}
    chosen = [found[each] for each in sorted(set(wanted)) if each in found]
    online = [_already_online(each) for each in chosen if not each.is_offline]
    return chosen, [*online, *_not_found(description, sorted(set(wanted) - found.keys()))]


def _not_found(description: Description, missing: list[TopicPartition]) -> Iterator[LeftAlone]:
    refusals = {each.topic: each for each in description.refused}
    for each in missing:
        refusal = refusals.get(each.topic)
        if refusal is None:
            reason = f"topic {each.topic} has no partition {each.partition}"
        elif refusal.is_unauthorised:
            reason = f"not authorised to describe topic {each.topic}: {refusal}; grant DESCRIBE on it"
        else:
            reason = f"no such topic, or it is hidden from our principal: {refusal}"
        yield LeftAlone(each.topic, each.partition, Status.UNKNOWN, reason)


def _already_online(state: PartitionState) -> LeftAlone:
    return LeftAlone(
        state.topic,
        state.partition,
        Status.ALREADY_ONLINE,
        f"broker {state.leader_id} leads it",
        topic_id=state.topic_id,
        leader_id=state.leader_id,
        leader_epoch=state.leader_epoch,
        replicas=state.replicas,
    )


def internal(state: PartitionState) -> LeftAlone:
    """A partition of an internal topic, which nobody has opted in to recover."""
    return LeftAlone(
        state.topic,
        state.partition,
        Status.REFUSED,
        "internal topic: its records are the cluster's own state; opt in with include_internal_topics",
        topic_id=state.topic_id,
        leader_id=state.leader_id,
        leader_epoch=state.leader_epoch,
        replicas=state.replicas,
    )
