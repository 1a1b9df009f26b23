# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Print sentences as a person reads them: ansible.builtin.debug prints them as JSON."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from textwrap import wrap
from typing import Any, ClassVar

from ansible.utils.display import Display

from ansible_collections.kafkaops.recovery.plugins.plugin_utils.page import PROSE_WIDTH, Block, Line
from ansible_collections.kafkaops.recovery.plugins.plugin_utils.printing_action import PrintingAction
from ansible_collections.kafkaops.recovery.plugins.plugin_utils.words import printable

display = Display()

_OPTION = "-e "
"""How a line begins that is part of a command: it is copied as a whole, so it is never wrapped."""


class ActionModule(PrintingAction):
    """See PrintingAction."""

    ARGUMENT_SPEC: ClassVar[dict[str, Any]] = {"lines": {"type": "list", "elements": "str", "required": True}}

    def verdict(self, arguments: dict[str, Any], _blocks: Iterable[Block]) -> str:
        return next((line.strip() for line in arguments["lines"]), "")

    def blocks(self, arguments: dict[str, Any]) -> Iterator[Block]:
        width = min(display.columns, PROSE_WIDTH)
        for line in arguments["lines"]:
            text = line.lstrip(" ")
            if text.startswith(_OPTION):
                yield Line(printable(line))
                continue
            indent = line[: len(line) - len(text)]
            # A path, such as that of a backup, is copied from here: it is never broken.
            lines = wrap(
                printable(text),
                width,
                initial_indent=indent,
                subsequent_indent=f"{indent}  ",
                break_long_words=False,
                break_on_hyphens=False,
            )
            yield from map(Line, lines)
