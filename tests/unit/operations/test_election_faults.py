# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Elections while answers get lost, the controller fails over, brokers die, and others act on the same cluster."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ansible_collections.kafkaops.recovery.plugins.module_utils._changes.record import Undoing
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.messages import in_batches
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.partition import NO_LEADER, TopicPartition
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery import election as designated_election
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.election import ElectionReport
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.plan import Status
from unit.fake_clock import FakeClock
from unit.operations.fake_cluster import WELL, Fate, nothing
from unit.operations.wreck import (
    BEHIND,
    BEST,
    CHANGED,
    ORIGINAL,
    TOPIC_ID,
    MakeWreck,
    Wreck,
    an_order_change,
    partitions,
)

NOT_CONTROLLER, CLUSTER_AUTHORIZATION_FAILED, UNKNOWN_SERVER_ERROR = 41, 31, -1
FIRST, SECOND, THIRD = partitions(3)
LOST_REQUEST, LOST_ANSWER = Fate(lost_request=True), Fate(lost_answer=True)
FAILED_OVER, FORBIDDEN = Fate(refused_with=NOT_CONTROLLER), Fate(refused_with=CLUSTER_AUTHORIZATION_FAILED)
TIMED_OUT = Fate(timed_out=True)


def statuses(report: ElectionReport) -> list[Status]:
    return [each.status for each in report.outcomes]


def reasons(report: ElectionReport) -> set[str]:
    return {each.reason for each in report.outcomes}


def assert_all_is_put_back(wreck: Wreck) -> None:
    assert {each.replicas for each in wreck.cluster.states.values()} == {ORIGINAL}
    assert wreck.unfinished() == ()


