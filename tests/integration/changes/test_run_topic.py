# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The run topic on real brokers: one holder at a time, and no change of a dead holder is lost."""

from __future__ import annotations

import json
import signal
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from confluent_kafka import TopicPartition
from confluent_kafka.admin import AdminClient

from ansible_collections.kafkaops.recovery.plugins.module_utils._changes.journal import LockLostError
from ansible_collections.kafkaops.recovery.plugins.module_utils._changes.journal_reader import Pending
from ansible_collections.kafkaops.recovery.plugins.module_utils._changes.record import JournalError
from ansible_collections.kafkaops.recovery.plugins.module_utils._changes.run_topic import RUN_TOPIC, LockHeldError
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.elections import PREFERRED, elect
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.settings import Address, settings_from
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.wire import Wire
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.partition import TopicPartition as Partition
from lab import Cluster, faults, settings
from lab.changes import Run, a_change, cluster_journal
from lab.playbook import run_playbook
from lab.waiting import wait_until

_CREATE_TOPICS, _DELETE_TOPICS, _PRODUCE, _API_VERSIONS = 19, 20, 0, 18
_AT_ONCE_S = 14.0
"""A lock that waits for a silent holder costs 15 s."""


def exists(cluster: Cluster) -> bool:
    return bool(cluster.client.describe(RUN_TOPIC))


def assert_gone(cluster: Cluster) -> None:
    wait_until(lambda: not exists(cluster), 10, what="the run topic is gone")


def records(cluster: Cluster) -> list[dict[str, Any]]:
    """Return the records of the run topic, read by another client."""
    return [json.loads(each) for each in cluster.client.consume_all(RUN_TOPIC, 0)]


def test_a_run_creates_the_topic_journals_in_it_and_deletes_it(cluster: Cluster) -> None:
    with cluster_journal(cluster.bootstrap()) as lock:
        with lock.open() as journal:
            journal.begin([a_change()])
            journal.require_lock()
            wait_until(lambda: exists(cluster), 10, what="the first broker sees the run topic")
            assert cluster.client.describe(RUN_TOPIC)[0].replicas == (1, 2, 3)
            (begun,) = [each["begin"] for each in records(cluster) if "begin" in each]
            assert [(each["topic"], each["original"], each["changed"]) for each in begun] == [
                ("orders", [1, 2, 3], [3, 1, 2])
            ]
            assert lock.read().changes == (a_change(),)
            journal.end([a_change()], "test")
        assert journal.notes == []
        assert lock.read().changes == ()
    assert_gone(cluster)


def test_a_read_creates_nothing(cluster: Cluster) -> None:
    with cluster_journal(cluster.bootstrap()) as lock:
        assert lock.read().changes == ()
    assert cluster.proxy.write_requests() == []


@pytest.mark.parametrize(
    "dead", [pytest.param((), marks=pytest.mark.wide), (2, 3)], ids=["healthy", "two of three brokers dead"]
)
def test_one_of_several_concurrent_runs_gets_the_lock(cluster: Cluster, dead: tuple[int, ...]) -> None:
    """Ten races of three clients, each with its own connections."""
    for broker_id in dead:
        cluster.brokers[broker_id].kill()
    for _race in range(10):
        with (
            cluster_journal(cluster.bootstrap()) as one,
            cluster_journal(cluster.bootstrap()) as two,
            cluster_journal(cluster.bootstrap()) as three,
            ThreadPoolExecutor(3) as threads,
        ):
            opened = [each.open() for each in (one, two, three)]
            attempts = [threads.submit(each.__enter__) for each in opened]
            errors = [each.exception() for each in attempts]
            winners = [each for each, error in zip(opened, errors, strict=True) if error is None]
            assert len(winners) == 1, errors
            assert [type(each) for each in errors if each is not None] == [LockHeldError, LockHeldError]
            assert "user " in str(next(each for each in errors if each))
            winners[0].__exit__(None, None, None)


def test_a_lock_costs_eight_requests(cluster: Cluster) -> None:
    """Create, claim, read; begin, check; end, check, delete."""
    with cluster_journal(cluster.bootstrap()) as lock:
        asked = len(cluster.proxy.requests())
        with lock.open() as journal:
            journal.begin([a_change()])
            journal.require_lock()
            journal.end(journal.pending, "test")
    sent = [each.api_key for each in cluster.proxy.requests()[asked:] if each.api_key != _API_VERSIONS]
    assert [each for each in sent if each in {_CREATE_TOPICS, _DELETE_TOPICS}] == [_CREATE_TOPICS, _DELETE_TOPICS]
    assert sent.count(_PRODUCE) <= 5, "the first one may come before the broker knows of the topic"


