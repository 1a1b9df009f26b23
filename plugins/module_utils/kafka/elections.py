# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Leader elections (ElectLeaders, API key 43)."""

from __future__ import annotations

from collections.abc import Collection
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from ansible_collections.kafkaops.recovery.plugins.module_utils.kafka import error_codes
from ansible_collections.kafkaops.recovery.plugins.module_utils.kafka.addresses import Address
from ansible_collections.kafkaops.recovery.plugins.module_utils.kafka.batches import by_topic
from ansible_collections.kafkaops.recovery.plugins.module_utils.kafka.wire import Wire
from ansible_collections.kafkaops.recovery.plugins.module_utils.model.partition import TopicPartition

with suppress(ImportError):  # a missing library is told by name before anything is done (glue/failures.py)
    from kafka.protocol.admin import ElectLeadersRequest

PREFERRED = 0
UNCLEAN = 1


@dataclass(frozen=True, slots=True)
class ElectionAnswer:
    """What the controller says of one partition's election. Only the metadata tells who leads."""

    code: int
    message: str | None

    @property
    def is_elected(self) -> bool:
        return self.code == error_codes.NONE

    @property
    def was_not_needed(self) -> bool:
        """A leader existed (unclean) or the preferred one led (preferred). Not a success by itself."""
        return self.code == error_codes.ELECTION_NOT_NEEDED

    def __str__(self) -> str:
        return error_codes.described(self.code, self.message)


def elect(
    wire: Wire, address: Address, election_type: int, partitions: Collection[TopicPartition]
) -> dict[TopicPartition, ElectionAnswer]:
    """Asks for elections of exactly these partitions, at most PARTITIONS_PER_REQUEST of them.

    Raises ValueError for no partitions, since Kafka takes a null list for all of them. BrokerCallError: the outcome is
    unknown. RequestRefusedError: nothing was elected.
    """
    if not partitions:
        raise ValueError("an election over no partitions is never asked for")
    message = ElectLeadersRequest
    request = message(
        election_type=election_type,
        topic_partitions=[
            message.TopicPartitions(topic=topic, partitions=numbers) for topic, numbers in by_topic(partitions).items()
        ],
        timeout_ms=wire.settings.request_timeout_ms,
    )
    response = wire.call(address, request)
    answers = election_answers(response)
    if response.error_code and not answers:
        raise error_codes.refusal("ElectLeaders", response.error_code)
    return answers


def election_answers(response: Any) -> dict[TopicPartition, ElectionAnswer]:
    """What an ElectLeaders response says of each partition."""
    return {
        TopicPartition(topic.topic, partition.partition_id): ElectionAnswer(
            partition.error_code, partition.error_message
        )
        for topic in response.replica_election_results
        for partition in topic.partition_result
    }
