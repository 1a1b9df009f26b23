# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The warnings about the config, and decisions right before a write."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ansible_collections.kafkaops.recovery.plugins.module_utils._leadership.blacklist import Blacklist, Change
from ansible_collections.kafkaops.recovery.plugins.module_utils._leadership.decide import OrderStatus
from ansible_collections.kafkaops.recovery.plugins.module_utils._leadership.memory import Memory
from ansible_collections.kafkaops.recovery.plugins.module_utils._leadership.view import (
    Config,
    ListRequest,
    decide_again,
    inspect,
    leave_unregistered,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.partition import NO_LEADER
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.setting import Setting, SettingSource
from unit.leadership.well_cluster import Bastion

_SET = Setting(None, SettingSource.OTHER, is_sensitive=True)
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
    bastion: Bastion, entry: Setting | None, memory: Memory, wanted: ListRequest, warnings: list[str]
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


@pytest.mark.parametrize(
    ("memory", "wanted", "leader", "returning"),
    [
        (_LISTED, ListRequest(Change.EXACT, (), ()), 2, (1,)),
        (_LISTED, ListRequest(Change.EXACT, (), ()), 1, ()),  # it leads already
        (_LISTED, ListRequest(Change.EXACT, (4,), ()), 2, (1,)),
        (_LISTED, ListRequest(Change.PRESENT, (), ()), 2, ()),  # it stays on the list
        (Memory(revision=4, returning=(1,)), ListRequest(Change.EXACT, (), ()), 2, (1,)),
        (Memory(revision=4, returning=(1,)), ListRequest(Change.PRESENT, (4,), ()), 2, (1,)),
        (Memory(revision=4, returning=(1,)), ListRequest(Change.PRESENT, (1,), ()), 2, ()),
        (Memory(revision=4, returning=(1,)), ListRequest(Change.EXACT, (), ()), 1, ()),
        (Memory(revision=4), ListRequest(Change.EXACT, (), ()), 2, ()),  # no run of ours has moved its leaders
        (Memory(Blacklist((1,), {"o*": (4,)}), "1", 3), ListRequest(Change.ABSENT, (4,), ("o*",)), 2, ()),
    ],
)
def test_leaders_have_to_return_to_brokers_that_were_taken_off(
    bastion: Bastion, memory: Memory, wanted: ListRequest, leader: int, returning: tuple[int, ...]
) -> None:
    bastion.cluster.add(0, (1, 2, 3), leader=leader)
    bastion.cluster.add(1, (2, 1, 3), leader=2)
    view = inspect(bastion.cluster, Config(None, False, ()), memory, wanted, frozenset())
    assert view.returning == returning


@pytest.mark.parametrize(
    ("lists_fenced", "status"), [(True, OrderStatus.LEFT_ALONE), (False, OrderStatus.WOULD_REORDER)]
)
def test_an_order_with_a_broker_that_is_not_registered_is_not_requested(
    bastion: Bastion, lists_fenced: bool, status: OrderStatus
) -> None:
    """Before Kafka 4.0, a broker that is not listed may be fenced."""
    partition = bastion.cluster.add(0, (1, 2, 9), leader=1)
    bastion.cluster.add(1, (2, 9, 1), leader=2)
    wanted = ListRequest(Change.PRESENT, (1,), ())
    view = inspect(bastion.cluster, Config(None, False, ()), Memory(), wanted, frozenset())
    cluster = replace(bastion.cluster.describe_cluster(), lists_fenced=lists_fenced)
    found = leave_unregistered(view, cluster).decisions
    assert found[partition].outcome.status is status
    assert [each.outcome.status for each in found.values()].count(OrderStatus.IN_ORDER) == 1
