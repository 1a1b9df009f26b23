# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Print what is alike once: rows of a table that differ only in their name are one row. Standard library only."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TypeVar

from ansible_collections.kafkaops.recovery.plugins.module_utils._model.reasons import first_ranges, ranges

from .page import Entry, Row
from .words import Result, listed, partition_name, words

_MOST_TOPICS = 3
_Named = TypeVar("_Named")


def fold_rows(rows: Iterable[tuple[_Named, Sequence[Row]]], name: Callable[[Sequence[_Named]], str]) -> tuple[Row, ...]:
    """Return the rows of all things; those whose rows are the same share them.

    Args:
        rows: each thing and its rows, without the first cell.
        name: returns the first cell of the first row: the name of all things that share the rows.
    """
    found: dict[tuple[Row, ...], list[_Named]] = {}
    for each, own in rows:
        found.setdefault(tuple(own), []).append(each)
    return tuple(
        replace(row, cells=("" if place else name(sharing), *row.cells))
        for own, sharing in found.items()
        for place, row in enumerate(own)
    )


def fold_entries(
    entries: Iterable[tuple[_Named, Sequence[str], str]], name: Callable[[Sequence[_Named]], str]
) -> Iterator[Entry]:
    """Return an entry for all things with the same lines and the same style."""
    found: dict[tuple[tuple[str, ...], str], list[_Named]] = {}
    for each, lines, style in entries:
        found.setdefault((tuple(lines), style), []).append(each)
    for (own, style), sharing in found.items():
        yield Entry(name(sharing), own, style)


def name_partitions(partitions: Sequence[Result]) -> str:
    """Return the name of one partition, or of several that are alike: "orders 0-9, all alike"."""
    if len(partitions) == 1:
        return partition_name(partitions[0])
    return f"{in_topics(partitions)}, all alike"


def name_brokers(ids: Sequence[int]) -> str:
    """Return one broker id, or those of several that are alike: "1-3, all alike"."""
    return str(ids[0]) if len(ids) == 1 else f"{ranges(ids)}, all alike"


def in_topics(partitions: Iterable[Result]) -> str:
    """Return partitions by topic: "orders 0-9, payments 3 and 2 more"."""
    numbers: dict[str, list[int]] = {}
    for each in partitions:
        numbers.setdefault(each["topic"], []).append(each["partition"])
    return listed([f"{topic} {first_ranges(each)}" for topic, each in numbers.items()], _MOST_TOPICS)


def entries_by_reason(rows: Iterable[Result], name: Callable[[list[Result]], str]) -> Iterator[Entry]:
    """Yield an entry for all rows with the same status and reason, with the name of them all."""
    found: dict[tuple[str, str], list[Result]] = {}
    for each in rows:
        found.setdefault((each["status"], each["reason"]), []).append(each)
    for (status, reason), alike in found.items():
        yield Entry(words(status), (f"{name(alike)}: {reason}",), "bold yellow")
