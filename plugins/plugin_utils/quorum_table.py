# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The members of a quorum as a table, for a terminal."""

from __future__ import annotations

from contextlib import suppress
from io import StringIO

from ansible_collections.kafkaops.recovery.plugins.plugin_utils import quorum_wording
from ansible_collections.kafkaops.recovery.plugins.plugin_utils.wording import Result

with suppress(ImportError):  # a missing library is told by name before anything is done (glue/failures.py)
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

_TEXTS = ("role",)
_CAUGHT_UP = quorum_wording.COLUMNS.index("caught up")


def member_table(told: Result, width: int) -> str:
    """A row for each voter, observer and silent controller. Who is not caught up is set off."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for name in quorum_wording.COLUMNS:
        table.add_column(name[:1].upper() + name[1:], justify="left" if name in _TEXTS else "right", no_wrap=True)
    for row in quorum_wording.member_rows(told):
        # Text, not str: rich would take brackets for markup.
        table.add_row(*(Text(cell) for cell in row), style="" if row[_CAUGHT_UP] == "yes" else "bold yellow")
    output = StringIO()
    Console(file=output, width=width, force_terminal=True, color_system="standard", highlight=False).print(table)
    return output.getvalue().rstrip("\n")
