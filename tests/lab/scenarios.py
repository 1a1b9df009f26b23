# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Create offline partitions with a known history on a running cluster.

Followers are frozen, not killed: they come back without a JVM start. Nothing is written before a frozen follower has
left the ISR; by then its last Fetch has been answered empty, so that no record waits in its socket.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from lab.cluster import Cluster
from lab.waiting import wait_until

_TIMEOUT_S = 60.0


@dataclass(frozen=True)
class Offline:
    """The result of a scenario: every partition of ``topic`` is offline, in the same state."""

    topic: str
    partitions: range
    replicas: tuple[int, ...]
    """Replica order of each partition; the first one led last and is dead (SIGKILL)."""
    best: int
    """The survivor that should lead. Never the first surviving replica in order."""
    log_end_offsets: Mapping[int, int]
    """The log end offset of every partition at each survivor, by broker id."""


def diverged(
    cluster: Cluster,
    topic: str,
    partitions: int = 1,
    *,
    replicas: Sequence[int] = (1, 2, 3),
    records: Sequence[int] = (10, 5, 1),
    config: Mapping[str, object] | None = None,
) -> Offline:
    """Create partitions whose first surviving replica has a shorter log than the second, in the same lineage.

    ``replicas`` are (dead, shorter, longer). Of ``records`` per partition, the first number reaches all three, the
    second (labeled "longer") the longer one and the dead, the third (labeled "lost") the dead leader alone. With more
    replicas, and as many numbers, each one holds more than those before it.
    """
    dead, *survivors = replicas
    offline = _create(cluster, topic, partitions, replicas, config)
    _write(cluster, topic, offline, records[0], "common", holders=replicas)
    held: dict[int, int] = {}
    for number, broker in enumerate(survivors, start=1):
        held[broker] = sum(records[:number])
        left = survivors[number:]
        cluster.brokers[broker].freeze()
        wait_isr(cluster, topic, {dead, *left}, seen_by=dead)
        _write(cluster, topic, offline, records[number], "longer" if left else "lost", holders=(dead, *left))
    cluster.brokers[dead].kill()
    for broker in survivors:
        cluster.brokers[broker].thaw()
    for broker in survivors:
        wait_offline(cluster, topic, away={dead}, seen_by=broker)
    return Offline(topic, offline, tuple(replicas), survivors[-1], held)


def longer_log_of_older_epoch(
    cluster: Cluster,
    topic: str,
    partitions: int = 1,
    *,
    replicas: Sequence[int] = (1, 2, 3),
    records: Sequence[int] = (10, 20, 5),
    older_bytes: int = 0,
    config: Mapping[str, object] | None = None,
) -> Offline:
    """Create partitions where the longer surviving log ends in an older leader epoch than the shorter one.

    ``replicas`` are (dead, older, newer). Of ``records`` per partition, the first number reaches all three, the second
    (labeled "older") the older one and the dead; then ``newer`` is elected unclean and writes the third ("newer").
    ``older_bytes`` is the size of each record of the second kind, if it matters.
    """
    dead, older, newer = replicas
    offline = _create(cluster, topic, partitions, replicas, config)
    common = records[0]
    _write(cluster, topic, offline, common, "common", holders=replicas)
    cluster.brokers[newer].freeze()
    wait_isr(cluster, topic, {dead, older}, seen_by=dead)
    _write(cluster, topic, offline, records[1], "older", holders=(dead, older), record_bytes=older_bytes)
    cluster.brokers[older].freeze()
    wait_isr(cluster, topic, {dead}, seen_by=dead)
    cluster.brokers[dead].kill()
    cluster.brokers[newer].thaw()
    wait_offline(cluster, topic, away={dead, older}, seen_by=newer)
    cluster.client.elect_unclean(topic, offline)
    wait_isr(cluster, topic, {newer}, seen_by=newer)
    _write(cluster, topic, offline, records[2], "newer", holders=(newer,))
    # The newer replica must leave the ISR. It can do so only if the ISR has another member: the returned dead one.
    cluster.brokers[dead].start()
    wait_isr(cluster, topic, {dead, newer}, seen_by=newer)
    cluster.brokers[newer].freeze()
    wait_isr(cluster, topic, {dead}, seen_by=dead)
    cluster.brokers[dead].kill()
    # The older replica catches up with the controller while no other broker has the newer epoch's records.
    cluster.brokers[older].thaw()
    wait_offline(cluster, topic, away={dead, newer}, seen_by=older)
    cluster.brokers[newer].thaw()
    for broker in (older, newer):
        wait_offline(cluster, topic, away={dead}, seen_by=broker)
    return Offline(topic, offline, tuple(replicas), newer, {older: common + records[1], newer: common + records[2]})


def _create(
    cluster: Cluster, topic: str, partitions: int, replicas: Sequence[int], config: Mapping[str, object] | None
) -> range:
    assignment = dict.fromkeys(range(partitions), replicas)
    cluster.client.create_topic(topic, assignment, {"min.insync.replicas": 1, **(config or {})})
    wait_isr(cluster, topic, set(replicas), seen_by=replicas[0])
    return range(partitions)


def _write(
    cluster: Cluster,
    topic: str,
    partitions: range,
    count: int,
    label: str,
    *,
    holders: Sequence[int],
    record_bytes: int = 0,
) -> None:
    """Write to each partition, and make sure that all of ``holders`` (the leader first) have the records."""
    before = cluster.client.log_end_offsets(topic, partitions, holders[0])
    if count:
        cluster.client.produce(topic, partitions, count, label=label, record_bytes=record_bytes)
    after = {partition: (offset or 0) + count for partition, offset in before.items()}
    for broker in holders:

        def lacking(broker: int = broker) -> dict[int, int | None]:
            found = cluster.client.log_end_offsets(topic, partitions, broker)
            return {partition: found[partition] for partition in partitions if found[partition] != after[partition]}

        # acks=all does not wait for a slow follower that left the ISR: wait until it has caught up.
        wait_until(lambda: not lacking(), _TIMEOUT_S, what=f"broker {broker} holds what was written to {topic}")


def wait_isr(cluster: Cluster, topic: str, isr: set[int], *, seen_by: int) -> None:
    """Wait until every partition is led from within exactly this ISR."""

    def reached() -> bool:
        states = cluster.client.describe(topic, broker=seen_by).values()
        return all(set(state.isr) == isr and state.leader in isr for state in states)

    wait_until(reached, _TIMEOUT_S, what=f"ISR of {topic} is {sorted(isr)}, seen by broker {seen_by}", interval=0.2)


def wait_offline(cluster: Cluster, topic: str, *, away: set[int], seen_by: int) -> None:
    """Wait until no partition has a leader, and just these replicas are fenced."""

    def reached() -> bool:
        states = cluster.client.describe(topic, broker=seen_by).values()
        return all(state.leader is None and set(state.offline_replicas) == away for state in states)

    what = f"{topic} is offline with only {sorted(away)} away, seen by broker {seen_by}"
    wait_until(reached, _TIMEOUT_S, what=what, interval=0.2)
