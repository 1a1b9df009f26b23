# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Late requests: a broker keeps a request for 60 s, and the controller executes it long after it was sent.

A killed run sent it, or this run sent it and lost the response. The journal has the requested change.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import replace

import pytest

from ansible_collections.kafkaops.recovery.plugins.module_utils._changes.journal import Journal
from ansible_collections.kafkaops.recovery.plugins.module_utils._changes.record import (
    AnyLeftover,
    LastingOrders,
    OrderChange,
    SettingChange,
    Undoing,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._changes.rollback import Rollback
from ansible_collections.kafkaops.recovery.plugins.module_utils._changes.sender import Writer
from ansible_collections.kafkaops.recovery.plugins.module_utils._changes.setting_writer import (
    begin_change,
    restore_setting,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.errors import BrokerCallError
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.partition import Cause
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.run import NullProgress
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.setting import THROTTLE_RATE
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.plan import Plan, Status
from unit.fakes.clock import FakeClock
from unit.fakes.fates import LOST_ANSWER, TIMED_OUT, WELL, Fate
from unit.fakes.journals import CLUSTER_ID, open_journal, read_pending
from unit.fakes.replicas import CHANGE, FakeReplicas
from unit.fakes.settings import ADDRESSES, FakeSettings
from unit.fakes.wreck import BEHIND, BEST, CHANGED, ORIGINAL, TOPIC_ID, Wreck, an_order_change, partitions

FIRST, SECOND, THIRD = partitions(3)
FORWARDED_FOR_S = 61
"""60 s plus the request timeout of the fakes."""


def undo(wreck: Wreck) -> dict[str, AnyLeftover]:
    with open_journal(wreck.cluster) as journal:
        rollback = Rollback.of(wreck.writer(), {}, journal, progress=NullProgress(), stop=wreck.stop)
        return {each.change.key: each for each in rollback.undo()}


def all_online(wreck: Wreck) -> None:
    for each in wreck.cluster.states:
        wreck.cluster.change(each, leader_id=BEST)


@pytest.mark.parametrize("after_s", [0.1, 20.0, 60.5])
def test_a_late_order_is_undone(wreck: Wreck, clock: FakeClock, after_s: float) -> None:
    wreck.leave_recorded_orders()
    all_online(wreck)
    wreck.cluster.will_reorder([FIRST, SECOND], CHANGED, after_s)
    undone = undo(wreck)
    assert {each.replicas for each in wreck.cluster.states.values()} == {ORIGINAL}
    assert [each.undoing for each in undone.values()].count(Undoing.RESTORED) == 2
    assert undone[an_order_change(FIRST).key].reason == (
        "an earlier run requested it, and the request was executed late: back to [1, 2, 3]"
    )
    assert undone[an_order_change(THIRD).key].undoing is Undoing.ALREADY_BACK
    assert clock.now >= FORWARDED_FOR_S, "a request for the third partition may still have been executed"
    assert wreck.unfinished() == ()


def test_changes_stay_pending_while_a_late_request_may_be_executed(wreck: Wreck, clock: FakeClock) -> None:
    """If the run dies while it waits, the next run has the changes."""
    wreck.leave_recorded_orders()
    all_online(wreck)
    seen: dict[float, int] = {}
    describe = wreck.cluster.describe_partitions

    def looked(*args: object, **named: object) -> object:
        seen[clock.now] = len(wreck.unfinished())
        return describe(*args, **named)  # type: ignore[arg-type]

    wreck.cluster.answer(describe_partitions=looked)
    undo(wreck)
    assert {count for at, count in seen.items() if at < FORWARDED_FOR_S} == {3}
    assert {each.undoing for each in undo(wreck).values()} == set()
    assert FORWARDED_FOR_S <= clock.now < FORWARDED_FOR_S + 5


def test_a_stopped_run_leaves_pending_changes_to_the_next_run(wreck: Wreck) -> None:
    wreck.leave_recorded_orders()
    all_online(wreck)
    wreck.stop.set()
    undone = undo(wreck)
    assert {each.undoing for each in undone.values()} == {Undoing.FAILED}
    assert all("may still be executed" in each.reason for each in undone.values())
    assert len(wreck.unfinished()) == 3
    wreck.stop.clear()
    wreck.cluster.will_reorder([FIRST], CHANGED, 30)
    undo(wreck)
    assert wreck.cluster.states[FIRST].replicas == ORIGINAL
    assert wreck.unfinished() == ()


def test_an_order_that_another_party_sets_during_the_wait_stays(wreck: Wreck) -> None:
    wreck.leave_recorded_orders()
    all_online(wreck)
    wreck.cluster.will_reorder([FIRST], (2, 1, 3), 30)
    undone = undo(wreck)
    assert undone[an_order_change(FIRST).key].undoing is Undoing.CONFLICT
    assert wreck.cluster.states[FIRST].replicas == (2, 1, 3)


@pytest.mark.parametrize("is_registered_again", [False, True])
def test_a_late_order_that_drops_an_unregistered_broker_is_undone(wreck: Wreck, is_registered_again: bool) -> None:
    """Broker 1 leaves the replica set, unless it registers before the others are in sync."""
    change = OrderChange(FIRST.topic, FIRST.partition, TOPIC_ID, ORIGINAL, CHANGED, dropped=(1,))
    with open_journal(wreck.cluster) as journal:
        journal.begin([change])
    wreck.cluster.registered -= {1}
    wreck.cluster.change(FIRST, leader_id=BEST, isr=(BEST,))
    wreck.cluster.unfenced -= {BEHIND}  # the removal goes on
    wreck.cluster.will_reorder([FIRST], (3, 2), 30)
    if is_registered_again:
        wreck.cluster.registered |= {1}
    undone = undo(wreck)
    assert undone[change.key].undoing is Undoing.RESTORED
    expected = ORIGINAL if is_registered_again else (2, 3, 1)
    assert wreck.cluster.states[FIRST].replicas == expected
    assert (FIRST in wreck.cluster.removing) is not is_registered_again
    assert wreck.unfinished() == ()


@pytest.mark.parametrize("after_s", [10.0, 59.0])
@pytest.mark.parametrize("designated", [BEST, BEHIND])
def test_a_run_elects_the_same_partitions_at_once_and_then_waits_for_late_requests(
    wreck: Wreck, clock: FakeClock, after_s: float, designated: int
) -> None:
    plan = wreck.plan(designated)
    wreck.leave_recorded_orders()
    wreck.cluster.will_reorder([FIRST, SECOND], CHANGED, after_s)
    report = wreck.run(plan)
    assert {(each.status, each.leader_after, each.replicas_after) for each in report.outcomes} == {
        (Status.RECOVERED, designated, ORIGINAL)
    }
    late = {each.change.topic_partition: each for each in report.leftovers}
    assert late[FIRST].undoing is late[SECOND].undoing is Undoing.RESTORED
    assert "executed late" in late[FIRST].reason
    assert late[THIRD].undoing is Undoing.ALREADY_BACK
    assert {each.replicas for each in wreck.cluster.states.values()} == {ORIGINAL}
    assert wreck.unfinished() == ()
    assert clock.now >= FORWARDED_FOR_S


def test_elections_of_other_partitions_come_before_the_wait(wreck: Wreck, clock: FakeClock) -> None:
    plan = wreck.plan()
    plan = replace(plan, elections=plan.elections[1:])
    with open_journal(wreck.cluster) as journal:
        journal.begin([an_order_change(FIRST)])
    wreck.cluster.will_reorder([FIRST], CHANGED, 30)
    wreck.cluster.will_elect([FIRST], 40)
    elected: list[float] = []
    elect = wreck.cluster.elect

    def watched_elect(*args: object) -> object:
        elected.append(clock.now)
        return elect(*args)  # type: ignore[arg-type]

    wreck.cluster.answer(elect=watched_elect)
    report = wreck.run(plan)
    assert {each.status for each in report.outcomes} == {Status.RECOVERED}
    assert max(elected) < 10
    assert wreck.cluster.states[FIRST].leader_id == BEST, "the late election was executed in the changed order"
    assert {each.replicas for each in wreck.cluster.states.values()} == {ORIGINAL}
    assert wreck.unfinished() == ()


def test_a_run_without_elections_undoes_late_orders(wreck: Wreck) -> None:
    wreck.leave_recorded_orders()
    wreck.cluster.will_reorder([FIRST, SECOND, THIRD], CHANGED, 50)
    report = wreck.run(Plan(CLUSTER_ID, "", (), ()))
    assert [each.undoing for each in report.leftovers] == [Undoing.RESTORED] * 3
    assert {each.replicas for each in wreck.cluster.states.values()} == {ORIGINAL}
    assert report.is_changed


RATE = SettingChange("broker", "3", THROTTLE_RATE, None, "5000")


OURS = "the response to a request was lost, and the request "


@pytest.mark.parametrize("after_s", [5.0, 60.0])
def test_a_runs_own_late_order_is_undone(wreck: Wreck, clock: FakeClock, after_s: float) -> None:
    wreck.cluster.fates["reorder"] = [Fate(lost_request=True, executed_after_s=after_s)]
    report = wreck.run()
    assert {each.status for each in report.outcomes} == {Status.RECOVERED}
    assert {each.replicas for each in wreck.cluster.states.values()} == {ORIGINAL}
    assert report.leftovers == (), "there are no changes of earlier runs"
    assert [each for each in report.notes if f"{OURS}was executed late: back to [1, 2, 3]" in each] == [*report.notes]
    assert len(report.notes) == 3
    assert wreck.unfinished() == ()
    assert FORWARDED_FOR_S <= clock.now < FORWARDED_FOR_S + 10


@pytest.mark.parametrize("fate", [LOST_ANSWER, TIMED_OUT], ids=["no answer", "a broker that gave up waiting"])
@pytest.mark.parametrize("lost", [1, 2], ids=["the reorder's", "the restore's"])
def test_a_run_whose_lost_request_is_never_executed_ends_after_the_wait_without_a_note(
    wreck: Wreck, clock: FakeClock, lost: int, fate: Fate
) -> None:
    wreck.cluster.fates["reorder"] = [WELL] * (lost - 1) + [fate]
    report = wreck.run()
    assert {each.status for each in report.outcomes} == {Status.RECOVERED}
    assert report.notes == ()
    assert wreck.unfinished() == ()
    assert clock.now >= FORWARDED_FOR_S


def test_a_stopped_run_leaves_its_own_order_to_the_next_run(wreck: Wreck) -> None:
    late = Fate(lost_request=True, executed_after_s=50)
    wreck.cluster.fates["reorder"] = [late, WELL, Fate(after=wreck.stop.set)]
    report = wreck.run()
    assert {each.status for each in report.outcomes} == {Status.RECOVERED}
    assert [each for each in report.notes if f"{OURS}may still be executed" in each] == [*report.notes]
    assert len(wreck.unfinished()) == len(report.notes) == 3
    wreck.stop.clear()
    assert {each.undoing for each in undo(wreck).values()} == {Undoing.RESTORED}
    assert {each.replicas for each in wreck.cluster.states.values()} == {ORIGINAL}
    assert wreck.unfinished() == ()


def test_a_request_that_was_not_sent_is_not_waited_for(wreck: Wreck, clock: FakeClock) -> None:
    reorder = wreck.cluster.reorder
    failures = [BrokerCallError("fake.invalid:9092", Cause.UNREACHABLE, "refused")]

    def once_unreachable(*args: object) -> object:
        if failures:
            raise failures.pop()
        return reorder(*args)  # type: ignore[arg-type]

    wreck.cluster.answer(reorder=once_unreachable)
    assert {each.status for each in wreck.run().outcomes} == {Status.RECOVERED}
    assert clock.now < 10


def test_a_runs_own_late_setting_is_undone(settings: FakeSettings, journal: Journal) -> None:
    """The throttle is removed before the first request for it is executed."""
    write, lost = settings.write_configs, [BrokerCallError("fake.invalid:9092", Cause.HUNG, "no answer")]

    def once_lost(*args: object) -> None:
        if lost:
            settings.late.append((40, ("3", THROTTLE_RATE), "5000"))
            raise lost.pop()
        write(*args)  # type: ignore[arg-type]

    settings.write_configs = once_lost  # type: ignore[method-assign, assignment]
    writer = replace(settings.writer(), writer=settings.writer().writer.with_journal(journal))
    journal.end_undone([restore_setting(writer, journal, begin_change(writer, journal, RATE))])
    assert settings.values == {}
    assert [*journal.pending] == [RATE], "it may still be executed"
    assert undo_own_late_requests(settings, journal) == ()
    assert settings.values == {}
    assert [each for each in journal.notes if OURS in each] == journal.notes != []
    assert journal.pending == ()


def test_a_runs_own_late_drop_is_undone(journal: Journal) -> None:
    cluster = FakeReplicas()
    assign, lost = cluster.assign, [BrokerCallError("fake.invalid:9092", Cause.HUNG, "no answer")]

    def once_lost(*args: object) -> None:
        if lost:
            cluster.late.append((40, CHANGE.without_replica))
            raise lost.pop()
        assign(*args)  # type: ignore[arg-type]

    cluster.assign = once_lost  # type: ignore[method-assign, assignment]
    maker = cluster.maker(journal)
    maker = replace(maker, writer=maker.writer.with_journal(journal))
    maker.recreate(CHANGE, cluster.safeguard(), lambda _seconds: True)
    assert cluster.state.replicas == CHANGE.original
    assert [*journal.pending] == [CHANGE], "it may still be executed"
    assert undo_own_late_requests(cluster, journal) == ()
    assert cluster.state.replicas == CHANGE.original
    assert [each for each in journal.notes if OURS in each] == journal.notes != []
    assert journal.pending == ()


def undo_own_late_requests(kafka: FakeReplicas | FakeSettings, journal: Journal) -> Sequence[AnyLeftover]:
    """Undo late requests of this run itself."""
    writer = Writer(kafka, [*ADDRESSES.values()], attempts=2, verify_timeout_s=5)
    stop = threading.Event()
    return Rollback.of(writer, ADDRESSES, journal, progress=NullProgress(), stop=stop, timeout_s=60).settle_doubt()


def test_the_run_after_a_dead_drain_waits_for_its_orders(wreck: Wreck, clock: FakeClock) -> None:
    """The orders are not undone, because the memory has them. Elections come first."""
    with open_journal(wreck.cluster) as journal:
        journal.begin([LastingOrders()])
    elected: list[float] = []
    wreck.cluster.fates["elect"] = [Fate(after=lambda: elected.append(clock.now))]
    report = wreck.run()
    assert {each.status for each in report.outcomes} == {Status.RECOVERED}
    assert max(elected) < 10
    assert [(each.change, each.undoing) for each in report.others] == [(LastingOrders(), Undoing.GONE)]
    assert clock.now >= FORWARDED_FOR_S
    assert read_pending(wreck.cluster) == ()
