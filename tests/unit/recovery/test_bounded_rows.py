# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A survey of many partitions returns the requested number of rows, those that a person must check first."""

from __future__ import annotations

import pytest

from ansible_collections.kafkaops.recovery.plugins.module_utils._changes.record import OrderChange
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.partition import PartitionState
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.outcome import outcome_of_left_alone
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.plan import Status, leave_alone
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.survey_result import bounded

OFFLINE = [
    PartitionState("orders", number, "A" * 22, -1, 7, (1, 2, 3), (1,), (), (), (1,), is_internal=False)
    for number in range(5)
]
OUTCOMES = [
    outcome_of_left_alone(leave_alone(each, Status.ALREADY_ONLINE if each.partition else Status.REFUSED, "as scripted"))
    for each in reversed(OFFLINE)
]
UNFINISHED = [OrderChange("orders", number, "A" * 22, (1, 2, 3), (3, 1, 2)) for number in range(3)]


@pytest.mark.parametrize(("most", "lengths"), [(None, (5, 5, 3)), (5, (5, 5, 3)), (2, (2, 2, 2)), (1, (1, 1, 1))])
def test_each_list_has_at_most_the_requested_rows(most: int | None, lengths: tuple[int, int, int]) -> None:
    found = bounded(OFFLINE, OUTCOMES, UNFINISHED, most)
    assert (len(found["partitions"]), len(found["left_alone"]), len(found["unfinished"])) == lengths
    assert found["truncated"] == (lengths != (5, 5, 3))
    assert found["left_alone"][-1]["status"] == "refused"


def test_an_empty_list_is_not_truncated() -> None:
    assert bounded([], [], [], None) == {"partitions": [], "left_alone": [], "unfinished": [], "truncated": False}
