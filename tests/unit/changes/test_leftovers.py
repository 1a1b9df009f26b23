# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Changes that a killed run left: restored if they are ours, left alone if not, and never forgotten."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from ansible_collections.kafkaops.recovery.plugins.module_utils._changes.order_rollback import preview_order_undo
from ansible_collections.kafkaops.recovery.plugins.module_utils._changes.record import OrderLeftover, Undoing
from ansible_collections.kafkaops.recovery.plugins.module_utils._changes.rollback import Rollback
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.partition import TopicPartition
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.run import NullProgress
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.plan import Plan, Status
from unit.fakes.clock import FakeClock
from unit.fakes.fates import Fate
from unit.fakes.journals import CLUSTER_ID, open_journal
from unit.fakes.wreck import BEHIND, BEST, CHANGED, ORIGINAL, Wreck, an_order_change, partitions

FIRST, SECOND, THIRD = partitions(3)
TOPIC_AUTHORIZATION_FAILED, UNKNOWN_SERVER_ERROR, CLUSTER_AUTHORIZATION_FAILED = 29, -1, 31


def nothing_happened(_wreck: Wreck) -> None:
    """Check that the order is still the one that the killed run set."""


def original_order(wreck: Wreck) -> None:
    wreck.cluster.change(FIRST, replicas=ORIGINAL)


def another_order(wreck: Wreck) -> None:
    wreck.cluster.change(FIRST, replicas=(2, 3, 1))


def another_set(wreck: Wreck) -> None:
    wreck.cluster.change(FIRST, replicas=(3, 1, 4))


def being_reassigned(wreck: Wreck) -> None:
    wreck.cluster.reassigning = frozenset({FIRST})


def a_member_of_the_isr_is_back(wreck: Wreck) -> None:
    """Return broker 2, perhaps with an empty disk, before the controller notices it (as on 3.9.2)."""
    wreck.cluster.change(FIRST, isr=(BEHIND,))


def deleted(wreck: Wreck) -> None:
    del wreck.cluster.states[FIRST]


def topic_deleted(wreck: Wreck) -> None:
    wreck.cluster.states.clear()


def recreated(wreck: Wreck) -> None:
    wreck.cluster.change(FIRST, topic_id="B" * 22)


def hidden(wreck: Wreck) -> None:
    wreck.cluster.refused_topics["orders"] = TOPIC_AUTHORIZATION_FAILED


def not_described(wreck: Wreck) -> None:
    wreck.cluster.refused_topics["orders"] = UNKNOWN_SERVER_ERROR


EVENTS = [
    (nothing_happened, Undoing.RESTORED, "back to [1, 2, 3]"),
    (original_order, Undoing.ALREADY_BACK, "its order is the original one"),
    (
        another_order,
        Undoing.CONFLICT,
        "its replicas are [2, 3, 1], set by another party; the original order is [1, 2, 3]",
    ),
    (
        another_set,
        Undoing.CONFLICT,
        "its replicas are [3, 1, 4], set by another party; the original order is [1, 2, 3]",
    ),
    (
        being_reassigned,
        Undoing.CONFLICT,
        "another party is reassigning it; the original order is [1, 2, 3]",
    ),
    (
        a_member_of_the_isr_is_back,
        Undoing.FAILED,
        "the restored order [1, 2, 3] would make the controller elect broker 2, whatever it holds: elect a leader "
        "yourself, or stop broker 2. The next run restores the order",
    ),
    (deleted, Undoing.GONE, "the partition does not exist any more"),
    (topic_deleted, Undoing.GONE, "the partition does not exist any more"),
    (recreated, Undoing.GONE, f"the topic was re-created (id {'B' * 22})"),
    (
        hidden,
        Undoing.FAILED,
        "topic orders cannot be looked at: TOPIC_AUTHORIZATION_FAILED (error 29) (our principal "
        "needs DESCRIBE on the topic)",
    ),
    (not_described, Undoing.FAILED, "topic orders cannot be looked at: UNKNOWN_SERVER_ERROR (error -1)"),
]


