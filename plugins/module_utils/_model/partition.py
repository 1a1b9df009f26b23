# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Define partitions and brokers, as the metadata describes them, and what each replica answered.

Standard library only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from typing import Annotated, Any, NamedTuple, TypeAlias, TypeVar

from .fields import BrokerId, Count, LeaderEpoch, Meta, Offset, Port

NO_LEADER = -1
"""Kafka's leader id of a partition without a leader."""
ALL_PARTITIONS = -1
"""In place of a number, where a person names a topic and no partition of it."""
MIN_ISR = "min.insync.replicas"
UNCLEAN = "unclean.leader.election.enable"
OFFSETS_TOPIC = "__consumer_offsets"
TRANSACTIONS_TOPIC = "__transaction_state"
TIER_TOPIC = "__remote_log_metadata"
"""Which segments are in the tier (KIP-405). Brokers do not mark it as internal."""
SHARE_STATE_TOPIC = "__share_group_state"
METADATA_TOPIC = "__cluster_metadata"
PARTITIONS_PER_REQUEST = 1000
"""KIP-966's limit. The controller writes at most 10,000 records for one request, and this stays well below."""

_Tuple = TypeVar("_Tuple", bound=tuple[Any, ...])
Item = TypeVar("Item")
Key = TypeVar("Key")


def tuple_maker(kind: type[_Tuple]) -> Callable[[tuple[Any, ...]], _Tuple]:
    """Return a function that makes a NamedTuple of a tuple, in a third of the time of its own constructor."""
    return partial(tuple.__new__, kind)


def in_batches(items: Sequence[Item], size: int = PARTITIONS_PER_REQUEST) -> Iterator[Sequence[Item]]:
    """Yield slices of at most ``size`` items, in order. Yield nothing if there are no items."""
    for start in range(0, len(items), size):
        yield items[start : start + size]


def grouped(pairs: Iterable[tuple[Key, Item]]) -> dict[Key, list[Item]]:
    """Return the items of each key. Both are in the order of the pairs."""
    found: dict[Key, list[Item]] = {}
    for key, item in pairs:
        found.setdefault(key, []).append(item)
    return found


class TopicPartition(NamedTuple):
    """One partition of a topic, in order of topic name, then partition number.

    A tuple, because a million of them are keys, and tuples are created, hashed and compared faster than dataclasses.
    """

    topic: str
    partition: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"


def expand_topics(wanted: Iterable[TopicPartition], known: Iterable[TopicPartition]) -> frozenset[TopicPartition]:
    """Return the wanted partitions, with all known partitions of a topic of which no partition is named.

    If none of its partitions is known, its first partition stands for it.
    """
    named = {*wanted}
    whole = {each.topic for each in named if each.partition == ALL_PARTITIONS}
    if not whole:
        return frozenset(named)
    found = {each for each in known if each.topic in whole}
    absent = {TopicPartition(topic, 0) for topic in whole - {each.topic for each in found}}
    return frozenset({*(each for each in named if each.partition != ALL_PARTITIONS), *found, *absent})


to_topic_partition = tuple_maker(TopicPartition)
"""Make a TopicPartition of a topic and a number."""


class OfPartition:
    """The base of classes that say something about one partition. They have these two fields."""

    __slots__ = ()
    topic: str
    partition: int

    @property
    def topic_partition(self) -> TopicPartition:
        return to_topic_partition((self.topic, self.partition))


class PartitionState(NamedTuple):
    """The state of a partition, from DescribeTopicPartitions (API key 75).

    A tuple, because every read of the metadata creates it, and a frozen dataclass takes five times as long.

    ``elr`` and ``last_known_elr`` (KIP-966) are None if the broker does not return them, which does not mean empty. The
    ISR of an offline partition may contain dead brokers (Cruise Control 1828), so only ``leader_id`` shows whether a
    partition is offline.
    """

    topic: str
    partition: int
    topic_id: str
    """In Kafka's text form: 22 characters of URL-safe base64."""
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
        return to_topic_partition(self[:2])

    @property
    def is_offline(self) -> bool:
        """Return whether the partition has no leader."""
        return self.leader_id == NO_LEADER

    @property
    def left_behind(self) -> tuple[int, ...]:
        """Return the offline replicas that are not in sync with the leader; none if there is no leader."""
        if self.is_offline or not self.offline_replicas:
            return ()
        return tuple(each for each in self.offline_replicas if each not in self.isr)


