# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Elections while other parties elect, set orders and reassign on the same cluster, or brokers become silent."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import pytest

from ansible_collections.kafkaops.recovery.plugins.module_utils._changes.record import Undoing
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.error_codes import TOPIC_AUTHORIZATION_FAILED
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.partitions import PartitionStates, TopicError
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.partition import NO_LEADER, TopicPartition
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.plan import Status
from unit.fakes.fates import FORBIDDEN, WELL, Fate
from unit.fakes.wreck import (
    BEHIND,
    BEST,
    CHANGED,
    ORIGINAL,
    TOPIC_ID,
    Wreck,
    an_order_change,
    partitions,
    reasons,
    revive_as_last_known_leader,
    statuses,
)

FIRST, SECOND, THIRD = partitions(3)


def test_a_broker_that_was_passed_over_is_designated_no_more_in_later_batches(wreck: Wreck) -> None:
    wreck.batch_size = 1
    plan = wreck.plan()
    elected = {"leader_id": BEHIND, "isr": (BEHIND,), "leader_epoch": 8}
    wreck.cluster.fates["reorder"] = [Fate(before=lambda: wreck.cluster.change(FIRST, **elected))]
    report = wreck.run(plan)
    assert statuses(report) == [Status.FAILED] * 3
    assert "broker 2 leads it, not the designated 3" in report.outcomes[0].reason
    assert report.outcomes[0].leader_after == BEHIND
    assert {each.reason for each in report.outcomes[1:]} == {
        "not requested: broker 3 was not elected for another partition for which it was designated; if it is not "
        "shutting down, run again"
    }
    assert {each.replicas_after for each in report.outcomes[1:]} == {None}
    assert {each for write in wreck.cluster.writes for each in write.partitions} == {FIRST}
    assert "elect" not in wreck.cluster.kinds()
    wreck.assert_orders_are_restored()


def test_a_last_known_leader_that_returns_does_not_stop_the_run(wreck: Wreck) -> None:
    wreck.batch_size = 1
    plan = wreck.plan()
    wreck.cluster.fates["reorder"] = [Fate(before=revive_as_last_known_leader(wreck, FIRST))]
    report = wreck.run(plan)
    assert report.outcomes[0].status is Status.ALREADY_ONLINE
    assert "broker 1 is back, and leads it" in report.outcomes[0].reason
    assert not any("the run stopped" in each.reason for each in report.outcomes)
    wreck.assert_orders_are_restored()


def test_a_leader_elected_by_another_party_is_not_claimed(wreck: Wreck) -> None:
    def elect_another() -> None:
        wreck.cluster.change(SECOND, leader_id=BEHIND, isr=(BEHIND,), leader_epoch=8)

    wreck.cluster.fates["elect"] = [Fate(before=elect_another)]
    report = wreck.run()
    assert statuses(report) == [Status.RECOVERED, Status.FAILED, Status.RECOVERED]
    assert "broker 2 leads it, not the designated 3" in report.outcomes[1].reason
    wreck.assert_orders_are_restored()


def test_changes_after_the_reorder_are_seen_before_the_election(wreck: Wreck) -> None:
    wreck.cluster.fates["reorder"] = [Fate(after=lambda: wreck.cluster.kill(BEST))]
    report = wreck.run()
    assert statuses(report) == [Status.REFUSED] * 3
    assert all("broker 3 cannot be elected" in each for each in reasons(report))
    assert wreck.cluster.kinds() == ["reorder", "reorder"]
    wreck.assert_orders_are_restored()


def test_changes_after_an_attempt_are_seen_before_the_next(wreck: Wreck) -> None:
    def reorder_by_another_hand() -> None:
        wreck.cluster.change(SECOND, replicas=(2, 3, 1))

    wreck.cluster.fates["elect"] = [WELL, Fate(lost_request=True, before=reorder_by_another_hand)]
    report = wreck.run()
    assert statuses(report) == [Status.RECOVERED, Status.REFUSED, Status.RECOVERED]
    assert "its replicas are [2, 3, 1] again: somebody else changes them" in report.outcomes[1].reason
    assert "set by another party; the original order is [1, 2, 3]" in report.outcomes[1].reason
    assert wreck.cluster.states[SECOND].replicas == (2, 3, 1)
    assert wreck.unfinished() == ()


