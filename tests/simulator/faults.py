# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Faults on top of the lab's own (lab.faults), which work here as they do on the lab's proxy."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from lab.faults import Fault
from lab.request import Request


@dataclass(frozen=True)
class Lie(Fault):
    """Change an answer in place before it is encoded, in any API, the proposals' RPCs included."""

    change: Callable[[Any], None]

    def on_message(self, _request: Request, response: Any) -> None:
        """Change the answer."""
        self.change(response)


@dataclass(frozen=True)
class Throttle(Fault):
    """Report in answers that the client is throttled, as under a quota."""

    throttle_time_ms: int

    def on_message(self, _request: Request, response: Any) -> None:
        """Set the throttle time."""
        response.throttle_time_ms = self.throttle_time_ms
