# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Print the results of the log cleaner modules, and fail if they failed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

from ansible_collections.kafkaops.recovery.plugins.plugin_utils import cleaner_page
from ansible_collections.kafkaops.recovery.plugins.plugin_utils.page import Block
from ansible_collections.kafkaops.recovery.plugins.plugin_utils.printing_action import PrintingAction


class ActionModule(PrintingAction):
    """See PrintingAction."""

    ARGUMENT_SPEC: ClassVar[dict[str, Any]] = {
        "before": {"type": "dict", "required": True},
        "restart": {"type": "dict", "default": {}},
        "repair": {"type": "dict", "default": {}},
        "after": {"type": "dict"},
        "report": {"type": "dict", "default": {}},
        "fail_on_unhealthy": {"type": "bool", "default": False},
    }

    def blocks(self, arguments: dict[str, Any]) -> Iterator[Block]:
        return cleaner_page.blocks(arguments["before"], arguments["restart"], arguments["repair"], _after(arguments))

    def failures(self, arguments: dict[str, Any]) -> Iterator[str]:
        yield cleaner_page.failure(
            arguments["restart"],
            arguments["repair"],
            _after(arguments),
            fail_on_unhealthy=arguments["fail_on_unhealthy"],
        )
        yield arguments["report"].get("msg", "")


def _after(arguments: dict[str, Any]) -> dict[str, Any]:
    after: dict[str, Any] | None = arguments["after"]
    return arguments["before"] if after is None else after
