# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Print what is alike once: rows of a table that differ only in their name are one row. Standard library only."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TypeVar

from ansible_collections.kafkaops.recovery.plugins.module_utils._model.partition import grouped
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.reasons import first_ranges, join_first, ranges

from .page import Entry, Row
from .words import Result, partition_name, words

_MOST_TOPICS = 3
_Named = TypeVar("_Named")


def fold_rows(rows: Iterable[tuple[_Named, Sequence[Row]]], name: Callable[[Sequence[_Named]], str]) -> tuple[Row, ...]:
    """Return the rows of all things; those whose rows are the same share them.

    Args:
        rows: each thing and its rows, without the first cell.
        name: returns the first cell of the first row: the name of all things that share the rows.
    """
    return tuple(
        replace(row, cells=("" if place else name(sharing), *row.cells))
        for own, sharing in grouped((tuple(own), each) for each, own in rows).items()
        for place, row in enumerate(own)
    )


def fold_entries(
    entries: Iterable[tuple[_Named, Sequence[str], str]], name: Callable[[Sequence[_Named]], str]
) -> Iterator[Entry]:
    """Return an entry for all things with the same lines and the same style."""
    alike = grouped(((tuple(lines), style), each) for each, lines, style in entries)
    for (own, style), sharing in alike.items():
        yield Entry(name(sharing), own, style)


def name_partitions(partitions: Sequence[Result]) -> str:
    """Return the name of one partition, or of several that are alike: "orders 0-9, all alike"."""
    return which_partitions(partitions) if len(partitions) == 1 else f"{which_partitions(partitions)}, all alike"


def which_partitions(partitions: Sequence[Result]) -> str:
    """Return the name of one partition, or of several: "orders-0", "orders 0-9"."""
    return partition_name(partitions[0]) if len(partitions) == 1 else in_topics(partitions)


def name_brokers(ids: Sequence[int]) -> str:
    """Return one broker id, or those of several that are alike: "1-3, all alike"."""
    return str(ids[0]) if len(ids) == 1 else f"{ranges(ids)}, all alike"


def in_topics(partitions: Iterable[Result]) -> str:
    """Return partitions by topic: "orders 0-9, payments 3 and 2 more"."""
    numbers = grouped((each["topic"], each["partition"]) for each in partitions)
    return join_first([f"{topic} {first_ranges(each)}" for topic, each in numbers.items()], _MOST_TOPICS)


def entries_by_reason(rows: Iterable[Result], name: Callable[[list[Result]], str]) -> Iterator[Entry]:
    """Yield an entry for all rows with the same status and reason, with the name of them all."""
    for (status, reason), alike in grouped(((each["status"], each["reason"]), each) for each in rows).items():
        yield Entry(words(status), (f"{name(alike)}: {reason}",), "bold yellow")
