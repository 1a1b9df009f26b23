# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What fails a change of the list, and what is only a warning."""

from __future__ import annotations

import pytest

from ansible_collections.kafkaops.recovery.plugins.module_utils._leadership.blacklist import Blacklist
from ansible_collections.kafkaops.recovery.plugins.module_utils._leadership.blacklist_module import (
    failure_message,
    warnings,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._leadership.decide import (
    Decision,
    decide,
    decide_deleted,
    decide_hidden,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._leadership.deprioritize import LeadershipResult
from ansible_collections.kafkaops.recovery.plugins.module_utils._leadership.orders import RememberedOrder
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.partition import NO_LEADER
from unit.leadership.worlds import TOPIC_ID, a_state

DRAINED, ORIGINAL = (2, 3, 1), (1, 2, 3)
REMEMBERED = RememberedOrder("orders", 0, TOPIC_ID, ORIGINAL, (ORIGINAL, DRAINED))


def result_of(decision: Decision, *listed: int) -> LeadershipResult:
    return LeadershipResult(
        cluster_id="4L6g3nShT-eMCtK--X86sw",
        before=Blacklist((1,)),
        after=Blacklist(listed),
        writes_config=True,
        is_native=False,
        remembered_in="_kafkaops_leadership",
        warnings=(),
        outcomes={decision.topic_partition: decision.outcome},
    )


@pytest.mark.parametrize(
    "decision",
    [
        decide(a_state(DRAINED, leader=NO_LEADER), REMEMBERED, ()),
        decide(a_state(DRAINED), REMEMBERED, ()).leave_alone("it is being reassigned"),
        decide_hidden(REMEMBERED, "our principal may not describe it"),
    ],
    ids=["leaderless", "reassigned", "hidden"],
)
def test_an_order_that_is_not_put_back_fails_the_restore(decision: Decision) -> None:
    result = result_of(decision)
    message = failure_message(result) or ""
    assert message.startswith("1 original orders are not restored yet")
    assert decision.outcome.reason in message
    assert warnings(result) == []


@pytest.mark.parametrize(
    ("decision", "listed"),
    [
        (decide(a_state(ORIGINAL, leader=NO_LEADER), None, (1,)), (1,)),
        (decide(a_state(DRAINED, leader=NO_LEADER), REMEMBERED, (1, 2)), (1, 2)),
    ],
    ids=["nothing changed yet", "one more broker"],
)
def test_an_order_that_a_drain_leaves_alone_is_a_warning(decision: Decision, listed: tuple[int, ...]) -> None:
    result = result_of(decision, *listed)
    assert failure_message(result) is None
    (warning,) = warnings(result)
    assert warning.startswith("1 partition is left alone, without the order that the list requires")


@pytest.mark.parametrize("decision", [decide(a_state(DRAINED), REMEMBERED, ()), decide_deleted(REMEMBERED)])
def test_what_is_restored_or_gone_is_neither(decision: Decision) -> None:
    assert failure_message(result_of(decision)) is None
    assert warnings(result_of(decision)) == []
