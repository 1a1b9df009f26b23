# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What the gather asks of which broker, small enough to be sent to every task. Standard library only."""

from __future__ import annotations

from array import array
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from ansible_collections.kafkaops.recovery.plugins.module_utils.model.broker import Broker, BrokerState
from ansible_collections.kafkaops.recovery.plugins.module_utils.model.partition import PartitionState, TopicPartition

_NOT_ASKED = frozenset({BrokerState.UNREACHABLE, BrokerState.NOT_AUTHORISED})
"""A fenced broker may answer, and a hung one wake up; nothing is to be had where we cannot connect, or are refused."""


@dataclass(frozen=True, slots=True)
class TopicSlice:
    """The partitions of one topic that have a replica on one broker: two arrays, because a cluster has a million."""

    partitions: array[int] = field(default_factory=lambda: array("i"))
    places: array[int] = field(default_factory=lambda: array("i"))
    """The broker's place in each partition's replica list, from 0."""


@dataclass(frozen=True, slots=True)
class BrokerWork:
    """One broker, and every partition it is to be asked about."""

    broker: Broker
    topics: dict[str, TopicSlice]

    @property
    def can_be_asked(self) -> bool:
        return self.broker.host is not None and self.broker.state not in _NOT_ASKED

    def replicas(self) -> Iterator[tuple[TopicPartition, int]]:
        """Each partition with the broker's place in its replica list."""
        for topic, topic_slice in self.topics.items():
            for partition, place in zip(topic_slice.partitions, topic_slice.places, strict=True):
                yield TopicPartition(topic, partition), place


def work_by_broker(brokers: Sequence[Broker], partitions: Sequence[PartitionState]) -> list[BrokerWork]:
    """Every (partition, replica) of the replica lists, by broker, in order of broker id.

    A partition given twice counts once. A replica's broker that ``brokers`` lacks is taken for a fenced one.
    """
    known = {broker.broker_id: broker for broker in brokers}
    topics: dict[int, dict[str, TopicSlice]] = defaultdict(lambda: defaultdict(TopicSlice))
    for state in {partition.topic_partition: partition for partition in partitions}.values():
        for place, broker_id in enumerate(state.replicas):
            topic_slice = topics[broker_id][state.topic]
            topic_slice.partitions.append(state.partition)
            topic_slice.places.append(place)
    return [BrokerWork(known.get(each) or _unlisted(each), dict(topics[each])) for each in sorted(topics)]


def _unlisted(broker_id: int) -> Broker:
    cause = "the controller does not list this broker"
    return Broker(broker_id, None, None, None, is_fenced=True, state=BrokerState.FENCED, cause=cause)


def deal(work: Sequence[BrokerWork], slots: int) -> list[tuple[BrokerWork, ...]]:
    """Brokers dealt out to at most ``slots`` tasks: one broker a task while there are slots enough."""
    tasks = min(len(work), max(slots, 1))
    return [tuple(work[task::tasks]) for task in range(tasks)]