def effective_min_isr(configured: int, replicas: int) -> int:
    """Return how many in-sync replicas acks=all needs: since Kafka 3.7 at most the replication factor (KAFKA-15583)."""
    return min(configured, replicas)


@dataclass(frozen=True, slots=True)
class Reassignment:
    """What a running reassignment does to a partition's replicas (KIP-455).

    Until it completes, the replica list has the replicas of its target, and then those that it removes, by id.
    """

    adding: tuple[int, ...] = ()
    removing: tuple[int, ...] = ()

    @property
    def dropping(self) -> tuple[int, ...]:
        """Return the replicas that it removes if it adds none; else nothing."""
        return () if self.adding else self.removing

    def is_part_of(self, other: Reassignment) -> bool:
        """Return whether it adds and removes no other replicas than the other one."""
        return {*self.adding} <= {*other.adding} and {*self.removing} <= {*other.removing}

    def is_expected(self, found: Reassignment | None, dropped: tuple[int, ...]) -> bool:
        """Return whether it is the one that was ``found`` before or, without one, the removal of ``dropped``."""
        if found is not None:
            return self.is_part_of(found)
        return bool(self.dropping) and self.dropping == dropped


REASSIGNING = (
    "a reassignment of it is running: run again once it has ended. While a broker of its target is dead, it does not "
    "end: start that broker, or cancel it (kafka-reassign-partitions.sh --cancel)"
)
"""Why a partition that has a leader is left alone. Kafka may refuse to cancel it without a leader."""


class BrokerState(StrEnum):
    """The state of a broker, as seen from this host and by the controller."""

    ONLINE = "online"
    """Unfenced, and it answered."""
    FENCED = "fenced"
    """The controller fences it, or lists no address for it. It cannot lead any partition now."""
    UNREACHABLE = "unreachable"
    """No connection from this host. The broker may be up, and in touch with the controller."""
    HUNG = "hung"
    """It accepts connections, but does not answer within the limit."""
    NOT_AUTHORIZED = "not_authorized"
    """It runs, and it refuses our credentials, we refuse its certificate, or our principal lacks the ACL."""
    GIVEN_UP = "given_up"
    """It does not answer, and the operator declared it lost for good."""

    @property
    def words(self) -> str:
        """The state in a sentence."""
        return self.value.replace("_", " ")


RUNNING_STATES = frozenset({BrokerState.ONLINE, BrokerState.HUNG, BrokerState.NOT_AUTHORIZED})
"""The process accepts connections, although the controller may fence it: it is never to be started."""


@dataclass(frozen=True, slots=True)
class Broker:
    """One broker, as the controller describes it, and its state."""

    broker_id: BrokerId
    host: str | None
    """Advertised host. None if the controller lists none (a fenced broker before Kafka 4.0)."""
    port: Port | None
    rack: str | None
    is_fenced: bool
    state: Annotated[BrokerState, Meta("a broker's state")]
    cause: str = ""
    """A text for the operator: why it is in this state, or, if it is online, why replicas on it are offline."""
    offline_log_dirs: Annotated[tuple[str, ...], Meta(description="offline log directories are a list of paths")] = ()
    """Paths, as DescribeLogDirs (KIP-113) returns them. Only asked of a broker that is online and has replicas that the
    metadata lists as offline."""
    unclean_elections: Count | None = None
    """Partitions with a replica on it whose leader was elected uncleanly since it left: these leaders may lack records
    that only its disk holds, and it deletes them when it starts. None if that is not known, or was not looked for."""
    unclean_elections_missing: str = ""
    """Why they are not known. Empty if they are, or were not looked for."""

    @property
    def is_away(self) -> bool:
        """Return whether leaders may go on without it, or without one of its log directories."""
        return self.is_fenced or bool(self.offline_log_dirs)


@dataclass(frozen=True, slots=True)
class RackOfBroker:
    """The rack of a broker (``broker.rack``)."""

    broker_id: BrokerId
    rack: Annotated[str, Meta("a rack")]


