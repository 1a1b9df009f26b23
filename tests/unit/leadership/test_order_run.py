# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Runs that change orders, and then forget the restored ones."""

from __future__ import annotations

import pytest

from ansible_collections.kafkaops.recovery.plugins.module_utils._changes.record import LastingOrders, partition_subject
from ansible_collections.kafkaops.recovery.plugins.module_utils._leadership.blacklist import Blacklist
from ansible_collections.kafkaops.recovery.plugins.module_utils._leadership.decide import (
    OrderOutcome,
    OrderStatus,
    decide,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._leadership.memory import (
    Changes,
    Memory,
    list_changes,
    order_changes,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._leadership.order_run import OrderRun
from ansible_collections.kafkaops.recovery.plugins.module_utils._leadership.orders import RememberedOrder
from ansible_collections.kafkaops.recovery.plugins.module_utils._leadership.view import Config, LeadershipView
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.partition import (
    PARTITIONS_PER_REQUEST,
    TopicPartition,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.run import NullProgress
from unit.fakes.clock import FakeClock
from unit.fakes.fates import LOST_REQUEST, Fate
from unit.leadership.well_cluster import Bastion
from unit.leadership.worlds import OTHER_TOPIC_ID, TOPIC_ID

ORIGINAL, OURS = (1, 2, 3), (2, 3, 1)
FIRST, LAST = TopicPartition("orders", 0), TopicPartition("orders", PARTITIONS_PER_REQUEST)
REMEMBERED = RememberedOrder("orders", 0, TOPIC_ID, ORIGINAL, (ORIGINAL, OURS))
UNKNOWN_SERVER_ERROR = -1


@pytest.fixture
def drained(bastion: Bastion) -> Bastion:
    """One partition has broker 1 last in its order, and its original order is remembered."""
    bastion.cluster.add(0, OURS, leader=2)
    with bastion.memory() as held:
        held.write(order_changes({FIRST: REMEMBERED}, [FIRST]))
    return bastion


def _restore(bastion: Bastion, *, unanswered: bool = False) -> OrderOutcome:
    """Restore the order for an empty list, from the first broker's state, perhaps after a lost response."""
    with bastion.opened() as (journal, store, memory):
        journal.begin([LastingOrders()])
        if unanswered:
            journal.doubt([partition_subject(FIRST)], 61)
        (state,) = bastion.cluster.describe_partitions(None).partitions
        decisions = {FIRST: decide(state, memory.orders[FIRST], ())}
        view = LeadershipView(memory, Config(None, False, ()), Blacklist((1,)), Blacklist(), decisions, ())
        run = OrderRun(bastion.writer().with_journal(journal), journal, store, NullProgress(), bastion.stop)
        return run.carry_out(view)[FIRST]


def _drain(bastion: Bastion, unwritten: Changes | None = None) -> dict[TopicPartition, OrderOutcome]:
    """Put broker 1 last in the order of every partition."""
    with bastion.opened() as (journal, store, memory):
        journal.begin([LastingOrders()])
        decisions = {each.topic_partition: decide(each, None, (1,)) for each in bastion.cluster.states.values()}
        view = LeadershipView(memory, Config(None, False, ()), Blacklist(), Blacklist((1,)), decisions, ())
        return OrderRun(
            bastion.writer().with_journal(journal), journal, store, NullProgress(), bastion.stop, unwritten or {}
        ).carry_out(view)


@pytest.fixture
def many(bastion: Bastion) -> Bastion:
    """There are partitions for two batches, and none is remembered."""
    for number in range(PARTITIONS_PER_REQUEST + 1):
        bastion.cluster.add(number, ORIGINAL, leader=1)
    return bastion


def test_all_orders_are_remembered_before_the_first_is_changed(many: Bastion) -> None:
    remembered: list[int] = []
    look = Fate(before=lambda: remembered.append(len(many.cluster.memory().orders)))
    many.cluster.fates["reorder"] = [look, look]
    outcomes = _drain(many)
    assert {each.status for each in outcomes.values()} == {OrderStatus.REORDERED}
    assert remembered == [len(outcomes)] * 2


def test_the_value_of_the_config_is_remembered_with_the_first_orders(many: Bastion) -> None:
    remembered: list[str | None] = []
    look = Fate(before=lambda: remembered.append(many.cluster.memory().written_value))
    many.cluster.fates["reorder"] = [look]
    _drain(many, list_changes(Memory(Blacklist((1,)), "1", 1)))
    assert remembered == ["1"]


def test_the_value_of_the_config_is_remembered_although_no_order_is(many: Bastion) -> None:
    many.stop.set()
    _drain(many, list_changes(Memory(Blacklist((1,)), "1", 1)))
    assert many.cluster.memory().written_value == "1"


def test_a_stopped_run_does_not_remember_unchanged_orders(many: Bastion) -> None:
    many.cluster.fates["reorder"] = [Fate(after=many.stop.set)]
    outcomes = _drain(many)
    left = [partition for partition, each in outcomes.items() if each.status is OrderStatus.LEFT_ALONE]
    assert left == [LAST]
    assert many.cluster.memory().orders.keys() == outcomes.keys() - left


def test_a_partition_that_another_party_reassigns_is_not_remembered(many: Bastion) -> None:
    def reassign() -> None:
        many.cluster.reassigning = frozenset({LAST})

    many.cluster.fates["reorder"] = [Fate(after=reassign)]
    assert _drain(many)[LAST].status is OrderStatus.LEFT_ALONE
    assert many.cluster.states[LAST].replicas == ORIGINAL
    assert LAST not in many.cluster.memory().orders


def test_another_partys_order_is_not_remembered_as_ours_while_other_requests_are_in_doubt(bastion: Bastion) -> None:
    """A lagging broker showed an earlier order first. A later restore would have set that one."""
    for number in range(2):
        bastion.cluster.add(number, ORIGINAL, leader=2)
    bastion.cluster.fates["reorder"] = [LOST_REQUEST] * 6
    with bastion.opened() as (journal, store, memory):
        journal.begin([LastingOrders()])
        states = bastion.cluster.states
        decisions = {each: decide(state, None, (1,)) for each, state in states.items()}
        bastion.cluster.change(FIRST, replicas=OURS)  # by another party
        view = LeadershipView(memory, Config(None, False, ()), Blacklist(), Blacklist((1,)), decisions, ())
        run = OrderRun(bastion.writer().with_journal(journal), journal, store, NullProgress(), bastion.stop)
        run.carry_out(view)
        assert [LastingOrders()] == [*journal.pending], "its requests may still be executed"
    assert [each.partition for each in bastion.cluster.memory().orders] == [1]


def _show_only_the_original_order(drained: Bastion) -> None:
    """Let a lagging broker show the original order for two reads, while our order is set."""
    drained.cluster.change(FIRST, replicas=ORIGINAL)
    drained.cluster.lag_behind(2)
    drained.cluster.change(FIRST, replicas=OURS)


def test_an_order_is_restored_and_forgotten(drained: Bastion) -> None:
    assert _restore(drained).status is OrderStatus.RESTORED
    assert drained.cluster.states[FIRST].replicas == ORIGINAL
    assert drained.cluster.memory().orders == {}


def test_an_order_that_only_a_lagging_broker_shows_as_restored_is_restored(drained: Bastion) -> None:
    """Otherwise the order would be forgotten, and our order would stay."""
    _show_only_the_original_order(drained)
    assert _restore(drained).status is OrderStatus.IN_ORDER
    assert drained.cluster.states[FIRST].replicas == ORIGINAL
    assert drained.cluster.memory().orders == {}


def test_an_order_that_seems_restored_and_is_refused_stays_remembered(drained: Bastion) -> None:
    _show_only_the_original_order(drained)
    drained.cluster.fates["reorder"] = [Fate(errors={FIRST: UNKNOWN_SERVER_ERROR})] * 3
    assert _restore(drained).status is OrderStatus.FAILED
    assert drained.cluster.memory().orders == {FIRST: REMEMBERED}


@pytest.mark.parametrize("after_s", [0.1, 30.0, 60.5])
def test_a_late_order_is_restored(drained: Bastion, clock: FakeClock, after_s: float) -> None:
    drained.cluster.change(FIRST, replicas=ORIGINAL)
    drained.cluster.will_reorder([FIRST], OURS, after_s)
    assert _restore(drained, unanswered=True).status is OrderStatus.IN_ORDER
    assert drained.cluster.states[FIRST].replicas == ORIGINAL
    assert drained.cluster.memory().orders == {}
    assert clock.now >= 61


def test_an_order_of_a_topic_that_is_re_created_during_the_wait_is_not_requested_again(drained: Bastion) -> None:
    """The new topic happens to have our order."""
    clock = drained.cluster.clock
    sleep = clock.sleep

    def re_created_soon(seconds: float) -> None:
        sleep(seconds)
        drained.cluster.change(FIRST, replicas=OURS, topic_id=OTHER_TOPIC_ID)

    clock.sleep = re_created_soon  # type: ignore[method-assign]
    _restore(drained, unanswered=True)
    assert drained.cluster.kinds() == ["reorder"]
    assert drained.cluster.states[FIRST].replicas == OURS
    assert drained.cluster.memory().orders == {}


def test_a_run_that_is_stopped_during_the_wait_forgets_nothing(drained: Bastion) -> None:
    drained.cluster.change(FIRST, replicas=ORIGINAL)
    drained.cluster.describe_partitions()
    drained.cluster.will_reorder([FIRST], OURS, 30)
    clock = drained.cluster.clock
    sleep = clock.sleep

    def stopped_soon(seconds: float) -> None:
        sleep(seconds)
        drained.stop.set()

    clock.sleep = stopped_soon  # type: ignore[method-assign]
    _restore(drained, unanswered=True)
    assert drained.cluster.memory().orders == {FIRST: REMEMBERED}


def test_a_late_order_that_cannot_be_restored_stays_remembered(drained: Bastion) -> None:
    drained.cluster.change(FIRST, replicas=ORIGINAL)
    drained.cluster.will_reorder([FIRST], OURS, 30)
    drained.cluster.fates["reorder"] = [Fate(), *[Fate(errors={FIRST: UNKNOWN_SERVER_ERROR})] * 1000]
    _restore(drained, unanswered=True)
    assert drained.cluster.memory().orders == {FIRST: REMEMBERED}
