# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""An outage of December 2025, in small: a rack is down for an exercise, and a clean-up destroys two brokers elsewhere.

Six brokers in three racks, and a quarter of the partitions without a leader, internal topics among them. In the public
post-mortem, it took five hours until elections could be forced.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest
from confluent_kafka import ConsumerGroupTopicPartitions, TopicPartition
from confluent_kafka.admin import AdminClient

from lab import Cluster, wait_until
from lab.playbook import RECOVER, run_playbook

pytestmark = [pytest.mark.timeout(1800), pytest.mark.wide]

_RACKS = {1: "a", 2: "a", 3: "b", 4: "b", 5: "c", 6: "c"}
_EXERCISE = (5, 6)
_CLEANED_UP = (1, 3)
_TOPICS = {"orders": 24, "__consumer_offsets": 8}
_MIN_ISR = 2
_GROUPS = 40
_CHECK_STOP = "kafkaops.recovery.check_stop"
_MOST_S = 600


@pytest.fixture
def cluster(kafka_version: str) -> Iterator[Cluster]:
    racks = {broker_id: {"broker.rack": rack} for broker_id, rack in _RACKS.items()}
    sizes = {"offsets.topic.num.partitions": _TOPICS["__consumer_offsets"]}
    with Cluster(kafka_version, brokers=6, properties=sizes, broker_properties=racks) as cluster:
        for topic, partitions in _TOPICS.items():
            # Each pair of a broker of rack a and one of rack b has a quarter of the partitions.
            replicas = {each: [1 + each % 2, 3 + each // 2 % 2, 5 + each // 4 % 2] for each in range(partitions)}
            cluster.client.create_topic(topic, replicas, {"min.insync.replicas": _MIN_ISR})
        _write(cluster)
        _commit(cluster)
        yield cluster


def test_from_the_alert_to_every_partition_writable(cluster: Cluster) -> None:
    servers = {"kafka_bootstrap_servers": cluster.bootstrap()}
    for each in _EXERCISE:
        cluster.brokers[each].kill()
    wait_until(
        lambda: all({*_EXERCISE}.isdisjoint(isr) for isr in _isrs(cluster)), 60, what="rack c has left every ISR"
    )
    _write(cluster)

    gate = run_playbook(_CHECK_STOP, {**servers, "stop_gate_brokers": [*_CLEANED_UP]})
    assert gate.returncode == 2, gate.output
    assert f"{sum(_TOPICS.values()) // 4} partitions would have no leader" in gate.words, gate.output

    for each in _CLEANED_UP:
        cluster.brokers[each].kill()
        cluster.brokers[each].wipe()
    for each in _EXERCISE:
        cluster.brokers[each].start()
    wait_until(lambda: _count_leaderless(cluster) == sum(_TOPICS.values()) // 4, 90, what="a quarter has no leader")

    alert = time.monotonic()
    look = run_playbook(RECOVER, servers)
    assert look.returncode == 2, look.output
    # Two decisions of a person: these brokers are lost for good, and go.
    decided = {
        "unclean_recovery_all_offline_partitions": True,
        "unclean_recovery_lost_brokers": [*_CLEANED_UP],
        "unclean_recovery_include_internal_topics": True,
        "unclean_recovery_then_restore_redundancy": True,
    }
    run = run_playbook(RECOVER, {**servers, **decided, "unclean_recovery_automated_recovery": True}, timeout=_MOST_S)
    assert run.returncode == 0, run.output
    _write(cluster)
    assert min(len(isr) for isr in _isrs(cluster)) >= _MIN_ISR, "internal topics are written by brokers only"
    took_s = time.monotonic() - alert
    print(f"from the alert to every partition writable: {took_s:.0f} s, of {_MOST_S} s wanted")  # noqa: T201
    assert {len(isr) for isr in _isrs(cluster)} == {3}


def _write(cluster: Cluster) -> None:
    """Write to every partition that clients may write to, with acks=all."""
    cluster.client.produce("orders", range(_TOPICS["orders"]), 5)


def _commit(cluster: Cluster) -> None:
    """Let so many groups commit offsets that every partition of their topic has some."""
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap("INTERNAL"), "log_level": 0})
    for number in range(_GROUPS):
        commit = ConsumerGroupTopicPartitions(f"group-{number}", [TopicPartition("orders", 0, 1)])
        admin.alter_consumer_group_offsets([commit])[f"group-{number}"].result(60)


def _isrs(cluster: Cluster) -> list[tuple[int, ...]]:
    return [state.isr for topic in _TOPICS for state in cluster.client.describe(topic).values()]


def _count_leaderless(cluster: Cluster) -> int:
    return sum(state.leader is None for topic in _TOPICS for state in cluster.client.describe(topic).values())
