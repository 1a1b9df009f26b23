# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""How changes to log cleaners end. Standard library only."""

from __future__ import annotations

from enum import StrEnum


class RestartStatus(StrEnum):
    """What became of one broker's cleaner."""

    RESTARTED = "restarted"
    WOULD_RESTART = "would_restart"
    NOT_NEEDED = "not_needed"
    """It is healthy or idle."""
    NOT_HELPED = "not_helped"
    """Something is wrong that a restart of the threads does not mend; the reason says what does."""
    UNKNOWN = "unknown"
    """Too little is known to say that a restart helps."""
    CHANGED = "changed"
    WOULD_CHANGE = "would_change"
    AS_WANTED = "as_wanted"
    STOPPED = "stopped"
    FAILED = "failed"


class RepairStatus(StrEnum):
    """What became of one replica."""

    REPAIRED = "repaired"
    WOULD_REPAIR = "would_repair"
    NOT_NEEDED = "not_needed"
    REFUSED = "refused"
    """It would be dangerous, or of no use; the reason says what helps."""
    STOPPED = "stopped"
    FAILED = "failed"
    """It was taken back, or could not be; the reason says which."""
