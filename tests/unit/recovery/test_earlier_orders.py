# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A plan accepts changed orders of an earlier run only for the same topic id, not for the same name."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ansible_collections.kafkaops.recovery.plugins.module_utils._changes.record import (
    OrderChange,
    OrderLeftover,
    Undoing,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.decide import decide
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.left_orders import (
    adopt_current_order,
    adopt_restored_orders,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.plan import PlannedElection
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.strategy import Policy, Strategy
from unit.recovery.wreckage import TOPIC_ID, a_candidate, an_offline_partition

ORIGINAL, CHANGED, ANOTHER = (1, 2, 3), (3, 2, 1), (2, 3, 1)
EARLIER = OrderChange("orders", 0, TOPIC_ID, ORIGINAL, CHANGED)
OF_A_DELETED_TOPIC = replace(EARLIER, topic_id="B" * 22)


def planned(order: tuple[int, ...]) -> PlannedElection:
    """Return the election of a plan that was made while the partition had this order."""
    state = an_offline_partition(replicas=order, offline=(1,))
    election = decide(state, [a_candidate(3, (0, 10))], [], Policy(Strategy.AGGRESSIVE))
    assert isinstance(election, PlannedElection)
    return election


@pytest.mark.parametrize(
    ("change", "undoing", "plan", "expected"),
    [
        (EARLIER, Undoing.RESTORED, CHANGED, ORIGINAL),
        (EARLIER, Undoing.WOULD_RESTORE, CHANGED, ORIGINAL),
        (EARLIER, Undoing.RESTORED, ANOTHER, ANOTHER),
        (EARLIER, Undoing.CONFLICT, CHANGED, CHANGED),
        (OF_A_DELETED_TOPIC, Undoing.RESTORED, CHANGED, CHANGED),
    ],
)
def test_a_plan_made_on_an_earlier_runs_order_gets_the_restored_order(
    change: OrderChange, undoing: Undoing, plan: tuple[int, ...], expected: tuple[int, ...]
) -> None:
    (election,) = adopt_restored_orders([planned(plan)], [OrderLeftover(change, undoing, "")])
    assert election.replicas == expected


@pytest.mark.parametrize(
    ("kept", "plan", "found", "expected"),
    [
        (EARLIER, ORIGINAL, CHANGED, CHANGED),
        (EARLIER, CHANGED, ORIGINAL, ORIGINAL),
        (EARLIER, ORIGINAL, ANOTHER, ORIGINAL),
        (EARLIER, ANOTHER, CHANGED, ANOTHER),
        (OF_A_DELETED_TOPIC, ORIGINAL, CHANGED, ORIGINAL),
        (None, ORIGINAL, CHANGED, ORIGINAL),
    ],
)
def test_an_election_adopts_the_order_that_an_earlier_run_left(
    kept: OrderChange | None, plan: tuple[int, ...], found: tuple[int, ...], expected: tuple[int, ...]
) -> None:
    assert adopt_current_order(planned(plan), an_offline_partition(replicas=found), kept).replicas == expected


def test_an_unseen_partition_keeps_the_order_of_the_plan() -> None:
    assert adopt_current_order(planned(ORIGINAL), None, EARLIER).replicas == ORIGINAL