@pytest.fixture
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every partition is a batch of its own."""
    monkeypatch.setattr(designated_election, "in_batches", lambda items: in_batches(items, 1))


@pytest.mark.parametrize("fate", [LOST_REQUEST, LOST_ANSWER, FAILED_OVER, TIMED_OUT])
@pytest.mark.parametrize("times", [1, 2])
@pytest.mark.parametrize("kind", ["reorder", "elect"])
def test_a_fault_that_passes_costs_an_attempt(wreck: Wreck, kind: str, fate: Fate, times: int) -> None:
    wreck.cluster.fates[kind] = [fate] * times
    report = wreck.run()
    assert statuses(report) == [Status.RECOVERED] * 3
    assert {each.leader_after for each in report.outcomes} == {BEST}
    assert_all_is_put_back(wreck)


@pytest.mark.parametrize(("fate", "elections"), [(LOST_REQUEST, 2), (LOST_ANSWER, 1), (FAILED_OVER, 2), (TIMED_OUT, 1)])
def test_an_unknown_outcome_is_read_before_an_election_is_asked_for_again(
    wreck: Wreck, fate: Fate, elections: int
) -> None:
    wreck.cluster.fates["elect"] = [WELL, fate]
    wreck.run()
    assert wreck.cluster.kinds() == ["reorder", "elect", *["elect"] * elections, "reorder"]


@pytest.mark.parametrize("fate", [LOST_ANSWER, TIMED_OUT])
def test_an_unknown_outcome_is_waited_for_while_brokers_lag(wreck: Wreck, fate: Fate) -> None:
    """The first looks show the partitions as they were: that is no reason to request the election again."""
    wreck.cluster.fates["elect"] = [WELL, fate]
    wreck.cluster.stale_reads = 4
    assert statuses(wreck.run()) == [Status.RECOVERED] * 3
    assert wreck.cluster.kinds() == ["reorder", "elect", "elect", "reorder"]


def test_another_attempt_goes_to_another_broker(wreck: Wreck) -> None:
    wreck.cluster.fates = {"reorder": [LOST_REQUEST], "elect": [LOST_REQUEST, FAILED_OVER]}
    wreck.run()
    asked = [(each.kind, each.address.host) for each in wreck.cluster.writes]
    assert asked == [
        ("reorder", "broker-2.invalid"),
        ("reorder", "broker-3.invalid"),
        ("elect", "broker-2.invalid"),
        ("elect", "broker-3.invalid"),
        ("elect", "broker-2.invalid"),
        ("elect", "broker-2.invalid"),
        ("reorder", "broker-2.invalid"),
    ]


@pytest.mark.parametrize(
    ("fate", "reason"),
    [
        (
            LOST_REQUEST,
            "no leader was seen within 1 s of each of 3 attempts; the outcome of the last one is unknown: elect at "
            "fake.invalid:9092: hung: no answer within 1000 ms; look at broker 3 and at the controller",
        ),
        (FAILED_OVER, "elect was refused: NOT_CONTROLLER (error 41)"),
        (
            Fate(errors=dict.fromkeys(partitions(3), 83)),
            "ELIGIBLE_LEADERS_NOT_AVAILABLE (error 83)",
        ),
    ],
)
def test_when_every_attempt_failed_the_order_is_put_back_and_the_fault_told(
    wreck: Wreck, fate: Fate, reason: str
) -> None:
    wreck.cluster.fates["elect"] = [fate] * 6
    report = wreck.run(attempts=3)
    assert statuses(report) == [Status.FAILED] * 3
    assert reasons(report) == {reason}
    assert wreck.cluster.kinds().count("elect") == 6, "three for one partition, and three for the others"
    assert not report.is_changed
    assert_all_is_put_back(wreck)


@pytest.mark.parametrize("fate", [LOST_ANSWER, TIMED_OUT])
def test_an_election_that_took_place_in_the_last_attempt_is_a_recovery(wreck: Wreck, fate: Fate) -> None:
    wreck.cluster.fates["elect"] = [fate]
    report = wreck.run(attempts=1)
    assert statuses(report) == [Status.RECOVERED] * 3
    assert_all_is_put_back(wreck)


@pytest.mark.parametrize("kind", ["reorder", "elect"])
def test_a_refusal_that_will_not_pass_is_not_tried_again(wreck: Wreck, kind: str) -> None:
    wreck.cluster.fates[kind] = [FORBIDDEN] * (1 if kind == "reorder" else 2)
    report = wreck.run()
    assert statuses(report) == [Status.FAILED] * 3
    assert all(f"{kind} was refused: CLUSTER_AUTHORIZATION_FAILED (error 31)" in each for each in reasons(report))
    assert wreck.cluster.kinds() == (
        ["reorder", "reorder"] if kind == "reorder" else ["reorder", "elect", "elect", "reorder"]
    )
    assert_all_is_put_back(wreck)


@pytest.mark.parametrize("kind", ["reorder", "elect"])
def test_some_of_a_batch_may_fail_and_the_others_are_recovered(wreck: Wreck, kind: str) -> None:
    wreck.cluster.fates[kind] = [Fate(errors={SECOND: UNKNOWN_SERVER_ERROR})] * 4
    report = wreck.run()
    assert statuses(report) == [Status.RECOVERED, Status.FAILED, Status.RECOVERED]
    assert "UNKNOWN_SERVER_ERROR (error -1)" in report.outcomes[1].reason
    assert report.is_changed
    assert_all_is_put_back(wreck)


@pytest.mark.parametrize("kind", ["reorder", "elect"])
def test_a_partition_that_an_answer_leaves_out_is_looked_up(wreck: Wreck, kind: str) -> None:
    wreck.cluster.fates[kind] = [Fate(left_out=frozenset({SECOND}))] * 2
    assert statuses(wreck.run()) == [Status.RECOVERED] * 3
    assert wreck.cluster.kinds() == ["reorder", "elect", "elect", "reorder"]
    assert_all_is_put_back(wreck)


def test_an_order_that_never_shows_is_not_elected_on(wreck: Wreck) -> None:
    def undo() -> None:
        wreck.cluster.change(SECOND, replicas=ORIGINAL)

    wreck.cluster.fates["reorder"] = [Fate(after=undo)] * 3
    report = wreck.run()
    assert statuses(report) == [Status.RECOVERED, Status.FAILED, Status.RECOVERED]
    assert "the controller accepted the order [3, 2, 1], but its replicas are [1, 2, 3]" in report.outcomes[1].reason
    assert SECOND not in [each for write in wreck.cluster.writes if write.kind == "elect" for each in write.partitions]


def revive_as_last_known_leader(wreck: Wreck, partition: TopicPartition) -> Callable[[], None]:
    """Broker 1 comes back while the partition's ISR is empty and it is the last known leader (KIP-966)."""

    def revive() -> None:
        wreck.cluster.change(partition, isr=(), last_known_elr=(1,))
        wreck.cluster.unfenced.add(1)

    return revive


