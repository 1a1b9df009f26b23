# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Set orders, and wait until they are seen."""

from __future__ import annotations

import pytest

from ansible_collections.kafkaops.recovery.plugins.module_utils._changes.order_rollback import preview_order_undo
from ansible_collections.kafkaops.recovery.plugins.module_utils._changes.orders import (
    OrderRequest,
    set_orders,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._changes.record import OrderChange, Undoing
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka import error_codes
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.partition import TopicPartition
from unit.fakes.clock import FakeClock
from unit.fakes.fates import NOT_CONTROLLER, Fate
from unit.fakes.journals import open_journal
from unit.fakes.wreck import CHANGED, ORIGINAL, TOPIC_ID, MakeWreck, Wreck, an_order_change, partitions

FIRST, SECOND, THIRD = partitions(3)
CLUSTER_AUTHORIZATION_FAILED, UNKNOWN_SERVER_ERROR = 31, -1


def set_all(wreck: Wreck, *, attempts: int = 3) -> dict[TopicPartition, str]:
    """Record and set the changed order of all partitions."""
    with open_journal(wreck.cluster) as journal:
        journal.begin([an_order_change(each) for each in wreck.cluster.states])
    states = wreck.cluster.states
    request = OrderRequest(TOPIC_ID, CHANGED, (ORIGINAL, CHANGED))
    return set_orders(wreck.writer(attempts=attempts), dict.fromkeys(states, request))


def test_orders_are_set_and_seen(wreck: Wreck) -> None:
    wreck.cluster.stale_reads = 2
    assert set_all(wreck) == {}
    assert {each.replicas for each in wreck.cluster.states.values()} == {CHANGED}
    assert wreck.cluster.kinds() == ["reorder"]


def test_without_orders_nothing_is_requested(wreck: Wreck) -> None:
    assert set_orders(wreck.writer(), {}) == {}
    assert wreck.cluster.writes == []


def test_many_orders_are_requested_a_thousand_at_a_time(make_wreck: MakeWreck) -> None:
    wreck = make_wreck(1001)
    assert set_all(wreck) == {}
    assert [len(each.partitions) for each in wreck.cluster.writes] == [1000, 1]


def test_only_orders_that_are_not_seen_are_requested_again(wreck: Wreck) -> None:
    wreck.cluster.fates["reorder"] = [Fate(errors={SECOND: UNKNOWN_SERVER_ERROR})]
    assert set_all(wreck) == {}
    assert [each.partitions for each in wreck.cluster.writes] == [(FIRST, SECOND, THIRD), (SECOND,)]


def test_after_a_lost_response_the_partitions_are_read_before_the_next_attempt(wreck: Wreck) -> None:
    wreck.cluster.fates["reorder"] = [Fate(lost_answer=True)]
    assert set_all(wreck) == {}
    assert wreck.cluster.kinds() == ["reorder"]


def test_attempts_pause_during_a_failover(wreck: Wreck, clock: FakeClock) -> None:
    wreck.cluster.fates["reorder"] = [Fate(refused_with=NOT_CONTROLLER)] * 2
    assert set_all(wreck) == {}
    assert clock.slept == [0.5, 0.5]


@pytest.mark.parametrize(
    ("fate", "attempts", "reason"),
    [
        (Fate(refused_with=CLUSTER_AUTHORIZATION_FAILED), 1, "reorder was refused: CLUSTER_AUTHORIZATION_FAILED"),
        (Fate(refused_with=NOT_CONTROLLER), 3, "reorder was refused: NOT_CONTROLLER (error 41)"),
        (Fate(lost_request=True), 3, "the outcome is unknown: reorder at fake.invalid:9092: hung"),
        (Fate(errors=dict.fromkeys(partitions(3), UNKNOWN_SERVER_ERROR)), 3, "UNKNOWN_SERVER_ERROR (error -1)"),
    ],
)
def test_an_order_that_is_not_set_has_a_reason(wreck: Wreck, fate: Fate, attempts: int, reason: str) -> None:
    wreck.cluster.fates["reorder"] = [fate] * 3
    faults = set_all(wreck)
    assert faults.keys() == {FIRST, SECOND, THIRD}
    assert all(each.startswith(reason) for each in faults.values())
    assert len(wreck.cluster.writes) == attempts
    assert {each.replicas for each in wreck.cluster.states.values()} == {ORIGINAL}


def test_a_partition_that_another_party_reassigns_is_not_requested_again(wreck: Wreck) -> None:
    def meddle() -> None:
        wreck.cluster.change(FIRST, replicas=(1, 2, 4))
        wreck.cluster.reassigning = frozenset({SECOND})

    wreck.cluster.fates["reorder"] = [Fate(lost_request=True, before=meddle)]
    assert set_all(wreck) == {
        FIRST: "another party has set its replicas to [1, 2, 4]",
        SECOND: "another party is reassigning it",
    }
    assert [each.partitions for each in wreck.cluster.writes] == [(FIRST, SECOND, THIRD), (THIRD,)]
    assert [wreck.cluster.states[each].replicas for each in (FIRST, SECOND, THIRD)] == [(1, 2, 4), ORIGINAL, CHANGED]


def test_an_order_that_another_party_sets_right_after_ours_stays(wreck: Wreck, clock: FakeClock) -> None:
    other = (2, 3, 1)
    wreck.cluster.fates["reorder"] = [Fate(after=lambda: wreck.cluster.change(FIRST, replicas=other))]
    assert set_all(wreck) == {FIRST: "another party has set its replicas to [2, 3, 1]"}
    assert wreck.cluster.kinds() == ["reorder"]
    assert wreck.cluster.states[FIRST].replicas == other
    assert clock.now < 1


def test_an_order_is_not_requested_again_if_reassignments_cannot_be_read(wreck: Wreck) -> None:
    def refuse(_partitions: object) -> frozenset[TopicPartition]:
        raise error_codes.request_refused_error("ListPartitionReassignments", NOT_CONTROLLER)

    wreck.cluster.fates["reorder"] = [Fate(lost_request=True)]
    wreck.cluster.answer(running_reassignments=refuse)
    faults = set_all(wreck)
    assert faults.keys() == {FIRST, SECOND, THIRD}
    assert all("not requested again" in each and "NOT_CONTROLLER" in each for each in faults.values())
    assert len(wreck.cluster.writes) == 1


def test_an_order_that_cannot_be_read_back_is_a_failure(wreck: Wreck) -> None:
    wreck.cluster.reads_until_silent = 1
    faults = set_all(wreck, attempts=1)
    assert set(faults.values()) == {"the request was accepted, but it cannot be read"}


def test_an_order_is_not_requested_if_the_partitions_cannot_be_read(wreck: Wreck) -> None:
    wreck.cluster.reads_until_silent = 0
    faults = set_all(wreck)
    assert all(each.startswith("not requested again, because another party") for each in faults.values())
    assert wreck.cluster.writes == []


NEW_ID = "B" * 22


def test_a_topic_that_was_re_created_before_the_request_is_left_alone(wreck: Wreck) -> None:
    wreck.cluster.change(FIRST, topic_id=NEW_ID)
    assert set_all(wreck) == {FIRST: f"the topic was re-created (id {NEW_ID}), and its order stays"}
    assert [each.partitions for each in wreck.cluster.writes] == [(SECOND, THIRD)]
    assert wreck.cluster.states[FIRST].replicas == ORIGINAL


def test_both_orders_are_named_if_a_topic_is_re_created_right_before_the_request_is_executed(wreck: Wreck) -> None:
    wreck.cluster.fates["reorder"] = [Fate(before=lambda: wreck.cluster.change(FIRST, topic_id=NEW_ID, leader_id=1))]
    (reason,) = set_all(wreck).values()
    assert f"re-created (id {NEW_ID}) when the replicas [3, 2, 1] of the deleted topic were requested" in reason
    assert "broker 1, which leads it, was probably the first" in reason
    assert wreck.cluster.kinds() == ["reorder"]


def test_a_reassignment_that_a_request_began_on_a_new_topic_is_canceled(wreck: Wreck) -> None:
    """The new topic has other brokers, so the order of the deleted topic would move its data."""

    def re_create() -> None:
        wreck.cluster.change(FIRST, topic_id=NEW_ID, replicas=(*CHANGED, 4, 5, 6), isr=(4, 5, 6), leader_id=4)
        wreck.cluster.removing[FIRST] = (4, 5, 6)

    wreck.cluster.fates["reorder"] = [Fate(errors={FIRST: 0}, after=re_create)]
    (reason,) = set_all(wreck).values()
    assert reason.endswith(
        "which began a reassignment: it was canceled, which keeps its replicas, perhaps in another order than its first"
    )
    assert wreck.cluster.kinds() == ["reorder", "cancel"]
    assert FIRST not in wreck.cluster.removing


@pytest.mark.parametrize(
    ("replicas", "removing", "undoing"),
    [
        pytest.param((3, 2, 4, 1), (1,), Undoing.WOULD_RESTORE, id="our order goes on"),
        pytest.param((3, 2, 4), (), Undoing.WOULD_RESTORE, id="our order is complete, and broker 3 is not removed"),
        pytest.param((3, 2, 1), (), Undoing.CONFLICT, id="another party has canceled it"),
        pytest.param((2, 4), (), Undoing.ALREADY_BACK, id="the reassignment is complete"),
    ],
)
def test_a_reassignment_that_ended_with_our_order_is_not_taken_for_a_cancellation(
    wreck: Wreck, replicas: tuple[int, ...], removing: tuple[int, ...], undoing: Undoing
) -> None:
    """It moved the partition from 1, 2, 3 to 2, 4. Broker 1 is unregistered, and broker 3 holds the most.

    So the request names 3, 2 and 4. The controller then removes broker 1 only.
    """
    change = OrderChange("orders", 0, TOPIC_ID, (2, 4, 1, 3), (3, 2, 4, 1), (1,), adding=(4,), removing=(1, 3))
    wreck.cluster.change(FIRST, replicas=replicas, leader_id=2, isr=tuple({*replicas} - {1}), offline_replicas=())
    wreck.cluster.removing = {FIRST: removing} if removing else {}
    (found,) = preview_order_undo(wreck.cluster, [change])
    assert (found.undoing, found.change) == (undoing, change)