def undo(wreck: Wreck) -> tuple[OrderLeftover, ...]:
    with open_journal(wreck.cluster) as journal:
        rollback = Rollback.of(wreck.writer(), {}, journal, progress=NullProgress(), stop=wreck.stop)
        return rollback.undo()


@pytest.mark.parametrize(("event", "undoing", "reason"), EVENTS)
def test_each_leftover_has_the_expected_result(
    wreck: Wreck, event: Callable[[Wreck], None], undoing: Undoing, reason: str
) -> None:
    wreck.leave_changed_orders()
    event(wreck)
    before = wreck.cluster.states.get(FIRST)
    found = undo(wreck)
    assert found[0] == OrderLeftover(an_order_change(FIRST), undoing, reason)
    after = wreck.cluster.states.get(FIRST)
    if undoing is Undoing.RESTORED:
        assert after is not None
        assert after.replicas == ORIGINAL
    else:
        assert after == before
    if undoing not in (Undoing.RESTORED, Undoing.ALREADY_BACK):
        assert not [each for write in wreck.cluster.writes for each in write.partitions if each == FIRST]
    assert (an_order_change(FIRST) in wreck.unfinished()) == (undoing is Undoing.FAILED)


@pytest.mark.parametrize(("event", "undoing", "reason"), EVENTS)
def test_a_preview_returns_the_same_and_writes_nothing(
    wreck: Wreck, event: Callable[[Wreck], None], undoing: Undoing, reason: str
) -> None:
    wreck.leave_changed_orders()
    event(wreck)
    found = preview_order_undo(wreck.cluster, wreck.unfinished())[0]
    if undoing is Undoing.RESTORED:
        undoing, reason = Undoing.WOULD_RESTORE, "an earlier run left [3, 2, 1]: back to [1, 2, 3]"
    assert (found.undoing, found.reason) == (undoing, reason)
    assert wreck.cluster.writes == []
    assert len(wreck.unfinished()) == 3


def test_an_order_that_only_a_lagging_broker_shows_as_restored_is_restored(wreck: Wreck) -> None:
    wreck.leave_changed_orders()
    for each in wreck.cluster.states:
        wreck.cluster.change(each, leader_id=BEST, replicas=ORIGINAL)
    wreck.cluster.lag_behind(2)
    for each in wreck.cluster.states:
        wreck.cluster.change(each, replicas=CHANGED)
    assert {each.undoing for each in undo(wreck)} == {Undoing.ALREADY_BACK}
    assert {each.replicas for each in wreck.cluster.states.values()} == {ORIGINAL}
    assert wreck.unfinished() == ()


def test_leftover_orders_are_restored_in_one_request(wreck: Wreck) -> None:
    wreck.leave_changed_orders()
    assert {each.undoing for each in undo(wreck)} == {Undoing.RESTORED}
    assert [write.partitions for write in wreck.cluster.writes] == [(FIRST, SECOND, THIRD)]


@pytest.mark.parametrize("after_s", [0.1, 20.0, 59.0])
def test_the_order_stays_until_a_dead_runs_election_cannot_be_executed(
    wreck: Wreck, clock: FakeClock, after_s: float
) -> None:
    """A broker keeps the forwarded request for 60 s. In the original order, it would elect broker 2."""
    wreck.leave_changed_orders()
    wreck.cluster.will_elect([FIRST], after_s)
    wreck.cluster.change(SECOND, leader_id=BEST)
    assert {each.change.topic_partition: each.undoing for each in undo(wreck)} == dict.fromkeys(
        (FIRST, SECOND, THIRD), Undoing.RESTORED
    )
    assert wreck.cluster.states[FIRST].leader_id == BEST
    assert {each.replicas for each in wreck.cluster.states.values()} == {ORIGINAL}
    assert wreck.cluster.writes[0].partitions == (SECOND,), "a partition with a leader does not wait"
    assert clock.now >= 61, "the third partition has no election"


