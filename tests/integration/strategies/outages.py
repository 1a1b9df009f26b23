# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Outages whose every record is known: a producer as oracle, and partitions that each lose something else.

Brokers are frozen and killed for all partitions at once. What differs from partition to partition is the order of its
replicas, how many records it got while who was away, and so what each survivor holds.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition

from lab import Cluster, settings, wait_until

_TIMEOUT_S = 60.0
_MOST_RECORDS = 6


@dataclass
class Outage:
    """One broker dead, all partitions of ``topics`` without a leader; topics are twins of each other."""

    topics: Sequence[str]
    dead: int
    orders: dict[int, tuple[int, int, int]]
    written: dict[int, int] = field(default_factory=lambda: defaultdict(int))
    """Records that each partition of each topic got, by partition."""


def break_down(cluster: Cluster, topics: Sequence[str], partitions: int, rng: random.Random) -> Outage:
    """Every partition is led by the broker that dies; its two followers fall behind one after the other, at random."""
    dead, first_behind, last_behind = rng.sample([1, 2, 3], 3)
    orders = {number: (dead, *rng.sample([first_behind, last_behind], 2)) for number in range(partitions)}
    outage = Outage(topics, dead, orders)
    for topic in topics:
        cluster.client.create_topic(topic, orders, {"min.insync.replicas": 1})
    wait_isr(cluster, topics, {1, 2, 3}, seen_by=dead)
    _write(cluster, outage, rng)
    cluster.brokers[first_behind].freeze()
    wait_isr(cluster, topics, {dead, last_behind}, seen_by=dead)
    _write(cluster, outage, rng)
    cluster.brokers[last_behind].freeze()
    wait_isr(cluster, topics, {dead}, seen_by=dead)
    _write(cluster, outage, rng)
    cluster.brokers[dead].kill()
    for broker in (first_behind, last_behind):
        cluster.brokers[broker].thaw()
    for broker in (first_behind, last_behind):
        wait_offline(cluster, topics, seen_by=broker)
    return outage


def records_left(cluster: Cluster, topic: str, partitions: Iterable[int]) -> dict[int, int]:
    """How many records a consumer reads of each partition."""
    consumer = Consumer(
        {"bootstrap.servers": cluster.bootstrap(settings.INTERNAL), "group.id": "oracle", "enable.auto.commit": "false"}
    )
    try:
        ends = {number: _log_end(consumer, topic, number) for number in partitions}
        consumer.assign([TopicPartition(topic, number, 0) for number in ends])
        counts = dict.fromkeys(ends, 0)

        def read() -> bool:
            for message in consumer.consume(10_000, timeout=1.0):
                assert message.error() is None
                number = message.partition()
                assert number is not None
                counts[number] += 1
            return all(counts[number] >= end for number, end in ends.items())

        wait_until(read, _TIMEOUT_S, what=f"all of {topic} is read")
        return counts
    finally:
        consumer.close()


def _log_end(consumer: Consumer, topic: str, partition: int) -> int:
    """A broker that has just been elected needs a moment to know."""

    def ask() -> tuple[int, int] | None:
        try:
            return consumer.get_watermark_offsets(TopicPartition(topic, partition), _TIMEOUT_S)
        except KafkaException as fault:
            if fault.args[0].code() == KafkaError.NOT_LEADER_FOR_PARTITION:
                return None
            raise

    return wait_until(ask, _TIMEOUT_S, what=f"{topic}-{partition} tells its log end offset")[1]


def wait_offline(cluster: Cluster, topics: Sequence[str], *, seen_by: int) -> None:
    def reached() -> bool:
        return all(
            state.leader is None
            for topic in topics
            for state in cluster.client.describe(topic, broker=seen_by).values()
        )

    wait_until(reached, _TIMEOUT_S, what=f"{topics} are offline, seen by broker {seen_by}", interval=0.2)


def _write(cluster: Cluster, outage: Outage, rng: random.Random) -> None:
    """The same random number of records for a partition and its twins; some get none."""
    groups: dict[int, list[int]] = defaultdict(list)
    for number in outage.orders:
        groups[rng.randrange(_MOST_RECORDS)].append(number)
    for count, numbers in groups.items():
        for number in numbers:
            outage.written[number] += count
        if count:
            for topic in outage.topics:
                cluster.client.produce(topic, numbers, count)


def wait_isr(cluster: Cluster, topics: Sequence[str], isr: set[int], *, seen_by: int) -> None:
    def reached() -> bool:
        return all(
            set(state.isr) == isr and state.leader in isr
            for topic in topics
            for state in cluster.client.describe(topic, broker=seen_by).values()
        )

    wait_until(reached, _TIMEOUT_S, what=f"ISR of {topics} is {sorted(isr)}", interval=0.2)
