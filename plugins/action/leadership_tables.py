# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Prints what preferred_leader_blacklist and preferred_election returned, and fails where they did."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from ansible.plugins.action import ActionBase
from ansible.utils.display import Display

from ansible_collections.kafkaops.recovery.plugins.plugin_utils import leadership_wording as wording
from ansible_collections.kafkaops.recovery.plugins.plugin_utils.terminal import is_terminal

display = Display()

_ARGUMENT_SPEC = {
    "orders": {"type": "dict", "required": True},
    "leaders": {"type": "dict", "default": {}},
    "max_partitions": {"type": "int", "default": 50},
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
        for line in _lines(arguments):
            display.display(line)
        failure = wording.failure(arguments["orders"], arguments["leaders"])
        return result | {"changed": False} | ({"failed": True, "msg": failure} if failure else {})


def _lines(arguments: dict[str, Any]) -> Iterator[str]:
    orders, leaders, most = arguments["orders"], arguments["leaders"], arguments["max_partitions"]
    yield wording.list_line(orders)
    rows = wording.order_rows(orders, most)
    yield from _table(wording.ORDER_COLUMNS, rows)
    yield from wording.totals("orders", orders["summary"], len(rows))
    # A task that was skipped has returned nothing of the kind.
    if "summary" in leaders:
        rows = wording.leader_rows(leaders, most)
        yield from _table(wording.LEADER_COLUMNS, rows)
        yield from wording.totals("leaders", leaders["summary"], len(rows))


def _table(columns: Sequence[str], rows: Sequence[tuple[str, ...]]) -> Iterator[str]:
    if rows and is_terminal():
        # Imported only where there is a terminal to draw on.
        from ansible_collections.kafkaops.recovery.plugins.plugin_utils.leadership_table import table  # noqa: PLC0415

        yield table(columns, rows, display.columns)
        return
    yield from wording.lines(columns, rows)
