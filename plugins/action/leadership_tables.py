# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Print the results of preferred_leader_blacklist and preferred_election, and fail if they failed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

from ansible_collections.kafkaops.recovery.plugins.plugin_utils import drained_page, leadership_page
from ansible_collections.kafkaops.recovery.plugins.plugin_utils.page import Block
from ansible_collections.kafkaops.recovery.plugins.plugin_utils.printing_action import PrintingAction


class ActionModule(PrintingAction):
    """See PrintingAction."""

    ARGUMENT_SPEC: ClassVar[dict[str, Any]] = {
        "orders": {"type": "dict", "required": True},
        "leaders": {"type": "dict", "default": {}},
        "stop": {"type": "dict", "default": {}},
        "variables": {"type": "dict", "default": {}},
    }

    def blocks(self, arguments: dict[str, Any]) -> Iterator[Block]:
        return leadership_page.blocks(
            arguments["orders"],
            arguments["leaders"],
            drained_page.blocks(arguments["stop"], arguments["variables"], is_check=self._task.check_mode),
            rows=self.is_verbose,
        )

    def failures(self, arguments: dict[str, Any]) -> Iterator[str]:
        yield leadership_page.failure(arguments["orders"], arguments["leaders"])
