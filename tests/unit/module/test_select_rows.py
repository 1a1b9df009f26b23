# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Which rows are returned when there are too many."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.kafkaops.recovery.plugins.module_utils._module.run import select_most_important
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.outcome import Outcome
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.plan import DONE_OR_FORESEEN, Status


@given(st.lists(st.sampled_from(Status), max_size=20), st.integers(0, 25))
def test_important_rows_are_kept_in_order(statuses: list[Status], max_rows: int) -> None:
    outcomes = [Outcome("t", number, status, "") for number, status in enumerate(statuses)]
    shown = select_most_important(outcomes, max_rows, DONE_OR_FORESEEN)
    assert len(shown) == min(len(outcomes), max_rows)
    assert [each.partition for each in shown] == sorted(each.partition for each in shown)
    left_out = [each for each in outcomes if each not in shown]
    if any(each.status in DONE_OR_FORESEEN for each in shown):
        assert all(each.status in DONE_OR_FORESEEN for each in left_out)
