# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""How a run ended that changed the list, the orders and, where it was asked to, the leaders. Standard library only."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from ansible_collections.kafkaops.recovery.plugins.module_utils.leadership.blacklist import Blacklist
from ansible_collections.kafkaops.recovery.plugins.module_utils.leadership.moves import Move
from ansible_collections.kafkaops.recovery.plugins.module_utils.leadership.outcome import OrderOutcome


class Mode(StrEnum):
    """Whether anything was to be changed."""

    CHECK = "check"
    APPLY = "apply"


@dataclass(frozen=True, slots=True, kw_only=True)
class LeadershipReport:
    """All that a person may ask for afterwards."""

    cluster_id: str
    started_at: str
    finished_at: str
    mode: Mode
    before: Blacklist
    after: Blacklist
    is_native: bool
    """Every broker knows preferred_leader_blacklist, so that no order had to be changed for it."""
    remembered_in: str
    orders: tuple[OrderOutcome, ...]
    leaders: tuple[Move, ...] | None
    """None where no election was asked for."""
