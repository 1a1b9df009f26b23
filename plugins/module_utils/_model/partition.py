# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Partitions and brokers, as the metadata describes them. Standard library only."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated

from .fields import BrokerId, Meta, PartitionIndex, Port, TopicName

NO_LEADER = -1
"""Kafka's leader id for "this partition has no leader"."""


@dataclass(frozen=True, slots=True, order=True)
class TopicPartition:
    """One partition of a topic. Orders by topic name, then by partition number."""

    topic: TopicName
    partition: PartitionIndex

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"


@dataclass(frozen=True, slots=True)
class PartitionState:
    """The state of a partition, from DescribeTopicPartitions (API key 75).

    ``elr`` and ``last_known_elr`` (KIP-966) are None where the broker does not say, which is not the same as empty.
    The ISR of an offline partition may still name the dead (Cruise Control 1828): liveness is ``leader_id``.
    """

    topic: str
    partition: int
    topic_id: str
    """Kafka's own text form: 22 characters of URL-safe base64."""
    leader_id: int
    leader_epoch: int
    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    elr: tuple[int, ...] | None
    last_known_elr: tuple[int, ...] | None
    offline_replicas: tuple[int, ...]
    is_internal: bool = False

    @property
    def topic_partition(self) -> TopicPartition:
        return TopicPartition(self.topic, self.partition)

    @property
    def is_offline(self) -> bool:
        """Return whether the partition has no leader."""
        return self.leader_id == NO_LEADER


class BrokerState(StrEnum):
    """What a broker was found to be, from here and from the controller."""

    ONLINE = "online"
    """Unfenced, and it answered us."""
    FENCED = "fenced"
    """The controller fences it, or lists no address for it: it can lead nothing now."""
    UNREACHABLE = "unreachable"
    """No connection from here. That is not "down": the controller may well hear it."""
    HUNG = "hung"
    """It accepts connections and answers nothing within the limit."""
    NOT_AUTHORISED = "not_authorised"
    """It refuses our credentials, or our principal lacks the ACL."""
    GIVEN_UP = "given_up"
    """It is away, and the operator named it as gone for good."""


@dataclass(frozen=True, slots=True)
class Broker:
    """One broker, with what the controller says of it and what we saw ourselves."""

    broker_id: BrokerId
    host: str | None
    """Advertised host, None when the controller lists none (a fenced broker before Kafka 4.0)."""
    port: Port | None
    rack: str | None
    is_fenced: bool
    state: Annotated[BrokerState, Meta("a broker's state")]
    cause: str = ""
    """Why it is in this state, for a person; empty when online."""
