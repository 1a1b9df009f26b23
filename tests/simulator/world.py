# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The state of a simulated cluster: partitions, the logs of their replicas, and a controller with Kafka's rules."""

from __future__ import annotations

import hashlib
import itertools
import struct
import threading
import uuid
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

NO_LEADER = -1
LOG_DIR = "/simulated"
_OFFLINE_EPOCH = 8
_EXISTING = 0
ELECTION_NOT_NEEDED = 84
ELIGIBLE_LEADERS_NOT_AVAILABLE = 83
PREFERRED_LEADER_NOT_AVAILABLE = 80
UNKNOWN_TOPIC_OR_PARTITION = 3
INVALID_REPLICA_ASSIGNMENT = 39
_BATCH = struct.Struct(">qiibIhiqqqhii7s")
"""A batch of format 2 with one record, which has neither key nor value."""
_RECORD = b"\x0c\0\0\0\1\1\0"


@dataclass(frozen=True, slots=True)
class Log:
    """One replica's log. Many replicas may share one, because a million logs would need too much memory.

    ``epochs`` are (epoch, start offset), oldest first, as in a leader-epoch-checkpoint file.
    """

    epochs: tuple[tuple[int, int], ...]
    log_end_offset: int
    log_start_offset: int = 0
    high_watermark: int = 0
    size_bytes: int = 1000

    @property
    def first_epoch(self) -> int:
        """Return the epoch of the record at the log start; -1 if the epoch checkpoint begins later."""
        return self.epochs[0][0] if self.epochs and self.epochs[0][1] <= self.log_start_offset else -1

    def diverging_epoch(self, epoch: int) -> tuple[int, int] | None:
        """Return (epoch, end offset) as Kafka's LeaderEpochFileCache.endOffsetFor; None for an epoch newer than all."""
        if self.epochs and epoch == self.epochs[-1][0]:
            return epoch, self.log_end_offset
        place = bisect_right(self.epochs, epoch, key=lambda entry: entry[0])
        if place == len(self.epochs):
            return None
        return self.epochs[place - 1][0] if place else epoch, self.epochs[place][1]

    def batch_at(self, offset: int) -> bytes:
        """Return the batch of one record that every log has at this offset in its epoch; empty outside the log.

        Its checksum is not that of its content.
        """
        place = bisect_right(self.epochs, offset, key=lambda entry: entry[1])
        if not place or not self.log_start_offset <= offset < self.log_end_offset:
            return b""
        size = _BATCH.size - struct.calcsize(">qi")
        return _BATCH.pack(offset, size, self.epochs[place - 1][0], 2, offset, 0, 0, 0, 0, -1, -1, -1, 1, _RECORD)


@dataclass(slots=True)
class Partition:
    """One partition, and the log of each broker of its replica list, in the order of ``logs``."""

    replicas: tuple[int, ...]
    logs: Mapping[int, Log]
    leader: int = NO_LEADER
    leader_epoch: int = _OFFLINE_EPOCH
    isr: tuple[int, ...] = ()
    elr: tuple[int, ...] = ()
    last_known_elr: tuple[int, ...] = ()


@dataclass(frozen=True)
class Topic:
    """A topic. Its id depends only on its name, so that two worlds with the same arguments are equal."""

    name: str
    partitions: Mapping[int, Partition]

    @cached_property
    def numbers(self) -> list[int]:
        """Its partitions, in order."""
        return sorted(self.partitions)

    @cached_property
    def topic_id(self) -> uuid.UUID:
        return uuid.UUID(bytes=hashlib.sha256(self.name.encode()).digest()[:16])


