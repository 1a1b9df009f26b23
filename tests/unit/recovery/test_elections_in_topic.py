# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Elections with a journal in the run topic: its content during a run, and the effects of its loss."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from ansible_collections.kafkaops.recovery.plugins.module_utils._changes.journal_reader import RUN_TOPIC, JournalOptions
from ansible_collections.kafkaops.recovery.plugins.module_utils._changes.record import JournalError, Undoing
from ansible_collections.kafkaops.recovery.plugins.module_utils._changes.run_state import new_holder
from ansible_collections.kafkaops.recovery.plugins.module_utils._changes.run_topic import (
    LockHeldError,
    Pace,
    RunTopics,
    TopicLog,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.settings import Address
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.run import NullProgress
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.plan import Plan, Status
from unit.fakes.fates import Fate
from unit.fakes.journals import CLUSTER_ID
from unit.fakes.topics import TOPIC_AUTHORIZATION_FAILED
from unit.fakes.wreck import BEST, CHANGED, ORIGINAL, Wreck, partitions

FIRST, SECOND, THIRD = partitions(3)
ADDRESSES = {2: Address("broker-2.invalid", 9092)}
LIVELY = Pace(beat_s=0.05, lease_s=0.1, silence_s=1.0, timeout_s=2.0)


@pytest.fixture
def in_topic(tmp_path: Path) -> JournalOptions:
    return JournalOptions(directory=str(tmp_path / "journal"))


def orders(wreck: Wreck) -> set[tuple[int, ...]]:
    return {each.replicas for each in wreck.cluster.states.values()}


def test_the_topic_exists_only_while_elections_run(wreck: Wreck, in_topic: JournalOptions) -> None:
    seen: list[bool] = []
    wreck.cluster.fates["elect"] = [Fate(before=lambda: seen.append(RUN_TOPIC in wreck.cluster.run_topic.topics))]
    report = wreck.run(journal=in_topic)
    assert {each.status for each in report.outcomes} == {Status.RECOVERED}
    assert seen == [True]
    assert wreck.cluster.run_topic.topics == {}
    assert (orders(wreck), report.notes) == ({ORIGINAL}, ())


def test_a_run_without_work_creates_no_topic(wreck: Wreck, in_topic: JournalOptions) -> None:
    wreck.run(Plan(CLUSTER_ID, "", (), ()), journal=in_topic)
    wreck.run(check_mode=True, journal=in_topic)
    assert wreck.cluster.run_topic.sent == []


def test_a_run_whose_journal_was_deleted_takes_the_lock_again_to_restore_its_orders(
    wreck: Wreck, in_topic: JournalOptions
) -> None:
    """Somebody deletes the topic after the reorder, and no run is there."""
    wreck.cluster.fates["reorder"] = [Fate(after=wreck.cluster.run_topic.topics.clear)]
    report = wreck.run(journal=in_topic)
    assert wreck.cluster.kinds() == ["reorder", "reorder"], "nobody is elected without the lock"
    assert {each.status for each in report.outcomes} == {Status.FAILED}
    assert all("took the lock again and restored the order" in each.reason for each in report.outcomes)
    assert {each.replicas_after for each in report.outcomes} == {ORIGINAL}
    assert (orders(wreck), wreck.cluster.pending(), wreck.cluster.run_topic.topics) == ({ORIGINAL}, (), {})


def test_orders_of_a_re_created_topic_are_not_restored(wreck: Wreck, in_topic: JournalOptions) -> None:
    """The new topic happens to have the order that the run had set."""

    def delete_both() -> None:
        wreck.cluster.run_topic.topics.clear()
        wreck.cluster.change(SECOND, topic_id="B" * 22)

    wreck.cluster.fates["reorder"] = [Fate(after=delete_both)]
    report = wreck.run(journal=in_topic)
    assert "its topic was re-created: there is nothing to restore" in report.outcomes[1].reason
    assert [wreck.cluster.states[each].replicas for each in partitions(3)] == [ORIGINAL, CHANGED, ORIGINAL]
    assert wreck.cluster.pending() == ()


def test_a_run_that_lost_the_lock_stops_writing_and_reports_it(wreck: Wreck, in_topic: JournalOptions) -> None:
    """Another run takes the lock after the reorder, and is alive."""
    others: list[TopicLog] = []

    def take_over() -> None:
        wreck.cluster.run_topic.topics.clear()
        topics = RunTopics(wreck.cluster.run_topic, ADDRESSES, ADDRESSES, RUN_TOPIC, LIVELY)
        others.append(topics.acquire(replace(new_holder(), run="other", host="elsewhere", process=""), NullProgress()))

    wreck.cluster.fates["reorder"] = [Fate(after=take_over)]
    report = wreck.run(journal=in_topic)
    others[0].close(is_settled=True)
    assert wreck.cluster.kinds() == ["reorder"]
    assert {each.status for each in report.outcomes} == {Status.FAILED}
    for each in report.outcomes:
        assert "This run writes nothing more" in each.reason
        assert "another run writes to this cluster: " in each.reason
        assert f"it was {list(ORIGINAL)}; the run that holds the lock now restores it" in each.reason
        assert "it stays in the journal" not in each.reason
        assert each.replicas_after != ORIGINAL


def test_the_next_run_restores_the_orders_of_a_dead_run(wreck: Wreck, in_topic: JournalOptions) -> None:
    wreck.cluster.fates["reorder"] = [Fate(), *[Fate(errors={SECOND: -1})] * 3]
    first = wreck.run(journal=in_topic)
    assert [each.status for each in first.outcomes] == [Status.RECOVERED, Status.FAILED, Status.RECOVERED]
    assert [each.key for each in wreck.cluster.pending()] == ["order/orders/1"]
    second = wreck.run(journal=in_topic)
    assert [each.undoing for each in second.leftovers] == [Undoing.RESTORED]
    assert {each.leader_id for each in wreck.cluster.states.values()} == {BEST}
    assert (orders(wreck), wreck.cluster.pending(), wreck.cluster.run_topic.topics) == ({ORIGINAL}, (), {})


def test_without_an_acl_the_journal_is_a_file_with_a_warning(wreck: Wreck, in_topic: JournalOptions) -> None:
    wreck.cluster.run_topic.errors["CreateTopics"] = TOPIC_AUTHORIZATION_FAILED
    report = wreck.run(journal=in_topic)
    assert {each.status for each in report.outcomes} == {Status.RECOVERED}
    assert "TOPIC_AUTHORIZATION_FAILED" in report.notes[0]
    assert "Only runs of this user on this host see it" in report.notes[0]


def test_in_a_container_a_file_journal_is_refused(
    wreck: Wreck, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("AWX_ISOLATED_DATA_DIR", str(tmp_path))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    wreck.cluster.run_topic.errors["CreateTopics"] = TOPIC_AUTHORIZATION_FAILED
    with pytest.raises(JournalError, match="so the file would be lost: set journal_dir"):
        wreck.run(journal=JournalOptions())
    assert wreck.cluster.writes == []


def test_a_second_run_is_refused_while_the_first_lives(wreck: Wreck, in_topic: JournalOptions) -> None:
    refusals: list[BaseException] = []

    def meanwhile() -> None:
        with pytest.raises(LockHeldError) as refusal:
            wreck.run(journal=in_topic)
        refusals.append(refusal.value)

    wreck.cluster.fates["elect"] = [Fate(before=meanwhile)]
    assert {each.status for each in wreck.run(journal=in_topic).outcomes} == {Status.RECOVERED}
    assert len(refusals) == 1