def test_a_request_whose_response_was_lost_is_waited_for_before_the_order_is_restored(
    wreck: Wreck, clock: FakeClock
) -> None:
    """A KRaft broker keeps a forwarded request for 60 s: executed in the original order, it would elect broker 2."""
    wreck.cluster.fates["elect"] = [Fate(lost_request=True, executed_after_s=50)]
    report = wreck.run(attempts=1)
    assert report.outcomes[0].status is Status.RECOVERED
    assert {each.leader_id for each in wreck.cluster.states.values()} == {BEST}
    assert 50 <= clock.now < 60
    assert_all_is_put_back(wreck)


def test_an_election_that_never_takes_place_is_waited_for_no_longer_than_it_can_be_alive(
    wreck: Wreck, clock: FakeClock
) -> None:
    wreck.cluster.fates["elect"] = [LOST_REQUEST] * 2
    report = wreck.run(attempts=1)
    assert statuses(report) == [Status.FAILED] * 3
    assert 61 <= clock.now < 70
    assert_all_is_put_back(wreck)


@pytest.mark.parametrize("cause", ["stop", "time limit"])
def test_a_run_that_may_not_wait_leaves_the_order_and_the_next_one_restores_it(wreck: Wreck, cause: str) -> None:
    is_stopped, plan = cause == "stop", wreck.plan()
    wreck.cluster.fates["elect"] = [
        WELL,
        Fate(lost_request=True, before=wreck.stop.set if is_stopped else nothing),
    ]
    report = wreck.run(plan, attempts=1, timeout_ms=600_000 if is_stopped else 20_000)
    assert statuses(report) == [Status.RECOVERED, Status.FAILED, Status.FAILED]
    for each in report.outcomes[1:]:
        assert "an election whose response was lost may still be executed for" in each.reason
        assert "it stays in the journal, and the next run restores it" in each.reason
        assert each.replicas_after == CHANGED
    assert {wreck.cluster.states[each].replicas for each in (SECOND, THIRD)} == {CHANGED}
    assert wreck.cluster.states[FIRST].replicas == ORIGINAL
    wreck.stop.clear()
    wreck.cluster.fates = {}
    assert statuses(wreck.run(plan)) == [Status.ALREADY_ONLINE, Status.RECOVERED, Status.RECOVERED]
    assert_all_is_put_back(wreck)


@pytest.mark.usefixtures("small_batches")
def test_after_its_time_limit_a_run_requests_nothing_more_and_returns_what_was_done(
    wreck: Wreck, clock: FakeClock
) -> None:
    wreck.cluster.fates["elect"] = [WELL, Fate(after=lambda: clock.sleep(20))]
    report = wreck.run(timeout_ms=10_000)
    assert statuses(report) == [Status.RECOVERED, Status.RECOVERED, Status.FAILED]
    assert "the time limit of 10 s for all elections (election_timeout_ms) was reached" in report.outcomes[2].reason
    assert_all_is_put_back(wreck)


def test_a_broker_that_is_not_elected_though_it_looks_alive_costs_one_partition(wreck: Wreck) -> None:
    """As in a controlled shutdown, which the metadata does not show."""
    wreck.cluster.shutting_down = {BEST}
    report = wreck.run()
    assert statuses(report) == [Status.FAILED] * 3
    assert "broker 2 leads it, not the designated 3" in report.outcomes[0].reason
    assert "or broker 3 is shutting down" in report.outcomes[0].reason
    assert reasons(report) - {report.outcomes[0].reason} == {
        "not requested: another broker than the designated one was elected"
    }
    assert [wreck.cluster.states[each].leader_id for each in (SECOND, THIRD)] == [NO_LEADER] * 2
    assert_all_is_put_back(wreck)


