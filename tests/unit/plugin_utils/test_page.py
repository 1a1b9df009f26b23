# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Blocks become text of a given width."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from ansible_collections.kafkaops.recovery.plugins.plugin_utils.layout import laid_out
from ansible_collections.kafkaops.recovery.plugins.plugin_utils.page import (
    Command,
    Entries,
    Entry,
    Heading,
    Paragraph,
    Row,
    Table,
)
from ansible_collections.kafkaops.recovery.plugins.plugin_utils.rendering import rendered
from ansible_collections.kafkaops.recovery.plugins.plugin_utils.words import change, size

WORDS = ("ansible-playbook", "a.playbook", "-e", "name=it's", "-e", "servers=" + "kafka1:9092," * 9, "--check")


@pytest.mark.parametrize("width", [40, 80, 200])
def test_a_command_can_be_pasted(width: int) -> None:
    text = rendered([Command(WORDS)], width, color=False)
    assert shlex.split(text.replace("\\\n", "")) == list(WORDS)


def test_prose_stands_below_its_row_where_there_is_no_room_beside_it() -> None:
    table = Table(
        ("Partition", "Number"), (Row(("orders-0", "1"), "because it is so"), Row(("orders-1", "22"), "too")), "Reason"
    )
    assert rendered([table], 34, color=False).splitlines() == [
        "  Partition  Number",
        "   orders-0       1",
        "      because it is so",
        "   orders-1      22",
        "      too",
    ]
    assert rendered([table], 80, color=False).splitlines() == [
        "  Partition  Number  Reason",
        "   orders-0       1  because it is so",
        "   orders-1      22  too",
    ]


def test_nothing_is_lost_beside_a_label_that_is_as_wide_as_the_page() -> None:
    """A consumer group may have a name of any length."""
    entries = Entries((Entry("billing", ("offset 9", "offset 5")), Entry("n" * 100, ("offset 7",)), Entry("x", ("1",))))
    assert rendered([entries], 60, color=False).splitlines() == [
        "  billing  offset 9",
        "           offset 5",
        "  " + "n" * 58,
        "n" * 42,
        "      offset 7",
        "  x        1",
    ]


def test_columns_stay_columns_if_each_line_is_stripped() -> None:
    """The callback of AAP 2.6 strips each line that an action displays."""
    entries = Entries((Entry("broker 1", ("unreachable", "start it")), Entry("and", ("2 more",))))
    table = Table(("Broker", "Number"), (Row(("1", "22")), Row(("100", "1"), "because it is so")), "Reason")
    text = rendered([entries, table], 34, color=False, is_stripped=True)
    plain = rendered([entries, table], 34, color=False)
    stripped = [line.strip() for line in text.splitlines()]
    assert stripped == [f"| {line[2:]}" for line in plain.splitlines()]


def test_no_number_of_a_list_is_broken() -> None:
    """Broker 100 is not broker 1002."""
    ids = "1001,1002,1003,1004,1005"
    table = Table(
        ("Partition", "Status", "Replicas", "Target"),
        (Row(("orders-0", "would restore", ids, ids)),),
        texts=("Partition", "Status"),
    )
    text = rendered([table], 60, color=False)
    assert max(map(len, text.splitlines())) <= 60
    assert sorted(re.findall(r"[0-9]{3,}", text)) == sorted(2 * ids.split(","))
    assert "orders-0   would restore" in text


@pytest.mark.parametrize(
    ("size_bytes", "text"),
    [(None, "-"), (0, "0 B"), (1023, "1023 B"), (1024, "1 KiB"), (11034, "10.8 KiB"), (5 * 1024**4, "5 TiB")],
)
def test_sizes(size_bytes: int | None, text: str) -> None:
    assert size(size_bytes) == text


def test_a_change_of_nothing_is_one_value() -> None:
    assert (change("1", "1"), change("1", "2")) == ("1", "1 → 2")


@pytest.mark.parametrize("width", [20, 80, 200])
@pytest.mark.parametrize("texts", [("No partition is offline.",), ("one", "two"), ("é",), ("two\nlines",), ("", "x")])
def test_short_text_is_the_same_without_a_layout(texts: tuple[str, ...], width: int) -> None:
    for blocks in ([*map(Paragraph, texts)], [*map(Heading, texts)]):
        assert rendered(blocks, width, color=False) == laid_out(blocks, width, color=False)


@pytest.mark.parametrize("path", sorted(Path(__file__).with_name("approved").glob("*.txt")), ids=lambda each: each.stem)
def test_no_approved_text_is_wider_than_its_terminal(path: Path) -> None:
    (columns,) = re.findall(r"-(\d{2,3})(?:-color)?$", path.stem)
    plain = re.sub(r"\x1b\[[0-9;]*m", "", path.read_text(encoding="utf-8"))
    assert max(map(len, plain.splitlines())) <= int(columns)
