# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Elections with a journal in the run topic: its content during a run, and the effects of its loss."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from ansible_collections.kafkaops.recovery.plugins.module_utils._changes.record import JournalError, Undoing
from ansible_collections.kafkaops.recovery.plugins.module_utils._changes.run_state import new_holder
from ansible_collections.kafkaops.recovery.plugins.module_utils._changes.run_topic import (
    RUN_TOPIC,
    LockHeldError,
    LockPace,
    RunTopics,
    TopicLog,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.settings import Address
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.run import NullProgress
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.plan import Plan, Status
from unit.fakes.clock import FakeClock
from unit.fakes.fates import Fate
from unit.fakes.journals import CLUSTER_ID, let_heartbeats_through
from unit.fakes.topics import TOPIC_AUTHORIZATION_FAILED
from unit.fakes.wreck import BEST, CHANGED, ORIGINAL, Wreck, partitions

FIRST, SECOND, THIRD = partitions(3)
ADDRESSES = {2: Address("broker-2.invalid", 9092)}
GRANT = (
    "kafka-acls.sh --bootstrap-server fake.invalid:9092 --command-config admin.properties --add --allow-principal "
    "User:ANONYMOUS --operation Create --operation Describe --operation Read --operation Write --operation Delete "
    "--topic _kafkaops_run"
)
LIVELY = LockPace(beat_s=0.05, lease_s=0.1, silence_s=1.0, timeout_s=2.0)


def orders(wreck: Wreck) -> set[tuple[int, ...]]:
    return {each.replicas for each in wreck.cluster.states.values()}


def test_the_topic_exists_only_while_elections_run(wreck: Wreck) -> None:
    seen: list[bool] = []
    wreck.cluster.fates["elect"] = [Fate(before=lambda: seen.append(RUN_TOPIC in wreck.cluster.run_topic.topics))]
    report = wreck.run()
    assert {each.status for each in report.outcomes} == {Status.RECOVERED}
    assert seen == [True]
    assert wreck.cluster.run_topic.topics == {}
    assert (orders(wreck), report.notes) == ({ORIGINAL}, ())


def test_a_run_without_work_creates_no_topic(wreck: Wreck) -> None:
    wreck.run(Plan(CLUSTER_ID, "", (), ()))
    wreck.run(check_mode=True)
    assert wreck.cluster.run_topic.sent == []


def test_a_run_whose_journal_was_deleted_takes_the_lock_again_to_restore_its_orders(wreck: Wreck) -> None:
    """Somebody deletes the topic after the reorder, and no run is there."""
    wreck.cluster.fates["reorder"] = [Fate(after=wreck.cluster.run_topic.topics.clear)]
    report = wreck.run()
    assert wreck.cluster.kinds() == ["reorder", "reorder"], "nobody is elected without the lock"
    assert {each.status for each in report.outcomes} == {Status.FAILED}
    assert all("took the lock again and restored the order" in each.reason for each in report.outcomes)
    assert {each.replicas_after for each in report.outcomes} == {ORIGINAL}
    assert (orders(wreck), wreck.cluster.pending(), wreck.cluster.run_topic.topics) == ({ORIGINAL}, (), {})


def test_orders_of_a_re_created_topic_are_not_restored(wreck: Wreck) -> None:
    """The new topic happens to have the order that the run had set."""

    def delete_both() -> None:
        wreck.cluster.run_topic.topics.clear()
        wreck.cluster.change(SECOND, topic_id="B" * 22)

    wreck.cluster.fates["reorder"] = [Fate(after=delete_both)]
    report = wreck.run()
    assert "its topic was re-created: there is nothing to restore" in report.outcomes[1].reason
    assert [wreck.cluster.states[each].replicas for each in partitions(3)] == [ORIGINAL, CHANGED, ORIGINAL]
    assert wreck.cluster.pending() == ()


def test_a_run_that_lost_the_lock_stops_writing_and_reports_it(wreck: Wreck, clock: FakeClock) -> None:
    """Another run takes the lock after the reorder, and is alive."""
    let_heartbeats_through(clock)
    others: list[TopicLog] = []

    def take_over() -> None:
        wreck.cluster.run_topic.topics.clear()
        topics = RunTopics(wreck.cluster.run_topic, ADDRESSES, ADDRESSES, RUN_TOPIC, LIVELY)
        others.append(topics.acquire(replace(new_holder(), run="other", host="elsewhere", process=""), NullProgress()))

    wreck.cluster.fates["reorder"] = [Fate(after=take_over)]
    report = wreck.run()
    others[0].close(is_settled=True)
    assert wreck.cluster.kinds() == ["reorder"]
    assert {each.status for each in report.outcomes} == {Status.FAILED}
    for each in report.outcomes:
        assert "This run writes nothing more" in each.reason
        assert "another run writes to this cluster: " in each.reason
        assert f"it was {list(ORIGINAL)}; the run that holds the lock now restores it" in each.reason
        assert "it stays in the journal" not in each.reason
        assert each.replicas_after != ORIGINAL


def test_the_next_run_restores_the_orders_of_a_dead_run(wreck: Wreck) -> None:
    wreck.cluster.fates["reorder"] = [Fate(), *[Fate(errors={SECOND: -1})] * 3]
    first = wreck.run()
    assert [each.status for each in first.outcomes] == [Status.RECOVERED, Status.FAILED, Status.RECOVERED]
    assert [each.key for each in wreck.cluster.pending()] == ["order/orders/1"]
    second = wreck.run()
    assert [each.undoing for each in second.leftovers] == [Undoing.RESTORED]
    assert {each.leader_id for each in wreck.cluster.states.values()} == {BEST}
    assert (orders(wreck), wreck.cluster.pending(), wreck.cluster.run_topic.topics) == ({ORIGINAL}, (), {})


@pytest.mark.parametrize("request_name", ["CreateTopics", "Produce"])
def test_without_an_acl_nothing_is_changed_and_the_command_that_grants_it_is_printed(
    wreck: Wreck, request_name: str
) -> None:
    wreck.cluster.run_topic.errors[request_name] = TOPIC_AUTHORIZATION_FAILED
    with pytest.raises(JournalError, match=re.escape(GRANT)):
        wreck.run()
    assert wreck.cluster.writes == []


def test_a_second_run_is_refused_while_the_first_lives(wreck: Wreck, clock: FakeClock) -> None:
    refusals: list[BaseException] = []
    let_heartbeats_through(clock)

    def meanwhile() -> None:
        with pytest.raises(LockHeldError) as refusal:
            wreck.run()
        refusals.append(refusal.value)

    wreck.cluster.fates["elect"] = [Fate(before=meanwhile)]
    assert {each.status for each in wreck.run().outcomes} == {Status.RECOVERED}
    assert len(refusals) == 1
