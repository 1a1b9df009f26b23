# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What our principal may not do is named before a run, all at once."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from ansible_collections.kafkaops.recovery.plugins.module_utils._groups.plan import CommitStep
from ansible_collections.kafkaops.recovery.plugins.module_utils._groups.rights import Lacking, find_lacking
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.capabilities import TopicAccess
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.settings import Address
from unit.fakes.cluster import FakeCluster
from unit.groups.a_step import STEP

ALL = frozenset({"READ", "WRITE", "CREATE", "DELETE", "ALTER", "DESCRIBE"})
COORDINATOR = Address("broker-1.invalid", 9092)
JOURNAL = "_kafkaops_run"


def lacking(
    *steps: CommitStep,
    groups: dict[str, frozenset[str]] | None = None,
    orders: frozenset[str] = ALL,
    journal: frozenset[str] = ALL,
    cluster: frozenset[str] = ALL,
    ends: bool = False,
) -> Lacking:
    fake: Any = FakeCluster({}, {1}, {1}, {})
    topics = {"orders": TopicAccess(orders, True), JOURNAL: TopicAccess(journal, False)}
    fake.answer(
        group_operations=lambda _address, names: {each: (groups or {}).get(each, ALL) for each in names},
        topic_operations=lambda names: {each: topics[each] for each in names},
        cluster_operations=lambda: cluster,
    )
    coordinators = dict.fromkeys((each.group for each in steps), COORDINATOR)
    return find_lacking(fake, coordinators, steps, JOURNAL, ends=ends)


def test_all_that_is_lacking_is_named_at_once() -> None:
    told = frozenset({"DESCRIBE"})
    others = [replace(STEP, group="it's"), replace(STEP, group="shipping")]
    found = lacking(
        STEP, *others, groups={"billing": told, "it's": told}, orders=told, journal=told, cluster=told, ends=True
    )
    assert [each.partition(" --operation ")[2].split(" (")[0] for each in found.commands] == [
        "Read --group billing --group 'it'\"'\"'s'",
        "Read --topic orders",
        "Alter --cluster",
        f"Create --operation Describe --operation Read --operation Write --operation Delete --topic {JOURNAL}",
    ]


@pytest.mark.parametrize(
    ("given", "commands"),
    [
        ({}, 0),
        ({"journal": ALL - {"DELETE"}}, 0),
        ({"journal": ALL - {"CREATE"}}, 0),
        ({"journal": ALL - {"CREATE"}, "cluster": frozenset({"DESCRIBE"})}, 1),
        ({"cluster": frozenset({"DESCRIBE"})}, 0),
        ({"cluster": frozenset({"CLUSTER_ACTION"}), "ends": True}, 0),
        ({"cluster": frozenset({"DESCRIBE"}), "ends": True}, 1),
    ],
)
def test_what_the_run_does_not_need_is_not_asked_for(given: dict[str, Any], commands: int) -> None:
    assert len(lacking(STEP, **given).commands) == commands


def test_a_run_with_nothing_to_do_needs_nothing() -> None:
    nothing: frozenset[str] = frozenset()
    assert lacking(orders=nothing, journal=nothing, cluster=nothing) == Lacking()


def test_one_group_or_topic_that_is_refused_blocks_no_other() -> None:
    told = frozenset({"DESCRIBE"})
    other = replace(STEP, group="shipping")
    found = lacking(STEP, other, groups={"shipping": told}, cluster=told, ends=True)
    assert (found.why_not(STEP), found.cannot_write, found.cannot_end) == ("", False, True)
    assert found.why_not(other) == "our principal needs READ on the group"
    assert lacking(STEP, orders=told).why_not(STEP) == "our principal needs READ on the topic"
    assert lacking(STEP, journal=told).cannot_write
