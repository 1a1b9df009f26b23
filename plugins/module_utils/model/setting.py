# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A config's value, and where it is from. Standard library only."""

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
    """None where the broker does not tell it."""
    source: Source

    @property
    def own(self) -> str | None:
        """The value that is set for this very broker or topic; None when none is: DELETE restores that."""
        return self.value if self.source is Source.BROKER else None


def same_value(one: str | None, other: str | None) -> bool:
    """Whether two texts are the same value: 1000000 and 1000000.0 are."""
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
