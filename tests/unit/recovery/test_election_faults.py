# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Elections with lost requests and responses, fail-over of the controller, fenced brokers, and old metadata."""

from __future__ import annotations

import pytest

from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.error_codes import (
    UNKNOWN_SERVER_ERROR,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.partition import Cause
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.plan import Status
from unit.fakes.clock import FakeClock
from unit.fakes.fates import FAILED_OVER, FORBIDDEN, LOST_ANSWER, LOST_REQUEST, TIMED_OUT, WELL, Fate, nothing
from unit.fakes.wreck import (
    BEST,
    CHANGED,
    ORIGINAL,
    Wreck,
    partitions,
    reasons,
    statuses,
)

FIRST, SECOND, THIRD = partitions(3)
EARLIER = (2, 1, 3)


@pytest.mark.parametrize("fate", [LOST_REQUEST, LOST_ANSWER, FAILED_OVER, TIMED_OUT])
@pytest.mark.parametrize("times", [1, 2])
@pytest.mark.parametrize("kind", ["reorder", "elect"])
def test_a_transient_error_takes_one_attempt(wreck: Wreck, kind: str, fate: Fate, times: int) -> None:
    wreck.cluster.fates[kind] = [fate] * times
    report = wreck.run()
    assert statuses(report) == [Status.RECOVERED] * 3
    assert {each.leader_after for each in report.outcomes} == {BEST}
    wreck.assert_orders_are_restored()


@pytest.mark.parametrize(("fate", "elections"), [(LOST_REQUEST, 2), (LOST_ANSWER, 1), (FAILED_OVER, 2), (TIMED_OUT, 1)])
def test_metadata_is_read_before_an_election_is_requested_again(wreck: Wreck, fate: Fate, elections: int) -> None:
    wreck.cluster.fates["elect"] = [WELL, fate]
    wreck.run()
    assert wreck.cluster.kinds() == ["reorder", "elect", *["elect"] * elections, "reorder"]


@pytest.mark.parametrize(("fate", "reorders"), [(LOST_REQUEST, 2), (LOST_ANSWER, 1), (FAILED_OVER, 2), (TIMED_OUT, 1)])
def test_metadata_is_read_before_an_order_is_requested_again(wreck: Wreck, fate: Fate, reorders: int) -> None:
    wreck.cluster.fates["reorder"] = [fate]
    wreck.run()
    kinds = wreck.cluster.kinds()
    assert kinds[: kinds.index("elect")] == ["reorder"] * reorders


@pytest.mark.parametrize("cause", [Cause.UNREACHABLE, Cause.NOT_AUTHORIZED])
def test_a_dead_broker_does_not_delay_requests_to_others(wreck: Wreck, clock: FakeClock, cause: Cause) -> None:
    """After a refused connection, no answer can be lost: the next broker is asked at once."""
    _dead, first, second = wreck.writer().addresses
    asked_at: list[float] = []
    elect = Fate(before=lambda: asked_at.append(clock.monotonic()))
    close = Fate(lost_request=True, before=lambda: wreck.cluster.closed.update({first: cause}))
    wreck.cluster.fates = {"reorder": [close], "elect": [elect, elect]}
    began = clock.monotonic()
    assert statuses(wreck.run()) == [Status.RECOVERED] * 3
    assert [each.address for each in wreck.cluster.writes] == [first, *[second] * 5]
    assert asked_at[-1] - began < 2, "one verify timeout, for the request that was lost"


@pytest.mark.parametrize("fate", [LOST_ANSWER, TIMED_OUT])
def test_a_run_waits_for_an_unknown_outcome_while_brokers_lag(wreck: Wreck, fate: Fate) -> None:
    """The first reads show the old state of the partitions. The election is not requested again because of this."""
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
        # Once more when the lost reorder can no longer be executed.
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
def test_after_the_last_attempt_the_order_is_restored_and_the_error_reported(
    wreck: Wreck, fate: Fate, reason: str
) -> None:
    wreck.cluster.fates["elect"] = [fate] * 6
    report = wreck.run(attempts=3)
    assert statuses(report) == [Status.FAILED] * 3
    assert reasons(report) == {reason}
    assert wreck.cluster.kinds().count("elect") == 6, "three for one partition, and three for the others"
    assert not report.is_changed
    wreck.assert_orders_are_restored()


@pytest.mark.parametrize("fate", [LOST_ANSWER, TIMED_OUT])
def test_an_election_that_took_place_in_the_last_attempt_is_a_recovery(wreck: Wreck, fate: Fate) -> None:
    wreck.cluster.fates["elect"] = [fate]
    report = wreck.run(attempts=1)
    assert statuses(report) == [Status.RECOVERED] * 3
    wreck.assert_orders_are_restored()


@pytest.mark.parametrize("kind", ["reorder", "elect"])
def test_a_permanent_refusal_is_not_retried(wreck: Wreck, kind: str) -> None:
    wreck.cluster.fates[kind] = [FORBIDDEN] * (1 if kind == "reorder" else 2)
    report = wreck.run()
    assert statuses(report) == [Status.FAILED] * 3
    assert all(f"{kind} was refused: CLUSTER_AUTHORIZATION_FAILED (error 31)" in each for each in reasons(report))
    assert wreck.cluster.kinds() == (
        ["reorder", "reorder"] if kind == "reorder" else ["reorder", "elect", "elect", "reorder"]
    )
    wreck.assert_orders_are_restored()


@pytest.mark.parametrize("kind", ["reorder", "elect"])
def test_failures_in_a_batch_do_not_affect_other_partitions(wreck: Wreck, kind: str) -> None:
    wreck.cluster.fates[kind] = [Fate(errors={SECOND: UNKNOWN_SERVER_ERROR})] * 4
    report = wreck.run()
    assert statuses(report) == [Status.RECOVERED, Status.FAILED, Status.RECOVERED]
    assert "UNKNOWN_SERVER_ERROR (error -1)" in report.outcomes[1].reason
    assert report.is_changed
    wreck.assert_orders_are_restored()


@pytest.mark.parametrize("kind", ["reorder", "elect"])
def test_a_partition_missing_in_an_answer_is_read(wreck: Wreck, kind: str) -> None:
    wreck.cluster.fates[kind] = [Fate(left_out=frozenset({SECOND}))] * 2
    assert statuses(wreck.run()) == [Status.RECOVERED] * 3
    assert wreck.cluster.kinds() == ["reorder", "elect", "elect", "reorder"]
    wreck.assert_orders_are_restored()


def test_no_election_is_requested_if_the_new_order_is_never_seen(wreck: Wreck) -> None:
    def undo() -> None:
        wreck.cluster.change(SECOND, replicas=ORIGINAL)

    wreck.cluster.fates["reorder"] = [Fate(after=undo)] * 3
    report = wreck.run()
    assert statuses(report) == [Status.RECOVERED, Status.FAILED, Status.RECOVERED]
    assert "the request was accepted, but its replicas are [1, 2, 3]" in report.outcomes[1].reason
    assert SECOND not in [each for write in wreck.cluster.writes if write.kind == "elect" for each in write.partitions]


@pytest.mark.parametrize("seen", [EARLIER, ORIGINAL, CHANGED])
def test_an_order_of_an_earlier_run_is_not_a_conflict(wreck: Wreck, seen: tuple[int, ...]) -> None:
    """Another party's requests may be executed while ours is lost."""
    wreck.journal("orders-0", topic_id=wreck.cluster.states[FIRST].topic_id, original=ORIGINAL, changed=EARLIER)
    wreck.cluster.change(FIRST, replicas=EARLIER)
    wreck.cluster.fates["reorder"] = [
        Fate(lost_request=True, before=lambda: wreck.cluster.change(FIRST, replicas=seen))
    ]
    report = wreck.run()
    assert statuses(report) == [Status.RECOVERED] * 3, report.outcomes[0].reason
    wreck.assert_orders_are_restored()


def test_the_wait_for_a_lost_election_ends_when_it_can_no_longer_be_executed(wreck: Wreck, clock: FakeClock) -> None:
    clock.now = 1000.0
    wreck.cluster.fates["elect"] = [LOST_REQUEST] * 2
    report = wreck.run(attempts=1)
    assert statuses(report) == [Status.FAILED] * 3
    assert 1061 <= clock.now < 1070
    wreck.assert_orders_are_restored()


@pytest.mark.parametrize("reorder", [WELL, LOST_ANSWER], ids=["answered", "in doubt"])
@pytest.mark.parametrize("cause", ["stop", "time limit"])
def test_a_run_without_time_leaves_the_order_to_the_next_run(wreck: Wreck, cause: str, reorder: Fate) -> None:
    """Even an order in doubt stays: restored, it would give a late election to another broker."""
    is_stopped, plan = cause == "stop", wreck.plan()
    wreck.cluster.fates["reorder"] = [reorder]
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
    wreck.assert_orders_are_restored()


def test_after_its_time_limit_a_run_stops_and_returns_its_results(wreck: Wreck, clock: FakeClock) -> None:
    wreck.batch_size = 1
    wreck.cluster.fates["elect"] = [WELL, Fate(after=lambda: clock.sleep(20))]
    report = wreck.run(timeout_ms=10_000)
    assert statuses(report) == [Status.RECOVERED, Status.RECOVERED, Status.FAILED]
    assert "the time limit of 10 s for all elections (election_timeout_ms) was reached" in report.outcomes[2].reason
    wreck.assert_orders_are_restored()
