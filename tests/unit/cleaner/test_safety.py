# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The states in which a replica must not be dropped."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ansible_collections.kafkaops.recovery.plugins.module_utils._cleaner.safety import Overrides, Surroundings, refusals
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.partition import PartitionState

STATE = PartitionState("t", 0, "id", 1, 5, (1, 2, 3), (1, 2, 3), None, None, ())
AROUND = Surroundings(min_insync_replicas=2, is_reassigning=False, living=(1, 2, 3))
NONE = Overrides()


def test_three_copies_in_sync_are_enough() -> None:
    assert refusals(STATE, 1, AROUND, NONE) == ()


@pytest.mark.parametrize(
    ("state", "around", "overrides", "said"),
    [
        (STATE._replace(replicas=(2, 3)), AROUND, NONE, "holds no replica"),
        (STATE._replace(replicas=(1,), isr=(1,)), AROUND, NONE, "only replica"),
        (STATE._replace(replicas=(1, 2), isr=(1, 2)), AROUND, NONE, "allow_below_min_isr"),
        (STATE._replace(isr=(1, 2)), replace(AROUND, min_insync_replicas=1), NONE, "allow_single_copy"),
        (STATE._replace(isr=(1,)), AROUND, Overrides(allow_below_min_isr=True, allow_single_copy=True), "no other"),
        (STATE, replace(AROUND, min_insync_replicas=3), NONE, "min.insync.replicas of 3"),
        (STATE, replace(AROUND, min_insync_replicas=None), NONE, "could not be read"),
        (STATE, replace(AROUND, is_reassigning=True), NONE, "reassignment"),
        (STATE, replace(AROUND, living=(2, 3)), NONE, "not online"),
        (STATE, replace(AROUND, living=(1, 2)), NONE, "allow_single_copy"),
        (STATE, replace(AROUND, living=(1,)), NONE, "is in sync and online"),
        (STATE._replace(leader_id=2), replace(AROUND, living=(1, 3)), NONE, "its leader, broker 2, does not answer"),
        (STATE._replace(leader_id=-1), AROUND, NONE, "no leader"),
    ],
)
def test_each_unsafe_state_is_refused(
    state: PartitionState, around: Surroundings, overrides: Overrides, said: str
) -> None:
    assert said in "; ".join(refusals(state, 1, around, overrides))


def test_all_reasons_are_reported_at_once_and_each_has_its_own_override() -> None:
    pair = STATE._replace(replicas=(1, 2), isr=(1, 2))
    assert len(refusals(pair, 1, AROUND, NONE)) == 2
    assert len(refusals(pair, 1, AROUND, Overrides(allow_single_copy=True))) == 1
    assert refusals(pair, 1, AROUND, Overrides(allow_single_copy=True, allow_below_min_isr=True)) == ()
