# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Replica order, changed and looked at (AlterPartitionReassignments, API key 45; ListPartitionReassignments, 46).

Only ever the order: whoever calls this keeps each replica set as it is, and the controller is told to refuse anything
that changes the replication factor where it understands that (version 1).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress

from ansible_collections.kafkaops.recovery.plugins.module_utils.kafka import error_codes
from ansible_collections.kafkaops.recovery.plugins.module_utils.kafka.addresses import Address
from ansible_collections.kafkaops.recovery.plugins.module_utils.kafka.batches import by_topic
from ansible_collections.kafkaops.recovery.plugins.module_utils.kafka.wire import Wire
from ansible_collections.kafkaops.recovery.plugins.module_utils.model.partition import TopicPartition

with suppress(ImportError):  # a missing library is told by name before anything is done (glue/failures.py)
    from kafka.protocol.admin import AlterPartitionReassignmentsRequest, ListPartitionReassignmentsRequest


def reorder(
    wire: Wire, address: Address, orders: Mapping[TopicPartition, Sequence[int]]
) -> dict[TopicPartition, str | None]:
    """Asks for new replica orders, at most PARTITIONS_PER_REQUEST of them, and returns each one's error text or None.

    The order given must be of the same set: the caller has seen to that. A partition that the answer leaves out is not
    in the result either.

    Raises BrokerCallError: then the outcome is unknown. RequestRefusedError: nothing was changed.
    """
    message = AlterPartitionReassignmentsRequest
    topic_message = message.ReassignableTopic
    request = message(
        timeout_ms=wire.settings.request_timeout_ms,
        allow_replication_factor_change=False,
        topics=[
            topic_message(
                name=topic,
                partitions=[
                    topic_message.ReassignablePartition(
                        partition_index=number, replicas=list(orders[TopicPartition(topic, number)])
                    )
                    for number in numbers
                ],
            )
            for topic, numbers in by_topic(orders).items()
        ],
    )
    response = wire.call(address, request)
    if response.error_code:
        raise error_codes.refusal("AlterPartitionReassignments", response.error_code, response.error_message)
    return {
        TopicPartition(topic.name, partition.partition_index): (
            error_codes.described(partition.error_code, partition.error_message) if partition.error_code else None
        )
        for topic in response.responses
        for partition in topic.partitions
    }


def running_reassignments(wire: Wire, partitions: Collection[TopicPartition]) -> frozenset[TopicPartition]:
    """Those of the partitions that a reassignment is adding or removing replicas of right now.

    Raises NoBrokerAnswersError or RequestRefusedError.
    """
    message = ListPartitionReassignmentsRequest

    def request() -> ListPartitionReassignmentsRequest:
        return message(
            timeout_ms=wire.settings.request_timeout_ms,
            topics=[
                message.ListPartitionReassignmentsTopics(name=topic, partition_indexes=numbers)
                for topic, numbers in by_topic(partitions).items()
            ],
        )

    if not partitions:
        return frozenset()
    response, _asked = wire.call_any(request, "ListPartitionReassignments")
    if response.error_code:
        raise error_codes.refusal("ListPartitionReassignments", response.error_code, response.error_message)
    return frozenset(
        TopicPartition(topic.name, partition.partition_index)
        for topic in response.topics
        for partition in topic.partitions
        if partition.adding_replicas or partition.removing_replicas
    )
