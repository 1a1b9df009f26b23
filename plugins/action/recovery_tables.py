# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Prints results as tables in a terminal, and line by line elsewhere."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from ansible.plugins.action import ActionBase
from ansible.utils.display import Display

from ansible_collections.kafkaops.recovery.plugins.plugin_utils import lines, wording
from ansible_collections.kafkaops.recovery.plugins.plugin_utils.terminal import is_terminal
from ansible_collections.kafkaops.recovery.plugins.plugin_utils.wording import Result

display = Display()

_ARGUMENT_SPEC = {
    "result": {"type": "dict", "required": True},
    "tables": {"type": "list", "elements": "str", "choices": ["replicas", "outcomes"], "default": ["outcomes"]},
    "max_partitions": {"type": "int", "default": 50},
    "accepted": {"type": "list", "elements": "str"},
    "start_order": {"type": "list", "elements": "dict", "default": []},
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
        partitions = told.get("partitions", [])[: arguments["max_partitions"]]
        brokers = told.get("brokers", [])
        # Brokers first: what is wrong with one of them need not be told again with each of its replicas.
        for line in wording.broker_lines(brokers):
            display.display(line)
        if partitions:
            tell = _draw if is_terminal() else _list
            for table in arguments["tables"]:
                tell(table, partitions, wording.causes(brokers))
        for line in wording.leftover_lines(told.get("leftovers", [])):
            display.display(line)
        for line in wording.aftermath_lines(told.get("aftermath", [])):
            display.display(line)
        if wording.is_any_left(told.get("summary", {})):
            for line in wording.start_order_lines(arguments["start_order"]):
                display.display(line)
        for line in _totals(told.get("summary", {}), len(partitions)):
            display.display(line)
        failure = wording.failure(told, arguments["accepted"]) if arguments["accepted"] is not None else ""
        return result | {"changed": False} | ({"failed": True, "msg": failure} if failure else {})


def _draw(table: str, partitions: Sequence[Result], known: Collection[str]) -> None:
    # Imported only where there is a terminal to draw on.
    from ansible_collections.kafkaops.recovery.plugins.plugin_utils import tables  # noqa: PLC0415

    if table == "replicas":
        text = tables.replica_table(partitions, known, display.columns)
    else:
        text = tables.outcome_table(partitions, display.columns)
    display.display(text.rstrip("\n"))


def _list(table: str, partitions: Sequence[Result], known: Collection[str]) -> None:
    told = lines.replica_lines(partitions, known) if table == "replicas" else lines.outcome_lines(partitions)
    for line in told:
        display.display(line)


def _totals(counts: Mapping[str, int], shown: int) -> list[str]:
    total = sum(counts.values())
    if not total:
        return ["no partition is offline"]
    hidden = [f"{total - shown} more are not shown; the report file has all of them"] if total > shown else []
    return [*hidden, wording.summary(counts)]
