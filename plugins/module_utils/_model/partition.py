# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Partitions and brokers, as the metadata describes them, and replicas, as they answered themselves.

Standard library only.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, NamedTuple

from .fields import BrokerId, LeaderEpoch, Meta, Offset, Port

NO_LEADER = -1
"""Kafka's leader id for "this partition has no leader"."""


class TopicPartition(NamedTuple):
    """One partition of a topic. Orders by topic name, then by partition number.

    A tuple, because a million of them are keys: a dataclass is hashed, compared and made by Python code.
    """

    topic: str
    partition: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"


class PartitionState(NamedTuple):
    """The state of a partition, from DescribeTopicPartitions (API key 75).

    A tuple for the same reason: it is made again by every look, and a frozen dataclass takes five times as long.

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


class Cause(StrEnum):
    """Why a replica's log info is missing or void (fault matrix, group C)."""

    FENCED = "fenced"
    UNREACHABLE = "unreachable"
    HUNG = "hung"
    NOT_AUTHORISED = "not_authorised"
    DISCONNECTED = "disconnected"
    """The connection broke during the gather."""
    RESTARTED = "restarted"
    """The broker restarted during the gather: what it said before is void."""
    WRONG_BROKER = "wrong_broker"
    """Another broker answers at this address."""
    BAD_ANSWER = "bad_answer"
    """A frame that does not decode, a partition missing from an answer or in it twice, offsets that contradict."""
    LOG_DIR_OFFLINE = "log_dir_offline"
    MISSING = "missing"
    """The broker is well, and does not hold this replica."""
    ERROR = "error"
    """A Kafka error code; its number and name are in the error field."""
    DEADLINE = "deadline"
    """The gather's deadline passed before this replica was asked."""
    GIVEN_UP = "given_up"
    """The operator named its broker as gone for good, and it does not answer."""


class EpochEnd(NamedTuple):
    """One leader epoch of a log, and the offset after its last record. A tuple: each replica has several."""

    epoch: LeaderEpoch
    end_offset: Offset


@dataclass(frozen=True, slots=True)
class ReplicaLog:
    """What one replica holds. A value that the replica did not answer is None, never 0.

    Offsets are record offsets; ``size_bytes`` is bytes on disk; epochs are leader epochs.
    """

    topic: str
    partition: int
    broker_id: int
    log_start_offset: int | None = None
    log_end_offset: int | None = None
    current_leader_epoch: int | None = None
    """The partition's epoch as this broker knows it. Says nothing about what the log holds."""
    last_written_epoch: int | None = None
    """The newest epoch that the log holds records of. None, with an empty lineage and no cause, for an empty log."""
    lineage: tuple[EpochEnd, ...] = ()
    """Every epoch of the log, oldest first; the last one ends at the log end offset."""
    size_bytes: int | None = None
    log_dir: str | None = None
    is_future: bool = False
    """A future replica exists too (a log-dir move is running). Its log is never ranked."""
    cause: Cause | None = None
    """None when the replica answered everything."""
    error: str = ""
    """For a person: what was found, with Kafka's error code where there is one."""
    is_tiered: bool | None = None
    """Records of the topic are moved to a tier (remote.storage.enable). None where that is not known."""
    local_log_start_offset: int | None = None
    """Of a tiered topic: the first offset on the broker's own disk. What is before it is in the tier only."""
    last_tiered_offset: int | None = None
    """Of a tiered topic: the last offset that this broker knows to be in the tier."""

    @property
    def answered(self) -> bool:
        """Return whether the replica answered what the ranking needs."""
        return self.cause is None and self.log_end_offset is not None