def test_a_designated_broker_that_is_fenced_at_the_last_moment_is_followed_by_the_second_best(
    make_wreck: MakeWreck,
) -> None:
    """Broker 4 comes before it in the replica list, and has an empty log."""
    wreck = make_wreck(1)
    wreck.cluster.change(FIRST, replicas=(1, 4, 2, 3))
    wreck.cluster.registered.add(4)
    wreck.cluster.unfenced.add(4)
    plan = wreck.plan()
    wreck.cluster.fates["elect"] = [Fate(before=lambda: wreck.cluster.unfenced.discard(BEST))]
    report = wreck.run(plan)
    assert (report.outcomes[0].status, report.outcomes[0].leader_after) == (Status.FAILED, BEHIND)


@pytest.mark.usefixtures("small_batches")
def test_another_leader_stops_the_run_and_later_batches_are_untouched(wreck: Wreck) -> None:
    plan = wreck.plan()
    wreck.cluster.fates["reorder"] = [Fate(before=revive_as_last_known_leader(wreck, FIRST))]
    report = wreck.run(plan)
    assert statuses(report) == [Status.FAILED] * 3
    assert "broker 1 leads it, not the designated 3" in report.outcomes[0].reason
    assert report.outcomes[0].leader_after == 1
    assert {each.reason for each in report.outcomes[1:]} == {
        "the run stopped before this election: on another partition a leader came up that was not designated"
    }
    assert {each.replicas_after for each in report.outcomes[1:]} == {None}
    assert {each for write in wreck.cluster.writes for each in write.partitions} == {FIRST}
    assert "elect" not in wreck.cluster.kinds()
    assert_all_is_put_back(wreck)


def test_a_leader_that_somebody_else_elects_meanwhile_is_never_called_ours(wreck: Wreck) -> None:
    def elect_another() -> None:
        wreck.cluster.change(SECOND, leader_id=BEHIND, isr=(BEHIND,), leader_epoch=8)

    wreck.cluster.fates["elect"] = [Fate(before=elect_another)]
    report = wreck.run()
    assert statuses(report) == [Status.RECOVERED, Status.FAILED, Status.RECOVERED]
    assert "broker 2 leads it, not the designated 3" in report.outcomes[1].reason
    assert_all_is_put_back(wreck)


def test_what_changes_after_the_reorder_is_seen_before_the_election(wreck: Wreck) -> None:
    wreck.cluster.fates["reorder"] = [Fate(after=lambda: wreck.cluster.kill(BEST))]
    report = wreck.run()
    assert statuses(report) == [Status.REFUSED] * 3
    assert all("broker 3 cannot be elected" in each for each in reasons(report))
    assert wreck.cluster.kinds() == ["reorder", "reorder"]
    assert_all_is_put_back(wreck)


def test_what_changes_after_an_attempt_is_seen_before_the_next(wreck: Wreck) -> None:
    def reorder_by_another_hand() -> None:
        wreck.cluster.change(SECOND, replicas=(2, 3, 1))

    wreck.cluster.fates["elect"] = [WELL, Fate(lost_request=True, before=reorder_by_another_hand)]
    report = wreck.run()
    assert statuses(report) == [Status.RECOVERED, Status.REFUSED, Status.RECOVERED]
    assert "its replicas are [2, 3, 1] again: somebody else changes them" in report.outcomes[1].reason
    assert "which we did not set; the original was [1, 2, 3]" in report.outcomes[1].reason
    assert wreck.cluster.states[SECOND].replicas == (2, 3, 1)
    assert wreck.unfinished() == ()


RECREATED = "B" * 22
MEDDLING = [
    ({"replicas": (2, 3, 1)}, "its replicas are [2, 3, 1], which we did not set; the original was [1, 2, 3]"),
    ({"replicas": (3, 1, 4)}, "its replicas are [3, 1, 4], which we did not set; the original was [1, 2, 3]"),
    ({"topic_id": RECREATED}, f"the topic was recreated (id {RECREATED})"),
]