def test_the_next_run_gets_a_killed_runs_changes_at_once(cluster: Cluster) -> None:
    """Both runs are on one host, so the next run sees that the process has ended."""
    run = Run.start(cluster)
    assert run.do("begin") == "done"
    run.signal(signal.SIGKILL)
    run.end()
    with cluster_journal(cluster.bootstrap()) as lock:
        before = time.monotonic()
        with lock.open() as journal:
            assert time.monotonic() - before < _AT_ONCE_S
            assert journal.pending == (a_change(),)
            journal.end(journal.pending, "test")
            journal.require_lock()
            assert not [*journal.pending]
    assert_gone(cluster)


@pytest.mark.wide
def test_pending_changes_stay_for_the_next_run(cluster: Cluster) -> None:
    with cluster_journal(cluster.bootstrap()) as lock:
        with lock.open() as journal:
            journal.begin([a_change(0), a_change(1)])
            journal.end([a_change(1)], "test")
        before = time.monotonic()
        with lock.open() as journal:
            assert time.monotonic() - before < _AT_ONCE_S, "a released lock is taken at once"
            assert journal.pending == (a_change(0),)
            journal.end(journal.pending, "test")
    assert_gone(cluster)


def test_a_frozen_holder_is_replaced_and_writes_nothing_when_it_wakes_up(cluster: Cluster) -> None:
    run = Run.start(cluster)
    assert run.do("begin") == "done"
    run.signal(signal.SIGSTOP)
    try:
        with cluster_journal(cluster.bootstrap()) as lock, lock.open() as journal:
            assert journal.pending == (a_change(),)
            before = records(cluster)
            run.signal(signal.SIGCONT)
            assert run.do("check").startswith("LockLostError: this run was taken for dead")
            assert run.do("begin").startswith("LockLostError")
            run.end()
            journal.require_lock()
            assert [each for each in records(cluster)[len(before) :] if "beat" not in each] == []
            journal.end(journal.pending, "test")
    finally:
        run.end()
    assert_gone(cluster)


@pytest.mark.wide
def test_a_frozen_holder_that_was_not_replaced_continues(cluster: Cluster) -> None:
    run = Run.start(cluster)
    run.signal(signal.SIGSTOP)
    time.sleep(10)
    run.signal(signal.SIGCONT)
    assert run.do("check") == "done"
    run.end()
    assert_gone(cluster)


