# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The log cleaners of brokers as a table, for a terminal."""

from __future__ import annotations

from contextlib import suppress
from io import StringIO

from ansible_collections.kafkaops.recovery.plugins.plugin_utils import log_cleaner_wording
from ansible_collections.kafkaops.recovery.plugins.plugin_utils.wording import Result

with suppress(ImportError):  # a missing library is told by name before anything is done (glue/failures.py)
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

_TEXTS = ("before", "after")
_AFTER = log_cleaner_wording.COLUMNS.index("after")


def broker_table(before: Result, after: Result, width: int) -> str:
    """A row for each broker. Who is not well in the end is set off."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for name in log_cleaner_wording.COLUMNS:
        table.add_column(name[:1].upper() + name[1:], justify="left" if name in _TEXTS else "right", no_wrap=True)
    for row in log_cleaner_wording.broker_rows(before, after):
        is_well = row[_AFTER].rstrip("?") in log_cleaner_wording.WELL
        # Text, not str: rich would take brackets for markup.
        table.add_row(*(Text(cell) for cell in row), style="" if is_well else "bold yellow")
    output = StringIO()
    Console(file=output, width=width, force_terminal=True, color_system="standard", highlight=False).print(table)
    return output.getvalue().rstrip("\n")
