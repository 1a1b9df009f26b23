# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Print the outcome of each partition, and fail if one was not recovered. Publish the summary if it does not fail."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.next_steps import Commands
from ansible_collections.kafkaops.recovery.plugins.plugin_utils import recovery_page
from ansible_collections.kafkaops.recovery.plugins.plugin_utils.next_steps import next_commands
from ansible_collections.kafkaops.recovery.plugins.plugin_utils.page import Block
from ansible_collections.kafkaops.recovery.plugins.plugin_utils.printing_action import PrintingAction, display


class ActionModule(PrintingAction):
    """See PrintingAction."""

    ARGUMENT_SPEC: ClassVar[dict[str, Any]] = {
        "result": {"type": "dict", "required": True},
        "tables": {"type": "list", "elements": "str", "choices": ["replicas", "outcomes"], "default": ["outcomes"]},
        "accepted": {"type": "list", "elements": "str"},
        "start_order": {"type": "list", "elements": "dict", "default": []},
        "awaited": {"type": "list", "elements": "dict", "default": []},
        "failure": {"type": "str", "default": ""},
        "warning": {"type": "str", "default": ""},
        "variables": {"type": "dict", "default": {}},
        "published": {"type": "dict"},
    }

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        result = super().run(tmp, task_vars)
        published = self._task.args.get("published")
        if not published:
            return result
        # As ansible.builtin.set_stats does. Ansible ignores it in the result of a task that fails.
        return result | {"ansible_stats": {"data": published, "per_host": False, "aggregate": False}}

    def blocks(self, arguments: dict[str, Any]) -> Iterator[Block]:
        result = arguments["result"]
        if arguments["warning"]:
            display.warning(f"The plan is not handed to later jobs: {arguments['warning']}")
        if "outcomes" in arguments["tables"]:
            saved_in = (result.get("salvage") or {}).get("salvage_dir") or ""
            variables = arguments["variables"]
            yield from recovery_page.blocks(
                result,
                commands=next_commands(variables, saved_in) if variables else Commands(),
                start_order=arguments["start_order"],
                awaited=arguments["awaited"],
                rows=self.is_verbose,
            )
        if "replicas" in arguments["tables"]:
            yield from recovery_page.replica_blocks(result)

    def failures(self, arguments: dict[str, Any]) -> Iterator[str]:
        if arguments["accepted"] is not None:
            yield recovery_page.failure(arguments["result"], arguments["accepted"])
        yield arguments["failure"]
