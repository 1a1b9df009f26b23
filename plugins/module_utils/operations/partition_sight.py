# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Partitions as the metadata has them now: what does not exist is told from what is hidden. Only reads."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from ansible_collections.kafkaops.recovery.plugins.module_utils.kafka import error_codes
from ansible_collections.kafkaops.recovery.plugins.module_utils.kafka.partitions import TopicError, describe_partitions
from ansible_collections.kafkaops.recovery.plugins.module_utils.kafka.wire import Wire
from ansible_collections.kafkaops.recovery.plugins.module_utils.model.partition import PartitionState, TopicPartition


@dataclass(frozen=True, slots=True)
class Sight:
    """What the metadata tells of some partitions."""

    states: dict[TopicPartition, PartitionState]
    hidden: Mapping[str, TopicError]
    """Topics of whose partitions nothing is known. What is neither here nor in ``states`` does not exist."""

    def why_hidden(self, topic: str) -> str:
        """Why nothing is known of the topic's partitions; empty where that is not so."""
        return f"topic {topic} cannot be looked at: {self.hidden[topic]}" if topic in self.hidden else ""


def see(wire: Wire, partitions: Collection[TopicPartition]) -> Sight:
    """The given partitions.

    Raises NoBrokerAnswersError or BrokerCallError.
    """
    wanted = set(partitions)
    span = (min(wanted), max(wanted)) if wanted else None
    description = describe_partitions(wire, {each.topic for each in wanted}, span)
    return Sight(
        {each.topic_partition: each for each in description.partitions if each.topic_partition in wanted},
        # Only a topic that is known not to exist is gone: any other refusal tells nothing of its partitions.
        {each.topic: each for each in description.refused if not each.is_unknown},
    )


def see_one(wire: Wire, partition: TopicPartition) -> PartitionState | None:
    """One partition; None when it is known not to exist.

    Raises NoBrokerAnswersError, BrokerCallError, or RequestRefusedError where it is hidden.
    """
    sight = see(wire, [partition])
    if partition.topic in sight.hidden:
        raise error_codes.refusal(
            "DescribeTopicPartitions", sight.hidden[partition.topic].code, f"topic {partition.topic}"
        )
    return sight.states.get(partition)
