# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Let a failed task print its message once.

From ansible-core 2.19 on, the default callback prints the message of a failed task as an error with the lines of the
role, which the user did not write, and again as the task's result. The result alone is enough.
"""

from __future__ import annotations

from typing import Any

try:
    from ansible._internal._errors._captured import AnsibleActionCapturedError, CapturedErrorSummary
    from ansible.module_utils._internal._messages import Event
except ImportError:  # ansible-core 2.18 prints it once
    CapturedErrorSummary = None
else:

    class PrintedOnceError(AnsibleActionCapturedError):
        """A failure whose result has the message, and no exception that would be printed too."""

        @property
        def omit_exception_key(self) -> bool:
            return True


def printed_once(result: dict[str, Any]) -> dict[str, Any]:
    """Return a result that prints its message once if the task fails.

    A module that crashed keeps its exception: its message is not enough.
    """
    exception = result.get("exception")
    is_crash = bool(getattr(getattr(exception, "event", None), "formatted_traceback", exception))
    if CapturedErrorSummary is None or not result.get("failed") or not result.get("msg") or is_crash:
        return result
    event = Event(msg=str(result["msg"]))
    return result | {"exception": CapturedErrorSummary(event=event, error_type=PrintedOnceError)}