Racks: TypeAlias = Annotated[
    tuple[Annotated[RackOfBroker, Meta(description="a broker's rack is an object")], ...],
    Meta(description="the racks are a list"),
]


def racks_of(brokers: Iterable[Broker]) -> Racks:
    """Return the racks of the brokers that have one, in order of the brokers' ids."""
    named = [RackOfBroker(each.broker_id, each.rack) for each in brokers if each.rack]
    return tuple(sorted(named, key=lambda each: each.broker_id))


LOST_LOG_DIR = "named in lost_brokers, and its log directory is offline"
"""How the error of a replica begins whose broker was declared lost, but runs without this log directory."""


class Cause(StrEnum):
    """Why a replica's log info is missing or void."""

    FENCED = "fenced"
    UNREACHABLE = "unreachable"
    HUNG = "hung"
    NOT_AUTHORIZED = "not_authorized"
    DISCONNECTED = "disconnected"
    """The connection broke during the gather."""
    RESTARTED = "restarted"
    """The broker restarted during the gather, so its earlier answers are void."""
    WRONG_BROKER = "wrong_broker"
    """Another broker answers at this address."""
    BAD_ANSWER = "bad_answer"
    """An answer that cannot be decoded, that misses or repeats a partition, or whose offsets contradict each other."""
    LOG_DIR_OFFLINE = "log_dir_offline"
    MISSING = "missing"
    """The broker works, but does not have this replica."""
    ERROR = "error"
    """A Kafka error code; its number and name are in the error field."""
    DEADLINE = "deadline"
    """The gather's deadline passed before this replica was asked."""
    GIVEN_UP = "given_up"
    """The operator declared its broker lost for good, and it does not answer, or this replica's log dir is offline."""


class EpochEnd(NamedTuple):
    """One leader epoch of a log, and the offset after its last record."""

    epoch: LeaderEpoch
    end_offset: Offset


@dataclass(frozen=True, slots=True)
class ReplicaLog(OfPartition):
    """The log of one replica. A value that is unknown is None, never 0.

    Offsets are record offsets, epochs are leader epochs, and ``size_bytes`` is the size on disk.
    """

    topic: str
    partition: int
    broker_id: int
    log_start_offset: int | None = None
    log_end_offset: int | None = None
    current_leader_epoch: int | None = None
    """The partition's current epoch, as this broker knows it. The log may have no record of it."""
    last_written_epoch: int | None = None
    """The newest epoch with records in the log. An empty log has None, an empty lineage and no cause."""
    lineage: tuple[EpochEnd, ...] = ()
    """Every epoch of the log, oldest first. The last one ends at the log end offset."""
    size_bytes: int | None = None
    log_dir: str | None = None
    is_future: bool = False
    """A future replica exists too (a move to another log directory is running). Its log is never ranked."""
    cause: Cause | None = None
    """None if the replica answered everything."""
    error: str = ""
    """A text for the operator: what was found, with Kafka's error code if there is one."""
    is_tiered: bool | None = None
    """Whether the topic's records are moved to a tier (remote.storage.enable). None if that is unknown."""
    local_log_start_offset: int | None = None
    """For a tiered topic: the first offset on the broker's own disk. Earlier records are in the tier only."""
    last_tiered_offset: int | None = None
    """For a tiered topic: the last offset that this broker knows to be in the tier."""
    is_rebuilt: bool = False
    """The epochs were read from the batches, because the broker's leader-epoch-checkpoint is lost or too old."""
    last_batch_offset: int | None = None
    """The first offset of the batch at the log end. None if that was not read."""
    last_batch_checksum: int | None = None
    """The CRC of this batch. None also if a log cleaner may have rewritten it."""

    @classmethod
    def failed(cls, partition: TopicPartition, broker_id: int, cause: Cause, error: str) -> ReplicaLog:
        """Return the log of a replica that did not answer."""
        return cls(partition.topic, partition.partition, broker_id, cause=cause, error=error)

    @property
    def answered(self) -> bool:
        """Return whether the replica answered everything that the ranking needs."""
        return self.cause is None and self.log_end_offset is not None
