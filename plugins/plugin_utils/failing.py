# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Let a failed task print its message once.

From ansible-core 2.19 on, the default callback prints the message of a failed task as an error with the lines of the
role, which the user did not write, and again as the task's result. The result alone is enough.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ansible.playbook.task import Task

try:
    from ansible._internal import _task
    from ansible._internal._errors import _captured
    from ansible.module_utils._internal._messages import Event
except ImportError:  # ansible-core 2.18 prints it once
    _captured = None
else:
    _of_action: Any = getattr(_captured, "AnsibleActionCapturedError", None)
    """Until ansible-core 2.20, the error of a failed result that an action returned."""
    _base: Any = _of_action or _captured.AnsibleResultCapturedError

    class PrintedOnceError(_base):
        """A failure whose result has the message, and no exception that would be printed too."""

        @property
        def omit_exception_key(self) -> bool:
            return True


def printed_once(result: dict[str, Any], task: Task, variables: Mapping[str, Any]) -> dict[str, Any]:
    """Return a result that prints its message once if the task fails. With ansible-core 2.21, raise the failure.

    A module that crashed keeps its exception: its message is not enough. ansible-core 2.21 evaluates ``failed_when``
    only for a returned result.
    """
    exception = result.get("exception")
    is_crash = bool(getattr(getattr(exception, "event", None), "formatted_traceback", exception))
    if _captured is None or not result.get("failed") or not result.get("msg") or is_crash:
        return result
    event = Event(msg=str(result["msg"]))
    if _of_action:
        return result | {"exception": _captured.CapturedErrorSummary(event=event, error_type=PrintedOnceError)}
    registered = dict.fromkeys(task.register or (), result)
    if task.failed_when and not task._resolve_conditional(task.failed_when, {**variables, **registered}):
        return result
    raise PrintedOnceError(event, _task.UnifiedTaskResult.from_action_result_dict(result))
