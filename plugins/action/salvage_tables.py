# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Print the results of the salvage modules."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

from ansible_collections.kafkaops.recovery.plugins.plugin_utils import salvage_page
from ansible_collections.kafkaops.recovery.plugins.plugin_utils.page import Block
from ansible_collections.kafkaops.recovery.plugins.plugin_utils.printing_action import PrintingAction


class ActionModule(PrintingAction):
    """See PrintingAction."""

    ARGUMENT_SPEC: ClassVar[dict[str, Any]] = {"result": {"type": "dict", "required": True}}

    def blocks(self, arguments: dict[str, Any]) -> Iterator[Block]:
        result = arguments["result"]
        return salvage_page.replay_blocks(result) if "target" in result else salvage_page.disk_blocks(result)

    def failures(self, arguments: dict[str, Any]) -> Iterator[str]:
        yield arguments["result"].get("msg", "")
