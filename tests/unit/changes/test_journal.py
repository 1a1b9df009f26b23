# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The journal, with all kinds of changes."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from ansible_collections.kafkaops.recovery.plugins.module_utils._changes.record import (
    Change,
    Entry,
    JournalError,
    LastingOrders,
    OrderChange,
    ReplicaChange,
    SettingChange,
    VoterChange,
    apply_entry,
    begin_entries,
    end_entries,
    subject_of,
)
from unit.fakes.journals import open_journal, read_pending
from unit.fakes.topics import FakeTopics

UNSET = SettingChange("broker", "3", "log.cleaner.backoff.ms", None, "15001")
SET = SettingChange("topic", "t", "follower.replication.throttled.replicas", "0:1", "0:3")
REPLICA = ReplicaChange("t", 0, "id", 3, (3, 1, 2), 1, 3)
ORDER = OrderChange("t", 10, "id", (1, 2), (2, 1))
VOTER = VoterChange("add", 4, "AAAAAAAAAAAAAAAAAAAAAA")
DRAIN = LastingOrders()


@pytest.fixture
def topics() -> FakeTopics:
    return FakeTopics()


def _begun(change: Change, **spoilt: object) -> Entry:
    """Return the record that begins a change, as it is read back."""
    entry: Entry
    (entry,) = json.loads(json.dumps(begin_entries([change])))
    entry["begin"][0] |= spoilt
    return entry


def test_pending_changes_are_read_back_with_replicas_first(topics: FakeTopics) -> None:
    assert read_pending(topics) == ()
    earlier = replace(ORDER, partition=2)
    with open_journal(topics) as journal:
        journal.begin([UNSET, SET])
        journal.begin([DRAIN])
        journal.begin([VOTER])
        journal.begin([ORDER, earlier])
        journal.begin([REPLICA])
    assert read_pending(topics) == (REPLICA, earlier, ORDER, UNSET, SET, VOTER, DRAIN)
    with open_journal(topics) as journal:
        journal.end([UNSET], "restored")
        assert journal.orders == (earlier, ORDER)
    assert UNSET not in read_pending(topics)


def test_a_journal_without_pending_changes_is_deleted(topics: FakeTopics) -> None:
    """So it does not grow forever, and no old record can block a run."""
    with open_journal(topics) as journal:
        journal.begin([ORDER])
        journal.end([ORDER], "restored")
    assert topics.topics == {}


@pytest.mark.parametrize("change", [ORDER, REPLICA, SET, DRAIN])
def test_a_change_that_a_late_request_may_repeat_stays_pending(topics: FakeTopics, change: Change) -> None:
    with open_journal(topics) as journal:
        journal.begin([change, UNSET])
        journal.doubt([subject_of(change)], 61.0)
        journal.end([change, UNSET], "restored")
        assert read_pending(topics) == (change,), "if this run dies, the next one has it"
        assert journal.in_doubt == {change.key: (change, 61.0)}
        journal.trust([change])
        assert journal.in_doubt == {}
        journal.end([change], "restored")
    assert read_pending(topics) == ()


def test_a_change_of_a_deleted_topic_ends_at_once(topics: FakeTopics) -> None:
    with open_journal(topics) as journal:
        journal.begin([ORDER])
        journal.doubt([subject_of(ORDER)], 61.0)
        journal.end([ORDER], "gone")
        assert journal.pending == ()
        (note,) = journal.notes
        assert "may still be executed within a minute, on a topic that has its name then" in note


def test_a_change_of_a_deleted_topic_without_a_late_request_ends_without_a_note(topics: FakeTopics) -> None:
    with open_journal(topics) as journal:
        journal.begin([ORDER])
        journal.doubt([subject_of(ORDER)], 61.0)
        journal.trust([ORDER])
        journal.end([ORDER], "gone")
        assert journal.notes == []


