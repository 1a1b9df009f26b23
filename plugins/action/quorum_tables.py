# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Print the result of quorum_info, and fail if the quorum is worse than accepted."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

from ansible_collections.kafkaops.recovery.plugins.plugin_utils import quorum_page
from ansible_collections.kafkaops.recovery.plugins.plugin_utils.page import Block
from ansible_collections.kafkaops.recovery.plugins.plugin_utils.printing_action import PrintingAction


class ActionModule(PrintingAction):
    """See PrintingAction."""

    ARGUMENT_SPEC: ClassVar[dict[str, Any]] = {
        "result": {"type": "dict", "required": True},
        "fail_on": {"type": "str", "choices": ["critical", "warning", "info"]},
    }

    def blocks(self, arguments: dict[str, Any]) -> Iterator[Block]:
        return quorum_page.blocks(arguments["result"])

    def failures(self, arguments: dict[str, Any]) -> Iterator[str]:
        if arguments["fail_on"] is not None:
            yield quorum_page.failure(arguments["result"], arguments["fail_on"])
        yield arguments["result"].get("msg", "")
