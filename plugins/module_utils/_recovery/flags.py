# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Flags partitions of a plan that hold more than records: the cluster's own state, or open transactions."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from .._kafka.groups import OpenTransaction
from .._kafka.port import Kafka
from .._model.partition import TopicPartition
from .._model.run import KafkaOpsError
from .plan import INTERNAL_NOTE, Plan


def flagged(kafka: Kafka, plan: Plan, internal: Collection[TopicPartition]) -> Plan:
    """Return the plan with these flags among its reasons. A follower reports open transactions as a leader does.

    Asked is the designated leader, and of a partition that is left alone the best ranked replica, if any answered.
    """
    notes: dict[TopicPartition, list[str]] = {each: [INTERNAL_NOTE] for each in internal}
    designated: dict[int, list[TopicPartition]] = {}
    for election in plan.elections:
        designated.setdefault(election.designated_leader, []).append(election.topic_partition)
    for partition in plan.left_alone:
        for best in partition.candidates[:1]:
            designated.setdefault(best.broker_id, []).append(partition.topic_partition)
    addresses = {each.broker_id: each.address for each in kafka.describe_cluster().registrations}
    for leader, partitions in designated.items():
        try:
            found = kafka.open_transactions(addresses[leader], partitions)
        except (KafkaOpsError, KeyError):
            found = {}
        for each in partitions:
            notes.setdefault(each, []).extend(_of_transactions(each, leader, found))
    return replace(
        plan,
        elections=tuple(
            replace(each, reason=_noted(each.reason, notes.get(each.topic_partition))) for each in plan.elections
        ),
        left_alone=tuple(
            replace(each, reason=_noted(each.reason, notes.get(each.topic_partition))) for each in plan.left_alone
        ),
    )


def _of_transactions(
    partition: TopicPartition, leader: int, found: dict[TopicPartition, tuple[OpenTransaction, ...]]
) -> list[str]:
    if partition not in found:
        return [f"broker {leader} does not report whether COMMIT or ABORT markers are missing: unknown"]
    return [
        f"producer {each.producer_id} has a transaction open from offset {each.start_offset} on: its COMMIT or ABORT "
        "marker may be missing"
        for each in found[partition]
    ]


def _noted(reason: str, notes: list[str] | None) -> str:
    return "; ".join([reason, *(notes or [])])
