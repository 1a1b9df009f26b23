# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Print the result of group_recovery, and fail if something still needs a change."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

from ansible_collections.kafkaops.recovery.plugins.plugin_utils import groups_page
from ansible_collections.kafkaops.recovery.plugins.plugin_utils.page import Block
from ansible_collections.kafkaops.recovery.plugins.plugin_utils.printing_action import PrintingAction


class ActionModule(PrintingAction):
    """See PrintingAction."""

    ARGUMENT_SPEC: ClassVar[dict[str, Any]] = {
        "result": {"type": "dict", "required": True},
        "variables": {"type": "dict", "default": {}},
        "fail_on_need": {"type": "bool", "default": False},
    }

    def blocks(self, arguments: dict[str, Any]) -> Iterator[Block]:
        return groups_page.blocks(arguments["result"], arguments["variables"], rows=self.is_verbose)

    def failures(self, arguments: dict[str, Any]) -> Iterator[str]:
        yield groups_page.failure(arguments["result"], is_need_bad=arguments["fail_on_need"])
