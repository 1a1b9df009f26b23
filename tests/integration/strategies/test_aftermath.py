# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Kafka's own topics without a leader, a transaction whose COMMIT marker is lost, and a group that read too far."""

from __future__ import annotations

from confluent_kafka import Consumer, Producer, TopicPartition

from ansible_collections.kafkaops.recovery.plugins.module_utils.kafka.wire import Wire
from ansible_collections.kafkaops.recovery.plugins.module_utils.operations.aftermath import look_at_aftermath
from ansible_collections.kafkaops.recovery.plugins.module_utils.operations.flags import flagged
from ansible_collections.kafkaops.recovery.plugins.module_utils.recovery.aftermath import Kind
from ansible_collections.kafkaops.recovery.plugins.module_utils.recovery.plan import Status
from ansible_collections.kafkaops.recovery.plugins.module_utils.recovery.strategy import Strategy
from integration.strategies.on_call import OnCall
from integration.strategies.outages import wait_isr, wait_offline
from lab import Cluster, settings

_INTERNAL = ("__consumer_offsets", "__transaction_state")
_DEAD, _FIRST, _SECOND = 1, 2, 3
_RECORDS, _READ = 10, 1000


def test_what_is_flagged_before_and_left_behind_after(cluster: Cluster, on_call: OnCall) -> None:
    _lose_a_marker(cluster)
    topics = ("payments", *_INTERNAL)
    found = on_call.look(*topics)
    assert {each.topic for each in found.without_leader} == set(topics)
    plan = on_call.plan(Strategy.AGGRESSIVE, *topics)
    with Wire(on_call.settings) as wire:
        plan = flagged(wire, plan, {each.topic_partition for each in found.offline if each.is_internal})
    reasons = {each.topic: each.reason for each in plan.elections}
    assert "its COMMIT or ABORT marker may be missing" in reasons["payments"]
    assert all("internal topic" in reasons[topic] for topic in _INTERNAL)

    outcomes = on_call.carry_out(plan)
    assert {each.status for each in outcomes} == {Status.RECOVERED}
    with Wire(on_call.settings) as wire:
        findings = look_at_aftermath(wire, outcomes)
    told = {each.kind: each.explanation for each in findings if each.topic == "payments"}
    assert f"group billing committed offset {_READ}, {_READ - _RECORDS} beyond" in told[Kind.COMMITTED_BEYOND_END]
    assert "has an open transaction from offset 0 on" in told[Kind.OPEN_TRANSACTION]
    assert f"replica {_DEAD} was silent" in told[Kind.WILL_TRUNCATE]
    assert Kind.NOT_KNOWN not in {each.kind for each in findings}


def _lose_a_marker(cluster: Cluster) -> None:
    """The records of a transaction reach all replicas, its COMMIT marker the last leader alone, which dies."""
    cluster.client.create_topic("payments", {0: [_DEAD, _FIRST, _SECOND]}, {"min.insync.replicas": 1})
    bootstrap = {"bootstrap.servers": cluster.bootstrap(settings.INTERNAL)}
    reader = Consumer({**bootstrap, "group.id": "billing"})
    reader.commit(offsets=[TopicPartition("payments", 0, _READ)], asynchronous=False)
    reader.close()
    # Its coordinator may be a follower that freezes below: then it has to look for the next one soon.
    writer = Producer({**bootstrap, "transactional.id": "cashier", "socket.timeout.ms": 3000})
    writer.init_transactions(60)
    writer.begin_transaction()
    for number in range(_RECORDS):
        writer.produce("payments", f"paid-{number}", partition=0)
    writer.flush(60)
    wait_isr(cluster, ["payments"], {_DEAD, _FIRST, _SECOND}, seen_by=_DEAD)
    for follower in (_FIRST, _SECOND):
        cluster.brokers[follower].freeze()
    wait_isr(cluster, ["payments", *_INTERNAL], {_DEAD}, seen_by=_DEAD)
    writer.commit_transaction(60)
    cluster.brokers[_DEAD].kill()
    for follower in (_FIRST, _SECOND):
        cluster.brokers[follower].thaw()
    for follower in (_FIRST, _SECOND):
        wait_offline(cluster, ["payments", *_INTERNAL], seen_by=follower)
