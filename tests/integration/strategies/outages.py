# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Outages in which every record is known: brokers stop one by one, with another effect on each replica set.

One timeline: brokers leave one after the other, in random order, and records are written after each leave. In a
timeline that diverges, the first to leave then comes back alone and leads some partitions by an unclean election, with
a short log and new records; the last three come back, follow it, and all leave again. In the end the last three are
dead, and the others return. So a replica set with a dead one among it has lost its own last leader, after its own
sequence of leaves.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import combinations

from confluent_kafka import Consumer, TopicPartition

from lab import Cluster, settings, wait_until
from lab.client import PartitionState

BROKERS = 8
PARTITIONS = 4
"""Of each outage."""
_TIMEOUT_S = 90.0
_MOST_RECORDS = 6
_DEAD = 3

Condition = Callable[[int, PartitionState], object]
"""A condition on a partition's number and state."""


@dataclass
class Timeline:
    """The history of all partitions of ``topics``, which are twins of each other, until they lost their leader."""

    cluster: Cluster
    topics: Sequence[str]
    rng: random.Random
    leaving: tuple[int, ...]
    """Brokers in the order in which they stop; the last three are dead at the end."""
    outages: tuple[frozenset[int], ...]
    """The replica sets that lose their leader, each with one broker that dies and two that return."""
    orders: Sequence[tuple[int, ...]]
    """The replicas of each partition: PARTITIONS random orders of each replica set."""
    away: set[int] = field(default_factory=set)
    elected: frozenset[int] = frozenset()
    """Partitions that had an unclean election in between."""
    acknowledged: dict[tuple[str, int], list[str]] = field(default_factory=lambda: defaultdict(list))
    """Every record that was acknowledged to a producer, with acks=all, by topic and partition."""

    _writes: int = 0

    @property
    def dead(self) -> tuple[int, ...]:
        return self.leaving[-_DEAD:]

    @property
    def witness(self) -> int:
        """Return the broker that never stops, and has no replica."""
        return next(each for each in self.cluster.brokers if each not in self.leaving)

    def take_place(self, *, diverging: bool) -> None:
        for topic in self.topics:
            self.cluster.client.create_topic(topic, dict(enumerate(self.orders)), {"min.insync.replicas": 1})
        self._write()
        for broker in self.leaving:
            self._freeze(broker)
            self._write()
        if diverging:
            self._diverge()
        for broker in self.dead:
            self.cluster.brokers[broker].kill()
        for broker in self.leaving[:-_DEAD]:
            self._thaw(broker)
        self._wait_offline()

    def _diverge(self) -> None:
        first = self.leaving[0]
        self._thaw(first)
        held = [number for number, order in enumerate(self.orders) if first in order]
        self.elected = frozenset(self.rng.sample(held, len(held) * 2 // 3))
        for topic in self.topics:
            self.cluster.client.elect_unclean(topic, self.elected)
        self._wait_seen("the unclean election", lambda number, state: state.leader or number not in self.elected)
        self._write()
        for broker in self.dead:
            self._thaw(broker)
        self._wait_seen("all that are back are in sync", self._is_in_sync)
        self._write()
        for broker in (first, *self.dead):
            self._freeze(broker)
            self._write()

    def _is_in_sync(self, _number: int, state: PartitionState) -> bool:
        return state.leader is None or set(state.isr) == set(state.replicas) - self.away

    def _freeze(self, broker: int) -> None:
        """Freeze a broker, and wait until it has left the ISR, so that no later record waits in its socket."""
        self.cluster.brokers[broker].freeze()
        self.away.add(broker)
        self._wait_seen(f"broker {broker} has left", lambda _number, state: self._has_left(broker, state))

    @staticmethod
    def _has_left(broker: int, state: PartitionState) -> bool:
        return broker not in state.replicas or (broker in state.offline_replicas and state.leader != broker)

    def _thaw(self, broker: int) -> None:
        self.cluster.brokers[broker].thaw()
        self.away.discard(broker)
        self._wait_seen(f"broker {broker} is back", lambda _number, state: broker not in state.offline_replicas)

    def _wait_seen(self, what: str, is_so: Condition) -> None:
        """Return the states of all partitions, as the broker without replicas reports them."""

        def reached() -> bool:
            return all(
                is_so(number, state)
                for topic in self.topics
                for number, state in self.cluster.client.describe(topic, broker=self.witness).items()
            )

        wait_until(reached, _TIMEOUT_S, what=what)

    def _wait_offline(self) -> None:
        for broker in self.leaving[:-_DEAD]:
            wait_offline(self.cluster, self.topics, seen_by=broker, away=self.dead)

    def _write(self) -> None:
        """Return a random number of records for each partition that has a leader; twins get the same."""
        self._writes += 1
        groups: dict[int, list[int]] = defaultdict(list)
        for number in sorted(set.intersection(*(self._led(topic) for topic in self.topics))):
            groups[self.rng.randrange(_MOST_RECORDS)].append(number)
        for count, numbers in groups.items():
            for topic in self.topics if count else ():
                values = self.cluster.client.produce(topic, numbers, count, label=f"write-{self._writes}")
                for number in numbers:
                    self.acknowledged[topic, number] += values

    def _led(self, topic: str) -> set[int]:
        states = self.cluster.client.describe(topic, broker=self.witness)
        return {number for number, state in states.items() if state.leader is not None}


def timeline(cluster: Cluster, topics: Sequence[str], rng: random.Random) -> Timeline:
    """Return every set of three brokers of which one dies and two return. Each is a separate outage."""
    leaving = tuple(rng.sample(sorted(cluster.brokers), len(cluster.brokers) - 1))
    outages = tuple(
        frozenset({*survivors, dead}) for dead in leaving[-_DEAD:] for survivors in combinations(leaving[:-_DEAD], 2)
    )
    orders = [tuple(rng.sample(sorted(each), len(each))) for each in outages for _twin in range(PARTITIONS)]
    return Timeline(cluster, topics, rng, leaving, outages, orders)


def records_left(cluster: Cluster, topic: str, partitions: Iterable[int]) -> dict[int, list[str]]:
    """Return the values that a consumer reads from each partition, in order."""
    where = {"bootstrap.servers": cluster.bootstrap(settings.INTERNAL), "log_level": 0}
    consumer = Consumer({**where, "group.id": "oracle", "enable.auto.commit": "false"})
    try:
        ends = cluster.client.leader_log_ends(consumer, topic, partitions)
        consumer.assign([TopicPartition(topic, number, 0) for number in ends])
        values: dict[int, list[str]] = {number: [] for number in ends}

        def read() -> bool:
            for message in consumer.consume(10_000, timeout=0.5):
                assert message.error() is None
                number, value = message.partition(), message.value()
                assert number is not None
                assert value is not None
                values[number].append(value.decode())
            return all(len(values[number]) >= end for number, end in ends.items())

        wait_until(read, _TIMEOUT_S, what=f"all of {topic} is read")
        return values
    finally:
        consumer.close()


def wait_offline(cluster: Cluster, topics: Sequence[str], *, seen_by: int, away: Collection[int] = ()) -> None:
    """Wait until no partition has a leader, and exactly the stopped brokers are known to be offline."""

    def reached() -> bool:
        return all(
            state.leader is None and (not away or set(state.offline_replicas) == set(state.replicas).intersection(away))
            for topic in topics
            for state in cluster.client.describe(topic, broker=seen_by).values()
        )

    wait_until(reached, _TIMEOUT_S, what=f"{topics} are offline, seen by broker {seen_by}", interval=0.2)


def wait_isr(cluster: Cluster, topics: Sequence[str], isr: set[int], *, seen_by: int) -> None:
    def reached() -> bool:
        return all(
            set(state.isr) == isr and state.leader in isr
            for topic in topics
            for state in cluster.client.describe(topic, broker=seen_by).values()
        )

    wait_until(reached, _TIMEOUT_S, what=f"ISR of {topics} is {sorted(isr)}", interval=0.2)
