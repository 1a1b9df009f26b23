# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Replica sets (AlterPartitionReassignments, API key 45, KIP-455). ``reassignments.py`` changes the order alone.

Only the repair of uncleanable replicas comes here, which drops one replica and puts the same one back.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

from ansible_collections.kafkaops.recovery.plugins.module_utils.kafka import error_codes
from ansible_collections.kafkaops.recovery.plugins.module_utils.kafka.addresses import Address
from ansible_collections.kafkaops.recovery.plugins.module_utils.kafka.wire import Wire
from ansible_collections.kafkaops.recovery.plugins.module_utils.model.partition import TopicPartition

with suppress(ImportError):  # a missing library is told by name before anything is done (glue/failures.py)
    from kafka.protocol.admin import AlterPartitionReassignmentsRequest


def assign(wire: Wire, address: Address, partition: TopicPartition, replicas: Sequence[int]) -> str | None:
    """Asks for a replica set in an order, and returns the error's text or None. The number of replicas may change.

    Raises BrokerCallError: then the outcome is unknown. RequestRefusedError: nothing was changed.
    """
    return _alter(wire, address, partition, [*replicas])


def cancel(wire: Wire, address: Address, partition: TopicPartition) -> str | None:
    """Cancels the running reassignment of a partition, and returns the error's text or None. None running is no error.

    Raises BrokerCallError: then the outcome is unknown. RequestRefusedError: nothing was changed.
    """
    return _alter(wire, address, partition, None)


def _alter(wire: Wire, address: Address, partition: TopicPartition, replicas: list[int] | None) -> str | None:
    message = AlterPartitionReassignmentsRequest
    topic_message = message.ReassignableTopic
    request = message(
        timeout_ms=wire.settings.request_timeout_ms,
        allow_replication_factor_change=True,
        topics=[
            topic_message(
                name=partition.topic,
                partitions=[
                    topic_message.ReassignablePartition(partition_index=partition.partition, replicas=replicas)
                ],
            )
        ],
    )
    response = wire.call(address, request)
    if response.error_code:
        raise error_codes.refusal("AlterPartitionReassignments", response.error_code, response.error_message)
    for topic in response.responses:
        for answer in topic.partitions:
            if answer.error_code and not (
                replicas is None and answer.error_code == error_codes.NO_REASSIGNMENT_IN_PROGRESS
            ):
                return error_codes.described(answer.error_code, answer.error_message)
    return None
