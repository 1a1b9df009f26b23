# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Define a config's value and source, and the statuses of changes to log cleaners. Standard library only."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

TOPIC_RESOURCE = 2
BROKER_RESOURCE = 4
"""Kafka's numbers of the types of resources that have configs (ConfigResource.Type)."""
THROTTLE_RATE = "follower.replication.throttled.rate"
THROTTLED_REPLICAS = "follower.replication.throttled.replicas"
CLEANER_THREADS = "log.cleaner.threads"
CLEANER_BACKOFF_MS = "log.cleaner.backoff.ms"


class SettingSource(StrEnum):
    """The source of a value, highest precedence first."""

    BROKER = "broker"
    """Set dynamically for this broker, or, for a topic's config, for this topic."""
    CLUSTER = "cluster"
    """The dynamic default of the cluster."""
    STATIC = "static"
    """server.properties."""
    DEFAULT = "default"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class Setting:
    """The effective value of a config, and its source."""

    value: str | None
    """None if the broker does not return it."""
    source: SettingSource
    is_sensitive: bool = False
    """Then its value is not returned. True also for a config that the broker does not know: it could be a secret."""

    @property
    def is_own(self) -> bool:
        """Return whether it is set for this broker or topic itself."""
        return self.source is SettingSource.BROKER

    @property
    def own(self) -> str | None:
        """Return the value that is set for this broker or topic itself.

        None if none is set. Then DELETE restores that state.
        """
        return self.value if self.is_own else None


def number_of(setting: Setting | None) -> int | None:
    """Return the value of a setting as a number; None if it is unknown or no number."""
    text = setting.value if setting is not None else None
    return int(text) if text is not None and text.isdecimal() else None


def same_value(one: str | None, other: str | None) -> bool:
    """Return whether two texts have the same value, such as 1000000 and 1000000.0."""
    if one is None or other is None or one == other:
        return one == other
    try:
        # First as integers, because a float is exact only up to 2**53.
        return int(one) == int(other)
    except ValueError:
        pass
    try:
        return float(one) == float(other)
    except ValueError:
        return False


class RestartStatus(StrEnum):
    """The outcome for one broker's log cleaner."""

    RESTARTED = "restarted"
    WOULD_RESTART = "would_restart"
    NOT_NEEDED = "not_needed"
    """It is healthy or idle."""
    NOT_HELPED = "not_helped"
    """A restart of the threads does not repair what is wrong. The reason says what does."""
    UNKNOWN = "unknown"
    """It is unknown whether a restart helps."""
    CHANGED = "changed"
    WOULD_CHANGE = "would_change"
    AS_WANTED = "as_wanted"
    STOPPED = "stopped"
    FAILED = "failed"


class RepairStatus(StrEnum):
    """The outcome for one replica."""

    REPAIRED = "repaired"
    WOULD_REPAIR = "would_repair"
    NOT_NEEDED = "not_needed"
    REFUSED = "refused"
    """A repair would be dangerous or useless. The reason says what helps."""
    STOPPED = "stopped"
    FAILED = "failed"
    """The repair failed. The reason says whether it was undone."""
