# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Render the blocks that tasks print. This is the only renderer.

The text is the same with and without color. In AWX, lines of columns begin with a bar.
"""

from __future__ import annotations

import os
from collections.abc import Iterable

from ansible import constants
from ansible.utils import color as ansible_color
from ansible.utils.display import Display

from .page import PROSE_WIDTH, Block, Heading, Paragraph
from .words import printable

_display = Display()

# The import of the layout's library takes longer than the print of a short text.
# ruff: noqa: PLC0415


def rendered(blocks: Iterable[Block], width: int, *, color: bool, is_stripped: bool = False) -> str:
    """Return the blocks as text. No line is wider than ``width``, except lines to copy.

    If the reader's program strips each line, ``is_stripped``, columns begin with a bar, so that they stay columns.
    """
    blocks = [*blocks]
    lines = [_without_layout(each, min(width, PROSE_WIDTH)) for each in blocks]
    if not color and None not in lines:
        return "\n".join(line for each in lines if each for line in each).strip("\n")
    from .layout import laid_out

    return laid_out(blocks, width, color=color, is_stripped=is_stripped)


def _without_layout(block: Block, width: int) -> list[str] | None:
    """Return the lines of a block that needs no layout: it fits in one line. None for any other block."""
    match block:
        case Heading(text):
            lines = ["", printable(text)]
        case Paragraph(text, indent=0):
            lines = [printable(text)]
        case _:
            return None
    # A character of another script can be two columns wide, or none.
    return lines if all(line.isascii() and "\n" not in line and len(line) <= width for line in lines) else None


def show(text: str) -> None:
    """Print a text for a person: to stdout or, if a program reads stdout as JSON, to stderr."""
    _display.display(text, stderr=is_structured())


def is_structured() -> bool:
    """Return whether a callback writes JSON to stdout, such as ansible.posix.json and ansible.posix.jsonl."""
    return "json" in str(constants.DEFAULT_STDOUT_CALLBACK).rpartition(".")[2]


def is_terminal() -> bool:
    """Return whether a person reads the output in a terminal.

    The workers are detached from the terminal, so this checks whether Ansible decided to use color before that.
    ansible-runner, and so AWX, gives Ansible a terminal that nobody reads.
    """
    return bool(ansible_color.ANSIBLE_COLOR) and not is_in_awx()


def is_in_awx() -> bool:
    """Return whether ansible-runner runs this. The callback of AAP 2.6 strips each line that an action displays."""
    return "AWX_ISOLATED_DATA_DIR" in os.environ
