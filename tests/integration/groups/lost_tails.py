# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Lose the tail of an internal topic, and see what its clients have then: commits, and records that they can read."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from confluent_kafka import (
    AcknowledgeType,
    Consumer,
    KafkaError,
    KafkaException,
    Producer,
    ShareConsumer,
    TopicPartition,
)

from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.outcome import Outcome
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.plan import Status
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.strategy import Policy, Strategy
from integration.on_call import OnCall
from integration.strategies.outages import wait_isr, wait_offline
from lab import Cluster, settings, wait_until

STATE, GROUPS, SHARE = "__transaction_state", "__consumer_offsets", "__share_group_state"
ONE_PARTITION = {f"{each}.num.partitions": 1 for each in ("share.coordinator.state.topic", "offsets.topic")}
ONLINE, FIRST = "elsewhere", "first"
"""A topic whose only replica is on the broker that has none of the internal topic, and one that no group reads."""


def elect_survivor(cluster: Cluster, topic: str, *, dead: int, away: Collection[int], leader: int) -> None:
    """Kill the leader of partition 0, thaw a follower, and elect it unclean as an operator does. Broker 4 witnesses."""
    cluster.brokers[dead].kill()
    cluster.brokers[leader].thaw()
    for each in (4, leader):
        wait_offline(cluster, [topic], seen_by=each, away=away)
    cluster.client.elect_unclean(topic, [0])
    wait_until(lambda: cluster.client.describe(topic)[0].leader == leader, 60, what=f"{leader} leads")


def replicas_of(cluster: Cluster, topic: str) -> tuple[int, list[int], int]:
    """Return the leader of partition 0, its followers, and the broker without a replica."""
    wait_until(lambda: cluster.client.describe(topic), 60, what=f"{topic} exists")
    state = cluster.client.describe(topic)[0]
    assert state.leader is not None
    (witness,) = {*cluster.brokers} - {*state.replicas}
    return state.leader, [each for each in state.replicas if each != state.leader], witness


def lose(on_call: OnCall, topic: str, dead: int, followers: list[int], witness: int) -> tuple[Outcome, ...]:
    """Kill the leader, thaw the followers, and elect one of them."""
    lose_leader(on_call.cluster, topic, dead, followers, witness)
    policies = {"": {topic: Policy(Strategy.AGGRESSIVE, allow_empty_leader=True)}}
    outcomes = on_call.carry_out(on_call.plans(policies, topic)[""])
    assert {each.status for each in outcomes} == {Status.RECOVERED}
    return outcomes


def lose_leader(cluster: Cluster, topic: str, dead: int, followers: Sequence[int], *witnesses: int) -> None:
    """Kill the leader, and thaw the followers. All that are up see that nobody leads."""
    cluster.brokers[dead].kill()
    for each in followers:
        cluster.brokers[each].thaw()
    for each in (*followers, *witnesses):
        wait_offline(cluster, [topic], seen_by=each, away=[dead])


def reader(cluster: Cluster, group: str) -> Consumer:
    where = {"bootstrap.servers": cluster.bootstrap(settings.INTERNAL), "enable.auto.commit": False}
    return Consumer({**where, "group.id": group})


def commit(cluster: Cluster, group: str, offset: int, *, topic: str = ONLINE, epoch: int = -1) -> None:
    """Commit for partition 0; without a topic, for one that the group never reads. -1 is no leader epoch."""
    partition = TopicPartition(topic or FIRST, 0, offset, leader_epoch=epoch)
    if not topic:
        # Every broker has a replica, so that it stays online whichever broker is the one that dies.
        cluster.client.create_topic(FIRST, {0: [*cluster.brokers]}, {"min.insync.replicas": 1})

    def is_done() -> bool:
        with reader(cluster, group) as consumer:
            try:
                consumer.commit(offsets=[partition], asynchronous=False)
            except KafkaException:
                return False
        return True

    wait_until(is_done, 60, what=f"{group} has committed")


def committed(cluster: Cluster, group: str) -> int:
    """Return the committed offset of ``ONLINE-0``."""
    with reader(cluster, group) as consumer:
        (found,) = consumer.committed([TopicPartition(ONLINE, 0)], 60)
    offset: int = found.offset
    return offset


def writer(cluster: Cluster, name: str, timeout_s: int = 600) -> Producer:
    """Return a transactional producer. Its coordinator aborts transactions that are older than the timeout."""
    where = {"bootstrap.servers": cluster.bootstrap(settings.INTERNAL)}
    return Producer({**where, "transactional.id": name, "transaction.timeout.ms": timeout_s * 1000})


