# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What changes of replica orders and moves of leaders have in common; the doc fragment ``leadership_memory``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from .._changes.journal_look import JournalOptions
from .._module.arguments import Arguments
from .._module.options import journal_options
from .memory_homes import Home

LEADERSHIP = Arguments(
    argument_spec={
        "memory": {"type": "str", "choices": [each.value for each in Home], "default": Home.TOPIC.value},
        "memory_topic": {"type": "str", "default": "_kafkaops_leadership"},
        "attempts": {"type": "int", "default": 3},
        "verify_timeout_ms": {"type": "int", "default": 30000},
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class LeadershipOptions:
    """Where a run remembers what it changes, and how often it tries."""

    memory: Home
    memory_topic: str
    journal: JournalOptions
    attempts: int
    """For each write that fails in a way that may pass."""
    verify_timeout_ms: int
    """How long a change may take to be seen before it counts as not done."""
    check_mode: bool


def leadership_options(params: Mapping[str, Any], *, check_mode: bool) -> dict[str, Any]:
    """Return the fields of LeadershipOptions, as a module's parameters say."""
    return {
        "memory": Home(params["memory"]),
        "memory_topic": params["memory_topic"],
        "journal": journal_options(params),
        "attempts": params["attempts"],
        "verify_timeout_ms": params["verify_timeout_ms"],
        "check_mode": check_mode,
    }
