# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Rows that differ only in their name are one row, in every table."""

from __future__ import annotations

from typing import Any

from ansible_collections.kafkaops.recovery.plugins.plugin_utils import (
    leadership_page,
    readiness_page,
    recovery_page,
    stop_gate_page,
)
from ansible_collections.kafkaops.recovery.plugins.plugin_utils.alike import (
    fold_entries,
    fold_rows,
    name_brokers,
    name_partitions,
)
from ansible_collections.kafkaops.recovery.plugins.plugin_utils.page import Block, Entry, Row, Table
from unit.plugin_utils.results import a_recovery
from unit.recovery import outages


def partition(topic: str, number: int) -> dict[str, Any]:
    return {"topic": topic, "partition": number}


def names(block: Block) -> list[str]:
    assert isinstance(block, Table)
    return [row.cells[0] for row in block.rows]


def test_rows_that_are_alike_are_one() -> None:
    rows = [(partition("orders", number), [Row(("15",), "alike")]) for number in range(10)]
    assert fold_rows(rows, name_partitions) == (Row(("orders 0-9, all alike", "15"), "alike"),)


def test_rows_that_differ_stay_apart() -> None:
    rows = [
        (partition("orders", 0), [Row(("15",))]),
        (partition("orders", 1), [Row(("16",))]),
        (partition("orders", 2), [Row(("15",), "another reason")]),
        (partition("orders", 3), [Row(("15",), style="bold red")]),
    ]
    assert [each.cells[0] for each in fold_rows(rows, name_partitions)] == [f"orders-{number}" for number in range(4)]


def test_partitions_with_several_rows_are_alike_only_if_all_are() -> None:
    both, one = [Row(("1",)), Row(("2",))], [Row(("1",))]
    rows = [(partition("a", 0), both), (partition("a", 1), one), (partition("a", 2), both)]
    assert [each.cells for each in fold_rows(rows, name_partitions)] == [
        ("a 0, 2, all alike", "1"),
        ("", "2"),
        ("a-1", "1"),
    ]


def test_many_topics_are_counted() -> None:
    named = name_partitions([partition(f"t{topic}", 0) for topic in range(9)])
    assert named == "t0 0, t1 0, t2 0 and 6 more, all alike"


def test_entries_that_are_alike_are_one() -> None:
    entries = [(1, ["unknown"], ""), (2, ["unknown"], ""), (3, ["dead"], "")]
    assert [*fold_entries(entries, name_brokers)] == [Entry("1-2, all alike", ("unknown",)), Entry("3", ("dead",))]


def test_a_recovery_s_partitions_and_replicas_are_folded() -> None:
    result = a_recovery([outages.refused(number) for number in range(12)], outages.brokers())
    assert names(recovery_page.outcome_table(result["partitions"])) == ["orders 0-11, all alike"]
    (_heading, replicas, *_more) = recovery_page.replica_blocks(result)
    assert [each for each in names(replicas) if each] == ["orders 0-11, all alike"]


def test_orders_and_leaders_are_folded() -> None:
    each = {"status": "moved", "reason": "broker 2 is preferred", "leader_before": 1, "leader_after": 2, "target": 2}
    group = {"status": "moved", "partitions": 3, "reason": "", "topics": {"named": [], "more": 0}}
    leaders = {
        "summary": {"moved": 3},
        "groups": [group],
        "partitions": [{**each, **partition("orders", number)} for number in range(3)],
    }
    blacklist = {"brokers": [1], "by_topic": []}
    orders = {
        "summary": {},
        "groups": [],
        "partitions": [],
        "before": blacklist,
        "after": blacklist,
        "is_native": False,
        "remembered_in": "topic x",
    }
    (table,) = (one for one in leadership_page.blocks(orders, leaders, rows=True) if isinstance(one, Table))
    assert names(table) == ["orders 0-2, all alike"]


def test_brokers_whose_death_would_cost_the_same_are_folded() -> None:
    loss = {"offline_partitions": 0, "unrecoverable_partitions": 0, "below_min_isr_partitions": 0, "offline": ""}
    result = {
        "checks": [],
        "is_ready": True,
        "broker_losses": [{**loss, "broker_id": number} for number in (1, 2, 3)],
        "rack_losses": [],
    }
    (table,) = (one for one in readiness_page.blocks(result) if isinstance(one, Table))
    assert names(table) == ["1-3, all alike"]


def test_sets_of_brokers_that_may_stop_alike_are_folded() -> None:
    stop = {
        "verdict": "yes",
        "partitions": 9,
        "leaders_that_move": 3,
        "margin": 1,
        "controllers": [],
        "controllers_to_spare": 1,
        "changes": [],
    }
    result: dict[str, Any] = {"asked": "stop", "verdict": "yes", "reasons": [], "notes": [], "tickets": []}
    result |= {"taken": [], "waves": [], "in_no_wave": [], "racks": [{"broker_id": 2, "rack": "b"}]}
    result |= {"stops": [{**stop, "brokers": ids} for ids in ([1], [2], [1, 2])]}
    (table,) = (one for one in stop_gate_page.blocks(result) if isinstance(one, Table))
    assert names(table) == ["1; 2 (b); 1, 2 (b); all alike"]
