# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Define the parts of a report: sections of tables, pictures and lists, without any HTML. Standard library only."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar, TypeAlias, TypeVar

_MOST_OPEN_ROWS = 50
"""A longer table shows its first rows, and the others after a click."""


@dataclass(frozen=True, slots=True)
class Cell:
    """One cell of a table."""

    text: str
    tone: str = ""
    """good, warning, bad or empty. The text must say the same, because not everybody sees colors."""
    is_number: bool = False
    link: str = ""
    """Path of another page, relative to this one."""


@dataclass(frozen=True, slots=True)
class ReportParagraph:
    """Text."""

    kind: ClassVar[str] = "paragraph"
    text: str
    tone: str = ""


@dataclass(frozen=True, slots=True)
class ReportTable:
    """Rows under a caption."""

    kind: ClassVar[str] = "table"
    caption: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    open_rows: int = 20
    """The number of rows that are shown without a click, if there are more than ``_MOST_OPEN_ROWS``."""

    @property
    def shown(self) -> tuple[tuple[Cell, ...], ...]:
        """Return the rows that are shown without a click."""
        return self.rows if len(self.rows) <= _MOST_OPEN_ROWS else self.rows[: self.open_rows]

    @property
    def folded(self) -> tuple[tuple[Cell, ...], ...]:
        """Return the rows that are shown after a click."""
        return self.rows[len(self.shown) :]


@dataclass(frozen=True, slots=True)
class Picture:
    """A chart. The caption says in words what it shows."""

    kind: ClassVar[str] = "picture"
    title: str
    svg: str
    caption: str


@dataclass(frozen=True, slots=True)
class NextStep:
    """Something to do, with a command if there is one."""

    text: str
    command: str = ""


@dataclass(frozen=True, slots=True)
class Steps:
    """A checklist."""

    kind: ClassVar[str] = "steps"
    steps: tuple[NextStep, ...]


@dataclass(frozen=True, slots=True)
class Folded:
    """Preformatted text that is shown only after a click."""

    kind: ClassVar[str] = "folded"
    title: str
    text: str


_Item = TypeVar("_Item")
Block: TypeAlias = "ReportParagraph | ReportTable | Picture | Steps | Folded"


@dataclass(frozen=True, slots=True)
class Section:
    """Blocks under a heading."""

    title: str
    blocks: tuple[Block, ...]


MAX_ROWS = 1000
"""Limit for rows of single partitions, worst first."""


def first_rows(
    caption: str,
    columns: tuple[str, ...],
    items: Sequence[_Item],
    to_row: Callable[[_Item], tuple[Cell, ...]],
    *,
    open_rows: int = 20,
) -> ReportTable:
    """Return a table of the first ``MAX_ROWS`` items. If there are more, the caption says how many."""
    cut = f"; the first {MAX_ROWS:,} of {len(items):,}, the report file has all" if len(items) > MAX_ROWS else ""
    return ReportTable(f"{caption}{cut}", columns, tuple(to_row(each) for each in items[:MAX_ROWS]), open_rows)


def in_words(identifier: str) -> str:
    """Return an enum value as words: "would recover" for "would_recover"."""
    return identifier.replace("_", " ")


def partition_cell(topic: str, partition: int) -> Cell:
    """Return a cell with the name of a partition."""
    return Cell(f"{topic}-{partition}")


def number_cell(value: int | None) -> Cell:
    """Return a cell with a number; None becomes "unknown"."""
    return Cell("unknown" if value is None else f"{value:,}", is_number=True)


def format_ids(broker_ids: Sequence[int] | None) -> str:
    """Return a text with broker ids: "unknown" for None, and "none" for an empty list."""
    return "unknown" if broker_ids is None else ", ".join(map(str, broker_ids)) or "none"


def find_leaders(*counts: Counter[int | None]) -> list[int]:
    """Return the brokers that lead a partition in one of the counts."""
    return sorted({each for count in counts for each in count if each is not None and each >= 0})


def build_leadership_table(before: Counter[int | None], after: Counter[int | None]) -> ReportTable:
    """Build the table of each broker's leaderships before and after."""
    rows = tuple(
        (number_cell(each), number_cell(before[each]), number_cell(after[each])) for each in find_leaders(before, after)
    )
    return ReportTable("Leaderships of these partitions", ("Broker", "Before", "After"), rows)
