# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The lock in the run topic, with lost responses, repeated requests, and runs that freeze between two requests."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace

import pytest

from ansible_collections.kafkaops.recovery.plugins.module_utils._changes.journal import Journal, LockLostError
from ansible_collections.kafkaops.recovery.plugins.module_utils._changes.own_topic import (
    BYTES_PER_REQUEST,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._changes.record import (
    JournalError,
    OrderChange,
    end_entries,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._changes.run_state import Holder, new_holder
from ansible_collections.kafkaops.recovery.plugins.module_utils._changes.run_topic import (
    LockHeldError,
    LockPace,
    RunTopics,
    TopicLog,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._changes.topic_by_name import TopicUnavailableError
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka import error_codes
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.partitions import Description, TopicError
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.settings import Address
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.topics import TopicRecords
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.run import NullProgress
from unit.fakes.clock import FakeClock
from unit.fakes.topics import (
    CLUSTER_AUTHORIZATION_FAILED,
    DELETION_DISABLED,
    TOPIC_AUTHORIZATION_FAILED,
    FakeTopics,
)

TOPIC = "_kafkaops_run"
ADDRESSES = {each: Address(f"broker-{each}.invalid", 9092) for each in (1, 2)}
CHANGE = OrderChange("orders", 0, "EjRWeJq83vASNFZ4mrze8A", (1, 2, 3), (3, 1, 2))
QUICK = LockPace(beat_s=60, lease_s=60, silence_s=0.2, timeout_s=0.5)
"""Without heartbeats: every other run counts as dead."""
LIVELY = LockPace(beat_s=0.05, lease_s=0.1, silence_s=1.0, timeout_s=0.5)


def a_run(name: str = "a") -> Holder:
    """Return a run of another host, whose process cannot be checked."""
    return replace(new_holder(), run=name, host="elsewhere", process="")


def topics(kafka: FakeTopics, pace: LockPace = QUICK) -> RunTopics:
    return RunTopics(kafka, ADDRESSES, ADDRESSES, TOPIC, pace)


def acquire(kafka: FakeTopics, name: str = "a", pace: LockPace = QUICK) -> TopicLog:
    return topics(kafka, pace).acquire(a_run(name), NullProgress())


def journal_of(log: TopicLog) -> Journal:
    return Journal(log, log.state.pending.values(), log.state.doubted)


@pytest.fixture
def kafka(clock: FakeClock) -> FakeTopics:
    found = FakeTopics()
    found.clock = clock
    return found


@pytest.mark.parametrize("request_name", ["CreateTopics", "Produce", "DeleteTopics"])
def test_a_lost_response_changes_nothing(kafka: FakeTopics, request_name: str) -> None:
    kafka.lost[request_name] = 2 if request_name == "Produce" else 1
    log = acquire(kafka)
    journal = journal_of(log)
    journal.begin([CHANGE])
    journal.require_lock()
    kafka.lost["Produce"] = 1 if request_name == "Produce" else 0
    found = topics(kafka).read()
    assert found is not None
    assert [*found.pending.values()] == [CHANGE]
    journal.end([CHANGE], "test")
    log.close(is_settled=True)
    assert kafka.topics == {}


def test_followers_are_added_to_a_leader_that_knows_the_topic(kafka: FakeTopics) -> None:
    acquire(kafka).require_lock()
    assert kafka.sent[:2] == ["CreateTopics", "AlterPartitionReassignments"]
    assert kafka.topics[TOPIC].replicas == (1, 2)


def test_a_change_is_recorded_once_a_follower_is_in_sync(kafka: FakeTopics) -> None:
    """The lock is taken before that: this run reads meanwhile."""
    kafka.follower_is_in_sync = False
    journal = journal_of(acquire(kafka))
    with pytest.raises(JournalError, match=r"no follower of topic _kafkaops_run is in sync.*look at the logs"):
        journal.begin([CHANGE])
    kafka.late_brokers = {2}
    with pytest.raises(JournalError, match=r"no follower .*: broker 2 applies metadata late: it ends at offset 8"):
        journal.begin([CHANGE])
    kafka.follower_is_in_sync = True
    journal.begin([CHANGE])
    found = topics(kafka).read()
    assert found is not None
    assert [*found.pending.values()] == [CHANGE]


@pytest.mark.parametrize(
    "refuse",
    [
        lambda kafka: kafka.errors.update({"AlterPartitionReassignments": CLUSTER_AUTHORIZATION_FAILED}),
        lambda kafka: setattr(kafka, "policy_min_replicas", 2),
    ],
    ids=["no ALTER on the cluster", "a policy for new topics"],
)
def test_if_followers_cannot_be_added_all_replicas_are_created_at_once(
    kafka: FakeTopics, refuse: Callable[[FakeTopics], None]
) -> None:
    refuse(kafka)
    acquire(kafka).require_lock()
    assert kafka.topics[TOPIC].replicas == (1, 2)


def test_a_topic_that_can_neither_get_followers_nor_be_deleted_is_refused(kafka: FakeTopics) -> None:
    """Its records would be on one broker only."""
    kafka.errors = {
        "AlterPartitionReassignments": CLUSTER_AUTHORIZATION_FAILED,
        "DeleteTopics": DELETION_DISABLED,
    }
    with pytest.raises(TopicUnavailableError, match="created with one replica"):
        acquire(kafka)


def test_a_topic_whose_creator_died_before_it_added_followers_gets_them(kafka: FakeTopics) -> None:
    kafka.create_topic(ADDRESSES[1], TOPIC, [2], {})
    acquire(kafka).require_lock()
    assert kafka.topics[TOPIC].replicas == (2, 1)


def test_a_topic_that_brokers_show_late_is_waited_for(kafka: FakeTopics, clock: FakeClock) -> None:
    kafka.are_shown = False
    clock.in_s(1.2, lambda: setattr(kafka, "are_shown", True))
    acquire(kafka, pace=replace(QUICK, timeout_s=60.0)).require_lock()
    assert kafka.sent.count("DeleteTopics") == 0


def test_a_topic_that_no_broker_shows_is_named(kafka: FakeTopics) -> None:
    kafka.are_shown = False
    with pytest.raises(JournalError, match="no broker has shown it"):
        acquire(kafka, pace=replace(QUICK, timeout_s=1.5))


def test_a_record_that_arrives_late_has_no_effect(kafka: FakeTopics) -> None:
    """A repeated request arrives after the change has ended."""
    log = acquire(kafka)
    journal = journal_of(log)
    journal.begin([CHANGE])
    late = kafka.topics[TOPIC].records[-1]
    journal.end([CHANGE], "test")
    kafka.topics[TOPIC].records.append(late)
    found = topics(kafka).read()
    assert found is not None
    assert found.pending == {}


def test_a_dead_holder_is_replaced_and_its_changes_are_pending(kafka: FakeTopics) -> None:
    dead = journal_of(acquire(kafka, "dead"))
    dead.begin([CHANGE])
    log = acquire(kafka, "next")
    assert journal_of(log).pending == (CHANGE,)
    first_id = log.state.topic_id
    with pytest.raises(LockLostError, match="taken for dead and replaced"):
        dead.require_lock()
    with pytest.raises(LockLostError):
        dead.begin([CHANGE])
    journal = journal_of(log)
    journal.end([CHANGE], "test")
    assert log.state.topic_id != first_id, "it has its own topic, which the dead run cannot delete"
    journal.require_lock()
    log.close(is_settled=True)
    assert kafka.topics == {}


def test_records_of_a_replaced_holder_have_no_effect(kafka: FakeTopics) -> None:
    """It was frozen between its check of the lock and its request."""
    frozen = acquire(kafka, "frozen")
    journal_of(frozen).begin([CHANGE])
    log = acquire(kafka, "next")
    frozen.append(end_entries([CHANGE], "late"))
    assert log.refresh().pending == {CHANGE.key: CHANGE}
    log.require_lock()


def test_a_holder_that_writes_before_a_claim_arrives_keeps_the_lock(kafka: FakeTopics) -> None:
    holder = acquire(kafka, "holder")
    claimant = topics(kafka).log_of(holder.state.topic_id, 1, a_run("claimant"))
    claim = claimant.refresh().claim(a_run("claimant"))
    journal_of(holder).begin([CHANGE])
    claimant.append([claim])
    holder.require_lock()
    assert not claimant.refresh().is_held_by(a_run("claimant"))


def test_of_two_claims_on_a_dead_holder_the_first_wins(kafka: FakeTopics) -> None:
    dead = acquire(kafka, "dead")
    one, two = (topics(kafka).log_of(dead.state.topic_id, 1, a_run(name)) for name in ("one", "two"))
    claims = [(each, each.refresh().claim(a_run(name))) for each, name in ((one, "one"), (two, "two"))]
    for log, claim in claims:
        log.append([claim])
    for log in (one, two):
        state = log.refresh()
        assert state.is_held_by(a_run("one"))
        assert not state.is_held_by(a_run("two"))


def test_own_records_are_not_read_again_and_those_of_others_are(kafka: FakeTopics) -> None:
    log = acquire(kafka, "one")
    journal = journal_of(log)
    journal.begin([CHANGE])
    log.require_lock()
    assert (log.state.next_offset, log.state.pending) == (2, {})
    # The response was lost, so the record is there twice, and the second one is not where it was expected.
    kafka.lost["Produce"] = 1
    journal.end([CHANGE], "restored")
    other = topics(kafka).log_of(log.state.topic_id, 1, a_run("two"))
    other.append([other.refresh().claim(a_run("two"))])
    with pytest.raises(LockLostError, match="was taken for dead"):
        log.require_lock()
    assert other.refresh().pending == {}
    assert other.refresh().is_held_by(a_run("two"))


def test_a_living_holder_refuses_others(kafka: FakeTopics) -> None:
    """Heartbeats are written by a thread of its own, whose waits no fake clock shortens."""
    kafka.clock = time
    log = acquire(kafka, "alive", LIVELY)
    with pytest.raises(LockHeldError, match="host elsewhere"):
        acquire(kafka, "other", LIVELY)
    log.close(is_settled=True)
    acquire(kafka, "other", LIVELY).close(is_settled=True)


def test_a_released_lock_is_taken_at_once(kafka: FakeTopics) -> None:
    log = acquire(kafka, "first")
    journal_of(log).begin([CHANGE])
    log.close(is_settled=False)
    never = replace(QUICK, silence_s=3600)
    assert journal_of(acquire(kafka, "next", never)).pending == (CHANGE,)


def test_if_deletion_is_disabled_the_topic_stays_and_blocks_no_run(kafka: FakeTopics) -> None:
    kafka.errors["DeleteTopics"] = DELETION_DISABLED
    for name in ("first", "second"):
        log = acquire(kafka, name, replace(QUICK, silence_s=3600))
        journal = journal_of(log)
        journal.begin([CHANGE])
        journal.end([CHANGE], "test")
        log.close(is_settled=True)
        assert "could not be deleted" in log.notes[0]
        assert topics(kafka).read() is not None


@pytest.mark.parametrize("request_name", ["CreateTopics", "Produce", "Fetch"])
def test_a_missing_acl_leaves_nothing_behind(kafka: FakeTopics, request_name: str) -> None:
    kafka.errors[request_name] = TOPIC_AUTHORIZATION_FAILED
    with pytest.raises(TopicUnavailableError):
        acquire(kafka)
    assert kafka.topics == {}


def test_a_deleted_topic_is_noticed_and_not_created_again(kafka: FakeTopics) -> None:
    journal = journal_of(acquire(kafka, pace=replace(QUICK, timeout_s=5)))
    journal.begin([CHANGE])
    kafka.topics.clear()
    with pytest.raises(LockLostError, match="was deleted"):
        journal.require_lock()
    assert kafka.topics == {}


def test_a_broker_that_does_not_know_the_topic_yet_does_not_end_the_run(kafka: FakeTopics, clock: FakeClock) -> None:
    """Brokers apply metadata late. Seen on 4.3.1: a replay failed, because "its topic was deleted"."""
    journal = journal_of(acquire(kafka, pace=replace(QUICK, timeout_s=30)))
    journal.begin([CHANGE])
    kafka.are_shown, kafka.one_shows_them = False, True
    kafka.late_brokers = {*ADDRESSES}
    clock.in_s(1.5, lambda: setattr(kafka, "are_shown", True))
    journal.require_lock()
    assert clock.now >= 1.5


def test_a_pending_change_is_seen_if_the_broker_that_answers_first_does_not_know_its_topic_yet(
    kafka: FakeTopics,
) -> None:
    journal = journal_of(acquire(kafka))
    journal.begin([CHANGE])
    kafka.describe_partitions = lambda names=None, _span=None: Description(  # type: ignore[method-assign,assignment]
        (), tuple(TopicError(each, error_codes.UNKNOWN_TOPIC_OR_PARTITION) for each in names or ())
    )
    state = topics(kafka).read()
    assert state is not None
    assert [*state.pending.values()] == [*journal.pending]


@pytest.mark.parametrize("is_read_first", [False, True])
def test_a_read_during_a_deletion_does_not_fail(kafka: FakeTopics, is_read_first: bool) -> None:
    """Brokers may still describe the topic. The Fetch of its records succeeds, or the topic counts as missing."""
    log = acquire(kafka)
    read_records: Callable[..., TopicRecords] = kafka.read_records

    def meet_a_deletion(leader: Address, topic_id: str, offset: int) -> TopicRecords:
        found = read_records(leader, topic_id, offset) if is_read_first else None
        log.delete()
        return found or read_records(leader, topic_id, offset)

    kafka.read_records = meet_a_deletion  # type: ignore[method-assign,assignment]
    state = topics(kafka, replace(QUICK, timeout_s=5)).read()
    assert (state is not None) == is_read_first


def test_a_successors_topic_is_not_taken_for_ours(kafka: FakeTopics) -> None:
    log = acquire(kafka, "first", replace(QUICK, timeout_s=5))
    kafka.topics.clear()
    acquire(kafka, "next", replace(QUICK, timeout_s=5))
    with pytest.raises(LockLostError):
        log.require_lock()
    log.close(is_settled=True)
    assert TOPIC in kafka.topics, "the successor's topic is not deleted"


@pytest.mark.parametrize("spoil", [b"", b"[]", b'{"n": 1}', b'{"claim": 2}', b"\xff"])
def test_a_record_of_another_client_has_no_effect(kafka: FakeTopics, spoil: bytes) -> None:
    log = acquire(kafka)
    kafka.topics[TOPIC].records.append((b"stranger", spoil))
    kafka.topics[TOPIC].records.append((None, None))
    log.require_lock()


def test_many_records_are_split_into_requests_of_limited_size(kafka: FakeTopics) -> None:
    sizes: list[int] = []
    append: Callable[..., int] = kafka.append_records

    def measured(leader: Address, partition: object, records: list[tuple[bytes, bytes]]) -> int:
        sizes.append(sum(len(value) for _key, value in records))
        return append(leader, partition, records)

    kafka.append_records = measured  # type: ignore[method-assign,assignment]
    journal = journal_of(acquire(kafka))
    journal.begin([replace(CHANGE, partition=number) for number in range(15_000)])
    assert max(sizes) <= BYTES_PER_REQUEST
    assert sum(sizes) > BYTES_PER_REQUEST
    found = topics(kafka).read()
    assert found is not None
    assert len(found.pending) == 15_000


def test_the_topic_is_created_where_metadata_is_applied_in_time(kafka: FakeTopics) -> None:
    """A late broker does not know a new topic, so as its leader it would refuse the records of the run."""
    kafka.late_brokers = {1}
    three = ADDRESSES | {3: Address("broker-3.invalid", 9092)}
    RunTopics(kafka, three, three, TOPIC, QUICK).acquire(a_run(), NullProgress())
    assert kafka.topics[TOPIC].replicas == (2, 3)


def test_a_deleted_topic_that_a_late_broker_shows_is_no_topic(kafka: FakeTopics) -> None:
    """Only a broker that applies metadata late shows it. Its leader has applied its deletion."""
    acquire(kafka)
    kafka.are_shown, kafka.one_shows_them = False, True
    patient = replace(QUICK, timeout_s=5.0)
    assert topics(kafka, patient).read() is None


def test_a_topic_of_another_party_is_neither_changed_nor_deleted(kafka: FakeTopics) -> None:
    """Somebody names a topic with records as the journal. A run would set its retention, and delete it at the end."""
    kafka.create_topic(ADDRESSES[1], TOPIC, [1], {"retention.ms": "3600000"})
    kafka.topics[TOPIC].records += [(b"order-1", b'{"amount": 7}'), (None, b"[" * 100_000)]
    before = replace(kafka.topics[TOPIC], records=[*kafka.topics[TOPIC].records])
    kafka.sent.clear()
    for use in (lambda: acquire(kafka), lambda: topics(kafka).read()):
        with pytest.raises(TopicUnavailableError, match=r"records that no run wrote.*another topic \(journal_topic\)"):
            use()
    assert kafka.topics == {TOPIC: before}
    assert {*kafka.sent} == {"CreateTopics", "Fetch"}