@pytest.mark.parametrize(("values", "reason"), MEDDLING)
@pytest.mark.parametrize("when", ["before", "after"])
def test_what_somebody_else_set_meanwhile_is_theirs_and_stays(
    wreck: Wreck, when: str, values: dict[str, Any], reason: str
) -> None:
    def meddle() -> None:
        wreck.cluster.change(SECOND, **values)

    is_elected = when == "after"
    wreck.cluster.fates["elect"] = [WELL, Fate(after=meddle) if is_elected else Fate(lost_request=True, before=meddle)]
    report = wreck.run()
    ending = Status.RECOVERED if is_elected and "replicas" in values else Status.REFUSED
    assert statuses(report) == [Status.RECOVERED, ending, Status.RECOVERED]
    assert report.outcomes[1].reason.endswith(f"; its replica order is not restored: {reason}")
    found = wreck.cluster.states[SECOND]
    assert (found.replicas, found.topic_id) == (values.get("replicas", CHANGED), values.get("topic_id", TOPIC_ID))
    assert [each.replicas for each in wreck.cluster.states.values() if each is not found] == [ORIGINAL, ORIGINAL]
    assert SECOND not in wreck.cluster.writes[-1].partitions
    assert wreck.unfinished() == ()


def test_a_reassignment_that_began_meanwhile_is_not_overwritten(wreck: Wreck) -> None:
    def reassign() -> None:
        wreck.cluster.reassigning = frozenset({SECOND})

    wreck.cluster.fates["elect"] = [WELL, Fate(after=reassign)]
    report = wreck.run()
    assert statuses(report) == [Status.RECOVERED] * 3
    assert "not restored: a reassignment of it is running, which we did not ask for" in report.outcomes[1].reason
    assert wreck.cluster.writes[-1].partitions == (FIRST, THIRD)
    assert wreck.unfinished() == ()


def test_orders_that_cannot_be_looked_at_are_not_overwritten_and_the_next_run_puts_them_back(wreck: Wreck) -> None:
    def fall_silent_after_the_election_is_seen() -> None:
        wreck.cluster.reads_until_silent = 1

    plan = wreck.plan()
    wreck.cluster.fates["elect"] = [WELL, Fate(after=fall_silent_after_the_election_is_seen)]
    report = wreck.run(plan)
    assert statuses(report) == [Status.FAILED] * 3
    assert all("whether it is still ours is unknown: no broker answered" in each for each in reasons(report))
    assert wreck.cluster.kinds() == ["reorder", "elect", "elect"]
    assert wreck.unfinished() == tuple(map(an_order_change, partitions(3)))

    wreck.cluster.reads_until_silent = None
    assert statuses(wreck.run(plan)) == [Status.ALREADY_ONLINE] * 3
    assert_all_is_put_back(wreck)


def test_a_new_leader_that_dies_at_once_is_no_recovery(wreck: Wreck) -> None:
    wreck.cluster.fates["reorder"] = [Fate(), Fate(before=lambda: wreck.cluster.kill(BEST))]
    report = wreck.run()
    assert statuses(report) == [Status.FAILED] * 3
    assert reasons(report) == {"broker 3 was elected and is gone again: offline as before"}
    assert {each.leader_after for each in report.outcomes} == {NO_LEADER}
    assert_all_is_put_back(wreck)


def test_an_order_that_cannot_be_put_back_stays_in_the_journal_and_the_next_run_puts_it_back(wreck: Wreck) -> None:
    plan = wreck.plan()
    wreck.cluster.fates["reorder"] = [Fate(), FORBIDDEN]
    report = wreck.run(plan)
    assert statuses(report) == [Status.FAILED] * 3
    assert all(each.startswith("the newest epoch; its replica order was not restored") for each in reasons(report))
    assert all("CLUSTER_AUTHORIZATION_FAILED" in each and "it stays in the journal" in each for each in reasons(report))
    assert {(each.leader_after, each.replicas_after) for each in report.outcomes} == {(BEST, CHANGED)}
    assert report.is_changed
    assert wreck.unfinished() == tuple(map(an_order_change, partitions(3)))

    again = wreck.run(plan)
    assert [each.undoing for each in again.leftovers] == [Undoing.RESTORED] * 3
    assert statuses(again) == [Status.ALREADY_ONLINE] * 3
    assert again.is_changed
    assert_all_is_put_back(wreck)


