# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Lose records by an unclean election: only the dead last leader has them, in topics with all codecs."""

from __future__ import annotations

from integration.salvage.oracle import CODECS, Oracle
from integration.strategies.outages import wait_isr
from lab import Cluster, wait_until

LAST_LEADER, LONGER, SHORTER = 1, 2, 3
COMMON, MORE, LOST, AFTER = 30, 50, 250, 10
CLIENT_CODECS = "codecs"
"""A topic with one partition per codec, compressed by librdkafka."""
BROKER_CODECS = {codec: f"java-{codec}" for codec in CODECS[1:]}
"""Topics that the broker compresses again, with Java's codecs."""
LEDGER = "ledger"
STEADY = "steady"
COMPACTED = "compacted"
ONE_PRODUCER = "one-producer"
"""A topic in which one producer aborts transactions and commits others."""
NEWER_KEYS = [b"key %d" % number for number in range(10)]
KEYS = [b"key %d" % number for number in range(40)]
TOPICS = (CLIENT_CODECS, *BROKER_CODECS.values(), LEDGER, STEADY, COMPACTED, ONE_PRODUCER)
_SEGMENT_BYTES = 4 * 1024 * 1024
INTERNAL_TOPICS = ("__consumer_offsets", "__transaction_state")
GROUP, COMMITTED_BEFORE, COMMITTED = "billing", 20, 200
PATIENT = {"broker.session.timeout.ms": 10_000}
"""A long timeout, so that no live broker is fenced on a busy machine: only the dead broker loses leadership."""
PROPERTIES = {
    **PATIENT,
    "transaction.state.log.num.partitions": 1,
    "offsets.topic.num.partitions": 1,
    "log.cleaner.enable": "true",
    "message.max.bytes": 10_000_000,
    "replica.fetch.max.bytes": 10_000_000,
}


def wreck(cluster: Cluster) -> Oracle:
    """Lose records. At the end, broker 1 is dead, and broker 2 leads everything and has new records.

    In each partition, COMMON records reached all replicas, MORE reached brokers 1 and 2, and LOST ("lost") broker 1
    only. Then broker 2 was elected, and AFTER more were written. Topic ``steady`` lost nothing.
    """
    oracle = Oracle(cluster)
    for topic, partitions, config in _topics():
        assignment = dict.fromkeys(range(partitions), (LAST_LEADER, LONGER, SHORTER))
        cluster.client.create_topic(
            topic,
            assignment,
            {"min.insync.replicas": 1, "segment.bytes": 4 * 1024 * 1024, "retention.ms": -1, **config},
        )
    _write(oracle, "common", COMMON)
    oracle.transaction("common", LEDGER, 0, 5, "committed")
    oracle.write("common", STEADY, 0, 20)
    oracle.commit(GROUP, LEDGER, COMMITTED_BEFORE)
    everything = [*TOPICS, *INTERNAL_TOPICS]
    wait_isr(cluster, everything, {LAST_LEADER, LONGER, SHORTER}, seen_by=LAST_LEADER)
    cluster.brokers[SHORTER].freeze()
    wait_isr(cluster, everything, {LAST_LEADER, LONGER}, seen_by=LAST_LEADER)
    _write(oracle, "more", MORE)
    cluster.brokers[LONGER].freeze()
    wait_isr(cluster, everything, {LAST_LEADER}, seen_by=LAST_LEADER)
    _write(oracle, "lost", LOST)
    oracle.write_keys("lost", COMPACTED, 0, KEYS)
    oracle.commit(GROUP, LEDGER, COMMITTED)
    for outcome in ("committed", "aborted", "committed"):
        oracle.transaction("lost", LEDGER, 0, 20, outcome)
    for outcome in ("aborted", "committed", "aborted", "committed"):
        oracle.transaction("lost", ONE_PRODUCER, 0, 5, outcome, name="one producer")
    still_open = oracle.transaction("lost", LEDGER, 0, 20, "unknown")
    oracle.transaction("lost", LEDGER, 0, 20, "committed")
    cluster.brokers[LAST_LEADER].kill()
    del still_open
    for each in (SHORTER, LONGER):
        cluster.brokers[each].thaw()
    for topic in everything:
        wait_offline(cluster, topic)
        cluster.client.elect_unclean(topic, cluster.client.describe(topic, broker=LONGER))
    wait_isr(cluster, everything, {LONGER, SHORTER}, seen_by=LONGER)
    _write(oracle, "after", AFTER)
    oracle.write_keys("after", COMPACTED, 0, NEWER_KEYS)
    return oracle


def _topics() -> list[tuple[str, int, dict[str, object]]]:
    recoded: list[tuple[str, int, dict[str, object]]] = [
        (topic, 1, {"compression.type": codec}) for codec, topic in BROKER_CODECS.items()
    ]
    return [
        (CLIENT_CODECS, len(CODECS), {}),
        *recoded,
        (LEDGER, 1, {}),
        (STEADY, 1, {}),
        (COMPACTED, 1, {"cleanup.policy": "compact"}),
        (ONE_PRODUCER, 1, {}),
    ]


def _write(oracle: Oracle, label: str, count: int) -> None:
    for partition, codec in enumerate(CODECS):
        oracle.write(label, CLIENT_CODECS, partition, count, codec=codec)
    for topic in BROKER_CODECS.values():
        oracle.write(label, topic, 0, count)
    oracle.write(label, LEDGER, 0, count)


def wait_offline(cluster: Cluster, topic: str) -> None:
    def reached() -> bool:
        states = cluster.client.describe(topic, broker=LONGER).values()
        return all(state.leader is None and set(state.offline_replicas) == {LAST_LEADER} for state in states)

    wait_until(reached, 60, what=f"{topic} is offline, and only broker {LAST_LEADER} is away", interval=0.2)
