# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A COMMIT marker is in the lost tail, and what it committed is not: it is committed again, and not aborted.

Records and committed offsets are read by confluent-kafka. Consumers of the new protocol (KIP-848) are in the same tail.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.plan import Status
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.strategy import Policy, Strategy
from integration.groups.lost_tails import GROUPS, ONLINE, STATE, commit, committed, read_committed, reader, writer
from integration.on_call import OnCall
from integration.salvage.disks import salvage
from integration.strategies.outages import wait_isr, wait_offline
from lab import Cluster, settings
from lab.playbook import run_playbook

_PLAYBOOK = "kafkaops.recovery.restore_groups"
_ORDERS = "orders"
_PROPERTIES = {
    "offsets.topic.num.partitions": 1,
    "transaction.state.log.num.partitions": 1,
    "broker.session.timeout.ms": 10_000,
    "transaction.max.timeout.ms": 600_000,
}


@pytest.mark.timeout(600)
def test_what_was_committed_is_committed_again(kafka_version: str, tmp_path: Path) -> None:
    with Cluster(kafka_version, brokers=4, properties=_PROPERTIES, proxied=True) as cluster:
        producer = _lose_the_marker(cluster, tmp_path)
        assert read_committed(cluster, _ORDERS) == [], "its consumers stand still"
        # Brokers do not even return the offset of group ``shop`` to its consumers: UNSTABLE_OFFSET_COMMIT.
        before = {"classic": 5, "consumer": 5, "live": 5, "new": -1001}
        assert {each: committed(cluster, each) for each in before} == before
        given: dict[str, object] = {
            "kafka_bootstrap_servers": cluster.bootstrap(),
            "group_recovery_salvage_dir": str(tmp_path / "saved"),
        }
        plan = tmp_path / "plan.json"
        cluster.proxy.clear()
        look = run_playbook(_PLAYBOOK, {**given, "group_recovery_manual_output_file": str(plan)})
        assert look.returncode == 2, look.output
        assert "2 hanging transactions would be committed." in look.words, look.output
        assert "the salvage has its COMMIT marker, which the present log lacks" in look.words
        go = {"group_recovery_automated_recovery": "true", "group_recovery_undo_file": str(tmp_path / "before")}
        # The option that aborts others does not abort these.
        go["group_recovery_abort_hanging_transactions"] = "true"
        reviewed = {"kafka_bootstrap_servers": cluster.bootstrap(), "group_recovery_plan_file": str(plan)}
        checked = run_playbook(_PLAYBOOK, {**reviewed, **go}, "--check", "--diff")
        assert checked.returncode == 0, checked.output
        assert cluster.proxy.write_requests() == [], "a look and check mode send no write"

        with _member(cluster, "live"):
            run = run_playbook(_PLAYBOOK, {**given, **go})
            assert run.returncode == 2, run.output
            assert "live at elsewhere-0: the group is Stable" in run.words
            assert committed(cluster, "live") == 5, "a group with members is untouched"
        assert "2 hanging transactions committed." in run.words, run.output
        assert read_committed(cluster, _ORDERS) == ["acknowledged"]
        after = {"shop": 7, "classic": 9, "consumer": 9, "live": 5, "new": 9}
        assert {each: committed(cluster, each) for each in after} == after
        again = run_playbook(_PLAYBOOK, {**given, **go})
        assert again.returncode == 0, again.output
        cluster.proxy.clear()
        last = run_playbook(_PLAYBOOK, {**given, **go})
        assert (last.returncode, last.counts["changed"]) == (0, 0), last.output
        assert cluster.proxy.write_requests() == []

        _begin(cluster, producer, 8, "later")
        producer.commit_transaction(60)
        assert read_committed(cluster, _ORDERS) == ["acknowledged", "later"], "its producer goes on"
        assert committed(cluster, "shop") == 8
        # Having sent offsets, it is not destroyed with its last reference (confluent-kafka 2.16.1), and goes on to look
        # for its coordinator: in the cluster of another test, which thus gets an internal topic of 50 partitions.
        producer.close()


def _lose_the_marker(cluster: Cluster, directory: Path) -> Producer:
    """Lose what broker 1 alone has: the markers of a transaction with records and offsets, and commits of groups."""
    client = cluster.client
    few = {"min.insync.replicas": 1}
    client.create_topic(GROUPS, {0: [1, 2, 3]}, {**few, "cleanup.policy": "compact"})
    client.create_topic(STATE, {0: [4]}, {**few, "cleanup.policy": "compact"})
    client.create_topic(_ORDERS, {0: [1, 2, 3]}, few)
    client.create_topic(ONLINE, {0: [4]}, few)
    client.produce(ONLINE, 0, 9)
    commit(cluster, "classic", 5)
    for group in ("consumer", "live"):
        _commit_as_member(cluster, group, 5)
    producer = writer(cluster, "shop")
    producer.init_transactions(60)
    _begin(cluster, producer, 3)
    producer.commit_transaction(60)
    _begin(cluster, producer, 7, "acknowledged")
    topics = [GROUPS, _ORDERS]
    wait_isr(cluster, topics, {1, 2, 3}, seen_by=1)
    for each in (2, 3):
        cluster.brokers[each].freeze()
    wait_isr(cluster, topics, {1}, seen_by=1)
    producer.commit_transaction(60)
    commit(cluster, "classic", 9)
    for group in ("consumer", "live", "new"):
        _commit_as_member(cluster, group, 9)
    cluster.brokers[1].kill()
    for each in (2, 3):
        cluster.brokers[each].thaw()
    for each in (2, 3, 4):
        wait_offline(cluster, topics, seen_by=each, away=[1])
    on_call = OnCall(cluster, directory)
    policies = {"": dict.fromkeys(topics, Policy(Strategy.AGGRESSIVE, allow_empty_leader=True))}
    outcomes = on_call.carry_out(on_call.plans(policies, *topics)[""])
    assert {each.status for each in outcomes} == {Status.RECOVERED}
    salvage(cluster, directory / "saved", log_dirs=cluster.brokers[1].data_dirs)
    return producer


def _begin(cluster: Cluster, producer: Producer, offset: int, *values: str) -> None:
    """Begin a transaction with these records and an offset of group ``shop``."""
    producer.begin_transaction()
    for value in values:
        producer.produce(_ORDERS, value, partition=0)
    with reader(cluster, "shop") as consumer:
        where = consumer.consumer_group_metadata()
        producer.send_offsets_to_transaction([TopicPartition(ONLINE, 0, offset)], where, 60)
    producer.flush(60)


@contextmanager
def _member(cluster: Cluster, group: str) -> Iterator[Consumer]:
    """Join a group of the new protocol."""
    where = {"bootstrap.servers": cluster.bootstrap(settings.INTERNAL), "enable.auto.commit": False}
    # Kafka 3.9 has this protocol only as a preview.
    protocol = "classic" if cluster.version.startswith("3.9") else "consumer"
    with Consumer({**where, "group.id": group, "group.protocol": protocol}) as member:
        member.subscribe([ONLINE])
        while not member.assignment():
            member.poll(0.2)
        yield member


def _commit_as_member(cluster: Cluster, group: str, offset: int) -> None:
    with _member(cluster, group) as member:
        member.commit(offsets=[TopicPartition(ONLINE, 0, offset)], asynchronous=False)
