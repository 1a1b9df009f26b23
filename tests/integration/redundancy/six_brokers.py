# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Six brokers in three racks, of which some are lost with their disks."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager

from integration.redundancy.throttles import throttles
from lab import Cluster, wait_until

RACKS = {1: "a", 2: "a", 3: "b", 4: "b", 5: "c", 6: "c"}
TOPIC = "orders"
PARTITIONS = 12
PLAYBOOK = "kafkaops.recovery.restore_redundancy"


@contextmanager
def six_brokers(kafka_version: str, lost: Collection[int]) -> Iterator[Cluster]:
    """Yield a cluster with 12 partitions of three replicas and some 5 MB each, whose lost brokers left every ISR."""
    racks = {broker_id: {"broker.rack": rack} for broker_id, rack in RACKS.items()}
    with Cluster(kafka_version, brokers=6, broker_properties=racks) as started:
        orders = {number: [1 + (number + place * 2) % 6 for place in range(3)] for number in range(PARTITIONS)}
        started.client.create_topic(TOPIC, orders, {"min.insync.replicas": 2})
        for _ in range(6):
            started.client.produce(TOPIC, range(PARTITIONS), 9, record_bytes=100_000)
        for each in lost:
            started.brokers[each].kill()
            started.brokers[each].wipe()
        wait_until(
            lambda: all({*lost}.isdisjoint(each.isr) for each in started.client.describe(TOPIC).values()),
            60,
            what="the lost brokers have left every ISR",
        )
        yield started


def check_copies(cluster: Cluster, racks: int = 3) -> None:
    """Require three replicas in sync of each partition, in so many racks, and write to all."""
    after = cluster.client.describe(TOPIC)
    assert {len(each.replicas) for each in after.values()} == {3}
    assert all({*each.isr} == {*each.replicas} for each in after.values())
    assert {len({RACKS[broker] for broker in each.replicas}) for each in after.values()} == {racks}
    cluster.client.produce(TOPIC, range(PARTITIONS), 5)


def check_restored(cluster: Cluster) -> None:
    """Require the same, and that no throttle is left."""
    check_copies(cluster)
    assert throttles(cluster, TOPIC) == []
