# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What preferred_leader_blacklist and preferred_election share: their options, and the list as they return it."""

from __future__ import annotations

from typing import Any

from ansible_collections.kafkaops.recovery.plugins.module_utils.glue.arguments import Arguments
from ansible_collections.kafkaops.recovery.plugins.module_utils.leadership.blacklist import Blacklist

WRITING = Arguments(
    argument_spec={
        "attempts": {"type": "int", "default": 3},
        "verify_timeout_ms": {"type": "int", "default": 30000},
    }
)


MEMORY = Arguments(
    argument_spec={
        "memory": {"type": "str", "choices": ["topic", "file"], "default": "topic"},
        "memory_topic": {"type": "str", "default": "_kafkaops_leadership"},
    }
)


def list_result(blacklist: Blacklist) -> dict[str, Any]:
    """The list as modules return it."""
    return {
        "brokers": list(blacklist.brokers),
        "by_topic": [{"pattern": pattern, "brokers": list(brokers)} for pattern, brokers in blacklist.by_topic.items()],
    }