def test_a_cluster_that_falls_silent_leaves_the_result_unknown(wreck: Wreck) -> None:
    def fall_silent() -> None:
        wreck.cluster.reads_until_silent = 0

    wreck.cluster.fates["elect"] = [Fate(lost_answer=True, before=fall_silent)]
    report = wreck.run()
    assert statuses(report) == [Status.FAILED] * 3  # the orders could not be seen put back either
    assert all("the next run restores it" in each for each in reasons(report))
    assert wreck.unfinished() == tuple(map(an_order_change, partitions(3)))


def test_a_result_that_cannot_be_read_is_unknown(wreck: Wreck) -> None:
    for each in wreck.cluster.states:
        wreck.cluster.change(each, replicas=CHANGED)  # no order to change, so only the election is in doubt

    def fall_silent() -> None:
        wreck.cluster.reads_until_silent = 0

    wreck.cluster.fates["elect"] = [Fate(lost_answer=True, before=fall_silent)]
    report = wreck.run()
    assert statuses(report) == [Status.UNKNOWN] * 3
    assert wreck.cluster.kinds() == ["elect"]


@pytest.mark.parametrize("restore", [Fate(), FORBIDDEN])
def test_an_interrupt_puts_the_order_back_and_passes(wreck: Wreck, restore: Fate) -> None:
    def interrupt() -> None:
        raise KeyboardInterrupt

    wreck.cluster.fates = {"elect": [Fate(before=interrupt)], "reorder": [Fate(), restore]}
    with pytest.raises(KeyboardInterrupt):
        wreck.run()
    wreck.run()
    assert_all_is_put_back(wreck)


def test_with_every_broker_fenced_somebody_is_asked_all_the_same(wreck: Wreck) -> None:
    wreck.left_by_a_killed_run()
    wreck.cluster.unfenced.clear()
    report = wreck.run()
    assert [each.undoing for each in report.leftovers] == [Undoing.RESTORED] * 3
    assert statuses(report) == [Status.REFUSED] * 3
    assert_all_is_put_back(wreck)


def test_a_stop_between_reorder_and_election_puts_the_order_back_and_elects_nothing(wreck: Wreck) -> None:
    wreck.cluster.fates["reorder"] = [Fate(after=wreck.stop.set)]
    report = wreck.run()
    assert statuses(report) == [Status.FAILED] * 3
    assert reasons(report) == {"the run was asked to stop before this election; run it again"}
    assert wreck.cluster.kinds() == ["reorder", "reorder"]
    assert_all_is_put_back(wreck)


def test_a_stop_while_electing_keeps_what_was_elected(wreck: Wreck) -> None:
    wreck.cluster.fates["elect"] = [WELL, Fate(errors={SECOND: UNKNOWN_SERVER_ERROR}, after=wreck.stop.set)]
    report = wreck.run()
    assert statuses(report) == [Status.RECOVERED, Status.FAILED, Status.RECOVERED]
    assert "asked to stop" in report.outcomes[1].reason
    assert wreck.cluster.kinds() == ["reorder", "elect", "elect", "reorder"]
    assert_all_is_put_back(wreck)


@pytest.mark.usefixtures("small_batches")
def test_a_stop_between_batches_leaves_the_rest_alone(wreck: Wreck) -> None:
    wreck.cluster.fates["reorder"] = [Fate(), Fate(after=wreck.stop.set)]
    report = wreck.run()
    assert statuses(report) == [Status.RECOVERED, Status.FAILED, Status.FAILED]
    assert {each.reason for each in report.outcomes[1:]} == {
        "the run was asked to stop before this election; run it again"
    }
    assert {each for write in wreck.cluster.writes for each in write.partitions} == {FIRST}
    assert_all_is_put_back(wreck)


def failing_from(call: int) -> Callable[[int], None]:
    """Return an os.fsync for a disk that is full from that call on, the first being 1."""
    calls: list[int] = []
    real = os.fsync

    def fsync(descriptor: int) -> None:
        calls.append(descriptor)
        if len(calls) >= call:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        real(descriptor)

    return fsync


