# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Print sentences as a person reads them: ansible.builtin.debug prints them as JSON."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator
from textwrap import wrap
from typing import Any, ClassVar

from ansible.utils.display import Display

from ansible_collections.kafkaops.recovery.plugins.module_utils._model.variable import set_variable
from ansible_collections.kafkaops.recovery.plugins.plugin_utils.page import PROSE_WIDTH, Block, Line
from ansible_collections.kafkaops.recovery.plugins.plugin_utils.printing_action import PrintingAction
from ansible_collections.kafkaops.recovery.plugins.plugin_utils.words import printable

display = Display()


class ActionModule(PrintingAction):
    """See PrintingAction."""

    ARGUMENT_SPEC: ClassVar[dict[str, Any]] = {
        "lines": {"type": "list", "elements": "str", "required": True},
        "variables": {"type": "dict", "default": {}},
    }

    def verdict(self, arguments: dict[str, Any], _blocks: Iterable[Block]) -> str:
        return next((line.strip() for line in arguments["lines"]), "")

    def blocks(self, arguments: dict[str, Any]) -> Iterator[Block]:
        width = min(display.columns, PROSE_WIDTH)
        for line in arguments["lines"]:
            text = line.lstrip(" ")
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
        for name, value in arguments["variables"].items():
            yield Line(printable(shlex.join(set_variable(name, value))))
