# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What an operator accepts. Standard library only."""

from __future__ import annotations

from dataclasses import dataclass

from ansible_collections.kafkaops.recovery.plugins.module_utils.recovery.strategy import Strategy


@dataclass(frozen=True, slots=True)
class Policy:
    """How much may be lost to get a partition back."""

    strategy: Strategy
    max_lost_records: int | None = None
    """The most that an election may be known to lose, in records; None for no limit."""