def test_an_order_change_records_the_dropped_brokers(topics: FakeTopics) -> None:
    drop = OrderChange("t", 0, "id", (1, 2, 3), (3, 2, 1), (1,))
    assert (drop.without_dropped, drop.restored_order) == ((2, 3), (2, 3, 1))
    with open_journal(topics) as journal:
        journal.begin([replace(drop, dropped=())])
        journal.begin([drop])
    assert read_pending(topics) == (drop,)
    for dropped in [(2,), (1, 2), (4,)]:
        with pytest.raises(ValueError, match="a change that no run makes"):
            apply_entry({}, set(), _begun(replace(drop, dropped=dropped)))


@pytest.mark.parametrize(
    ("change", "spoilt"),
    [
        (SET, {"name": "retention.ms"}),
        (UNSET, {"name": "listeners"}),
        (UNSET, {"name": "follower.replication.throttled.replicas"}),
        (UNSET, {"kind": "user"}),
        (UNSET, {"resource": "three"}),
        (UNSET, {"resource": ""}),
        (SET, {"original": 5}),
    ],
)
def test_a_setting_that_no_run_changes_is_refused(change: Change, spoilt: Entry) -> None:
    """A stranger who may write to the topic must not let a run set it."""
    apply_entry({}, set(), _begun(change))
    with pytest.raises(ValueError, match="a change that no run makes"):
        apply_entry({}, set(), _begun(change, **spoilt))


def test_the_orders_of_a_replica_change() -> None:
    assert REPLICA.source_first == (1, 3, 2)
    assert REPLICA.without_replica == (1, 2)


def test_the_first_original_value_is_kept_until_it_is_restored(topics: FakeTopics) -> None:
    """A second run finds the value of the first one, which could not restore the original."""
    with open_journal(topics) as journal:
        journal.begin([UNSET])
    with open_journal(topics) as journal:
        (again,) = journal.begin([replace(UNSET, original="15001", changed="15002")])
        assert again == replace(UNSET, changed="15002")
    assert read_pending(topics) == (again,)


def test_another_partys_value_counts_as_the_original(topics: FakeTopics) -> None:
    theirs = replace(UNSET, original="900", changed="901")
    with open_journal(topics) as journal:
        journal.begin([UNSET])
        assert journal.begin([theirs]) == (theirs,)


def test_a_second_replica_change_of_a_partition_is_refused(topics: FakeTopics) -> None:
    with open_journal(topics) as journal:
        journal.begin([REPLICA])
        with pytest.raises(JournalError, match="t-0 is not undone yet"):
            journal.begin([replace(REPLICA, broker_id=2, original=(1, 2), source=1, leader=1)])
        assert journal.pending == (REPLICA,)


@pytest.mark.parametrize(
    ("change", "spoilt"),
    [
        (ORDER, {"changed": [1, 3]}),
        (ORDER, {"original": ["1", "2"], "changed": ["2", "1"]}),
        (ORDER, {"partition": "10"}),
        (REPLICA, {"source": 7}),
        (SET, {"kind": "cluster"}),
        (SET, {"changed": 3}),
        (VOTER, {"action": "elect"}),
        (ORDER, {"change": "nothing"}),
        (ORDER, {"more": 1}),
    ],
)
def test_a_change_that_no_run_makes_is_refused(change: OrderChange, spoilt: dict[str, object]) -> None:
    """Its undo would change more than a run of this collection changes."""
    with pytest.raises((KeyError, TypeError, ValueError)):
        apply_entry({}, set(), _begun(change, **spoilt))


@pytest.mark.parametrize("entry", [{"begin": "order"}, {"begin": ["order"]}, {"end": "order/t/0"}, {"end": [3]}, {}])
def test_a_record_that_no_run_writes_is_refused(entry: Entry) -> None:
    with pytest.raises((KeyError, TypeError)):
        apply_entry({}, set(), entry)


def test_many_changes_take_few_records(topics: FakeTopics) -> None:
    changes = [replace(ORDER, partition=each) for each in range(1001)]
    entries = begin_entries(changes)
    assert [len(each["begin"]) for each in entries] == [500, 500, 1]
    pending: dict[str, Change] = {}
    for each in json.loads(json.dumps([*entries, *end_entries(changes[1:], "test")])):
        apply_entry(pending, set(), each)
    assert pending == {changes[0].key: changes[0]}