def test_a_lagging_read_of_the_original_order_does_not_shorten_the_wait(wreck: Wreck, clock: FakeClock) -> None:
    wreck.cluster.lag_behind(1)
    wreck.leave_changed_orders()
    wreck.cluster.will_elect([FIRST, SECOND, THIRD], 20)
    assert {each.undoing for each in undo(wreck)} == {Undoing.RESTORED}
    assert {each.leader_id for each in wreck.cluster.states.values()} == {BEST}
    assert 20 <= clock.now < 30


def test_a_stopped_run_leaves_such_an_order_to_the_next_run(wreck: Wreck) -> None:
    wreck.leave_changed_orders()
    wreck.cluster.change(SECOND, leader_id=BEST)
    wreck.stop.set()
    undone = {each.change.topic_partition: each for each in undo(wreck)}
    assert undone[SECOND].undoing is Undoing.RESTORED
    assert undone[FIRST].undoing is Undoing.FAILED
    assert "may still be executed" in undone[FIRST].reason
    assert wreck.unfinished() == (an_order_change(FIRST), an_order_change(THIRD))


@pytest.mark.parametrize("designated", [BEST, BEHIND])
def test_a_run_that_elects_the_same_partitions_does_not_wait(wreck: Wreck, clock: FakeClock, designated: int) -> None:
    """The same holds for another designated leader, whose order replaces the first one."""
    plan = wreck.plan(designated)
    wreck.leave_changed_orders()
    report = wreck.run(plan)
    assert {(each.status, each.leader_after, each.replicas, each.replicas_after) for each in report.outcomes} == {
        (Status.RECOVERED, designated, ORIGINAL, ORIGINAL)
    }
    assert wreck.unfinished() == ()
    assert clock.now < 10


def test_the_order_of_a_refused_election_is_restored_too(wreck: Wreck) -> None:
    plan = wreck.plan()
    wreck.leave_changed_orders()
    wreck.cluster.logs[BEST, FIRST] = replace(wreck.cluster.logs[BEST, FIRST], log_end_offset=1)
    report = wreck.run(plan)
    assert [each.status for each in report.outcomes] == [Status.REFUSED, Status.RECOVERED, Status.RECOVERED]
    assert {each.replicas for each in wreck.cluster.states.values()} == {ORIGINAL}
    assert {each.undoing for each in report.leftovers} == {Undoing.RESTORED}
    assert wreck.unfinished() == ()


def test_an_order_that_cannot_be_restored_stays_in_the_journal(wreck: Wreck) -> None:
    wreck.leave_changed_orders()
    wreck.cluster.fates["reorder"] = [Fate(errors={SECOND: UNKNOWN_SERVER_ERROR})] * 3
    found = undo(wreck)
    assert [each.undoing for each in found] == [Undoing.RESTORED, Undoing.FAILED, Undoing.RESTORED]
    assert found[1].reason == "UNKNOWN_SERVER_ERROR (error -1)"
    assert wreck.unfinished() == (an_order_change(SECOND),)


def test_without_leftovers_nothing_is_requested(wreck: Wreck) -> None:
    assert undo(wreck) == ()
    assert wreck.cluster.writes == []


def test_a_run_elects_in_the_order_that_it_finds_and_then_restores_it(wreck: Wreck) -> None:
    plan = wreck.plan()
    wreck.leave_changed_orders()
    report = wreck.run(plan)
    assert [each.undoing for each in report.leftovers] == [Undoing.RESTORED] * 3
    assert {each.status for each in report.outcomes} == {Status.RECOVERED}
    assert wreck.cluster.kinds() == ["elect", "elect", "reorder"]
    assert {each.replicas for each in wreck.cluster.states.values()} == {ORIGINAL}
    assert wreck.unfinished() == ()


