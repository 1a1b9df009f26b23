# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Create partitions without a leader, and record the content of every disk."""

from __future__ import annotations

import random
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

from confluent_kafka import Producer

from integration.strategies.logs_on_disk import Log, end_of, log_of, undecided_on_disk
from lab import Cluster, scenarios, settings

TOPIC = "hit"
PARTITIONS = 4
WATCHED = "watched"
"""A topic with the same replicas, on which clients are before, during and after the incident."""
WATCHED_PARTITIONS = 2
_LOAD = "load"
_BETWEEN_RECORDS_S = 0.02
_BATCH_MS = 250
"""A linger time: a batch for each record would take more CPU time than seven idle nodes."""


@dataclass
class Incident:
    """The content of every replica's disk before the recovery."""

    cluster: Cluster
    dead: int
    """The last leader, killed."""
    best: int
    """The live replica with the newest epoch, and then the longest log."""
    other: int
    """The live replica that must not be elected."""
    replicas: tuple[int, ...]
    """The replicas of every partition, in the order that must be restored at the end."""
    logs: Mapping[int, Mapping[int, Log]]
    """Logs by partition and broker, the dead one included."""
    watched_logs: Mapping[int, Mapping[int, Log]] = field(default_factory=dict)
    """The same of WATCHED."""
    watched_undecided: Mapping[int, Mapping[int, frozenset[str]]] = field(default_factory=dict)
    """Of each of these logs: the values of transactions without a marker."""

    @property
    def witness(self) -> int:
        """The broker that has no replica."""
        return next(each for each in self.cluster.brokers if each not in (self.dead, self.best, self.other))

    def look_at_disks(self) -> None:
        """Read the logs again after a fault that changed a disk."""
        self.logs = _logs(self.cluster, TOPIC, PARTITIONS, self.replicas)
        self.watched_logs = _logs(self.cluster, WATCHED, WATCHED_PARTITIONS, self.replicas)
        self.watched_undecided = _undecided(self.cluster, self.replicas)

    def best_end(self, partition: int, brokers: set[int]) -> tuple[int, int]:
        """Return the highest (epoch, log end offset) of these brokers."""
        return max(end_of(self.logs[partition][each]) for each in brokers)

    def lost_by(self, leader: int, partition: int) -> int:
        """Return how many records of other replicas, dead ones included, this leader does not hold."""
        logs = self.logs[partition]
        return len(frozenset().union(*logs.values()) - logs[leader])


def choose_replicas(cluster: Cluster, rng: random.Random) -> tuple[int, ...]:
    """Return the replicas of an incident: the broker that dies, the other one, and the best one."""
    return tuple(rng.sample(sorted(cluster.brokers), 3))


def cause(cluster: Cluster, rng: random.Random, replicas: tuple[int, ...]) -> Incident:
    """Create a topic, write to it, and let it lose its leader, in one of two ways."""
    records = (rng.randint(1, 12), rng.randint(1, 8), rng.randint(1, 8))
    scenario = rng.choice([scenarios.diverged, scenarios.diverged, scenarios.longer_log_of_older_epoch])
    offline = scenario(cluster, TOPIC, PARTITIONS, replicas=replicas, records=records)
    dead, other, best = replicas
    assert offline.best == best
    scenarios.wait_offline(cluster, WATCHED, away={dead}, seen_by=best)
    incident = Incident(cluster, dead, best, other, replicas, {})
    incident.look_at_disks()
    return incident


@contextmanager
def produce_load(cluster: Cluster) -> Iterator[None]:
    """Write to another topic, on all brokers, during the context."""
    cluster.client.create_topic(_LOAD, {0: sorted(cluster.brokers)}, {"min.insync.replicas": 1})
    ended = threading.Event()

    def produce() -> None:
        producer = Producer(
            {"bootstrap.servers": cluster.bootstrap(settings.INTERNAL), "log_level": 0, "linger.ms": _BATCH_MS}
        )
        while not ended.wait(_BETWEEN_RECORDS_S):
            producer.produce(_LOAD, b"load")
            producer.poll(0)
        producer.purge()

    thread = threading.Thread(target=produce, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def _logs(cluster: Cluster, topic: str, partitions: int, replicas: tuple[int, ...]) -> dict[int, dict[int, Log]]:
    return {
        partition: {broker: log_of(cluster, broker, topic, partition) for broker in replicas}
        for partition in range(partitions)
    }


def _undecided(cluster: Cluster, replicas: tuple[int, ...]) -> dict[int, dict[int, frozenset[str]]]:
    return {
        partition: {broker: undecided_on_disk(cluster, broker, WATCHED, partition) for broker in replicas}
        for partition in range(WATCHED_PARTITIONS)
    }
