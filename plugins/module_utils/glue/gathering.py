# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""How replicas are asked, and how much of it is returned; the doc fragment ``gathering`` describes the options."""

from __future__ import annotations

import os
from collections.abc import Sequence

from ansible_collections.kafkaops.recovery.plugins.module_utils.documents.files import refuse_existing
from ansible_collections.kafkaops.recovery.plugins.module_utils.glue.arguments import Arguments
from ansible_collections.kafkaops.recovery.plugins.module_utils.recovery.outcome import Outcome
from ansible_collections.kafkaops.recovery.plugins.module_utils.recovery.plan import Status

GATHERING = Arguments(
    argument_spec={
        "recovery_duration_ms": {"type": "int", "default": 30000},
        "evidence_dir": {"type": "path"},
    },
)
MAX_ROWS = Arguments(argument_spec={"max_rows": {"type": "int", "default": 1000}})

_ORDINARY = frozenset({Status.RECOVERED, Status.WOULD_RECOVER, Status.ALREADY_ONLINE})


def refuse_existing_output(path: str | None) -> None:
    """Raises DocumentError when something is there already, or cannot be made."""
    if path is not None:
        refuse_existing(os.path.normpath(path))


def most_telling(outcomes: Sequence[Outcome], max_rows: int) -> list[Outcome]:
    """At most ``max_rows`` outcomes, in their order. What a person has to look at goes in before what went well."""
    if len(outcomes) <= max_rows:
        return list(outcomes)
    trouble_first = sorted(range(len(outcomes)), key=lambda index: outcomes[index].status in _ORDINARY)
    return [outcomes[index] for index in sorted(trouble_first[:max_rows])]
