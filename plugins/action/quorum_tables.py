# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Prints what quorum_info returned: a table in a terminal, and line by line elsewhere."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ansible.plugins.action import ActionBase
from ansible.utils.display import Display

from ansible_collections.kafkaops.recovery.plugins.plugin_utils import quorum_wording
from ansible_collections.kafkaops.recovery.plugins.plugin_utils.terminal import is_terminal
from ansible_collections.kafkaops.recovery.plugins.plugin_utils.wording import Result

display = Display()

_ARGUMENT_SPEC = {
    "result": {"type": "dict", "required": True},
    "fail_on": {"type": "str", "choices": ["critical", "warning", "info"]},
}


class ActionModule(ActionBase):
    """Runs on the controller, and changes nothing."""

    TRANSFERS_FILES = False
    _supports_check_mode = True
    _supports_diff = True
    _requires_connection = False

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        result: dict[str, Any] = super().run(tmp, task_vars)
        _validation, arguments = self.validate_argument_spec(argument_spec=_ARGUMENT_SPEC)
        told = arguments["result"]
        for line in _lines(told):
            display.display(line)
        failure = quorum_wording.failure(told, arguments["fail_on"]) if arguments["fail_on"] is not None else ""
        return result | {"changed": False} | ({"failed": True, "msg": failure} if failure else {})


def _lines(told: Result) -> Iterator[str]:
    yield quorum_wording.quorum_line(told)
    yield from _members(told)
    yield from quorum_wording.finding_lines(told, display.columns)
    if not told["findings"]:
        yield "nothing is wrong with the quorum"
    yield from quorum_wording.verdict_lines(told)


def _members(told: Result) -> Iterator[str]:
    if is_terminal():
        # Imported only where there is a terminal to draw on.
        from ansible_collections.kafkaops.recovery.plugins.plugin_utils.quorum_table import (  # noqa: PLC0415
            member_table,
        )

        yield member_table(told, display.columns)
        return
    for row in quorum_wording.member_rows(told):
        named = zip(quorum_wording.COLUMNS[2:], row[2:], strict=True)
        yield f"{row[1]} {row[0]}: " + ", ".join(f"{name} {cell}" for name, cell in named)
