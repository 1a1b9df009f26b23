# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""An action that runs the module of its own name and prints the module's progress."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from ansible.plugins.action import ActionBase
from ansible.utils.display import Display

from ansible_collections.kafkaops.recovery.plugins.plugin_utils.progress import followed
from ansible_collections.kafkaops.recovery.plugins.plugin_utils.terminal import is_terminal

display = Display()

_SECONDS_BETWEEN = 2.0
_SECONDS_BETWEEN_IN_A_LOG = 10.0


class ProgressAction(ActionBase):
    """Only where the module runs on this host, as this user: elsewhere its progress file cannot be read."""

    _supports_check_mode = True
    _supports_async = True
    _supports_diff = True

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        result: dict[str, Any] = super().run(tmp, task_vars)
        arguments = dict(self._task.args)
        if self._task.async_val or self._connection.transport != "local" or self._play_context.become:
            result |= self._execute_module(
                module_args=arguments, task_vars=task_vars, wrap_async=bool(self._task.async_val)
            )
            return result
        between = _SECONDS_BETWEEN if is_terminal() else _SECONDS_BETWEEN_IN_A_LOG
        with tempfile.TemporaryDirectory(prefix="kafkaops-progress-") as directory:
            path = Path(arguments.setdefault("progress_file", str(Path(directory) / "progress")))
            with followed(path, display.display, between):
                result |= self._execute_module(module_args=arguments, task_vars=task_vars)
        return result