@pytest.mark.usefixtures("small_batches")
def test_a_disk_that_fills_up_between_batches_costs_no_result_of_the_batches_before(
    wreck: Wreck, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = wreck.plan()
    opening, first_batch = 2, 2
    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", failing_from(opening + first_batch + 1))
        report = wreck.run(plan)
    assert statuses(report) == [Status.RECOVERED, Status.FAILED, Status.FAILED]
    assert all("No space left on device" in each.reason for each in report.outcomes[1:])
    assert {each for write in wreck.cluster.writes for each in write.partitions} == {FIRST}
    assert statuses(wreck.run(plan)) == [Status.ALREADY_ONLINE, Status.RECOVERED, Status.RECOVERED]
    assert_all_is_put_back(wreck)


@pytest.mark.usefixtures("small_batches")
def test_a_disk_that_fills_up_before_the_order_is_back_costs_no_result(
    wreck: Wreck, monkeypatch: pytest.MonkeyPatch
) -> None:
    opening, begin = 2, 1
    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", failing_from(opening + begin + 1))
        report = wreck.run()
    assert statuses(report) == [Status.RECOVERED, Status.FAILED, Status.FAILED]
    assert report.outcomes[0].replicas_after == ORIGINAL
    assert "its replica order is back, but the journal does not know it" in report.outcomes[0].reason
    again = wreck.run()
    assert statuses(again) == [Status.ALREADY_ONLINE, Status.RECOVERED, Status.RECOVERED]
    assert_all_is_put_back(wreck)


@pytest.mark.usefixtures("small_batches")
def test_brokers_that_fall_silent_between_batches_cost_no_result_of_the_batches_before(wreck: Wreck) -> None:
    def fall_silent_after_the_last_look() -> None:
        wreck.cluster.reads_until_silent = 2  # the restored order, and the end state

    wreck.cluster.fates["reorder"] = [Fate(), Fate(after=fall_silent_after_the_last_look)]
    report = wreck.run()
    assert statuses(report) == [Status.RECOVERED, Status.FAILED, Status.FAILED]
    assert all("no broker answered DescribeTopicPartitions" in each.reason for each in report.outcomes[1:])


fates = st.sampled_from([Fate(), LOST_REQUEST, LOST_ANSWER, FAILED_OVER, FORBIDDEN, TIMED_OUT]) | st.builds(
    Fate,
    errors=st.dictionaries(st.sampled_from(partitions(3)), st.sampled_from([UNKNOWN_SERVER_ERROR, NOT_CONTROLLER])),
    left_out=st.frozensets(st.sampled_from(partitions(3))),
)


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(fates, max_size=6), st.lists(fates, max_size=4), st.integers(0, 4), st.integers(1, 2))
def test_whatever_befalls_the_requests_the_report_is_true_and_a_rerun_converges(
    make_wreck: MakeWreck, reorders: list[Fate], elections: list[Fate], stale_reads: int, attempts: int
) -> None:
    wreck = make_wreck(3)
    shutil.rmtree(wreck.cluster.journal_dir, ignore_errors=True)
    plan = wreck.plan()
    wreck.cluster.fates = {"reorder": reorders, "elect": elections}
    wreck.cluster.stale_reads = stale_reads
    report = wreck.run(plan, attempts=attempts)
    unfinished = {each.topic_partition for each in wreck.unfinished()}
    for outcome in report.outcomes:
        state = wreck.cluster.states[outcome.topic_partition]
        assert state.leader_id in (NO_LEADER, BEST)
        assert state.replicas == ORIGINAL or outcome.topic_partition in unfinished
        if outcome.status is Status.RECOVERED:
            assert (state.leader_id, state.replicas) == (BEST, ORIGINAL)
        else:
            assert outcome.status is Status.FAILED

    wreck.cluster.fates = {}
    again = wreck.run(plan, attempts=3)
    assert again.outcomes
    assert {each.status for each in again.outcomes} <= {Status.RECOVERED, Status.ALREADY_ONLINE}
    assert {each.leader_id for each in wreck.cluster.states.values()} == {BEST}
    assert_all_is_put_back(wreck)