def read_committed(cluster: Cluster, topic: str = ONLINE) -> list[str]:
    """Return what a read_committed consumer gets within some seconds."""
    where = {"bootstrap.servers": cluster.bootstrap(settings.INTERNAL), "group.id": "reader"}
    with Consumer({**where, "isolation.level": "read_committed", "enable.partition.eof": True}) as consumer:
        consumer.assign([TopicPartition(topic, 0, 0)])
        values = []
        for _attempt in range(20):
            message = consumer.poll(1.0)
            if message is None:
                continue
            if (error := message.error()) is not None:
                if error.code() == KafkaError._PARTITION_EOF:
                    break
                continue
            values.append((message.value() or b"").decode())
        return values


def share(cluster: Cluster, topic: str, count: int) -> int:
    """Consume as a member of the share group, and return the number of records."""
    done = cluster.client.run_tool(
        "org.apache.kafka.tools.consumer.ConsoleShareConsumer",
        *("--bootstrap-server", cluster.bootstrap(settings.INTERNAL), "--topic", topic, "--group", "queue"),
        *("--max-messages", str(count), "--timeout-ms", "60000"),
    )
    return len(done.stdout.split())


def describe_share(cluster: Cluster, *options: str) -> str:
    """Return what Kafka's own tool says of the share group: group, topic, partition, start offset."""
    where = ("--bootstrap-server", cluster.bootstrap(settings.INTERNAL))
    tool = "org.apache.kafka.tools.consumer.group.ShareGroupCommand"
    return cluster.client.run_tool(tool, *where, "--describe", "--group", "queue", *options).stdout


def accept(cluster: Cluster, topic: str, offsets: Collection[int], among: int) -> None:
    """Get ``among`` records as a member of the share group, acknowledge those at these offsets, release the others."""
    where = {"bootstrap.servers": cluster.bootstrap(settings.INTERNAL), "group.id": "queue"}
    member, got = ShareConsumer({**where, "share.acknowledgement.mode": "explicit"}), 0
    member.subscribe([topic])

    def is_done() -> bool:
        nonlocal got
        for each in member.poll(1.0):
            assert each.error() is None
            member.acknowledge(each, AcknowledgeType.ACCEPT if each.offset() in offsets else AcknowledgeType.RELEASE)
            got += 1
        return got >= among

    wait_until(is_done, 60, what=f"the group got {among} records")
    member.commit_sync(30)
    member.close()


def share_elsewhere(
    cluster: Cluster, kept: int = 0, *, partitions: int = 1, states: int = 1
) -> tuple[int, list[int], int]:
    """Let a share group go on while only the leader of its state is in sync, in a cluster of four brokers.

    It acknowledges 7 records of each partition. All replicas of its state, which has ``states`` partitions, know of
    ``kept`` of them. Returns that leader, its frozen followers, and the broker without a replica.
    """
    client = cluster.client
    # Its group coordinator never goes offline.
    client.create_topic(GROUPS, {0: [4]}, {"min.insync.replicas": 1, "cleanup.policy": "compact"})
    client.create_topic(SHARE, {each: [1, 2, 3] for each in range(states)}, {"min.insync.replicas": 1})
    earliest = ("--alter", "--entity-type", "groups", "--entity-name", "queue")
    where = ("--bootstrap-server", cluster.bootstrap(settings.INTERNAL))
    client.run_tool(
        "kafka.admin.ConfigCommand", *where, *earliest, "--add-config", "share.auto.offset.reset=earliest"
    ).check_returncode()
    client.create_topic(FIRST, {0: (1, 2, 3, 4)}, {"min.insync.replicas": 1})
    client.produce(FIRST, 0, 1)
    assert share(cluster, FIRST, 1) == 1
    dead, followers, witness = replicas_of(cluster, SHARE)
    client.create_topic(ONLINE, {each: [witness] for each in range(partitions)}, {"min.insync.replicas": 1})
    for each in range(partitions):
        client.produce(ONLINE, each, 7)
    if kept:
        accept(cluster, ONLINE, range(kept), among=7 * partitions)
    wait_isr(cluster, [SHARE], {dead, *followers}, seen_by=dead)
    for each in followers:
        cluster.brokers[each].freeze()
    wait_isr(cluster, [SHARE], {dead}, seen_by=dead)
    accept(cluster, ONLINE, range(kept, 7), among=(7 - kept) * partitions)
    return dead, followers, witness
