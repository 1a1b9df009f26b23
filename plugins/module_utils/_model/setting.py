# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A config's value and where it is from, and how changes to log cleaners end. Standard library only."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Source(StrEnum):
    """Where a broker has a value from, highest precedence first."""

    BROKER = "broker"
    """Set for this very broker, dynamically. Of a topic's config: set for the topic."""
    CLUSTER = "cluster"
    """The dynamic default of the cluster."""
    STATIC = "static"
    """server.properties."""
    DEFAULT = "default"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class Setting:
    """A value in force, and where it is from."""

    value: str | None
    """None where the broker does not return it."""
    source: Source

    @property
    def own(self) -> str | None:
        """Return the value that is set for this broker or topic itself.

        None means that none is set: DELETE restores that.
        """
        return self.value if self.source is Source.BROKER else None


def same_value(one: str | None, other: str | None) -> bool:
    """Return whether two texts are the same value, as 1000000 and 1000000.0 are."""
    if one is None or other is None or one == other:
        return one == other
    try:
        # A float is exact up to 2**53, and a long is beyond.
        return int(one) == int(other)
    except ValueError:
        pass
    try:
        return float(one) == float(other)
    except ValueError:
        return False


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