RECREATED = "B" * 22


@pytest.mark.parametrize("first_look", ["hidden", "of another topic"])
def test_an_old_first_read_ends_no_partition(wreck: Wreck, first_look: str) -> None:
    """A broker with old metadata may show the old topic of the same name, with a leader."""
    see, looks = wreck.cluster.read_partition_states, iter([first_look])

    def see_at_first(wanted: Collection[TopicPartition]) -> PartitionStates:
        metadata, shown = see(wanted), next(looks, "")
        if shown == "hidden":
            return PartitionStates({}, {"orders": TopicError("orders", TOPIC_AUTHORIZATION_FAILED)})
        if shown:
            before = {
                each: state._replace(topic_id=RECREATED, leader_id=BEHIND) for each, state in metadata.states.items()
            }
            return PartitionStates(before, {})
        return metadata

    plan = wreck.plan()
    wreck.cluster.answer(read_partition_states=see_at_first)
    assert statuses(wreck.run(plan)) == [Status.RECOVERED] * 3
    assert next(looks, None) is None
    wreck.assert_orders_are_restored()


MEDDLING = [
    ({"replicas": (2, 3, 1)}, "its replicas are [2, 3, 1], set by another party; the original order is [1, 2, 3]"),
    ({"replicas": (3, 1, 4)}, "its replicas are [3, 1, 4], set by another party; the original order is [1, 2, 3]"),
    ({"topic_id": RECREATED}, f"the topic was re-created (id {RECREATED})"),
]


@pytest.mark.parametrize(("values", "reason"), MEDDLING)
@pytest.mark.parametrize("when", ["before", "after"])
def test_an_order_set_by_another_party_is_left_as_it_is(
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
    assert "not restored: another party is reassigning it" in report.outcomes[1].reason
    assert wreck.cluster.writes[-1].partitions == (FIRST, THIRD)
    assert wreck.unfinished() == ()


def test_unreadable_orders_are_left_to_the_next_run(wreck: Wreck) -> None:
    def fall_silent_after_the_election_is_seen() -> None:
        wreck.cluster.reads_until_silent = 1

    plan = wreck.plan()
    wreck.cluster.fates["elect"] = [WELL, Fate(after=fall_silent_after_the_election_is_seen)]
    report = wreck.run(plan)
    assert statuses(report) == [Status.FAILED] * 3
    assert all("the current order cannot be read: no broker answered" in each for each in reasons(report))
    assert wreck.cluster.kinds() == ["reorder", "elect", "elect"]
    assert wreck.unfinished() == tuple(map(an_order_change, partitions(3)))

    wreck.cluster.reads_until_silent = None
    assert statuses(wreck.run(plan)) == [Status.ALREADY_ONLINE] * 3
    wreck.assert_orders_are_restored()


def test_a_leader_that_dies_at_once_is_a_failure(wreck: Wreck) -> None:
    wreck.cluster.fates["reorder"] = [Fate(), Fate(before=lambda: wreck.cluster.kill(BEST))]
    report = wreck.run()
    assert statuses(report) == [Status.FAILED] * 3
    assert reasons(report) == {"broker 3 was elected and is gone again: offline as before"}
    assert {each.leader_after for each in report.outcomes} == {NO_LEADER}
    wreck.assert_orders_are_restored()


def test_an_unrestored_order_stays_in_the_journal_for_the_next_run(wreck: Wreck) -> None:
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
    wreck.assert_orders_are_restored()


def test_results_are_unknown_if_the_cluster_stops_answering(wreck: Wreck) -> None:
    def fall_silent() -> None:
        wreck.cluster.reads_until_silent = 0

    wreck.cluster.fates["elect"] = [Fate(lost_answer=True, before=fall_silent)]
    report = wreck.run()
    assert statuses(report) == [Status.FAILED] * 3  # the restored orders could not be seen either
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
