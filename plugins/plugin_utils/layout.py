# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Lay out a page (`page`): wrap text, align columns, and do not break text that a person copies."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from io import StringIO
from typing import Literal

from .page import PROSE_WIDTH, Block, Command, Entries, Entry, Heading, Line, Paragraph, Table
from .words import printable

with suppress(ImportError):  # ansible-test imports this file without rich
    from rich.console import Console, Group, RenderableType
    from rich.padding import Padding
    from rich.table import Table as Grid
    from rich.text import Text

_MIN_PROSE = 50
"""Minimum width of a table's column of prose. If less is free, the prose is printed below its row."""
_INDENT = 2
_PIECE = re.compile(r"[^ ,]+[ ,]*|[ ,]+")
"""What a column does not break: a word, or a value of a list with its comma."""


def laid_out(blocks: Iterable[Block], width: int, *, color: bool, is_stripped: bool = False) -> str:
    """Return the blocks as text. No line is wider than ``width``, except lines to copy.

    If the reader's program strips each line, ``is_stripped``, lines of columns begin with a bar in place of a space.
    """
    output = StringIO()
    console = Console(
        file=output,
        width=width,
        force_terminal=color,
        color_system="standard" if color else None,
        highlight=False,
        emoji=False,
        markup=False,
    )
    for block in blocks:
        if isinstance(block, Command | Line):
            # A wrapped line could not be copied.
            console.print(Text(_unwrapped(block, min(width, PROSE_WIDTH))), soft_wrap=True)
            continue
        start = output.tell()
        for part in _parts(block, width):
            console.print(part)
        if is_stripped and isinstance(block, Entries | Table):
            output.seek(start)
            columns = output.read().splitlines()
            output.seek(start)
            output.write("".join(f"|{line[1:]}\n" for line in columns))
    return "\n".join(line.rstrip() for line in output.getvalue().splitlines()).strip("\n")


def _unwrapped(block: Command | Line, width: int) -> str:
    return printable(block.text) if isinstance(block, Line) else "\n".join(_command_lines(block.words, width))


def _parts(block: Paragraph | Heading | Entries | Table, width: int) -> Iterator[RenderableType]:
    prose_width = min(width, PROSE_WIDTH)
    match block:
        case Heading(text):
            yield ""
            yield _text(text, "bold")
        case Paragraph(text, style, indent):
            yield Padding(_text(text, style), (0, width - prose_width, 0, indent))
        case Entries(entries):
            yield from _entries(entries, prose_width)
        case Table():
            yield from _table(block, width)


def _entries(entries: Sequence[Entry], width: int) -> Iterator[RenderableType]:
    """Yield the entries in two columns. Below a label that is too long for that, its lines are indented."""
    labels = [_text(" " * _INDENT + each.label, each.style) for each in entries]
    most = max((each.cell_len for each in labels if each.cell_len <= width - _MIN_PROSE // 2), default=0)
    for label, each in zip(labels, entries, strict=True):
        lines = Group(*map(_text, each.lines))
        if label.cell_len > most:
            yield label
            yield Padding(lines, (0, 0, 0, 3 * _INDENT))
            continue
        grid = Grid.grid(padding=(0, 2, 0, 0))
        grid.width = width
        grid.add_column(width=most, no_wrap=True)
        grid.add_column(overflow="fold", ratio=1)
        grid.add_row(label, lines)
        yield grid


def _table(table: Table, width: int) -> Iterator[RenderableType]:
    widths = _widths(table, width)
    beside = width - sum(widths) - 2 * len(widths) - _INDENT
    longest = max((len(row.prose) for row in table.rows), default=0)
    is_beside = bool(table.prose_column) and beside >= min(_MIN_PROSE, longest)
    prose_width = min(beside, PROSE_WIDTH) if is_beside else None
    titles = (*table.columns, *([table.prose_column] if is_beside else []))
    head = _grid(table, widths, prose_width, vertical="bottom")
    head.add_row("", *(_text(each, "bold") for each in titles))
    yield head
    grid = _grid(table, widths, prose_width)
    for row in table.rows:
        cells = [_cell(cell, each, row.style) for cell, each in zip(row.cells, widths, strict=True)]
        grid.add_row("", *cells, *([_text(row.prose)] if is_beside else []))
        if row.prose and not is_beside:
            yield grid
            yield Padding(_text(row.prose), (0, 0, 0, 3 * _INDENT))
            grid = _grid(table, widths, None)
    if grid.row_count:
        yield grid


def _grid(
    table: Table, widths: Sequence[int], prose_width: int | None, vertical: Literal["top", "bottom"] = "top"
) -> Grid:
    """Return one part of a table. All parts have the same column widths."""
    grid = Grid.grid(padding=(0, 2, 0, 0))
    grid.add_column(width=0)
    for name, each in zip(table.columns, widths, strict=True):
        justify: Literal["left", "right"] = "left" if name in table.texts else "right"
        grid.add_column(width=each, overflow="fold", justify=justify, vertical=vertical)
    if prose_width is not None:
        grid.add_column(width=prose_width, overflow="fold", vertical=vertical)
    return grid


def _widths(table: Table, width: int) -> list[int]:
    """Return column widths that fit each cell and the longest word of each title.

    If there is not enough room, the widest columns are narrowed to their longest piece. If that is not sufficient, the
    widest one breaks its pieces.
    """
    titles = [max(map(len, name.split())) for name in table.columns]
    cells = [[printable(row.cells[index]) for row in table.rows] for index in range(len(titles))]
    widths = [max(title, *map(len, column)) for title, column in zip(titles, cells, strict=True)]
    for index in sorted(range(len(widths)), key=widths.__getitem__, reverse=True):
        too_much = sum(widths) + 2 * len(widths) + _INDENT - width
        if too_much > 0:
            pieces = [len(piece.rstrip()) for cell in cells[index] for piece in _PIECE.findall(cell)]
            widths[index] = max(titles[index], *pieces, widths[index] - too_much)
    widest = widths.index(max(widths))
    rest = sum(widths) - widths[widest] + 2 * len(widths) + _INDENT
    widths[widest] = min(widths[widest], max(10, width - rest))
    return widths


def _command_lines(words: Sequence[str], width: int) -> Iterator[str]:
    """Return the lines of a command. Each further line begins with an option."""
    first, *others = _pieces(words)
    line = " " * 2 * _INDENT + first
    for piece in others:
        if len(line) + len(piece) + 3 > width:
            yield f"{line} \\"
            line = " " * 3 * _INDENT + piece
        else:
            line += f" {piece}"
    yield line


def _pieces(words: Sequence[str]) -> list[str]:
    """Join each option and its value."""
    pieces: list[str] = []
    for word in (shlex.quote(printable(each)) for each in words):
        if not pieces or word.startswith("-"):
            pieces.append(word)
        else:
            pieces[-1] += f" {word}"
    return pieces


def _cell(text: str, width: int, style: str) -> Text:
    """Return a cell that is broken between words and after commas: a part of a broker id would be another broker."""
    lines = [""]
    for piece in _PIECE.findall(printable(text)):
        if len((lines[-1] + piece).rstrip()) > width and lines[-1]:
            lines.append("")
        lines[-1] += piece
    return Text("\n".join(map(str.rstrip, lines)), style=style, overflow="fold")


def _text(text: str, style: str = "") -> Text:
    # Text, not str: rich would read a topic called "[red]" as markup.
    return Text(printable(text), style=style, overflow="fold")
