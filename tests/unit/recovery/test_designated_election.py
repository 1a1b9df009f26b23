# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Carry out a plan without faults, with nothing to do, and with elections that are not allowed."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ansible_collections.kafkaops.recovery.plugins.module_utils._changes.record import JournalError
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.errors import NoBrokerAnswersError
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.partition import NO_LEADER, TopicPartition
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.designations import plan_from_designations
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.election_run import (
    ElectionOptionsError,
    WrongClusterError,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.outcome import Outcome
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.plan import ElectionType, LeftAlone, Status
from unit.fakes.clock import FakeClock
from unit.fakes.journals import CLUSTER_ID, open_journal, renew_while_others_wait
from unit.fakes.wreck import BEHIND, BEST, DEAD, ORIGINAL, TOPIC_ID, MakeWreck, Wreck, partitions

FIRST, SECOND, THIRD = partitions(3)
ELECTED_CAREFULLY = ["reorder", "elect", "elect", "reorder"]
"""One partition of the designated leader is elected first."""


def statuses(outcomes: tuple[Outcome, ...]) -> list[Status]:
    return [each.status for each in outcomes]


def test_each_partition_gets_its_designated_leader_and_original_order(wreck: Wreck) -> None:
    plan = wreck.plan()
    report = wreck.run(plan)
    assert report.outcomes == tuple(
        Outcome(
            topic="orders",
            partition=number,
            status=Status.RECOVERED,
            reason="the newest epoch",
            topic_id=TOPIC_ID,
            designated_leader=BEST,
            leader_before=NO_LEADER,
            leader_after=BEST,
            leader_epoch_before=7,
            leader_epoch_after=8,
            replicas=ORIGINAL,
            replicas_after=ORIGINAL,
            candidates=plan.elections[number].candidates,
            silent=plan.elections[number].silent,
            isr=plan.elections[number].isr,
            elr=plan.elections[number].elr,
            last_known_elr=plan.elections[number].last_known_elr,
        )
        for number in range(3)
    )
    assert report.is_changed
    assert report.leftovers == ()
    assert {(each.leader_id, each.replicas) for each in wreck.cluster.states.values()} == {(BEST, ORIGINAL)}
    assert wreck.cluster.kinds() == ELECTED_CAREFULLY
    assert wreck.unfinished() == ()


def test_check_mode_reports_the_same_refusals(wreck: Wreck) -> None:
    plan = wreck.plan()
    wreck.cluster.change(FIRST, leader_id=BEHIND, isr=(BEHIND,))
    wreck.cluster.change(SECOND, leader_epoch=9)
    wreck.cluster.reassigning = frozenset({THIRD})
    forecast = wreck.run(plan, check_mode=True)
    assert not forecast.is_changed
    assert forecast.outcomes == wreck.run(plan).outcomes
    assert wreck.cluster.writes == []


def test_a_changed_partition_is_left_alone_and_the_others_recovered(wreck: Wreck) -> None:
    plan = wreck.plan()
    wreck.cluster.change(SECOND, leader_epoch=9)
    report = wreck.run(plan)
    assert statuses(report.outcomes) == [Status.RECOVERED, Status.REFUSED, Status.RECOVERED]
    assert "its leader epoch is 9 now" in report.outcomes[1].reason
    assert {each for write in wreck.cluster.writes for each in write.partitions} == {FIRST, THIRD}


def test_a_deleted_partition_is_unknown(wreck: Wreck) -> None:
    plan = wreck.plan()
    del wreck.cluster.states[SECOND]
    report = wreck.run(plan)
    assert statuses(report.outcomes) == [Status.RECOVERED, Status.UNKNOWN, Status.RECOVERED]
    assert (report.outcomes[1].leader_before, report.outcomes[1].replicas_after) == (None, None)


def test_a_run_waits_for_brokers_that_lag_behind_the_controller(wreck: Wreck) -> None:
    wreck.cluster.stale_reads = 3
    report = wreck.run()
    assert statuses(report.outcomes) == [Status.RECOVERED] * 3
    assert wreck.cluster.kinds() == ELECTED_CAREFULLY


def test_partitions_left_alone_are_reported_with_their_present_leader(wreck: Wreck) -> None:
    gone = LeftAlone("accounts", 4, Status.UNRECOVERABLE, "no replica is left", leader_id=NO_LEADER, replicas=(8, 9))
    plan = replace(wreck.plan(), left_alone=(gone,))
    report = wreck.run(plan)
    assert statuses(report.outcomes) == [Status.UNRECOVERABLE, *[Status.RECOVERED] * 3]
    assert report.outcomes[0].topic_partition == TopicPartition("accounts", 4)
    assert report.outcomes[0].replicas == (8, 9)
    assert (report.outcomes[0].leader_before, report.outcomes[0].leader_after) == (NO_LEADER, None)


class _OtherRun:
    """A run at the same time: it elects a partition while this one looks at its own."""

    def __init__(self, wreck: Wreck, partition: TopicPartition) -> None:
        self._wreck = wreck
        self._partition = partition

    def step(self, *_text: object) -> None:
        self._wreck.cluster.change(self._partition, leader_id=BEST)


@pytest.mark.parametrize("is_during", [False, True])
@pytest.mark.parametrize("status", [Status.REFUSED, Status.UNRECOVERABLE])
def test_a_partition_that_another_run_gave_a_leader_is_not_refused(
    wreck: Wreck, status: Status, is_during: bool
) -> None:
    other = TopicPartition("accounts", 4)
    alone = LeftAlone("accounts", 4, status, "not proven", TOPIC_ID, NO_LEADER, leader_epoch=7, replicas=ORIGINAL)
    plan = replace(wreck.plan(), left_alone=(alone,))
    wreck.cluster.states[other] = wreck.cluster.states[FIRST]._replace(topic="accounts", partition=4)
    wreck.progress = _OtherRun(wreck, other)
    if not is_during:
        wreck.progress.step()
    found = wreck.run(plan).outcomes[0]
    expected = "broker 3 leads it: it got a leader since the plan was made"
    assert (found.status, found.reason, found.leader_after) == (Status.ALREADY_ONLINE, expected, BEST)
    assert not [each for write in wreck.cluster.writes for each in write.partitions if each == other]


@pytest.mark.parametrize("check_mode", [False, True])
@pytest.mark.parametrize(
    ("now", "ending"),
    [
        ((BEHIND, 9), (Status.ALREADY_ONLINE, "broker 2 leads it")),
        ((BEST, 9), (Status.ALREADY_ONLINE, "broker 3 leads it")),
        (
            (NO_LEADER, 9),
            (Status.REFUSED, "it has lost its leader since the plan was made: make a new plan"),
        ),
        (
            None,
            (
                Status.UNKNOWN,
                "it is not in the metadata any more, or our principal needs DESCRIBE on the topic: look at it",
            ),
        ),
    ],
)
def test_partitions_that_were_online_in_the_plan_are_read_again(
    wreck: Wreck, now: tuple[int, int] | None, ending: tuple[Status, str], check_mode: bool
) -> None:
    other = TopicPartition("accounts", 4)
    online = LeftAlone(
        "accounts", 4, Status.ALREADY_ONLINE, "broker 2 leads it", TOPIC_ID, BEHIND, leader_epoch=7, replicas=ORIGINAL
    )
    plan = replace(wreck.plan(), left_alone=(online,))
    if now:
        leader_id, leader_epoch = now
        wreck.cluster.states[other] = wreck.cluster.states[FIRST]._replace(
            topic="accounts", partition=4, leader_id=leader_id, leader_epoch=leader_epoch
        )
    found = wreck.run(plan, check_mode=check_mode).outcomes[0]
    assert (found.status, found.reason) == ending
    assert (found.leader_before, found.leader_epoch_before) == (BEHIND, 7)
    assert (found.leader_after, found.leader_epoch_after) == (now or (None, None))
    assert not [each for write in wreck.cluster.writes for each in write.partitions if each == other]


def test_an_empty_plan_changes_nothing(wreck: Wreck) -> None:
    report = wreck.run(replace(wreck.plan(), elections=()))
    assert (report.outcomes, report.is_changed) == ((), False)
    assert wreck.cluster.writes == []


@pytest.mark.parametrize("attempts", [0, -1])
def test_less_than_one_attempt_is_refused(wreck: Wreck, attempts: int) -> None:
    with pytest.raises(ElectionOptionsError, match=f"recovery_election_attempts must be 1 or greater, got {attempts}"):
        wreck.run(attempts=attempts)


def test_a_plan_for_another_cluster_is_refused(wreck: Wreck) -> None:
    with pytest.raises(WrongClusterError, match=f"for cluster another, and this is cluster {CLUSTER_ID}"):
        wreck.run(replace(wreck.plan(), cluster_id="another"))
    assert wreck.cluster.writes == []
    assert wreck.cluster.run_topic.sent == []


def test_another_run_in_progress_is_refused_before_anything_is_written(wreck: Wreck, clock: FakeClock) -> None:
    with open_journal(wreck.cluster) as journal:
        renew_while_others_wait(journal, clock)
        with pytest.raises(JournalError, match="another run writes to this cluster"):
            wreck.run()
    assert wreck.cluster.writes == []


def test_a_cluster_that_cannot_be_read_is_an_error_before_anything_is_written(wreck: Wreck) -> None:
    plan = wreck.plan()
    wreck.cluster.reads_until_silent = 0
    with pytest.raises(NoBrokerAnswersError):
        wreck.run(plan)
    assert wreck.cluster.writes == []


def test_a_request_has_at_most_1000_partitions(make_wreck: MakeWreck) -> None:
    wreck = make_wreck(1001)
    report = wreck.run()
    assert {each.status for each in report.outcomes} == {Status.RECOVERED}
    assert [(each.kind, len(each.partitions)) for each in wreck.cluster.writes] == [
        ("reorder", 1000),
        ("elect", 1),
        ("elect", 999),
        ("reorder", 1000),
        ("reorder", 1),
        ("elect", 1),
        ("reorder", 1),
    ]


def test_a_bare_designation_is_elected_without_comparing_logs(wreck: Wreck) -> None:
    absent = TopicPartition("orders", 99)
    plan = plan_from_designations(wreck.cluster, {FIRST: BEHIND, THIRD: BEST, absent: BEST})
    report = wreck.run(plan)
    assert [(each.partition, each.status, each.leader_after) for each in report.outcomes] == [
        (0, Status.RECOVERED, BEHIND),
        (2, Status.RECOVERED, BEST),
        (99, Status.UNKNOWN, None),
    ]
    assert wreck.cluster.states[SECOND].leader_id == NO_LEADER
    assert report.outcomes[2].reason == "topic orders has no partition 99"


def test_internal_topics_need_the_option_for_designations(wreck: Wreck) -> None:
    wreck.cluster.change(FIRST, is_internal=True)
    wreck.cluster.change(SECOND, is_internal=True, leader_id=BEHIND, isr=(BEHIND,))
    wished = dict.fromkeys(partitions(3), BEST)
    report = wreck.run(plan_from_designations(wreck.cluster, wished))
    assert statuses(report.outcomes) == [Status.REFUSED, Status.ALREADY_ONLINE, Status.RECOVERED]
    assert "opt in with include_internal_topics" in report.outcomes[0].reason
    report = wreck.run(plan_from_designations(wreck.cluster, wished, include_internal=True))
    assert statuses(report.outcomes) == [Status.RECOVERED, Status.ALREADY_ONLINE, Status.ALREADY_ONLINE]


@pytest.mark.parametrize(
    ("leader", "reason"), [(DEAD, "cannot be elected"), (9, "is not in its replica set [1, 2, 3]")]
)
def test_an_impossible_designation_is_refused(wreck: Wreck, leader: int, reason: str) -> None:
    report = wreck.run(plan_from_designations(wreck.cluster, {FIRST: leader}))
    assert statuses(report.outcomes) == [Status.REFUSED]
    assert reason in report.outcomes[0].reason
    assert wreck.cluster.writes == []


def test_designated_elections_are_used_if_brokers_offer_them(wreck: Wreck) -> None:
    wreck.cluster.designates = True
    assert statuses(wreck.run(wreck.plan(BEHIND)).outcomes) == [Status.RECOVERED] * 3
    assert {each.leader_id for each in wreck.cluster.states.values()} == {BEHIND}
    assert {(each.kind, each.what[0]) for each in wreck.cluster.writes} == {("elect designated", "broker 2")}


def test_ordinary_elections_stay_ordinary_if_brokers_offer_designated_ones(wreck: Wreck) -> None:
    wreck.cluster.designates = True
    for each in wreck.cluster.states:
        wreck.cluster.change(each, isr=(), elr=(DEAD, BEHIND))
    plan = wreck.plan(BEHIND)
    ordinary = [replace(each, election_type=ElectionType.PREFERRED) for each in plan.elections]
    assert statuses(wreck.run(replace(plan, elections=tuple(ordinary))).outcomes) == [Status.RECOVERED] * 3
    assert {(each.kind, each.what[0]) for each in wreck.cluster.writes} == {("elect", "preferred")}


def test_an_ordinary_election_without_an_eligible_replica_is_refused(wreck: Wreck) -> None:
    """The member of the ELR is offline again: an unclean election instead would elect any live replica."""
    plan = wreck.plan(BEHIND)
    ordinary = [replace(each, election_type=ElectionType.PREFERRED) for each in plan.elections]
    report = wreck.run(replace(plan, elections=tuple(ordinary)))
    assert {each.status for each in report.outcomes} == {Status.REFUSED}
    assert not wreck.cluster.writes
