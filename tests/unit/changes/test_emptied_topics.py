# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The last broker with a topic of ours came back with an empty disk, and leads it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from ansible_collections.kafkaops.recovery.plugins.module_utils._changes.cluster_journal import ClusterJournal
from ansible_collections.kafkaops.recovery.plugins.module_utils._changes.journal_reader import JournalOptions
from ansible_collections.kafkaops.recovery.plugins.module_utils._changes.own_topic import FirstRecordsDeletedError
from ansible_collections.kafkaops.recovery.plugins.module_utils._changes.record import JournalError
from ansible_collections.kafkaops.recovery.plugins.module_utils._changes.topic_by_name import TopicUnavailableError
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka import error_codes
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.cluster import Cluster, Registration
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.topics import TopicRecords
from ansible_collections.kafkaops.recovery.plugins.module_utils._leadership.memory_topic import MemoryTopic
from unit.changes.test_run_topic import ADDRESSES, CHANGE, TOPIC, a_run, acquire, journal_of, topics
from unit.fakes.clock import FakeClock
from unit.fakes.journals import open_journal
from unit.fakes.topics import FakeTopics


@pytest.fixture
def kafka(clock: FakeClock) -> FakeTopics:
    found = FakeTopics()
    found.clock = clock
    return found


def test_a_topic_that_its_leader_has_emptied_is_no_empty_journal(kafka: FakeTopics) -> None:
    """The last broker with the journal came back with an empty disk."""
    journal_of(acquire(kafka)).begin([CHANGE])
    kafka.topics[TOPIC].records.clear()
    kafka.leader_epoch = 1
    for look in (topics(kafka).read, lambda: acquire(kafka, "next")):
        with pytest.raises(FirstRecordsDeletedError, match="is empty, and its leader is not the first one"):
            look()


def test_a_topic_whose_creator_died_at_once_is_an_empty_journal(kafka: FakeTopics) -> None:
    topics(kafka).create(a_run())
    assert acquire(kafka, "next").state.pending == {}


def test_records_that_the_leader_does_not_show_yet_are_no_empty_journal(kafka: FakeTopics) -> None:
    """A leader that has just been elected shows records when its followers have fetched them."""
    journal_of(acquire(kafka)).begin([CHANGE])
    kafka.leader_epoch = 1
    read_records: Callable[..., TopicRecords] = kafka.read_records

    def show_none(*asked: Any) -> TopicRecords:
        read_records(*asked)
        return TopicRecords((), 0)

    kafka.read_records = show_none  # type: ignore[method-assign,assignment]
    state = topics(kafka).read()
    assert state is not None
    assert state.holder is None


def test_a_memory_that_its_leader_has_emptied_is_not_empty(kafka: FakeTopics) -> None:
    """The last broker with it came back with an empty disk. A drain would take the changed orders for the originals."""
    with open_journal(kafka) as journal:
        MemoryTopic(kafka, ADDRESSES, "memory").open(journal)
    kafka.topics["memory"].records.clear()
    kafka.leader_epoch = 2
    with pytest.raises(JournalError, match="then delete the topic"):
        MemoryTopic(kafka, ADDRESSES, "memory").read()


@pytest.mark.parametrize("discard_lost", [False, True])
def test_a_topic_of_another_party_that_has_lost_its_first_records_is_not_deleted(
    kafka: FakeTopics, discard_lost: bool
) -> None:
    """Retention deletes records of most topics. Somebody names one as the journal, and follows our advice."""
    kafka.create_topic(ADDRESSES[1], TOPIC, [1], {"flush.messages": "9223372036854775807"})

    def refuse(*_asked: Any) -> TopicRecords:
        raise error_codes.request_refused_error("Fetch", error_codes.OFFSET_OUT_OF_RANGE)

    kafka.read_records = refuse  # type: ignore[method-assign,assignment]
    cluster = Cluster("c", tuple(Registration(each, address, None, False) for each, address in ADDRESSES.items()))
    journal = ClusterJournal(kafka, cluster, JournalOptions(topic=TOPIC, discard_lost=discard_lost))
    with pytest.raises(TopicUnavailableError, match="is not the journal"), journal.open():
        pass
    assert TOPIC in kafka.topics
