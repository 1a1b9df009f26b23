# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Flags planned elections on partitions that hold more than records: the cluster's own state, or open transactions."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from ansible_collections.kafkaops.recovery.plugins.module_utils.kafka.cluster import describe_cluster
from ansible_collections.kafkaops.recovery.plugins.module_utils.kafka.transactions import (
    OpenTransaction,
    open_transactions,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils.kafka.wire import Wire
from ansible_collections.kafkaops.recovery.plugins.module_utils.model.errors import KafkaOpsError
from ansible_collections.kafkaops.recovery.plugins.module_utils.model.partition import TopicPartition
from ansible_collections.kafkaops.recovery.plugins.module_utils.recovery.plan import Plan, PlannedElection

_INTERNAL = "internal topic: what is lost is the cluster's own state, such as committed offsets or transactions"


def flagged(wire: Wire, plan: Plan, internal: Collection[TopicPartition]) -> Plan:
    """The plan with these flags among its reasons. A follower tells its open transactions as well as a leader does."""
    notes: dict[TopicPartition, list[str]] = {each: [_INTERNAL] for each in internal}
    designated: dict[int, list[TopicPartition]] = {}
    for election in plan.elections:
        designated.setdefault(election.designated_leader, []).append(election.topic_partition)
    addresses = {each.broker_id: each.address for each in describe_cluster(wire).registrations}
    for leader, partitions in designated.items():
        try:
            found = open_transactions(wire, addresses[leader], partitions)
        except (KafkaOpsError, KeyError):
            found = {}
        for partition in partitions:
            notes.setdefault(partition, []).extend(_of_transactions(partition, leader, found))
    return replace(plan, elections=tuple(_noted(each, notes.get(each.topic_partition, [])) for each in plan.elections))


def _of_transactions(
    partition: TopicPartition, leader: int, found: dict[TopicPartition, tuple[OpenTransaction, ...]]
) -> list[str]:
    if partition not in found:
        return [f"broker {leader} does not tell whether COMMIT or ABORT markers are missing: unknown"]
    return [
        f"producer {each.producer_id} has a transaction open from offset {each.start_offset} on: its COMMIT or ABORT "
        "marker may be missing"
        for each in found[partition]
    ]


def _noted(election: PlannedElection, notes: list[str]) -> PlannedElection:
    return replace(election, reason="; ".join([election.reason, *notes]))