def test_a_living_holder_refuses_others_by_name(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWX_JOB_ID", "4711")
    run = Run.start(cluster)
    with cluster_journal(cluster.bootstrap()) as lock, pytest.raises(LockHeldError) as refusal, lock.open():
        pass
    for expected in ("user ", "host ", f"process {run.process.pid}", "AWX job 4711", "since 20"):
        assert expected in str(refusal.value)
    run.end()


def test_a_deleted_topic_is_noticed_before_the_next_write(cluster: Cluster) -> None:
    with cluster_journal(cluster.bootstrap()) as lock:
        with lock.open() as journal:
            journal.begin([a_change()])
            admin = AdminClient({"bootstrap.servers": cluster.bootstrap(settings.INTERNAL), "log_level": 0})
            admin.delete_topics([RUN_TOPIC])[RUN_TOPIC].result()
            for broker in cluster.live_brokers:
                wait_until(
                    lambda each=broker.node_id: not cluster.client.describe(RUN_TOPIC, broker=each),  # type: ignore[misc]
                    10,
                    what="every broker forgets the run topic",
                )
            with pytest.raises(LockLostError, match="was deleted"):
                journal.require_lock()
            with pytest.raises(LockLostError):
                journal.begin([a_change(1)])
        assert not exists(cluster), "nothing is created again"


@pytest.mark.wide
def test_the_journal_survives_the_death_of_its_leader(cluster: Cluster) -> None:
    with cluster_journal(cluster.bootstrap()) as lock, lock.open() as journal:
        journal.begin([a_change()])
        leader = cluster.client.leader(RUN_TOPIC)
        assert leader is not None
        cluster.brokers[leader].kill()
        journal.begin([a_change(1)])
        journal.require_lock()
        assert lock.read().changes == (a_change(0), a_change(1))
        journal.end(journal.pending, "test")
    assert_gone(cluster)


def _lose_the_journals_broker(cluster: Cluster) -> None:
    """Leave a pending change in a run topic on broker 1 only, then kill broker 1 and start the others."""
    for broker_id in (2, 3):
        cluster.brokers[broker_id].kill()
    with cluster_journal(cluster.bootstrap()) as lock, lock.open() as journal:
        journal.begin([a_change()])
    cluster.brokers[1].kill()
    for broker_id in (2, 3):
        cluster.brokers[broker_id].start()


def test_a_journal_whose_brokers_died_is_recovered_first(cluster: Cluster) -> None:
    """Only broker 1 had the topic. After its unclean stop, the controller does not elect it if ELR is enabled."""
    _lose_the_journals_broker(cluster)
    with cluster_journal(cluster.bootstrap()) as lock:
        with pytest.raises(JournalError, match="journal of an earlier run is lost: topic _kafkaops_run"), lock.open():
            pass
        assert "has no leader" in lock.read().notes[0]
    cluster.brokers[1].start()
    with cluster_journal(cluster.bootstrap()) as lock, lock.open() as journal:
        assert journal.pending == (a_change(),)
        journal.end(journal.pending, "test")
    assert_gone(cluster)


def test_a_lost_journal_is_discarded_only_if_the_operator_allows_it(cluster: Cluster) -> None:
    _lose_the_journals_broker(cluster)
    with cluster_journal(cluster.bootstrap(), discard_lost=True) as lock:
        with lock.open() as journal:
            assert journal.pending == ()
        assert "was lost, and was deleted" in journal.notes[0]


def _assert_refused_until_discarded(cluster: Cluster, *, noted: str, refused: str) -> None:
    """Check that a look notes it, and that no run writes before the operator gives the records up."""
    with cluster_journal(cluster.bootstrap()) as lock:
        assert lock.read().changes == ()
        assert noted in lock.read().notes[0]
        with pytest.raises(JournalError, match=refused), lock.open():
            pass
    with cluster_journal(cluster.bootstrap(), discard_lost=True) as lock, lock.open() as journal:
        assert journal.pending == ()
        assert journal.notes[0].endswith("It was deleted")
    assert_gone(cluster)


def test_a_journal_without_its_first_records_is_no_empty_journal(cluster: Cluster) -> None:
    """Another party deletes records of all topics, by retention or with DeleteRecords."""
    with cluster_journal(cluster.bootstrap()) as lock, lock.open() as journal:
        journal.begin([a_change()])
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap(settings.INTERNAL), "log_level": 0})
    (deleted,) = admin.delete_records([TopicPartition(RUN_TOPIC, 0, 2)]).values()
    deleted.result(30)
    _assert_refused_until_discarded(
        cluster,
        noted="whether changes of an earlier run are pending is unknown: another party",
        refused="deleted the first records of topic _kafkaops_run",
    )


@pytest.mark.wide
def test_a_journal_whose_last_leader_came_back_with_an_empty_disk_is_no_empty_journal(kafka_version: str) -> None:
    with Cluster(kafka_version, brokers=3) as cluster:
        with cluster_journal(cluster.bootstrap()) as lock, lock.open() as journal:
            journal.begin([a_change()])
        for broker_id in (3, 2, 1):
            cluster.brokers[broker_id].kill()
            if broker_id > 1:
                wait_until(lambda: broker_id not in cluster.client.describe(RUN_TOPIC)[0].isr, 30, what="it is fenced")  # noqa: B023
        cluster.brokers[1].wipe()
        cluster.brokers[1].start()

        def is_led() -> bool:
            with Wire(settings_from({"bootstrap_servers": cluster.bootstrap()})) as wire:
                elect(wire, Address(cluster.host, cluster.brokers[1].port), PREFERRED, [Partition(RUN_TOPIC, 0)])
            return cluster.client.leader(RUN_TOPIC) == 1

        # Before 4.0, a broker with a new disk leads after the next change of the partition.
        wait_until(is_led, 60, what="broker 1 leads", interval=2)
        emptied = "is empty, and its leader is not the first one"
        _assert_refused_until_discarded(cluster, noted=emptied, refused=emptied)


