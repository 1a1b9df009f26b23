# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A tail of an internal topic is lost: its clients are affected in a partition that never went offline."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.port import Kafka
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.wire import Wire
from ansible_collections.kafkaops.recovery.plugins.module_utils._model import partition as model
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.aftermath import find_aftermath
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.outcome import (
    AftermathFinding,
    AftermathKind,
    Outcome,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.plan import Status
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.strategy import Strategy
from integration.groups.lost_tails import (
    FIRST,
    GROUPS,
    ONE_PARTITION,
    ONLINE,
    SHARE,
    STATE,
    commit,
    committed,
    describe_share,
    lose,
    lose_leader,
    read_committed,
    replicas_of,
    share,
    share_elsewhere,
    writer,
)
from integration.on_call import OnCall
from integration.strategies.outages import wait_isr
from lab import Cluster, wait_until


@pytest.mark.wide
def test_a_transaction_that_its_coordinator_forgot_is_found_and_aborted(kafka_version: str, tmp_path: Path) -> None:
    with Cluster(kafka_version, brokers=4, properties={"transaction.state.log.num.partitions": 1}) as cluster:
        on_call = OnCall(cluster, tmp_path)
        writer(cluster, "known").init_transactions(60)
        dead, followers, witness = replicas_of(cluster, STATE)
        cluster.client.create_topic(ONLINE, {0: [witness]}, {"min.insync.replicas": 1})
        for each in followers:
            cluster.brokers[each].freeze()
        wait_isr(cluster, [STATE], {dead}, seen_by=dead)
        forgotten = writer(cluster, "forgotten")
        forgotten.init_transactions(60)
        forgotten.begin_transaction()
        forgotten.produce(ONLINE, "hangs", partition=0)
        forgotten.flush(60)
        cluster.client.produce(ONLINE, 0, 3)
        outcomes = lose(on_call, STATE, dead, followers, witness)

        def look() -> list[AftermathFinding]:
            found = _look(on_call, outcomes)
            return [each for each in found if each.topic == ONLINE or each.kind is AftermathKind.NOT_KNOWN]

        (hanging,) = look()
        assert hanging.kind is AftermathKind.OPEN_TRANSACTION
        assert "no coordinator lists it, so nothing ends it" in hanging.explanation
        assert read_committed(cluster) == []

        command = re.search(r"kafka-transactions\.sh (--.*)$", hanging.explanation)
        assert command
        done = cluster.client.run_tool("org.apache.kafka.tools.TransactionsCommand", *shlex.split(command[1]))
        done.check_returncode()
        wait_until(lambda: len(read_committed(cluster)) == 3, 30, what="consumers go on")
        assert look() == []


@pytest.mark.wide
def test_no_transaction_is_to_be_aborted_whose_coordinator_is_offline(kafka_version: str, tmp_path: Path) -> None:
    """Its state has no leader yet, and no other broker lists it. Once it has one, the producer commits."""
    settings = {"transaction.state.log.num.partitions": 1, "transaction.state.log.replication.factor": 1}
    with Cluster(kafka_version, properties={**settings, "transaction.state.log.min.isr": 1}) as cluster:
        on_call = OnCall(cluster, tmp_path)
        producer = writer(cluster, "goes on")
        producer.init_transactions(60)
        only = cluster.client.describe(STATE)[0].leader
        assert only is not None
        others = [each for each in cluster.brokers if each != only]
        cluster.client.create_topic(ONLINE, {0: [only, *others]}, {"min.insync.replicas": 1})
        producer.begin_transaction()
        producer.produce(ONLINE, "is open", partition=0)
        producer.flush(60)
        wait_isr(cluster, [ONLINE], {*cluster.brokers}, seen_by=only)
        for each in others:
            cluster.brokers[each].freeze()
        wait_isr(cluster, [ONLINE], {only}, seen_by=only)
        lose_leader(cluster, ONLINE, only, others)
        outcomes = on_call.carry_out(on_call.plan(Strategy.AGGRESSIVE, ONLINE))
        assert [each.status for each in outcomes] == [Status.RECOVERED]
        found = _look(on_call, outcomes)
        (open_one,) = (each.explanation for each in found if each.kind is AftermathKind.OPEN_TRANSACTION)
        assert "its producer may still end it" in open_one
        assert "abort it" not in open_one
        assert any(f"{STATE}-0 of 1 have no leader" in each.explanation for each in found)
        cluster.brokers[only].start()
        producer.commit_transaction(60)
        wait_until(lambda: read_committed(cluster) == ["is open"], 30, what="the transaction is committed")


@pytest.mark.wide
def test_groups_whose_commits_went_back_are_named(kafka_version: str, tmp_path: Path) -> None:
    with Cluster(kafka_version, brokers=4, properties={"offsets.topic.num.partitions": 1}) as cluster:
        on_call = OnCall(cluster, tmp_path)
        commit(cluster, "first", 0, topic="")
        dead, followers, witness = replicas_of(cluster, GROUPS)
        cluster.client.create_topic(ONLINE, {0: [witness]}, {"min.insync.replicas": 1})
        cluster.client.produce(ONLINE, 0, 9)
        commit(cluster, "billing", 5)
        commit(cluster, "ahead", 1000)
        wait_isr(cluster, [GROUPS], {dead, *followers}, seen_by=dead)
        for each in followers:
            cluster.brokers[each].freeze()
        wait_isr(cluster, [GROUPS], {dead}, seen_by=dead)
        commit(cluster, "billing", 9)
        outcomes = lose(on_call, GROUPS, dead, followers, witness)

        found = _look(on_call, outcomes)
        lost = [each.explanation for each in found if each.kind is AftermathKind.STATE_LOST]
        assert len(lost) == 1
        assert "the newest commits of 3 groups (ahead, billing, first) may be lost" in lost[0]
        (beyond,) = (each for each in found if each.kind is AftermathKind.COMMITTED_BEYOND_END)
        assert (beyond.topic, beyond.partition) == (ONLINE, 0)
        assert "group ahead committed offset 1000, 991 beyond the log end 9" in beyond.explanation
        assert committed(cluster, "billing") == 5, "it went back, as the finding says"


@pytest.mark.wide
def test_share_groups_are_listed(tmp_path: Path) -> None:
    with Cluster("4.3.1", brokers=4, properties=ONE_PARTITION) as cluster:
        on_call = OnCall(cluster, tmp_path)
        dead, followers, witness = share_elsewhere(cluster)
        outcomes = lose(on_call, SHARE, dead, followers, witness)

        found = _look(on_call, outcomes)
        group, partition = (each for each in found if each.kind is AftermathKind.STATE_LOST)
        assert "acknowledgements of 1 share group (queue) may be lost" in group.explanation
        assert (partition.topic, partition.partition) == (ONLINE, 0)
        assert "share group queue has no state here, and gets no records" in partition.explanation
        assert not [each for each in found if each.kind is AftermathKind.NOT_KNOWN], found
        described = describe_share(cluster)
        with Wire(on_call.settings) as wire:
            kafka = Kafka(wire)
            addresses = kafka.describe_cluster().unfenced.values()
            coordinator = next(each for each in addresses if kafka.share_group_states(each))
            starts = kafka.share_start_offsets(coordinator, ["queue"])["queue"]
            assert kafka.group_states(coordinator) == {}
        told = re.search(rf"queue\s+{FIRST}\s+0\s+(\d+)", described)
        assert told, described
        assert starts.error == ""
        assert starts.offsets[model.TopicPartition(FIRST, 0)] == int(told[1])
        assert starts.uninitialized == (model.TopicPartition(ONLINE, 0),)
        command = re.search(r"kafka-share-groups\.sh (.*)$", partition.explanation)
        assert command
        reset = cluster.client.run_tool(
            "org.apache.kafka.tools.consumer.group.ShareGroupCommand", *shlex.split(command[1])
        )
        assert "Error" not in reset.stdout + reset.stderr, reset
        assert share(cluster, ONLINE, 7) == 7, "it gets them again"


def _look(on_call: OnCall, outcomes: tuple[Outcome, ...]) -> list[AftermathFinding]:
    """Return the aftermath, once the new coordinator has loaded."""

    def look() -> list[AftermathFinding]:
        with Wire(on_call.settings) as wire:
            return [*find_aftermath(Kafka(wire), outcomes)]

    wait_until(lambda: not any("LOAD_IN_PROGRESS" in each.explanation for each in look()), 60, what="it has loaded")
    return look()
