# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The order that a killed run left stays while an election may still be executed: it elects the designated leader."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.plan import Status
from unit.fakes.fates import FAILED_OVER, FORBIDDEN, LOST_REQUEST, Fate
from unit.fakes.wreck import BEST, CHANGED, ORIGINAL, MakeWreck, Wreck, partitions, statuses

(_PARTITION,) = partitions(1)
_NOT_AVAILABLE = 83
"""ELIGIBLE_LEADERS_NOT_AVAILABLE: the designated broker is shutting down."""


@pytest.fixture
def killed(make_wreck: MakeWreck) -> Wreck:
    """Return the wreck of a run that put the designated leader first, and was killed."""
    wreck = make_wreck(1)
    wreck.leave_changed_orders()
    return wreck


def execute_late(wreck: Wreck) -> None:
    wreck.cluster.clock.sleep(70)
    wreck.cluster.execute_late()


def stop(wreck: Wreck) -> Fate:
    return Fate(lost_request=True, executed_after_s=40, before=wreck.stop.set)


def time_out(_wreck: Wreck) -> Fate:
    return Fate(lost_request=True, executed_after_s=40)


@pytest.mark.parametrize("fate", [stop, time_out])
def test_an_election_of_this_run_is_in_doubt(killed: Wreck, fate: Callable[[Wreck], Fate]) -> None:
    killed.cluster.fates = {"elect": [fate(killed), *[LOST_REQUEST] * 5]}
    report = killed.run(attempts=1, timeout_ms=10_000)
    assert (statuses(report), len(killed.unfinished())) == ([Status.FAILED], 1)
    assert killed.cluster.states[_PARTITION].replicas == CHANGED
    execute_late(killed)
    assert killed.cluster.states[_PARTITION].leader_id == BEST
    killed.run()
    killed.assert_orders_are_restored()


@pytest.mark.parametrize(
    "fate",
    [FAILED_OVER, FORBIDDEN, Fate(errors={_PARTITION: _NOT_AVAILABLE})],
    ids=["failed over", "forbidden", "not available"],
)
def test_an_election_of_the_killed_run_is_executed_after_those_of_this_run_failed(killed: Wreck, fate: Fate) -> None:
    killed.cluster.will_elect([_PARTITION], 40)
    killed.cluster.fates = {"elect": [fate] * 3}
    report = killed.run()
    assert statuses(report) == [Status.FAILED]
    assert [each.replicas_after for each in report.outcomes] == [ORIGINAL]
    assert killed.cluster.states[_PARTITION].leader_id == BEST
    killed.assert_orders_are_restored()


def test_an_election_of_the_killed_run_is_executed_after_this_run_was_stopped(killed: Wreck) -> None:
    class StopBeforeTheElection:
        def step(self, what: str, _done: int = 0, _total: int = 0) -> None:
            if what.startswith("putting designated"):
                killed.stop.set()

    killed.cluster.will_elect([_PARTITION], 40)
    killed.progress = StopBeforeTheElection()
    assert statuses(killed.run()) == [Status.FAILED]
    assert len(killed.unfinished()) == 1, "the next run restores it"
    execute_late(killed)
    assert killed.cluster.states[_PARTITION].leader_id == BEST
