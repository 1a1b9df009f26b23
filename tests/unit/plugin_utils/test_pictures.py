# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Tables for a terminal, lines for elsewhere."""

from __future__ import annotations

import re

import pytest

from ansible_collections.kafkaops.recovery.plugins.plugin_utils import lines, tables
from unit.plugin_utils.results import an_outcome

_ESCAPE = re.compile(r"\x1b\[[0-9;]*m")


def seen(text: str) -> str:
    return _ESCAPE.sub("", text)


@pytest.mark.parametrize("width", [79, 100, 200])
def test_no_table_is_wider_than_the_terminal(width: int) -> None:
    outcomes = [an_outcome(reason="because " * 40, topic="t" * 249)]
    for text in (tables.replica_table(outcomes, frozenset(), width), tables.outcome_table(outcomes, width)):
        assert max(map(len, seen(text).splitlines())) <= width


def test_a_table_of_replicas_has_all_of_them_and_why() -> None:
    text = seen(tables.replica_table([an_outcome()], frozenset(), 200))
    assert [line.split()[:2] for line in text.splitlines() if "longest" in line] == [["orders-0", "3"], ["2", "2"]]
    assert "empty_log" in text
    assert "silent: unreachable: no connection" in text


def test_a_topic_is_no_markup() -> None:
    assert "[red]-0" in seen(tables.outcome_table([an_outcome(topic="[red]")], 200))


def test_lines_say_the_same() -> None:
    assert [*lines.replica_lines([an_outcome()], {"no connection"})] == [
        "orders-0: rank 1: broker 3, last written epoch 6, offsets 0 to 150, 10.8 KiB: the longest log",
        "orders-0: rank 2: broker 2, last written epoch 6, offsets 0 to 150, 10.8 KiB [empty_log]: the longest log",
        "orders-0: broker 1: silent: unreachable",
    ]
    assert [*lines.outcome_lines([an_outcome()])] == [
        "orders-0: recovered: leader none → 3, epoch 7 → 9, replicas 1,2,3: broker 3 holds the most"
    ]
