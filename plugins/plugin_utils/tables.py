# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Results as tables, for a terminal."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from contextlib import suppress
from io import StringIO

from ansible_collections.kafkaops.recovery.plugins.plugin_utils import wording
from ansible_collections.kafkaops.recovery.plugins.plugin_utils.wording import Result

with suppress(ImportError):  # a missing library is told by name before anything is done (glue/failures.py)
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

_NARROW = 110
"""Columns of a terminal below which a table leaves out what can be done without."""
_STATUS_STYLES = {
    "recovered": "bold green",
    "already_online": "green",
    "would_recover": "bold cyan",
    "refused": "yellow",
    "unknown": "magenta",
    "failed": "bold red",
    "unrecoverable": "bold red",
}


def replica_table(partitions: Sequence[Result], known: Collection[str], width: int) -> str:
    """A row for each replica, best first, the silent last. The designated leader is set off.

    ``known`` are errors of silent replicas that are told elsewhere.
    """
    is_wide = width >= _NARROW
    table = _table("Replicas of the offline partitions")
    for name, justify in _replica_columns(is_wide):
        table.add_column(name, justify="right" if justify else "left", no_wrap=justify, overflow="fold")
    for partition in partitions:
        name = wording.partition_name(partition)
        for each in partition["candidates"]:
            is_designated = each["broker_id"] == partition["designated_leader"]
            cells = [
                str(each["broker_id"]),
                str(each["rank"]),
                wording.number(each["last_written_epoch"]),
                *([str(each["log_start_offset"])] if is_wide else []),
                str(each["log_end_offset"]),
                *([wording.size(each["size_bytes"])] if is_wide else []),
                wording.loss(partition, each),
                ", ".join(each["flags"]) or "-",
                _why(partition, each),
            ]
            _add(table, [name, *cells], "bold green" if is_designated else "")
            name = ""
        for each in partition["silent"]:
            blanks = ["-"] * (len(table.columns) - 3)
            _add(table, [name, str(each["broker_id"]), *blanks, wording.reason_of_silence(each, known)], "dim")
            name = ""
        table.add_section()
    return _rendered(table, width)


def outcome_table(outcomes: Sequence[Result], width: int) -> str:
    """A row for each partition."""
    table = _table("Partitions")
    for name in ("Partition", "Status"):
        table.add_column(name, overflow="fold")
    for name in ("Leader", "Epoch", "Replicas"):
        table.add_column(name, no_wrap=True)
    table.add_column("Why", overflow="fold", ratio=1)
    for each in outcomes:
        cells = [
            wording.partition_name(each),
            wording.status(each),
            wording.leader_change(each),
            wording.epoch_change(each),
            wording.replicas(each["replicas"]),
            wording.printable(each["reason"]),
        ]
        texts = [Text(cell) for cell in cells]
        texts[1].stylize(_STATUS_STYLES.get(each["status"], ""))
        table.add_row(*texts)
    return _rendered(table, width)


def _why(partition: Result, candidate: Result) -> str:
    return "; ".join(filter(None, [wording.reason_of_rank(candidate), wording.loss_in_words(partition, candidate)]))


def _replica_columns(is_wide: bool) -> list[tuple[str, bool]]:
    """Names, and whether it is a column of numbers."""
    return [
        ("Partition", False),
        ("Broker", True),
        ("Rank", True),
        ("Epoch", True),
        *([("Log start", True)] if is_wide else []),
        ("Log end", True),
        *([("Size", True)] if is_wide else []),
        ("Loses", True),
        ("Flags", False),
        ("Why", False),
    ]


def _table(title: str) -> Table:
    return Table(title=title, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD, pad_edge=False)


def _add(table: Table, cells: Sequence[str], style: str) -> None:
    # Text, not str: rich would take a topic called "[red]" for markup.
    table.add_row(*(Text(cell) for cell in cells), style=style)


def _rendered(table: Table, width: int) -> str:
    output = StringIO()
    console = Console(file=output, width=width, force_terminal=True, color_system="standard", highlight=False)
    console.print(table)
    return output.getvalue()
