# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Prints what the modules of the log cleaner returned: a table in a terminal, and line by line elsewhere."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ansible.plugins.action import ActionBase
from ansible.utils.display import Display

from ansible_collections.kafkaops.recovery.plugins.plugin_utils import log_cleaner_wording as wording
from ansible_collections.kafkaops.recovery.plugins.plugin_utils.terminal import is_terminal
from ansible_collections.kafkaops.recovery.plugins.plugin_utils.wording import Result

display = Display()

_ARGUMENT_SPEC = {
    "before": {"type": "dict", "required": True},
    "restart": {"type": "dict", "default": {}},
    "repair": {"type": "dict", "default": {}},
    "after": {"type": "dict"},
    "fail_on_unwell": {"type": "bool", "default": False},
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
        before, restart, repair = arguments["before"], arguments["restart"], arguments["repair"]
        after = arguments["after"] if arguments["after"] is not None else before
        for line in _lines(before, restart, repair, after):
            display.display(line)
        failure = wording.failure(restart, repair, after, fail_on_unwell=arguments["fail_on_unwell"])
        return result | {"changed": False} | ({"failed": True, "msg": failure} if failure else {})


def _lines(before: Result, restart: Result, repair: Result, after: Result) -> Iterator[str]:
    yield from _brokers(before, after)
    yield from wording.action_lines(restart, repair)
    yield from wording.reason_lines(after)


def _brokers(before: Result, after: Result) -> Iterator[str]:
    if is_terminal():
        # Imported only where there is a terminal to draw on.
        from ansible_collections.kafkaops.recovery.plugins.plugin_utils.log_cleaner_table import (  # noqa: PLC0415
            broker_table,
        )

        yield broker_table(before, after, display.columns)
        return
    for row in wording.broker_rows(before, after):
        named = zip(wording.COLUMNS[3:], row[3:], strict=True)
        yield f"broker {row[0]}: {row[1]} → {row[2]}: " + ", ".join(f"{name} {cell}" for name, cell in named)
