# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A topic that is deleted and created again while a run changes it. Kafka's requests name the topic, and not its id."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest
from confluent_kafka.admin import AdminClient, ConfigResource, ResourceType

from ansible_collections.kafkaops.recovery.plugins.module_utils._changes.cluster_journal import ClusterJournal
from ansible_collections.kafkaops.recovery.plugins.module_utils._changes.journal import Journal
from ansible_collections.kafkaops.recovery.plugins.module_utils._changes.orders import OrderRequest, set_orders
from ansible_collections.kafkaops.recovery.plugins.module_utils._changes.record import (
    OrderChange,
    ReplicaChange,
    SettingChange,
    Undoing,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._changes.replica_sets import ReplicaSets, StepError
from ansible_collections.kafkaops.recovery.plugins.module_utils._changes.rollback import Rollback
from ansible_collections.kafkaops.recovery.plugins.module_utils._changes.sender import Writer
from ansible_collections.kafkaops.recovery.plugins.module_utils._changes.setting_writer import (
    SettingError,
    SettingWriter,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.partition import TopicPartition
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.run import NullProgress
from lab import Cluster, faults, settings, wait_until
from lab.changes import cluster_journal
from lab.module_process import run_module

_REORDER, _WRITE_CONFIG = 45, 44
_THROTTLED = "follower.replication.throttled.replicas"
NAME = "killed"
"""The fixture deletes this topic before each test."""
PARTITION = TopicPartition(NAME, 0)


def id_of(lock: ClusterJournal) -> str:
    state = lock.kafka.read_partition_state(PARTITION)
    assert state is not None
    return state.topic_id


def re_creates(cluster: Cluster, replicas: list[int]) -> Callable[[], None]:
    """Return an action that deletes the topic and creates it on these brokers."""

    def re_create() -> None:
        cluster.client.delete_topic(NAME)
        cluster.client.create_topic(NAME, {0: replicas})

    return re_create


def replicas_of(cluster: Cluster) -> tuple[int, ...]:
    return tuple(cluster.client.describe(NAME)[0].replicas)


def writer_of(lock: ClusterJournal, journal: Journal) -> Writer:
    living = lock.cluster.living(lock.brokers)
    return Writer(lock.kafka, [*living.values()], 3, 10.0).with_journal(journal)


def undo(lock: ClusterJournal, journal: Journal) -> list[tuple[Undoing, str]]:
    """Undo what the journal has, as every run does, and return the results."""
    rollback = Rollback.of(
        writer_of(lock, journal),
        lock.cluster.living(lock.brokers),
        journal,
        progress=NullProgress(),
        stop=threading.Event(),
    )
    return [(each.undoing, each.reason) for each in rollback.undo_now()]


def test_an_order_is_not_set_on_a_topic_that_was_re_created_after_it_was_journaled(cluster: Cluster) -> None:
    cluster.client.create_topic(NAME, {0: [1, 2, 3]})
    with cluster_journal(cluster.bootstrap(), request_timeout_ms=10_000) as lock, lock.open() as journal:
        change = OrderChange(NAME, 0, id_of(lock), (1, 2, 3), (3, 1, 2))
        journal.begin([change])
        re_creates(cluster, [2, 3, 1])()
        request = OrderRequest(change.topic_id, change.changed, change.possible_orders)
        (reason,) = set_orders(writer_of(lock, journal), {PARTITION: request}).values()
        assert "the topic was re-created" in reason
        assert replicas_of(cluster) == (2, 3, 1)
        assert [undoing for undoing, _reason in undo(lock, journal)] == [Undoing.GONE]
        assert replicas_of(cluster) == (2, 3, 1)
    assert not [each for each in cluster.proxy.write_requests() if each.is_reassignment]


def test_an_order_that_reaches_a_new_topic_is_named_with_the_leader_that_was_first(cluster: Cluster) -> None:
    cluster.client.create_topic(NAME, {0: [1, 2, 3]})
    with cluster_journal(cluster.bootstrap(), request_timeout_ms=10_000) as lock, lock.open() as journal:
        request = OrderRequest(id_of(lock), (3, 1, 2), [(1, 2, 3)])
        with cluster.proxy.inject(faults.Before(re_creates(cluster, [2, 3, 1])), api_key=_REORDER, times=1):
            (reason,) = set_orders(writer_of(lock, journal), {PARTITION: request}).values()
    assert replicas_of(cluster) == (3, 1, 2), "Kafka has no request that names the id"
    assert "when the replicas [3, 1, 2] of the deleted topic were requested" in reason
    assert "broker 2, which leads it, was probably the first" in reason


def test_a_reassignment_that_a_new_topic_gets_is_canceled(cluster: Cluster) -> None:
    """Broker 1 is down, so it cannot end before the run sees it."""
    cluster.client.create_topic(NAME, {0: [1, 2]})
    cluster.brokers[1].kill()
    wait_until(lambda: cluster.client.leader(NAME) == 2, 30, what="broker 2 leads")
    with cluster_journal(cluster.bootstrap(), request_timeout_ms=10_000) as lock, lock.open() as journal:
        request = OrderRequest(id_of(lock), (2, 1), [(1, 2)])
        with cluster.proxy.inject(faults.Before(re_creates(cluster, [3, 2])), api_key=_REORDER, times=1):
            (reason,) = set_orders(writer_of(lock, journal), {PARTITION: request}).values()
    assert reason.endswith(
        "which began a reassignment: it was canceled, which keeps its replicas, perhaps in another order than its first"
    )
    wait_until(lambda: {*replicas_of(cluster)} == {2, 3}, 10, what="the new topic has its own replicas")


@pytest.mark.wide
def test_a_copy_that_is_requested_for_a_new_topic_is_canceled(cluster: Cluster) -> None:
    """The redundancy wants another broker in place of one that died, and the topic is created again on the same two."""
    cluster.client.create_topic(NAME, {0: [1, 2]}, {"min.insync.replicas": 1})
    cluster.brokers[1].kill()
    wait_until(lambda: cluster.client.leader(NAME) == 2, 30, what="broker 2 leads")
    options = {
        "bootstrap_servers": [cluster.bootstrap()],
        "partitions": [{"topic": NAME, "partitions": [0]}],
        "apply": True,
    }
    with cluster.proxy.inject(faults.Before(re_creates(cluster, [1, 2])), api_key=_REORDER, times=1):
        done = run_module("redundancy", options)
    assert "which began a reassignment: it was canceled" in done["msg"]
    assert {*replicas_of(cluster)} == {1, 2}


@pytest.mark.wide
def test_a_replica_of_a_re_created_topic_is_not_dropped(cluster: Cluster) -> None:
    cluster.client.create_topic(NAME, {0: [3, 1, 2]})
    with cluster_journal(cluster.bootstrap(), request_timeout_ms=10_000) as lock, lock.open() as journal:
        change = ReplicaChange(NAME, 0, id_of(lock), 3, (3, 1, 2), 1, 3)
        living = lock.cluster.living(lock.brokers)
        sets = ReplicaSets(writer_of(lock, journal), living, journal, 30.0, threading.Event(), NullProgress())
        journal.begin([change])
        re_creates(cluster, [3, 1, 2])()
        with pytest.raises(StepError, match="re-created"):
            sets.assign(change, change.without_replica)
        assert replicas_of(cluster) == (3, 1, 2)
        assert [undoing for undoing, _reason in undo(lock, journal)] == [Undoing.GONE]
        assert replicas_of(cluster) == (3, 1, 2)


def test_a_setting_that_reaches_a_new_topic_is_removed(cluster: Cluster) -> None:
    cluster.client.create_topic(NAME, {0: [1, 2, 3]})
    with cluster_journal(cluster.bootstrap(), request_timeout_ms=10_000) as lock, lock.open() as journal:
        change = SettingChange("topic", NAME, _THROTTLED, None, "0:3", id_of(lock))
        writer = SettingWriter(writer_of(lock, journal), lock.cluster.living(lock.brokers))
        with (
            cluster.proxy.inject(faults.Before(re_creates(cluster, [1, 2, 3])), api_key=_WRITE_CONFIG, times=1),
            pytest.raises(SettingError, match="which we had requested, was removed from it"),
        ):
            writer.write(change, change.changed)
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap(settings.INTERNAL), "log_level": 0})
    resource = ConfigResource(ResourceType.TOPIC, NAME)
    assert admin.describe_configs([resource])[resource].result()[_THROTTLED].value in ("", None)
