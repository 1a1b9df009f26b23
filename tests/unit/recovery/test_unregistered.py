# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""An unregistered broker in a replica list is reported, and dropped only if the plan says so."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

import pytest

from ansible_collections.kafkaops.recovery.plugins.module_utils._changes.record import OrderChange, Undoing
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka import error_codes
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.partition import (
    NO_LEADER,
    Cause,
    Reassignment,
    TopicPartition,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.designations import plan_from_designations
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.observation import plan_drops
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.outcome import outcomes_of_plan
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.plan import Plan, Status
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.policies import (
    PolicyError,
    read_policy_options,
)
from unit.fakes.clock import FakeClock
from unit.fakes.fates import WELL, Fate
from unit.fakes.journals import CLUSTER_ID, open_journal
from unit.fakes.wreck import BEHIND, BEST, DEAD, ORIGINAL, TOPIC_ID, Wreck, partitions

FIRST, SECOND, THIRD = partitions(3)
NEW, LISTED, BACK = (BEST, BEHIND), (BEST, BEHIND, DEAD), (BEHIND, BEST)
PLAIN = (DEAD, BEST, BEHIND)
NOTHING = Plan(CLUSTER_ID, "2026-01-31T23:59:59Z", (), ())


@pytest.fixture(params=[True, False], ids=["all brokers are listed", "only unfenced ones are"])
def gone(request: pytest.FixtureRequest, wreck: Wreck, clock: FakeClock) -> Wreck:
    """Broker 1 is not registered; the third partition needs no other order."""
    wreck.cluster.clock = clock
    wreck.cluster.registered.discard(DEAD)
    wreck.cluster.lists_fenced = request.param
    wreck.cluster.change(THIRD, replicas=PLAIN)
    return wreck


def plan_of(wreck: Wreck, *, may_drop: bool) -> Plan:
    return plan_drops(wreck.cluster, wreck.plan(), may_drop=may_drop)


def leaders(wreck: Wreck) -> list[int]:
    return [wreck.cluster.states[each].leader_id for each in (FIRST, SECOND, THIRD)]


def orders(wreck: Wreck) -> list[tuple[int, ...]]:
    return [wreck.cluster.states[each].replicas for each in (FIRST, SECOND, THIRD)]


def a_drop(partition: TopicPartition) -> OrderChange:
    return OrderChange(partition.topic, partition.partition, TOPIC_ID, ORIGINAL, LISTED, (DEAD,))


def killed_before_the_election(wreck: Wreck, *partitions: TopicPartition) -> None:
    with open_journal(wreck.cluster) as journal:
        journal.begin([a_drop(each) for each in partitions])
    for each in partitions:
        wreck.cluster.change(each, replicas=LISTED)
        wreck.cluster.removing[each] = (DEAD,)


def test_without_the_option_the_plan_names_the_unregistered_broker(gone: Wreck) -> None:
    plan = plan_of(gone, may_drop=False)
    assert [each.topic_partition for each in plan.elections] == [THIRD]
    assert [each.topic_partition for each in plan.left_alone] == [FIRST, SECOND]
    for each in plan.left_alone:
        assert each.status is Status.REFUSED
        assert "broker 1 of its replica list is not registered" in each.reason
        assert "unclean_recovery_allow_dropping_unregistered" in each.reason
        assert "start broker 1" in each.reason
    assert gone.cluster.writes == []


@pytest.mark.parametrize("check_mode", [True, False])
def test_a_plan_that_drops_nothing_is_refused_and_nothing_is_changed(gone: Wreck, *, check_mode: bool) -> None:
    report = gone.run(gone.plan(), check_mode=check_mode)
    wanted = Status.WOULD_RECOVER if check_mode else Status.RECOVERED
    assert [each.status for each in report.outcomes] == [Status.REFUSED, Status.REFUSED, wanted]
    assert "unclean_recovery_allow_dropping_unregistered" in report.outcomes[0].reason
    assert [each.dropped for each in report.outcomes] == [(), (), ()]
    assert leaders(gone) == [NO_LEADER, NO_LEADER, NO_LEADER if check_mode else BEST]
    assert orders(gone) == [ORIGINAL, ORIGINAL, PLAIN]
    assert gone.cluster.pending() == ()


def test_with_the_option_the_broker_is_dropped_and_the_order_restored(gone: Wreck) -> None:
    plan = plan_of(gone, may_drop=True)
    assert [each.dropped for each in plan.elections] == [(DEAD,), (DEAD,), ()]
    assert [each.dropped for each in outcomes_of_plan(plan)] == [(DEAD,), (DEAD,), ()]
    assert "the new order drops it, and it is not put back" in plan.elections[0].explained
    forecast = gone.run(plan, check_mode=True)
    assert [each.status for each in forecast.outcomes] == [Status.WOULD_RECOVER] * 3
    assert [each.dropped for each in forecast.outcomes] == [(DEAD,), (DEAD,), ()]
    assert "in the order [3, 2]" in forecast.outcomes[0].reason
    assert gone.cluster.writes == []

    report = gone.run(plan)
    assert [each.status for each in report.outcomes] == [Status.RECOVERED] * 3
    assert [each.dropped for each in report.outcomes] == [(DEAD,), (DEAD,), ()]
    assert [each.replicas_after for each in report.outcomes] == [BACK, BACK, PLAIN]
    assert "broker 1 was dropped from its replicas and is not put back" in report.outcomes[0].reason
    assert (leaders(gone), orders(gone)) == ([BEST] * 3, [BACK, BACK, PLAIN])
    assert gone.cluster.pending() == ()
    refused = [] if gone.cluster.lists_fenced else ["reorder"]
    assert gone.cluster.kinds() == [*refused, "reorder without", "elect", "elect", "reorder without"]


def test_a_broker_that_is_registered_again_since_the_plan_is_kept(gone: Wreck) -> None:
    plan = plan_of(gone, may_drop=True)
    gone.cluster.registered.add(DEAD)
    report = gone.run(plan)
    assert [each.status for each in report.outcomes] == [Status.RECOVERED] * 3
    assert [each.dropped for each in report.outcomes] == [(), (), ()]
    assert orders(gone) == [ORIGINAL, ORIGINAL, PLAIN]
    assert "reorder without" not in gone.cluster.kinds()


def test_no_drop_if_the_present_order_elects_the_designated_leader(gone: Wreck) -> None:
    """The plain order elects broker 3, and broker 4, which did not answer, before broker 2 if that fails."""
    gone.cluster.unfenced.add(4)
    gone.cluster.registered.add(4)
    plan = gone.plan()
    order = (DEAD, BEST, 4, BEHIND)
    gone.cluster.change(FIRST, replicas=order)
    plan = replace(plan, elections=(replace(plan.elections[0], replicas=order),))
    assert plan_drops(gone.cluster, plan, may_drop=True) == plan
    report = gone.run(plan)
    assert [each.status for each in report.outcomes] == [Status.RECOVERED]
    assert gone.cluster.states[FIRST].replicas == order
    assert "reorder without" not in gone.cluster.kinds()


def test_another_missing_replica_leaves_the_removal_in_progress(gone: Wreck) -> None:
    """The controller ends the removal when this replica is in sync: nothing is left to undo."""
    gone.cluster.registered.add(4)
    gone.cluster.change(FIRST, replicas=(DEAD, BEHIND, BEST, 4))
    plan = gone.plan()
    report = gone.run(plan_drops(gone.cluster, replace(plan, elections=plan.elections[:1]), may_drop=True))
    assert [(each.status, each.dropped) for each in report.outcomes] == [(Status.RECOVERED, (DEAD,))]
    assert gone.cluster.states[FIRST].replicas == (BEHIND, BEST, 4, DEAD)
    assert gone.cluster.removing == {FIRST: (DEAD,)}
    assert gone.cluster.pending() == ()


def test_a_rerun_after_a_kill_elects_in_the_present_order(gone: Wreck) -> None:
    killed_before_the_election(gone, FIRST)
    plan = plan_of(gone, may_drop=True)
    assert plan.elections[0].dropped == (DEAD,)
    assert [each.status for each in gone.run(plan, check_mode=True).outcomes] == [Status.WOULD_RECOVER] * 3
    assert gone.cluster.writes == []
    report = gone.run(plan)
    assert [(each.status, each.dropped) for each in report.outcomes[:1]] == [(Status.RECOVERED, (DEAD,))]
    assert (leaders(gone), orders(gone)) == ([BEST] * 3, [BACK, BACK, PLAIN])
    assert gone.cluster.pending() == ()


def test_a_rerun_after_a_kill_without_the_option_is_refused_by_name(gone: Wreck) -> None:
    killed_before_the_election(gone, FIRST)
    plan = plan_of(gone, may_drop=False)
    refused = [each for each in plan.left_alone if each.topic_partition == FIRST]
    assert [each.status for each in refused] == [Status.REFUSED]
    assert "an order that drops broker 1" in refused[0].reason or "is not registered" in refused[0].reason


def test_undoing_restores_only_the_order_of_the_other_replicas(gone: Wreck) -> None:
    killed_before_the_election(gone, FIRST)
    (looked,) = gone.run(NOTHING, check_mode=True).leftovers
    assert looked.undoing is Undoing.WOULD_RESTORE
    (undone,) = gone.run(NOTHING).leftovers
    assert undone.undoing is Undoing.RESTORED
    assert "back to [2, 3] without broker 1" in undone.reason
    assert gone.cluster.states[FIRST].replicas == (BEHIND, BEST, DEAD)
    assert gone.cluster.pending() == ()
    report = gone.run(plan_of(gone, may_drop=True))
    assert [each.status for each in report.outcomes] == [Status.RECOVERED] * 3
    assert orders(gone)[0] == BACK


def test_a_killed_run_that_had_dropped_nothing_leaves_nothing_to_undo(gone: Wreck) -> None:
    with open_journal(gone.cluster) as journal:
        journal.begin([a_drop(FIRST)])
    (undone,) = gone.run(NOTHING).leftovers
    assert (undone.undoing, undone.reason) == (Undoing.ALREADY_BACK, "its order is the original one")
    assert "reorder without" not in gone.cluster.kinds()
    assert orders(gone)[0] == ORIGINAL
    assert gone.cluster.pending() == ()


def test_a_refused_order_is_not_restored(gone: Wreck) -> None:
    """A run was killed before its first request. The controller also refuses the original order."""
    with open_journal(gone.cluster) as journal:
        journal.begin([replace(a_drop(FIRST), dropped=())])
    (undone,) = gone.run(NOTHING).leftovers
    assert undone.undoing is Undoing.ALREADY_BACK
    assert gone.cluster.pending() == ()


@pytest.mark.parametrize("is_first_closed", [False, True])
def test_a_broker_that_came_back_while_it_was_being_removed_is_kept(gone: Wreck, is_first_closed: bool) -> None:
    killed_before_the_election(gone, FIRST)
    if is_first_closed:
        gone.cluster.closed[gone.writer().addresses[0]] = Cause.UNREACHABLE
    gone.cluster.registered.add(DEAD)
    gone.cluster.revive(DEAD)
    assert gone.cluster.states[FIRST].leader_id == DEAD
    gone.cluster.unfenced.discard(BEHIND)
    (undone,) = gone.run(NOTHING).leftovers
    assert (undone.undoing, undone.reason) == (Undoing.RESTORED, "back to [1, 2, 3]")
    assert gone.cluster.states[FIRST].replicas == ORIGINAL
    assert gone.cluster.removing == {}


def test_a_removal_canceled_by_another_party_is_left_alone(gone: Wreck) -> None:
    killed_before_the_election(gone, FIRST)
    gone.cluster.removing.clear()
    (undone,) = gone.run(NOTHING).leftovers
    assert undone.undoing is Undoing.CONFLICT
    assert "another party canceled the removal" in undone.reason
    assert gone.cluster.writes == []


def test_a_reassignment_by_another_party_is_left_alone(gone: Wreck) -> None:
    killed_before_the_election(gone, FIRST)
    gone.cluster.removing[FIRST] = (BEHIND,)
    (undone,) = gone.run(NOTHING).leftovers
    assert undone.undoing is Undoing.CONFLICT
    assert "another party is reassigning it" in undone.reason
    assert gone.cluster.writes == []


def test_a_failed_election_leaves_a_partition_that_the_next_run_recovers(gone: Wreck) -> None:
    plan = plan_of(gone, may_drop=True)
    gone.cluster.fates["elect"] = [Fate(refused_with=error_codes.CLUSTER_AUTHORIZATION_FAILED)] * 9
    report = gone.run(plan)
    assert [each.status for each in report.outcomes] == [Status.FAILED] * 3
    assert [each.dropped for each in report.outcomes] == [(DEAD,), (DEAD,), ()]
    assert "add a replica on another broker" in report.outcomes[0].reason
    assert orders(gone)[0] == (BEHIND, BEST, DEAD)
    gone.cluster.fates.clear()
    report = gone.run(plan_of(gone, may_drop=True))
    assert [each.status for each in report.outcomes] == [Status.RECOVERED] * 3
    assert orders(gone) == [BACK, BACK, PLAIN]


def test_designations_drop_the_broker_only_with_the_option(gone: Wreck) -> None:
    plan = plan_from_designations(gone.cluster, {FIRST: BEST, THIRD: BEST})
    refused = plan_drops(gone.cluster, plan, may_drop=False)
    assert [each.topic_partition for each in refused.left_alone] == [FIRST]
    report = gone.run(plan_drops(gone.cluster, plan, may_drop=True))
    assert [(each.status, each.dropped) for each in report.outcomes] == [
        (Status.RECOVERED, (DEAD,)),
        (Status.RECOVERED, ()),
    ]


def test_two_unregistered_brokers_are_dropped_and_a_fenced_one_is_not(gone: Wreck) -> None:
    order = (DEAD, 5, BEHIND, 4, BEST)
    gone.cluster.registered.add(4)
    gone.cluster.change(FIRST, replicas=order)
    plan = gone.plan()
    plan = plan_drops(gone.cluster, replace(plan, elections=plan.elections[:1]), may_drop=True)
    assert plan.elections[0].dropped == (DEAD, 5)
    report = gone.run(plan)
    assert [(each.status, each.dropped) for each in report.outcomes] == [(Status.RECOVERED, (DEAD, 5))]
    assert gone.cluster.states[FIRST].replicas == (BEHIND, 4, BEST, DEAD, 5)
    assert gone.cluster.pending() == ()


def test_an_election_whose_response_was_lost_leaves_what_it_dropped_in_the_report(gone: Wreck) -> None:
    plan = plan_of(gone, may_drop=True)
    gone.cluster.fates["elect"] = [Fate(lost_request=True)] * 9
    report = gone.run(plan, timeout_ms=3000)
    assert [(each.status, each.dropped) for each in report.outcomes[:2]] == [(Status.FAILED, (DEAD,))] * 2
    assert orders(gone)[0] == LISTED
    assert [each.topic_partition for each in gone.cluster.pending() if isinstance(each, OrderChange)][:1] == [FIRST]
    gone.cluster.fates.clear()
    report = gone.run(plan_of(gone, may_drop=True))
    assert [(each.status, each.dropped) for each in report.outcomes[:2]] == [(Status.RECOVERED, (DEAD,))] * 2
    assert orders(gone) == [BACK, BACK, PLAIN]
    assert gone.cluster.pending() == ()


def test_an_interrupt_after_a_drop_is_raised(gone: Wreck) -> None:
    def interrupt() -> None:
        raise KeyboardInterrupt

    plan = plan_of(gone, may_drop=True)
    gone.cluster.fates["elect"] = [Fate(before=interrupt)]
    with pytest.raises(KeyboardInterrupt):
        gone.run(plan)
    assert orders(gone)[:2] == [(BEHIND, BEST, DEAD)] * 2
    assert gone.cluster.pending() == ()


def test_a_replica_set_changed_by_another_party_is_not_claimed(gone: Wreck) -> None:
    plan = plan_of(gone, may_drop=True)

    def reassign() -> None:
        gone.cluster.removing.pop(FIRST, None)
        gone.cluster.change(FIRST, replicas=(BEST, 4))

    gone.cluster.fates["elect"] = [WELL, Fate(after=reassign)]
    report = gone.run(plan)
    assert [each.dropped for each in report.outcomes] == [(), (DEAD,), ()]
    assert "its replica order is not restored" in report.outcomes[0].reason
    assert "was dropped from its replicas" not in report.outcomes[0].reason
    assert "was dropped from its replicas" in report.outcomes[1].reason


def test_a_removal_that_is_seen_late_is_not_taken_for_the_change_of_another_party(
    gone: Wreck, clock: FakeClock
) -> None:
    """The controller has ended both removals. The broker that is asked for metadata sees each at its own time."""
    cluster, ask_controller = gone.cluster, gone.cluster.running_reassignments
    seen_at: dict[TopicPartition, float] = {}

    def lag_behind() -> None:
        for each, lag_s in ((FIRST, 0.3), (SECOND, 1.2)):
            cluster.change(each, replicas=LISTED)
            seen_at[each] = clock.monotonic() + lag_s

    def catch_up(partitions: Collection[TopicPartition]) -> dict[TopicPartition, Reassignment]:
        for each in [each for each, when in seen_at.items() if when <= clock.monotonic()]:
            cluster.change(each, replicas=NEW)
            del seen_at[each]
        return ask_controller(partitions)

    cluster.fates["elect"] = [WELL, Fate(after=lag_behind)]
    cluster.answer(running_reassignments=catch_up)
    report = gone.run(plan_of(gone, may_drop=True))
    assert [each.status for each in report.outcomes] == [Status.RECOVERED] * 3
    assert [each.dropped for each in report.outcomes] == [(DEAD,), (DEAD,), ()]
    assert orders(gone) == [BACK, BACK, PLAIN]
    assert cluster.pending() == ()


def test_the_option_to_drop_is_refused_with_evidence() -> None:
    params = {
        "recovery_strategy": "aggressive",
        "max_lost_records": None,
        "max_estimated_loss": None,
        "proof": "ignore",
        "acknowledge_unclean_leader_election": False,
        "allow_empty_leader": False,
        "allow_dropping_unregistered": True,
        "evidence": "/evidence",
    }
    with pytest.raises(PolicyError, match="leave it out, or leave out evidence"):
        read_policy_options(params)


def test_brokers_of_unknown_registration_are_named(wreck: Wreck) -> None:
    def refuse(*_arguments: object) -> None:
        raise error_codes.request_refused_error("CreateTopics", error_codes.TOPIC_AUTHORIZATION_FAILED)

    wreck.cluster.lists_fenced = False
    wreck.cluster.answer(check_topic_creation=refuse)
    plan = plan_of(wreck, may_drop=False)
    assert "whether broker 1 of its replicas is registered is not known" in plan.elections[0].explained
    assert "TOPIC_AUTHORIZATION_FAILED" in plan.elections[0].explained
    assert plan.elections[0].dropped == ()
    assert plan_of(wreck, may_drop=True).elections[0].dropped == (DEAD,)
    report = wreck.run(plan_of(wreck, may_drop=True))
    assert [(each.status, each.dropped) for each in report.outcomes] == [(Status.RECOVERED, ())] * 3