def test_a_plan_made_with_the_killed_runs_order_ends_with_the_original_order(wreck: Wreck) -> None:
    wreck.leave_changed_orders()
    report = wreck.run(wreck.plan())
    assert {(each.status, each.replicas_after) for each in report.outcomes} == {(Status.RECOVERED, ORIGINAL)}
    assert {each.replicas for each in wreck.cluster.states.values()} == {ORIGINAL}


def test_an_order_of_a_re_created_topic_is_not_restored(wreck: Wreck) -> None:
    wreck.leave_changed_orders()
    for each in wreck.cluster.states:
        wreck.cluster.change(each, topic_id="B" * 22)
    report = wreck.run()
    assert {(each.status, each.replicas, each.replicas_after) for each in report.outcomes} == {
        (Status.RECOVERED, CHANGED, CHANGED)
    }
    assert wreck.unfinished() == ()


def test_check_mode_reports_leftovers_and_leaves_them(wreck: Wreck) -> None:
    plan = wreck.plan()
    wreck.leave_changed_orders()
    report = wreck.run(plan, check_mode=True)
    assert [each.undoing for each in report.leftovers] == [Undoing.WOULD_RESTORE] * 3
    assert report.is_changed
    assert wreck.cluster.writes == []
    assert len(wreck.unfinished()) == 3


@pytest.mark.parametrize("planned", ["before the killed run", "after it"])
def test_check_mode_assumes_the_restored_orders(wreck: Wreck, planned: str) -> None:
    plan = wreck.plan()
    wreck.leave_changed_orders()
    if planned == "after it":
        plan = wreck.plan()
    report = wreck.run(plan, check_mode=True)
    assert {(each.status, each.replicas) for each in report.outcomes} == {(Status.WOULD_RECOVER, ORIGINAL)}
    assert wreck.cluster.writes == []


def test_a_partition_whose_order_cannot_be_restored_fails_and_the_others_do_not(wreck: Wreck) -> None:
    plan = wreck.plan()
    wreck.leave_changed_orders()
    wreck.cluster.fates["reorder"] = [Fate(errors={SECOND: UNKNOWN_SERVER_ERROR})] * 3
    report = wreck.run(plan)
    assert [each.status for each in report.outcomes] == [Status.RECOVERED, Status.FAILED, Status.RECOVERED]
    assert "its replica order was not restored (UNKNOWN_SERVER_ERROR (error -1))" in report.outcomes[1].reason
    assert wreck.unfinished() == (an_order_change(SECOND),)
    assert wreck.cluster.states[SECOND].replicas == CHANGED


def test_leftovers_of_partitions_outside_the_plan_are_restored_too(wreck: Wreck) -> None:
    other = TopicPartition("accounts", 0)
    state = wreck.cluster.states.pop(THIRD)
    wreck.cluster.states[other] = state._replace(topic="accounts", partition=0, leader_id=BEST, replicas=CHANGED)
    with open_journal(wreck.cluster) as journal:
        journal.begin([an_order_change(other)])
    report = wreck.run(Plan(CLUSTER_ID, "", (), ()))
    assert wreck.cluster.states[other].replicas == ORIGINAL
    assert report.is_changed


def test_an_order_of_another_party_is_no_change_of_this_run(wreck: Wreck) -> None:
    plan = wreck.plan()
    for each in (FIRST, SECOND, THIRD):
        wreck.cluster.change(each, replicas=(2, 1, 3))
    report = wreck.run(plan)
    assert {(each.status, each.replicas_after) for each in report.outcomes} == {(Status.REFUSED, (2, 1, 3))}
    assert not report.is_changed


def test_an_own_order_that_cannot_be_restored_counts_as_a_change(wreck: Wreck) -> None:
    wreck.cluster.fates["reorder"] = [Fate(), *[Fate(errors={SECOND: UNKNOWN_SERVER_ERROR})] * 3]
    wreck.cluster.fates["elect"] = [Fate(refused_with=CLUSTER_AUTHORIZATION_FAILED)] * 2
    report = wreck.run()
    assert {each.status for each in report.outcomes} == {Status.FAILED}
    assert report.is_changed