@dataclass
class World:
    """The state behind all simulated brokers, and the controller's part."""

    broker_ids: Sequence[int]
    """Those that are live."""
    topics: Mapping[str, Topic]
    fenced: Sequence[int] = ()
    """Brokers that are registered and listen, and that the controller has fenced."""
    cluster_id: str = "c2ltdWxhdGVkLWNsdXN0ZQ"
    broker_epochs: dict[int, int] = field(default_factory=dict)
    """Broker epochs by broker id; 1000 + the id unless set. A restart sets another one."""
    racks: dict[int, str] = field(default_factory=dict)
    written: dict[uuid.UUID, bytes] = field(default_factory=dict)
    """The records of the topics that clients have created (``own_topics``), as batches."""
    generation: int = 0
    """Grows with every change, so that old cached answers are detected."""
    lock: threading.RLock = field(default_factory=threading.RLock)

    @cached_property
    def by_id(self) -> dict[uuid.UUID, Topic]:
        return {topic.topic_id: topic for topic in self.topics.values()}

    def broker_epoch(self, broker_id: int) -> int:
        return self.broker_epochs.get(broker_id, 1000 + broker_id)

    def restart(self, broker_id: int) -> None:
        """Register the broker again, with another epoch."""
        with self.lock:
            self.broker_epochs[broker_id] = self.broker_epoch(broker_id) + 100_000
            self.generation += 1

    def held(self, broker_id: int, topic: str, number: int) -> tuple[Partition, Log] | None:
        """Return the partition and the broker's log of it, None if it has none."""
        found = self.topics[topic].partitions.get(number) if topic in self.topics else None
        if found is None or broker_id not in found.logs:
            return None
        return found, found.logs[broker_id]

    def reorder(self, topic: str, number: int, replicas: tuple[int, ...]) -> int:
        """AlterPartitionReassignments to the same replica set in another order. Returns an error code."""
        with self.lock:
            found = self.topics[topic].partitions.get(number) if topic in self.topics else None
            if found is None:
                return UNKNOWN_TOPIC_OR_PARTITION
            if sorted(found.replicas) != sorted(replicas):
                return INVALID_REPLICA_ASSIGNMENT
            found.replicas = replicas
            # Any change of a partition makes the controller elect if there is no leader, a plain reorder too.
            self._let_lead(found, self._ordinary_leader(found))
            self.generation += 1
            return _EXISTING

    def elect(self, topic: str, number: int, *, unclean: bool, designated: int | None = None) -> int:
        """ElectLeaders of one partition: the first live replica in order, or the designated one. Returns a code."""
        with self.lock:
            found = self.topics[topic].partitions.get(number) if topic in self.topics else None
            if found is None:
                return UNKNOWN_TOPIC_OR_PARTITION
            if found.leader != NO_LEADER:
                return ELECTION_NOT_NEEDED
            live = self._live(found)
            if designated is not None:
                chosen = designated if designated in live else None
            else:
                chosen = self._ordinary_leader(found)
                if chosen is None and unclean and live:
                    chosen = live[0]
            if chosen is None:
                return ELIGIBLE_LEADERS_NOT_AVAILABLE if unclean else PREFERRED_LEADER_NOT_AVAILABLE
            self._let_lead(found, chosen)
            self.generation += 1
            return _EXISTING

    def come_back(self, broker_id: int) -> None:
        """Register a killed broker again, on a cluster with eligible leader replicas (KIP-966).

        After an unclean shutdown it is taken out of ISR and ELR; the last one becomes the last known leader.
        """
        with self.lock:
            self.broker_ids = sorted({*self.broker_ids, broker_id})
            for topic in self.topics.values():
                for found in topic.partitions.values():
                    if found.leader == NO_LEADER and {*found.isr, *found.elr} == {broker_id}:
                        found.isr, found.elr, found.last_known_elr = (), (), (broker_id,)
                    self._let_lead(found, self._ordinary_leader(found))
            self.generation += 1

    def _live(self, found: Partition) -> list[int]:
        return [each for each in found.replicas if each in self.broker_ids]

    def _ordinary_leader(self, found: Partition) -> int | None:
        """Return the broker that the controller elects without an unclean election; None if it elects nobody."""
        if found.leader != NO_LEADER:
            return None
        eligible = {*found.isr, *found.elr}
        live = self._live(found)
        if eligible:
            return next((each for each in live if each in eligible), None)
        return next((each for each in live if found.last_known_elr == (each,)), None)

    def _let_lead(self, found: Partition, broker_id: int | None) -> None:
        if broker_id is not None:
            found.leader = broker_id
            found.leader_epoch += 1
            found.isr, found.elr, found.last_known_elr = (broker_id,), (), ()


def offline_world(
    topics: Mapping[str, int], broker_ids: Sequence[int], replication: int = 3, dead: Iterable[int] = ()
) -> World:
    """Return topics with these numbers of offline partitions, distributed over the brokers; the ``dead`` are not live.

    Logs differ by their place in the replica list, so that the best one is never the first, and in two ways: by the
    last written epoch, or, in every third partition, by length alone.
    """
    ids = sorted({*broker_ids, *dead})
    numbers = itertools.count()
    return World(
        tuple(broker_ids),
        {
            name: Topic(name, {number: _partition(ids, next(numbers), replication) for number in range(count)})
            for name, count in topics.items()
        },
    )


def a_million_replicas(replicas: int = 1_000_000, brokers: int = 100, replication: int = 3) -> World:
    """Return a world with at least this number of replicas, in topics with 1,000 offline partitions each."""
    partitions = -(-replicas // replication)
    sizes = [1000] * (partitions // 1000) + ([partitions % 1000] if partitions % 1000 else [])
    return offline_world({f"topic-{index:04}": size for index, size in enumerate(sizes)}, range(1, brokers + 1))


_BY_EPOCH = (
    Log(((3, 0),), 90),
    Log(((3, 0), (5, 80)), 120),
    Log(((3, 0), (5, 80), (7, 100)), 110),
)
"""Logs by position: one that stopped early, the longest one with an older epoch, and the best one."""
_BY_LENGTH = (
    Log(((7, 0),), 40, size_bytes=400),
    Log(((7, 0),), 50, size_bytes=500),
    Log(((7, 0),), 60, size_bytes=600),
)


def _partition(ids: Sequence[int], index: int, replication: int) -> Partition:
    replicas = tuple(ids[(index + place) % len(ids)] for place in range(replication))
    kinds = _BY_LENGTH if index % 3 == 0 else _BY_EPOCH
    return Partition(replicas, {broker_id: kinds[place % len(kinds)] for place, broker_id in enumerate(replicas)})
