# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Orders and leaders as a table, for a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from io import StringIO

with suppress(ImportError):  # a missing library is told by name before anything is done (glue/failures.py)
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text


_STYLES = {
    "reordered": "bold green",
    "restored": "bold green",
    "moved": "bold green",
    "would reorder": "bold cyan",
    "would restore": "bold cyan",
    "would move": "bold cyan",
    "failed": "bold red",
    "still preferred": "bold red",
    "lagging": "bold red",
}
_OTHER_STYLE = "yellow"


def table(columns: Sequence[str], rows: Sequence[tuple[str, ...]], width: int) -> str:
    """A row for each partition; the second column is its status, the last one gives way."""
    drawn = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for column in columns[:-1]:
        drawn.add_column(column, overflow="fold")
    drawn.add_column(columns[-1], overflow="fold", ratio=1)
    for row in rows:
        # Text, not str: rich would take a topic called "[red]" for markup.
        texts = [Text(cell) for cell in row]
        texts[1].stylize(_STYLES.get(row[1], _OTHER_STYLE))
        drawn.add_row(*texts)
    output = StringIO()
    Console(file=output, width=width, force_terminal=True, color_system="standard", highlight=False).print(drawn)
    return output.getvalue().rstrip("\n")
