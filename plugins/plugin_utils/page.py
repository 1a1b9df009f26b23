# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The blocks that tasks print: paragraphs, labeled entries, tables, commands."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

PROSE_WIDTH = 120
"""Longer lines are hard to read, also in a wider terminal."""


@dataclass(frozen=True, slots=True)
class Paragraph:
    """Text that is wrapped."""

    text: str
    style: str = ""
    indent: int = 0


@dataclass(frozen=True, slots=True)
class Heading:
    """The title of the blocks below it, with an empty line above."""

    text: str


@dataclass(frozen=True, slots=True)
class Entry:
    """A short label, and lines to the right of it."""

    label: str
    lines: tuple[str, ...]
    style: str = ""
    """The style of the label."""


@dataclass(frozen=True, slots=True)
class Entries:
    """Entries whose lines begin in the same column."""

    entries: tuple[Entry, ...]


@dataclass(frozen=True, slots=True)
class Row:
    """Cells of a table, and a text that explains them."""

    cells: tuple[str, ...]
    prose: str = ""
    style: str = ""


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of short cells. A row's prose is printed beside them if there is room, and below them otherwise."""

    columns: tuple[str, ...]
    rows: tuple[Row, ...]
    prose_column: str = ""
    texts: tuple[str, ...] = ()
    """Columns that are aligned to the left; numbers are aligned to the right."""


@dataclass(frozen=True, slots=True)
class Command:
    """A command to copy, with line breaks only between options."""

    words: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Line:
    """One line that is never wrapped, such as a path to copy."""

    text: str


Block = Paragraph | Heading | Entries | Table | Command | Line


def not_shown(shown: int, total: int) -> Iterator[Block]:
    """Say how many rows are not shown, if any."""
    if shown < total:
        yield Paragraph(f"{total - shown:,} more are not shown; the report file has all of them", indent=2)
