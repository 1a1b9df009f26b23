# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What a broker knows of the transactions in its logs (DescribeProducers, API key 61, KIP-664)."""

from __future__ import annotations

from collections.abc import Collection
from contextlib import suppress
from dataclasses import dataclass

from ansible_collections.kafkaops.recovery.plugins.module_utils.kafka.addresses import Address
from ansible_collections.kafkaops.recovery.plugins.module_utils.kafka.batches import by_topic
from ansible_collections.kafkaops.recovery.plugins.module_utils.kafka.wire import Wire
from ansible_collections.kafkaops.recovery.plugins.module_utils.model.partition import TopicPartition

with suppress(ImportError):  # a missing library is told by name before anything is done (glue/failures.py)
    from kafka.protocol.admin import DescribeProducersRequest

_NONE_OPEN = -1


@dataclass(frozen=True, slots=True)
class OpenTransaction:
    """A transaction of which a log holds records, and neither a COMMIT nor an ABORT marker."""

    producer_id: int
    start_offset: int
    last_timestamp_ms: int
    """When its newest record was written, by the producer's clock; -1 when the broker does not tell."""


def open_transactions(
    wire: Wire, address: Address, partitions: Collection[TopicPartition]
) -> dict[TopicPartition, tuple[OpenTransaction, ...]]:
    """Of each replica that this broker holds, leader or not. A partition that it does not tell of is not in it.

    Raises BrokerCallError.
    """
    message = DescribeProducersRequest
    request = message(
        topics=[
            message.TopicRequest(name=topic, partition_indexes=numbers)
            for topic, numbers in by_topic(partitions).items()
        ]
    )
    return {
        TopicPartition(topic.name, partition.partition_index): tuple(
            OpenTransaction(each.producer_id, each.current_txn_start_offset, each.last_timestamp)
            for each in partition.active_producers
            if each.current_txn_start_offset != _NONE_OPEN
        )
        for topic in wire.call(address, request).topics
        for partition in topic.partitions
        if not partition.error_code
    }
