# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Print sentences as a person reads them: ansible.builtin.debug prints them as JSON."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

from ansible_collections.kafkaops.recovery.plugins.plugin_utils.page import Block, Paragraph
from ansible_collections.kafkaops.recovery.plugins.plugin_utils.printing_action import PrintingAction


class ActionModule(PrintingAction):
    """See PrintingAction."""

    ARGUMENT_SPEC: ClassVar[dict[str, Any]] = {"lines": {"type": "list", "elements": "str", "required": True}}

    def blocks(self, arguments: dict[str, Any]) -> Iterator[Block]:
        for line in arguments["lines"]:
            text = line.lstrip(" ")
            yield Paragraph(text, indent=len(line) - len(text))
