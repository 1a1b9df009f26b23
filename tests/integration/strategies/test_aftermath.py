# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Kafka's own topics without a leader, a transaction whose COMMIT marker is lost, and a group that read too far."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import pytest
from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition

from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.groups import GroupCommits
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.port import Kafka
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.settings import Address
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.wire import Wire
from ansible_collections.kafkaops.recovery.plugins.module_utils._model import partition as model
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.aftermath import find_aftermath
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.make_plan import flagged
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.outcome import AftermathKind
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.plan import Status
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.strategy import Policy, Strategy
from integration.on_call import OnCall
from integration.strategies.outages import wait_isr, wait_offline
from lab import Cluster, settings, wait_until

pytestmark = pytest.mark.on_any_version

_INTERNAL = ("__consumer_offsets", "__transaction_state")
_RECORDS, _READ = 10, 1000
_WRITER, _GROUP = "cashier", "billing"
_COORDINATOR_IS_COMING = {
    KafkaError.NOT_COORDINATOR,
    KafkaError.COORDINATOR_LOAD_IN_PROGRESS,
    KafkaError.COORDINATOR_NOT_AVAILABLE,
}
_LONGER_THAN_THE_TEST_MS = 600_000


class KafkaOfManyPartitions(Kafka):
    """Asks as if more partitions were recovered than one request for a group names."""

    def read_commits(
        self, coordinator: Address, names: Sequence[str], partitions: Collection[model.TopicPartition] | None = None
    ) -> dict[str, GroupCommits]:
        others = (model.TopicPartition("none", number) for number in range(1000))
        return super().read_commits(coordinator, names, [*(partitions or ()), *others])


def test_what_is_flagged_before_and_left_behind_after(cluster: Cluster, on_call: OnCall) -> None:
    dead = _lose_a_marker(cluster)
    topics = ("payments", *_INTERNAL)
    found = on_call.look(*topics)
    assert {each.topic for each in found.without_leader} == set(topics)
    policies = {
        each.value: dict.fromkeys(topics, Policy(each, allow_empty_leader=True))
        for each in (Strategy.NONE, Strategy.AGGRESSIVE)
    }
    internal = {each.topic_partition for each in found.offline if each.is_internal}
    with Wire(on_call.settings) as wire:
        plans = {name: flagged(Kafka(wire), each, internal) for name, each in on_call.plans(policies, *topics).items()}
    assert not plans["none"].elections
    for planned in (plans["none"].left_alone, plans["aggressive"].elections):
        reasons = {each.topic: getattr(each, "explained", each.reason) for each in planned}
        assert "its COMMIT or ABORT marker may be missing" in reasons["payments"]
        assert all("internal topic" in reasons[topic] for topic in _INTERNAL)

    outcomes = on_call.carry_out(plans["aggressive"])
    assert {each.status for each in outcomes} == {Status.RECOVERED}
    wait_until(lambda: _tells_its_commit(cluster), 60, what="the new coordinator of the group has loaded it")
    with Wire(on_call.settings) as wire:
        findings = find_aftermath(Kafka(wire), outcomes)
    reported = {each.kind: each.explanation for each in findings if each.topic == "payments"}
    assert (
        f"group billing committed offset {_READ}, {_READ - _RECORDS} beyond"
        in reported[AftermathKind.COMMITTED_BEYOND_END]
    )
    assert "has an open transaction from offset 0 on" in reported[AftermathKind.OPEN_TRANSACTION]
    assert f"replica {dead} did not answer" in reported[AftermathKind.WILL_TRUNCATE]
    assert AftermathKind.NOT_KNOWN not in {each.kind for each in findings}

    with Wire(on_call.settings) as wire:
        again = find_aftermath(KafkaOfManyPartitions(wire), outcomes)
    assert [each for each in again if each.kind is AftermathKind.COMMITTED_BEYOND_END] == [
        each for each in findings if each.kind is AftermathKind.COMMITTED_BEYOND_END
    ]
    assert AftermathKind.NOT_KNOWN not in {each.kind for each in again}


def _lose_a_marker(cluster: Cluster) -> int:
    """Write a transaction whose records reach all replicas, its COMMIT marker the last leader alone, which dies.

    That one is the coordinator of the transaction too. A frozen coordinator would find the request to commit in its
    socket when it thaws, write that down, and so let the next coordinator write the marker. Returns who is dead.
    """
    bootstrap = {"bootstrap.servers": cluster.bootstrap(settings.INTERNAL)}
    writer = Producer({**bootstrap, "transactional.id": _WRITER, "transaction.timeout.ms": _LONGER_THAN_THE_TEST_MS})
    writer.init_transactions(60)
    dead = _coordinator(cluster)
    followers = [each for each in cluster.brokers if each != dead]
    cluster.client.create_topic("payments", {0: [dead, *followers]}, {"min.insync.replicas": 1})
    reader = Consumer({**bootstrap, "group.id": _GROUP})
    wait_until(lambda: _has_committed(reader), 30, what="the group billing has committed")
    reader.close()
    writer.begin_transaction()
    for number in range(_RECORDS):
        writer.produce("payments", f"paid-{number}", partition=0)
    writer.flush(60)
    wait_isr(cluster, ["payments"], {dead, *followers}, seen_by=dead)
    assert _coordinator(cluster) == dead
    for follower in followers:
        cluster.brokers[follower].freeze()
    wait_isr(cluster, ["payments", *_INTERNAL], {dead}, seen_by=dead)
    writer.commit_transaction(60)
    cluster.brokers[dead].kill()
    for follower in followers:
        cluster.brokers[follower].thaw()
    for follower in followers:
        wait_offline(cluster, ["payments", *_INTERNAL], seen_by=follower, away=[dead])
    return dead


def _has_committed(reader: Consumer) -> bool:
    """Retry while the coordinator of a group loads."""
    try:
        reader.commit(offsets=[TopicPartition("payments", 0, _READ)], asynchronous=False)
    except KafkaException as error:
        if error.args[0].code() not in _COORDINATOR_IS_COMING:
            raise
        return False
    return True


def _tells_its_commit(cluster: Cluster) -> bool:
    reader = Consumer({"bootstrap.servers": cluster.bootstrap(settings.INTERNAL), "group.id": _GROUP})
    try:
        (committed,) = reader.committed([TopicPartition("payments", 0)], 10)
    except KafkaException as error:
        if error.args[0].code() not in _COORDINATOR_IS_COMING:
            raise
        return False
    finally:
        reader.close()
    return committed.offset == _READ


def _coordinator(cluster: Cluster) -> int:
    """Return the leader of the __transaction_state partition of the writer, by Java's hash of its transactional id."""
    partitions = cluster.client.describe("__transaction_state")
    hashed = 0
    for character in _WRITER:
        hashed = (31 * hashed + ord(character)) & 0xFFFFFFFF
    leader = partitions[(hashed & 0x7FFFFFFF) % len(partitions)].leader
    assert leader is not None
    return leader