@pytest.mark.wide
def test_a_survivor_that_may_miss_the_last_entry_is_elected_only_if_the_operator_allows_it(cluster: Cluster) -> None:
    """Broker 3 leaves the ISR, a change is recorded, and the two others die: only they have its undo record."""
    with cluster_journal(cluster.bootstrap()) as lock, lock.open() as journal:
        journal.begin([a_change(0)])
        wait_until(lambda: 3 in cluster.client.describe(RUN_TOPIC)[0].isr, 30, what="broker 3 has the first change")
        cluster.brokers[3].kill()
        wait_until(lambda: 3 not in cluster.client.describe(RUN_TOPIC)[0].isr, 30, what="broker 3 is not in sync")
        journal.begin([a_change(1)])
    for broker_id in (1, 2):
        cluster.brokers[broker_id].kill()
    cluster.brokers[3].start()
    wait_until(lambda: cluster.client.leader(RUN_TOPIC) is None, 30, what="broker 3 sees that nobody leads")
    with (
        cluster_journal(cluster.bootstrap()) as lock,
        pytest.raises(JournalError, match="Broker 3 answers, and was not in sync"),
        lock.open(),
    ):
        pass
    assert cluster.client.leader(RUN_TOPIC) is None
    with cluster_journal(cluster.bootstrap(), discard_lost=True) as lock, lock.open() as journal:
        assert journal.pending == (a_change(0),), "the last change is given up"
        assert "it may miss the last changes of that run" in journal.notes[0]
        journal.end(journal.pending, "test")
    assert_gone(cluster)


@pytest.mark.wide
def test_a_broker_that_takes_no_record_does_not_keep_the_journal(cluster: Cluster) -> None:
    """Its disk hangs: it answers other requests, and the controller does not fence it."""
    with (
        cluster_journal(cluster.bootstrap()) as lock,
        cluster.proxy.inject(faults.SwallowRequest(), broker=1, api_key=_PRODUCE),
        lock.open() as journal,
    ):
        journal.begin([a_change()])
        assert cluster.client.leader(RUN_TOPIC) == 2
        journal.end([a_change()], "test")
    assert_gone(cluster)


@pytest.mark.wide
def test_if_deletion_is_disabled_the_topic_stays_and_blocks_no_run(kafka_version: str) -> None:
    disabled = {"delete.topic.enable": "false"}
    with Cluster(kafka_version, 1, properties=disabled, controller_properties=disabled, proxied=True) as cluster:
        for _run in range(2):
            with cluster_journal(cluster.bootstrap()) as lock:
                before = time.monotonic()
                with lock.open() as journal:
                    assert time.monotonic() - before < _AT_ONCE_S, "the lock is taken at once"
                    journal.begin([a_change()])
                    journal.end(journal.pending, "test")
                assert "is not needed any more and could not be deleted" in journal.notes[0]
                assert lock.read().changes == ()
        dead = Run.start(cluster)
        assert dead.do("begin") == "done"
        dead.signal(signal.SIGKILL)
        dead.end()
        with cluster_journal(cluster.bootstrap()) as lock, lock.open() as journal:
            assert journal.pending == (a_change(),)
            journal.end(journal.pending, "test")
            journal.require_lock()
        assert exists(cluster)
        with cluster_journal(cluster.bootstrap()) as lock:
            assert lock.read() == Pending()


def test_a_topic_of_another_party_is_refused_and_stays(cluster: Cluster) -> None:
    """Somebody names one as the journal. A run would set its retention, and delete it at its end."""
    cluster.client.create_topic("payments", {0: [1, 2, 3]}, {"retention.ms": 3600000})
    cluster.client.produce("payments", 0, 10)
    given = {"kafka_bootstrap_servers": cluster.bootstrap(), "kafka_journal_topic": "payments"}
    drain: dict[str, object] = {**given, "leadership_drain_brokers": [1]}
    refusal = "holds records that no run wrote, so it is not the journal"
    try:
        red = run_playbook("kafkaops.recovery.check_readiness", {**given, "readiness_local_spark": False})
        assert (red.returncode, refusal in red.words) == (2, True), red.output
        for playbook, variables in (
            ("drain_leadership", drain),
            ("restore_redundancy", {**given, "redundancy_lost_brokers": [3]}),
            ("recover_log_cleaners", given),
        ):
            foreseen = run_playbook(f"kafkaops.recovery.{playbook}", variables, "--check")
            assert (foreseen.returncode, refusal in foreseen.words) == (0, True), foreseen.output
        refused = run_playbook("kafkaops.recovery.drain_leadership", drain)
        assert refused.returncode == 2, refused.output
        assert "Nothing was changed: name another topic (kafka_journal_topic)" in refused.words
        assert {each.api_key for each in cluster.proxy.write_requests()} == {_CREATE_TOPICS}
        assert len(cluster.client.consume_all("payments", 0)) == 10
    finally:
        cluster.client.delete_topic("payments")
