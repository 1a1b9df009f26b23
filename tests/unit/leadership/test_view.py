# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The warnings about the config, and decisions right before a write."""

from __future__ import annotations

import pytest

from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.configs import ConfigEntry
from ansible_collections.kafkaops.recovery.plugins.module_utils._leadership.blacklist import Blacklist, Change
from ansible_collections.kafkaops.recovery.plugins.module_utils._leadership.decide import OrderStatus
from ansible_collections.kafkaops.recovery.plugins.module_utils._leadership.memory import Memory
from ansible_collections.kafkaops.recovery.plugins.module_utils._leadership.view import (
    Config,
    ListRequest,
    decide_again,
    inspect,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.partition import NO_LEADER
from unit.leadership.well_cluster import Bastion

_SET = ConfigEntry(None, is_sensitive=True)
_LISTED, _EMPTIED, _WRITING = Memory(Blacklist((1,)), "1", 3), Memory(revision=4), Memory(Blacklist((1,)), None, 1)


@pytest.mark.parametrize(
    ("entry", "memory", "wanted", "warnings"),
    [
        (_SET, _LISTED, ListRequest(Change.PRESENT, (2,), ()), []),
        (None, _EMPTIED, ListRequest(Change.PRESENT, (2,), ()), []),
        (None, _LISTED, ListRequest(Change.PRESENT, (2,), ()), ["another party has deleted it"]),
        (_SET, _EMPTIED, ListRequest(Change.PRESENT, (2,), ()), ["or another party has set it. It is replaced"]),
        (_SET, _EMPTIED, ListRequest(Change.EXACT, (), ()), ["or another party has set it. It is deleted"]),
        (
            _SET,
            _WRITING,
            ListRequest(Change.PRESENT, (), ()),
            ["a killed run of this collection or another party has set it"],
        ),
        (_SET, Memory(), ListRequest(Change.EXACT, (), ()), ["does not have the list: it is replaced"]),
    ],
)
def test_a_config_that_is_not_as_remembered_is_reported(
    bastion: Bastion, entry: ConfigEntry | None, memory: Memory, wanted: ListRequest, warnings: list[str]
) -> None:
    view = inspect(bastion.cluster, Config(entry, False, ()), memory, wanted, frozenset())
    for found, expected in zip(view.warnings, warnings, strict=True):
        assert expected in found


def test_only_partitions_whose_state_has_changed_are_decided_about_again(bastion: Bastion) -> None:
    same, offline, deleted = (bastion.cluster.add(number, (1, 2, 3), leader=1) for number in range(3))
    wanted = ListRequest(Change.PRESENT, (1,), ())
    view = inspect(bastion.cluster, Config(None, False, ()), Memory(), wanted, frozenset())
    bastion.cluster.change(offline, leader_id=NO_LEADER)
    states = {each: bastion.cluster.states[each] for each in (same, offline)}
    decisions = decide_again(bastion.cluster, view, states, [same, offline, deleted])
    assert decisions[same] is view.decisions[same]
    assert decisions[offline].outcome.status is OrderStatus.LEFT_ALONE
    assert deleted not in decisions
