# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The waits of elections, and the progress that they report."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import pytest

from ansible_collections.kafkaops.recovery.plugins.module_utils._model.run import PartOfProgress
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.plan import Status
from unit.fakes.clock import FakeClock
from unit.fakes.fates import FAILED_OVER, LOST_REQUEST, WELL, Fate
from unit.fakes.wreck import BEST, CHANGED, MakeWreck, Wreck, partitions, statuses

ELIGIBLE_LEADERS_NOT_AVAILABLE = 83
FIRST, SECOND, _ = partitions(3)
NOBODY = Fate(errors=dict.fromkeys(partitions(3), ELIGIBLE_LEADERS_NOT_AVAILABLE))
PAUSE_S = 0.5


@dataclass
class Steps:
    """Records each step, and runs an action at one of them."""

    at: str = ""
    do: Callable[[], None] = lambda: None
    seen: list[tuple[str, int | None, int | None]] = field(default_factory=list)

    def step(self, text: str, done: int | None = None, total: int | None = None) -> None:
        self.seen.append((text, done, total))
        if text == self.at:
            self.do()


def test_a_run_without_errors_never_waits(wreck: Wreck, clock: FakeClock) -> None:
    assert statuses(wreck.run()) == [Status.RECOVERED] * 3
    assert clock.slept == []


def test_an_attempt_follows_a_refusal_after_a_pause(wreck: Wreck, clock: FakeClock) -> None:
    """A controller fails over within seconds. Retries without a pause would use up the attempts."""
    wreck.cluster.fates["elect"] = [FAILED_OVER]
    assert statuses(wreck.run()) == [Status.RECOVERED] * 3
    assert clock.slept == [PAUSE_S]


def test_partitions_with_an_error_are_not_waited_for(wreck: Wreck, clock: FakeClock) -> None:
    wreck.cluster.fates["elect"] = [NOBODY] * 6
    assert statuses(wreck.run(attempts=3)) == [Status.FAILED] * 3
    assert clock.slept == [PAUSE_S] * 6


def test_a_stopped_run_reads_the_partitions_once_more(wreck: Wreck, clock: FakeClock) -> None:
    wreck.cluster.fates["elect"] = [WELL, Fate(lost_request=True, before=wreck.stop.set)]
    assert statuses(wreck.run(attempts=1)) == [Status.RECOVERED, Status.FAILED, Status.FAILED]
    assert clock.slept == [PAUSE_S]


def test_an_order_is_kept_up_to_the_last_moment_of_a_request(make_wreck: MakeWreck) -> None:
    """The time limit ends the run half a second before a lost request can no longer be executed."""
    wreck = make_wreck(1)
    wreck.cluster.fates["elect"] = [LOST_REQUEST]
    report = wreck.run(attempts=1, timeout_ms=60_500)
    assert statuses(report) == [Status.FAILED]
    assert "an election whose response was lost may still be executed for" in report.outcomes[0].reason
    assert wreck.cluster.states[FIRST].replicas == CHANGED
    assert [each.topic_partition for each in wreck.unfinished()] == [FIRST]


def test_progress_counts_what_has_ended(wreck: Wreck) -> None:
    wreck.progress = Steps()
    wreck.cluster.fates["elect"] = [WELL, Fate(errors={SECOND: ELIGIBLE_LEADERS_NOT_AVAILABLE})]
    assert statuses(wreck.run()) == [Status.RECOVERED] * 3
    assert [each for each in wreck.progress.seen if each[2] is not None] == [
        ("looking at the partitions again", 0, 3),
        ("putting designated leaders first", 0, 3),
        ("electing", 0, 3),
        ("electing", 1, 3),
        ("electing, attempt 2", 2, 3),
        ("restoring replica orders", 0, 3),
    ]
    wreck.assert_orders_are_restored()


def test_progress_of_a_batch_counts_the_whole_run() -> None:
    steps = Steps()
    second = PartOfProgress(steps, 1000, 3012)
    second.step("electing", 250, 1000)
    second.step("waiting for a broker")
    assert steps.seen == [("electing", 1250, 3012), ("waiting for a broker", None, None)]


@pytest.fixture
def ordered(wreck: Wreck) -> Wreck:
    """Set the orders, so that a run writes nothing but elections."""
    for each in wreck.cluster.states:
        wreck.cluster.change(each, replicas=CHANGED)
    return wreck


def test_a_run_that_lost_the_lock_retries_nothing(ordered: Wreck, clock: FakeClock) -> None:
    """Somebody deletes the run topic before the first election."""
    ordered.progress = Steps("putting designated leaders first", ordered.cluster.run_topic.topics.clear)
    assert statuses(ordered.run()) == [Status.FAILED] * 3
    assert ordered.cluster.writes == []
    assert sum(clock.slept) < 2, "only until the topic counts as deleted"


def test_a_run_that_lost_the_lock_claims_no_election(ordered: Wreck) -> None:
    """The party that deleted the topic elects the same leaders."""

    def lose_the_lock_to_somebody() -> None:
        ordered.cluster.run_topic.topics.clear()
        for each in ordered.cluster.states:
            ordered.cluster.change(each, leader_id=BEST, leader_epoch=8)

    ordered.progress = Steps("electing", lose_the_lock_to_somebody)
    report = ordered.run()
    assert {each.leader_after for each in report.outcomes} == {BEST}
    assert ordered.cluster.writes == []
    assert not report.is_changed
