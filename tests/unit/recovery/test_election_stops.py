# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Elections that are interrupted or stopped, or with a full disk, and random faults."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ansible_collections.kafkaops.recovery.plugins.module_utils._changes.record import Undoing
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.error_codes import UNKNOWN_SERVER_ERROR
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.partition import NO_LEADER
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.run import NullProgress
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.plan import Status
from unit.fakes.fates import FAILED_OVER, FORBIDDEN, LOST_ANSWER, LOST_REQUEST, NOT_CONTROLLER, TIMED_OUT, WELL, Fate
from unit.fakes.topics import FakeTopics
from unit.fakes.wreck import (
    BEST,
    ORIGINAL,
    MakeWreck,
    Wreck,
    partitions,
    reasons,
    statuses,
)

FIRST, SECOND, _ = partitions(3)


@pytest.mark.parametrize("restore", [Fate(), FORBIDDEN])
def test_an_interrupt_restores_the_order_and_is_raised(wreck: Wreck, restore: Fate) -> None:
    def interrupt() -> None:
        raise KeyboardInterrupt

    wreck.cluster.fates = {"elect": [Fate(before=interrupt)], "reorder": [Fate(), restore]}
    with pytest.raises(KeyboardInterrupt):
        wreck.run()
    wreck.run()
    wreck.assert_orders_are_restored()


def test_a_broker_is_asked_even_if_all_are_fenced(wreck: Wreck) -> None:
    wreck.leave_changed_orders()
    wreck.cluster.unfenced.clear()
    report = wreck.run()
    assert [each.undoing for each in report.leftovers] == [Undoing.RESTORED] * 3
    assert statuses(report) == [Status.REFUSED] * 3
    wreck.assert_orders_are_restored()


def test_a_stop_after_the_reorder_restores_the_order_and_elects_nothing(wreck: Wreck) -> None:
    wreck.cluster.fates["reorder"] = [Fate(after=wreck.stop.set)]
    report = wreck.run()
    assert statuses(report) == [Status.FAILED] * 3
    assert reasons(report) == {"the run was asked to stop before this election; run it again"}
    assert wreck.cluster.kinds() == ["reorder", "reorder"]
    wreck.assert_orders_are_restored()


def test_a_stop_while_electing_keeps_what_was_elected(wreck: Wreck) -> None:
    wreck.cluster.fates["elect"] = [WELL, Fate(errors={SECOND: UNKNOWN_SERVER_ERROR}, after=wreck.stop.set)]
    report = wreck.run()
    assert statuses(report) == [Status.RECOVERED, Status.FAILED, Status.RECOVERED]
    assert "asked to stop" in report.outcomes[1].reason
    assert wreck.cluster.kinds() == ["reorder", "elect", "elect", "reorder"]
    wreck.assert_orders_are_restored()


def test_a_stop_between_batches_leaves_the_rest_alone(wreck: Wreck) -> None:
    wreck.batch_size = 1
    wreck.cluster.fates["reorder"] = [Fate(), Fate(after=wreck.stop.set)]
    report = wreck.run()
    assert statuses(report) == [Status.RECOVERED, Status.FAILED, Status.FAILED]
    assert {each.reason for each in report.outcomes[1:]} == {
        "the run was asked to stop before this election; run it again"
    }
    assert {each for write in wreck.cluster.writes for each in write.partitions} == {FIRST}
    wreck.assert_orders_are_restored()


KAFKA_STORAGE_ERROR = 56


class FullDisk:
    """The disk of the journal's leader, which other topics fill during a run."""

    def __init__(self, topics: FakeTopics) -> None:
        self._topics = topics

    def fill(self) -> None:
        self._topics.errors["Produce"] = KAFKA_STORAGE_ERROR

    def free(self) -> None:
        self._topics.errors.clear()


@pytest.fixture
def disk(wreck: Wreck) -> FullDisk:
    return FullDisk(wreck.cluster.run_topic)


@dataclass
class FakeProgress(NullProgress):
    """Does something after the first partition."""

    after_first: Callable[[], None]

    def step(self, text: str, done: int | None = None, total: int | None = None) -> None:
        if text == "looking at the partitions again" and done == 1:
            self.after_first()


def test_a_full_disk_between_batches_keeps_earlier_results(wreck: Wreck, disk: FullDisk) -> None:
    wreck.batch_size = 1
    plan = wreck.plan()
    wreck.progress = FakeProgress(disk.fill)
    report = wreck.run(plan)
    disk.free()
    assert statuses(report) == [Status.RECOVERED, Status.FAILED, Status.FAILED]
    assert all("KAFKA_STORAGE_ERROR" in each.reason for each in report.outcomes[1:])
    assert {each for write in wreck.cluster.writes for each in write.partitions} == {FIRST}
    wreck.progress = NullProgress()
    assert statuses(wreck.run(plan)) == [Status.ALREADY_ONLINE, Status.RECOVERED, Status.RECOVERED]
    wreck.assert_orders_are_restored()


def test_a_full_disk_before_the_restore_keeps_the_results(wreck: Wreck, disk: FullDisk) -> None:
    wreck.batch_size = 1
    wreck.cluster.fates["elect"] = [Fate(after=disk.fill)]
    report = wreck.run()
    disk.free()
    assert statuses(report) == [Status.RECOVERED, Status.FAILED, Status.FAILED]
    assert report.outcomes[0].replicas_after == ORIGINAL
    assert "its replica order is back, but the journal does not know it" in report.outcomes[0].reason
    again = wreck.run()
    assert statuses(again) == [Status.ALREADY_ONLINE, Status.RECOVERED, Status.RECOVERED]
    wreck.assert_orders_are_restored()


def test_a_full_disk_does_not_affect_partitions_without_a_new_order(wreck: Wreck, disk: FullDisk) -> None:
    plan = wreck.plan()
    wreck.cluster.change(SECOND, leader_epoch=9)
    wreck.cluster.fates["elect"] = [Fate(after=disk.fill)]
    report = wreck.run(plan)
    assert statuses(report) == [Status.RECOVERED, Status.REFUSED, Status.RECOVERED]
    assert ["the journal does not know it" in each.reason for each in report.outcomes] == [True, False, True]


def test_silent_brokers_between_batches_keep_earlier_results(wreck: Wreck) -> None:
    wreck.batch_size = 1

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
def test_after_any_faults_the_report_is_true_and_a_rerun_converges(
    make_wreck: MakeWreck, reorders: list[Fate], elections: list[Fate], stale_reads: int, attempts: int
) -> None:
    wreck = make_wreck(3)
    plan = wreck.plan()
    wreck.cluster.fates = {"reorder": reorders, "elect": elections}
    wreck.cluster.stale_reads = stale_reads
    report = wreck.run(plan, attempts=attempts)
    unfinished = {each.topic_partition for each in wreck.unfinished()}
    for outcome in report.outcomes:
        state = wreck.cluster.states[outcome.topic_partition]
        assert state.leader_id in (NO_LEADER, BEST)
        assert state.replicas == ORIGINAL or outcome.topic_partition in unfinished
        is_recovered = (state.leader_id, state.replicas) == (BEST, ORIGINAL)
        assert outcome.status is (Status.RECOVERED if is_recovered else Status.FAILED)

    wreck.cluster.fates = {}
    again = wreck.run(plan, attempts=3)
    assert again.outcomes
    assert {each.status for each in again.outcomes} <= {Status.RECOVERED, Status.ALREADY_ONLINE}
    assert {each.leader_id for each in wreck.cluster.states.values()} == {BEST}
    wreck.assert_orders_are_restored()
